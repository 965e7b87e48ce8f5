"""What changed between two saves of a run, and how it is written."""
