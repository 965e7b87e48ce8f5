"""Keeping a run: checkpoints that survive a crash, the ledger of its steps, loading and resuming."""
