"""Sessions of Claude Code: JSON lines that hang on one another, subagents in files of their own."""

from __future__ import annotations

from agentmem.formats.agents.claude_code.files import peek, places, recognise
from agentmem.formats.agents.claude_code.reader import ClaudeCodeReader
from agentmem.formats.reader import Format

FORMAT = Format(
    "claude-code", "sessions of Claude Code", recognise, ClaudeCodeReader, places=places,
    everywhere=("{CLAUDE_CONFIG_DIR|~/.claude}/projects/*/*.jsonl",), peek=peek,
)  # fmt: skip
