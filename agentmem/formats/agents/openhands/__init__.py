"""OpenHands: conversation folders and event lines of its SDK, logs of completions, and trajectories of V0."""
