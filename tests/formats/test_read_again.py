"""What a reader of our own lines reads a second time, for the fields that it looks for in the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentmem.checkpoint.ledger_line import decode
from agentmem.checkpoint.recorder import record
from agentmem.formats.draft import RunDraft
from agentmem.formats.source import read_at
from agentmem.formats.stores.lines import OwnLines
from agentmem.formats.stores.place import Place
from agentmem.formats.stores.texts import HeldTexts
from agentmem.model import Where
from agentmem.tokens import chars4
from tests.formats.helpers import call, result, user


def test_a_piece_is_read_again_once_for_all_the_fields_that_are_looked_for_in_it(tmp_path: Path) -> None:
    reads: list[tuple[int, int]] = []

    def fetch(where: Where) -> bytes | None:
        reads.append((where.offset, where.part))
        return read_at(where.source, where.offset, where.length)

    run = record("a", goal="g", folder=tmp_path)
    messages: list[dict[str, Any]] = [user("start")]
    for number in range(1, 61):
        messages += [call(f"c{number}"), result(f"c{number}", f"the row and its value, {number}")]
        # Words that stand in every result, though the value stands in none.
        run.save(messages, state={"found": f"row value{' the' * number}"}, prompt=messages[:-2])
    path = tmp_path / "a.steps.jsonl"
    draft = RunDraft(str(path), "agentmem", "a", chars4, "chars4")
    lines = OwnLines(draft, fetch)
    at = 0
    for number, data in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        lines.add(decode(data), Place(str(path), at, len(data) - 1, number, f"line {number}"))
        at += len(data)
    assert reads and len(reads) == len(set(reads))


def test_of_the_texts_held_the_first_ones_go_first() -> None:
    texts = HeldTexts()
    for ident in range(5):
        texts.put("main", ident, "x" * 1_000_000)
    assert [texts.get("main", ident) is not None for ident in range(5)] == [False, True, True, True, True]
    texts.put("main", 9, "y" * 5_000_000)
    assert texts.get("main", 9) is None and texts.get("main", 4) is None and texts.get("sub", 4) is None
