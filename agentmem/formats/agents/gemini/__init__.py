"""Chats of Gemini CLI: JSON lines with replacement by id, checkpoints and rewinds; older, one JSON file."""
