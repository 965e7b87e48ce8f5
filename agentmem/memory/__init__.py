"""What an agent uses while it runs: state, notebook, message policies, notes, artefacts, handoff, recall, the agent."""
