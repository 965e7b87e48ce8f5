"""Notes as text: emptied, missed later, and found again by every way of asking."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.cli.lifeline import sentence
from agentmem.inspect.lifelines import text_lifeline
from agentmem.inspect.open import Opened
from agentmem.inspect.telling.verdict import verdict
from agentmem.inspect.telling.why import why
from tests.cases.written import Message, drops, open_file, turn, user, versions


@pytest.fixture
def emptied(tmp_path: Path) -> Opened:
    """Eight saves: notes until 3, empty from 4 on; 6 and 8 fail for want of what they said."""
    messages: list[Message] = [user("water the beds")]
    bodies = []
    for number in range(1, 9):
        answer = '{"error":"missing field: valve_key"}' if number in (6, 8) else f"bed {number} is wet"
        messages = messages + turn(number, "open_valve", answer, bed=number)
        notes = "valve_key = V-33; never water bed 13" if number < 4 else ""
        bodies.append({"step": number, "messages": messages, "notes": notes})
    return versions(tmp_path / "run.json", *bodies)


def told(source: Opened, text: str) -> str:
    line = text_lifeline(source.run, "main", text, lambda ident: source.text(source.segment("main", ident)))
    return sentence(line, source.run.main)


def test_notes_that_were_emptied_are_one_silent_loss_that_two_failures_needed(emptied: Opened) -> None:
    (drop,) = drops(emptied.run)
    assert (drop.step, drop.kind, drop.cause, drop.alarming) == (4, "note", "silent", True)
    assert [miss.step for miss in drop.missed_by] == [6] and [miss.step for miss in drop.needs] == [6, 8]
    assert verdict(emptied.run).sentence == "▲ notes left at 4, nobody recorded it → open_valve failed at 6"


@pytest.mark.parametrize("number", [6, 8])
def test_why_finds_them_from_each_failure_that_names_what_they_said(emptied: Opened, number: int) -> None:
    first = why(emptied.run, ("main", number))[0]
    assert first.n == 4 and f"open_valve failed at {number}" in first.sentence


def test_a_text_that_only_the_notes_held_is_told_with_its_place_and_the_failures(emptied: Opened) -> None:
    assert told(emptied, "V-33") == (
        "held in notes 1-3, in no prompt of 9 steps, 1 open, left unrecorded at 4, needed at 6, 8"
    )
    assert told(emptied, "never water bed 13") == (
        "held in notes 1-3, in no prompt of 9 steps, 1 open, left unrecorded at 4"
    )


def test_one_version_of_a_list_is_not_called_calm_and_a_second_one_is(tmp_path: Path) -> None:
    messages = [user("water the beds"), *turn(1, "open_valve", "wet", bed=1)]
    source = open_file(tmp_path / "run.json", messages)
    assert verdict(source.run).sentence == (
        "? cannot tell what was left out before this file was written; 2 steps, 1 open, 1 distinct call, no loop"
    )
    source = versions(tmp_path / "two.json", messages, [*messages, *turn(2, "open_valve", "dry", bed=2)])
    assert verdict(source.run).sentence == "3 steps, 1 open, 2 distinct calls, no loop; nothing left unrecorded"
