"""Codex: rollout files (`rollout-*.jsonl`, also compressed) and the event streams of `codex exec --json`."""

from __future__ import annotations

from agentmem.formats.agents.codex.places import FORMAT

__all__ = ["FORMAT"]
