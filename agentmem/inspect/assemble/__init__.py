"""A run in the making -> the immutable `Run`, anew as it grows: only what a reader touched is frozen again."""

from __future__ import annotations

from agentmem.inspect.assemble.run import Assembler

__all__ = ["Assembler"]
