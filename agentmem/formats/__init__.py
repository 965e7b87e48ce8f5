"""Readers of what agents write. `recognise` finds the one for a file by its content; `FORMATS` lists them all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from agentmem.formats.reader import Format, Options, Reader
from agentmem.formats.source import NotYet, Unreadable, read_at

HEAD_BYTES = 65536

MODULES: tuple[str, ...] = (
    "agentmem.formats.agents.gemini.qwen_files",
    "agentmem.formats.agents.claude_code",
    "agentmem.formats.agents.codex",
    "agentmem.formats.agents.pi.reader",
    "agentmem.formats.agents.openhands.conversation",
    "agentmem.formats.agents.openhands.completions",
    "agentmem.formats.agents.openhands.v0",
    "agentmem.formats.agents.gemini.reader",
    "agentmem.formats.agents.gemini.checkpoint",
    "agentmem.formats.agents.opencode.database",
    "agentmem.formats.agents.opencode.export",
    "agentmem.formats.agents.opencode.storage",
    "agentmem.formats.agents.aider",
    "agentmem.formats.agents.mini_swe_agent",
    "agentmem.formats.agents.swe_agent",
    "agentmem.formats.agents.atif",
    "agentmem.formats.agents.cline_sdk",
    "agentmem.formats.agents.roo",
    "agentmem.formats.agents.cline_classic",
    "agentmem.formats.stores.sqlite",
    "agentmem.formats.plain.own",
    "agentmem.formats.plain.requests",
    "agentmem.formats.plain.steps_log",
    "agentmem.formats.plain.snapshot",
)
"""One module a format, each with a `FORMAT`; the first that recognises a file reads it, plain shapes last."""

_loaded: dict[str, Format] = {}


def formats() -> tuple[Format, ...]:
    """All formats, in the order in which they are asked. Imported at the first call."""
    for name in MODULES:
        if name not in _loaded:
            _loaded[name] = import_module(name).FORMAT
    return tuple(_loaded[name] for name in MODULES)


def recognise(path: Path) -> Format | None:
    """The format of a file by its first 64 KiB; None if no reader knows it. Raises Unreadable."""
    head = b"" if path.is_dir() else read_at(path, 0, HEAD_BYTES)
    return next((known for known in formats() if known.recognise(path, head)), None)


__all__ = ["HEAD_BYTES", "MODULES", "Format", "NotYet", "Options", "Reader", "Unreadable", "formats", "recognise"]
