"""Ids that are used again, and goals in another case, tell nothing that is not there."""

from __future__ import annotations

import json
from pathlib import Path

from agentmem.inspect.open import open_run
from agentmem.model import Run
from tests.formats.helpers import call, result, user


def sliding(path: Path, ids: str) -> Run:
    messages = [user("Ship every order.")]
    lines = []
    for number in range(14):
        sent = [messages[0], *messages[1:][-6:]]
        asked = call(ids.format(n=number), page=number)
        lines.append({"request": {"model": "m", "messages": sent}, "response": {"choices": [{"message": asked}]}})
        messages += [asked, result(ids.format(n=number), f"page {number} " + "words " * (40 - number))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return open_run(str(path)).run


def test_a_window_that_slides_over_equal_call_ids_records_nothing(tmp_path: Path) -> None:
    same, unique = sliding(tmp_path / "a.jsonl", "call_0"), sliding(tmp_path / "b.jsonl", "call_{n}")
    told = [
        [(drop.step, drop.cause, drop.recorded, drop.count) for step in run.main.steps for drop in step.drops]
        for run in (same, unique)
    ]
    assert told[0] == told[1]
    assert told[0] and not any(recorded for _, _, recorded, _ in told[0])


def test_a_goal_is_the_same_goal_in_another_case_and_with_other_white_space(tmp_path: Path) -> None:
    for number, text in enumerate(("Please SHIP  every\norder now", "ship every order today")):
        path = tmp_path / f"{number}.json"
        answer = {"role": "assistant", "content": "ok"}
        body = {"step": 1, "notes": "", "goal": "Ship every order today" if number else "ship every order", "state": {}}
        path.write_text(json.dumps({**body, "messages": [user(text), answer]}))
        assert open_run(str(path)).run.main.steps[-1].goal in ("last", "present")
