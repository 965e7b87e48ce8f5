"""Real files of agents and frameworks, where they stand beside the project: each is taken by its own reader or by none.

A framework that no reader knows yet may be read as the plain list of messages that it is, never as another agent's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats import NotYet, Options, Unreadable, recognise

REAL = Path(__file__).parents[3] / "shared" / "real"
PLAIN = {"messages", "requests"}
OWN: dict[str, set[str]] = {
    "openhands-sdk": {"openhands", "openhands-completions"}, "roo-code": {"roo"}, "plain-openai-chat": PLAIN,
    "plain-openai-responses": PLAIN,
}  # fmt: skip
AGENTS = {"claude-code", "cline-sdk", "codex", "gemini-cli", "mini-swe-agent", "openhands-v0", "pi", "swe-agent"}
FILES = sorted(path for path in REAL.rglob("*") if path.is_file() and path.parent != REAL)


def _kind(path: Path) -> str:
    return path.relative_to(REAL).parts[0]


@pytest.mark.skipif(not FILES, reason="needs the real files beside the project")
@pytest.mark.parametrize("kind", sorted({_kind(path) for path in FILES}))
def test_no_file_is_taken_by_the_reader_of_another_agent(kind: str) -> None:
    own = {kind} if kind in AGENTS else OWN.get(kind, PLAIN | {kind})
    taken = {path.name: known.name for path in FILES if _kind(path) == kind and (known := recognise(path))}
    assert set(taken.values()) <= own, {name: reader for name, reader in taken.items() if reader not in own}
    assert taken or kind not in AGENTS | set(OWN)


@pytest.mark.skipif(not FILES, reason="needs the real files beside the project")
def test_a_file_that_is_read_as_a_plain_list_has_something_in_its_prompts() -> None:
    for path in FILES:
        known = recognise(path)
        if known is None or known.name not in PLAIN:
            continue
        reader = known.open(path, Options())
        try:
            reader.refresh()
        except (Unreadable, NotYet):
            continue  # said in words: nothing of it is shown
        lane = reader.draft.main
        empty = [step.n for step in lane.steps[1:] if not lane.tape.ids(step.n)]
        assert lane.steps and not empty, f"{path}: prompts without a piece: {empty}"
