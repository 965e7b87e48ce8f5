"""A field that left while its value still stood in the task: silent in honest work, told when a call fails for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.cli import main
from agentmem.cli.lifeline import sentence
from agentmem.inspect.lifelines import text_lifeline
from agentmem.inspect.open import Opened
from agentmem.inspect.telling.explain import not_drops
from agentmem.inspect.telling.verdict import verdict
from agentmem.inspect.telling.why import why
from tests.cases.written import Message, drops, save, turn, user, versions

TASK = "Replay the order A-1047 for the north shop and mail the result to ops@example.com."


def run_of(path: Path, answer: str, now: dict[str, Any] | None = None, notes: tuple[str, str] = ("", "")) -> Opened:
    """Five saves: the order id leaves the state at 3 (or `now` stands for the facts), the call of 4 gets `answer`."""
    messages: list[Message] = [user(TASK)]
    bodies = []
    for number in range(1, 6):
        messages = messages + (turn(number, "replay_order", answer) if number == 4 else turn(number, "look", "fine"))
        facts = {"order_id": "A-1047", "shop": "north"} if number < 3 else now or {"shop": "north"}
        state = {"goal": "finish the replay", "facts": facts}
        bodies.append({"step": number, "messages": messages, "state": state, "notes": notes[number >= 3]})
    return versions(path / "run.json", *bodies)


def told(source: Opened, text: str) -> str:
    line = text_lifeline(source.run, "main", text, lambda ident: source.text(source.segment("main", ident)))
    return sentence(line, source.run.main)


@pytest.mark.parametrize("answer", ["done", "Error: disk full", "Error: no stock of A-1047"])
def test_honest_work_stays_silent_and_says_why_when_asked(tmp_path: Path, answer: str) -> None:
    source = run_of(tmp_path, answer)
    assert drops(source.run) == [] and "lost" not in told(source, "A-1047")
    assert "facts.order_id: not a drop, because its value stands elsewhere" in not_drops(
        source.run, source.run.main.steps[2]
    )


def test_the_failure_that_names_it_leads_to_the_loss_and_to_where_the_value_still_stood(tmp_path: Path) -> None:
    source = run_of(tmp_path, '{"error": "missing order_id"}')
    (drop,) = drops(source.run)
    assert (drop.step, drop.name, drop.last_step, drop.recorded) == (3, "facts.order_id", 2, False)
    assert [miss.step for miss in drop.needs] == [4]
    links = why(source.run, ("main", 4))
    assert [link.n for link in links] == [3, 4, 2, 1]
    assert "its value still stood in the user message → replay_order failed at 4" in links[0].sentence
    assert "A-1047 still stood in the user message, piece" in links[1].sentence
    assert verdict(source.run).sentence == (
        "▲ order_id left at 3, nobody recorded it → replay_order failed at 4; its value still stood in the user message"
    )
    assert told(source, "A-1047") == "in the prompt 1-6, lost as facts.order_id at 3, needed at 4"
    assert "lost as facts.order_id at 3, needed at 4" in told(source, "order_id")


def test_a_renamed_field_and_a_note_worded_anew_are_told_too(tmp_path: Path) -> None:
    source = run_of(tmp_path, "Error: order_id required", {"order": "A-1047", "shop": "north"})
    (drop,) = drops(source.run)
    assert drop.still is not None and drop.still.where is not None and "facts.order" in drop.still.where
    notes = ("gate_code = 8841-B\nthe shop is closed", "the shop is closed today")
    (tmp_path / "b").mkdir()
    source = run_of(tmp_path / "b", "Error: missing gate_code", {"order_id": "A-1047", "shop": "north"}, notes)
    (drop,) = drops(source.run)
    assert (drop.name, drop.text, drop.step, drop.cause) == ("gate_code", "8841-B", 3, "rewritten")


def test_the_command_says_it_as_text_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    messages: list[Message] = [user(TASK)]
    for number in range(1, 5):
        messages = messages + turn(number, "look", "Error: missing order_id" if number == 4 else "fine")
        facts = {"order_id": "A-1047"} if number < 3 else {"shop": "north"}
        lines.append({"step": number, "messages": messages, "state": {"goal": "finish the replay", "facts": facts}})
    path = tmp_path / "run.jsonl"
    path.write_text("".join(f"{save(tmp_path / 'one.json', one).read_text()}\n" for one in lines))
    assert main(["drops", str(path)]) == 0
    out = capsys.readouterr().out
    assert "facts.order_id" in out and "its value still stood in the user message" in out and "needed at 4" in out
    assert main(["drops", str(path), "--json"]) == 0
    (drop,) = json.loads(capsys.readouterr().out)["drops"]
    assert drop["still"]["where"] == "the user message" and drop["missed_by"][0]["step"] == 4
