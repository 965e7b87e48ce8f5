"""Sessions of the pi coding agent and of its family (OpenClaw, Oh-My-Pi)."""
