"""`drops`, `lost` and `show` say the same of one run, in the words of the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.formats.helpers import call, result, user

from .test_commands import Command, command  # noqa: F401 - a fixture


@pytest.fixture
def sliding(tmp_path: Path) -> Path:
    """Requests of an agent that sends its goal and the last eight messages, with the provider's usage."""
    lines: list[str] = []
    past: list[object] = []
    for n in range(1, 41):
        sent = [{"role": "system", "content": "Fix it."}, user("Make the parser accept commas."), *past[-8:]]
        answer = call(f"c{n}", "read", path=f"f{n}.py")
        reply = {"choices": [{"message": answer}], "usage": {"prompt_tokens": 500 + n, "completion_tokens": 5}}
        lines.append(json.dumps({"request": {"model": "gpt-4o", "messages": sent}, "response": reply}))
        past += [answer, result(f"c{n}", f"text of file {n}")]
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_window_that_slides_is_one_row(command: Command, sliding: Path) -> None:  # noqa: F811 - the fixture
    (row,) = command.text("drops", sliding).splitlines()
    assert row.startswith("· trimmed     steps 6-40  70 pieces, 2 a step  [") and row.endswith("nobody recorded it]")
    assert len(command.json("drops", sliding)["drops"]) == 35


def test_lost_says_what_left_that_is_not_in_its_block(command: Command, sliding: Path) -> None:  # noqa: F811 - likewise
    assert command.text("lost", sliding).splitlines() == [
        "Nothing to paste back in 40 steps: no boundary lost a thing by name, no field is gone silently.",
        "But 70 pieces left, nobody recorded it: `agentmem drops` lists them.",
    ]
    assert command.json("lost", sliding)["beside"] == {"recorded": 0, "unrecorded": 70}


def test_where_nothing_left_lost_and_drops_say_the_same(command: Command, tmp_path: Path) -> None:  # noqa: F811 - likewise
    path = tmp_path / "run.json"
    path.write_text(json.dumps([user("go"), call("c1", "read", path="a"), result("c1", "text")]), encoding="utf-8")
    said = command.text("drops", path)
    assert said == command.text("lost", path)
    assert said.startswith("No drops in 1 step.\ncannot tell: ")


def test_show_marks_its_steps_and_says_what_is_scaled(command: Command, sliding: Path) -> None:  # noqa: F811 - likewise
    rows = command.text("show", sliding).splitlines()
    assert "total is what the provider reported; state and trace are estimates scaled to it" in rows
    body = [row.split() for row in rows[rows.index("") + 2 :]]
    assert [row[1] for row in body if row[0] in ("5", "6", "40")] == ["read", "·", "·"]
    (step,) = command.json("show", sliding, "--step", 40)["steps"]
    assert sum(step["scaled"].values()) == 540
