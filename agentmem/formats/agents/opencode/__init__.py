"""Sessions of opencode: its database, read-only and live, and the JSON of `opencode export`."""
