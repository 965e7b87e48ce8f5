"""Chats of Gemini CLI: JSON lines with replacement by id, whole-history checkpoints and rewinds; older, one JSON file."""
