"""`drops`, `lost` and `show` say the same of one run, in the words of the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import record
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
        "Nothing to paste back in 41 steps, 1 open: no boundary lost a thing by name, no field is gone silently.",
        "But 70 pieces left, nobody recorded it: `agentmem drops` lists them.",
    ]
    assert command.json("lost", sliding)["beside"] == {"recorded": 0, "unrecorded": 70}


def test_where_nothing_left_lost_and_drops_say_the_same(command: Command, tmp_path: Path) -> None:  # noqa: F811 - likewise
    path = tmp_path / "run.json"
    path.write_text(json.dumps([user("go"), call("c1", "read", path="a"), result("c1", "text")]), encoding="utf-8")
    said = command.text("drops", path)
    assert said == command.text("lost", path)
    assert said.startswith("No drops in 2 steps, 1 open.\ncannot tell: ")


def test_show_marks_its_steps_and_says_what_is_scaled(command: Command, sliding: Path) -> None:  # noqa: F811 - likewise
    rows = command.text("show", sliding).splitlines()
    assert "total is what the provider reported; state and trace are estimates scaled to it" in rows
    body = [row.split() for row in rows[rows.index("") + 2 :]]
    assert [row[1] for row in body if row[0] in ("5", "6", "40")] == ["read", "·", "·"]
    (step,) = command.json("show", sliding, "--step", 40)["steps"]
    assert sum(step["scaled"].values()) == 540


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """Each version of a list whose writer keeps its head and the last two calls at step 12, and says nothing."""
    lines: list[str] = []
    messages: list[object] = [{"role": "system", "content": "Fix it."}, user("Fix the leak.")]
    for n in range(1, 15):
        if n == 12:
            messages = messages[:2] + messages[-4:]
        messages += [call(f"c{n}", "read", path=f"f{n}.py"), result(f"c{n}", f"text {n} " * 20)]
        lines.append(json.dumps({"step": n, "messages": messages, "notes": ""}))
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_what_left_with_a_boundary_is_one_row_with_its_mark_and_word(command: Command, cut: Path) -> None:  # noqa: F811 - likewise
    rows = command.text("drops", cut).splitlines()
    left = [row for row in rows if "pieces" in row]
    assert len(left) == 1 and left[0].startswith("▼ trimmed     step   12  18 pieces: 9 call, 9 result  [")
    assert left[0].count("18 pieces") == 1 and "nobody recorded it" in left[0]
    lost_here = command.text("show", cut, "--step", 12).splitlines()
    assert lost_here[lost_here.index("lost here") + 1].startswith("▼ trimmed  18 pieces: 9 call, 9 result")
    gone = [row for row in command.text("diff", cut, "--from", 11, "--to", 12).splitlines() if "f1.py" in row]
    assert len(gone) == 1 and gone[0].startswith("▼ trimmed")


@pytest.fixture
def losing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of ours whose state loses a field without a word; its name stands elsewhere too."""
    monkeypatch.chdir(tmp_path)
    run = record("parcel", goal="Ship it")
    state = {"goal": "Ship it", "facts": {"parcel_id": "P-4711", "depot": "Hamburg"}}
    messages: list[dict[str, Any]] = [user("Ship it; the parcel_id is on the label")]
    for n in range(1, 5):
        if n == 3:
            del state["facts"]["parcel_id"]  # type: ignore[attr-defined]  # a dict of either
        rendered = {"role": "system", "content": f"State: {json.dumps(state)}"}
        messages += [call(f"c{n}", "book", n=n), result(f"c{n}", f"fine {n}")]
        run.save(messages, state=state, prompt=[rendered, *messages])
    run.finish()
    return tmp_path / "runs" / "parcel.json"


def test_the_document_of_lost_holds_what_its_text_holds(command: Command, losing: Path) -> None:  # noqa: F811 - likewise
    assert "- fact parcel_id = P-4711 (gone since step 3)" in command.text("lost", losing)
    (silent,) = command.json("lost", losing)["silent"]
    assert (silent["name"], silent["text"], silent["step"]) == ("facts.parcel_id", "P-4711", 3)
    assert silent["says"] == "fact parcel_id = P-4711"


def test_a_silent_loss_bears_its_mark_and_word_between_two_steps_too(command: Command, losing: Path) -> None:  # noqa: F811 - likewise
    (row,) = [row for row in command.text("diff", losing, "--from", 2, "--to", 4).splitlines() if "P-4711" in row]
    assert row.startswith("▲ silent  fact")
    gone = [piece for piece in command.json("diff", losing, "--from", 2, "--to", 4)["gone"] if piece["cause"]]
    assert [(one["left_at"], one["cause"], one["recorded"]) for one in gone] == [(3, "silent", False)]
    back = command.text("diff", losing, "--from", 4, "--to", 2)
    assert "▲" not in back and "−" not in back, "what came later is no loss"


@pytest.mark.parametrize("asked", ["parcel_id", "facts.parcel_id"])
def test_the_name_of_a_field_gives_its_lifeline_first(command: Command, losing: Path, asked: str) -> None:  # noqa: F811 - likewise
    _, field, text = command.text("lifeline", losing, asked).splitlines()
    assert field == "field facts.parcel_id: in the prompt 1-2, left unrecorded at 3"
    assert text == ("as a text: in the prompt 1-4" if asked == "parcel_id" else "as a text: in no prompt of 4 steps")
    body = command.json("lifeline", losing, asked)
    assert (body["field"], body["present"]) == ("facts.parcel_id", [[1, 2]])
    assert body["lost_as"] == [{"field": "facts.parcel_id", "step": 3}]
    assert body["text_present"] == ([[1, 4]] if asked == "parcel_id" else [])


def test_a_text_that_is_no_field_has_one_line_and_names_the_field_that_lost_it(
    command: Command, losing: Path  # noqa: F811 - likewise
) -> None:  # fmt: skip
    assert command.text("lifeline", losing, "P-4711").splitlines()[1].startswith("in the prompt 1-2, left unrecorded")
    body = command.json("lifeline", losing, "P-4711")
    assert (body["field"], body["lost_as"]) == (None, [{"field": "facts.parcel_id", "step": 3}])


def test_tokens_of_a_lost_field_are_said_to_be_those_of_its_value(command: Command, losing: Path) -> None:  # noqa: F811 - likewise
    assert "[value 2 tokens, last in 2; nobody recorded it]" in command.text("drops", losing)


def test_pieces_of_a_prompt_are_counted_without_the_words_around_fields(command: Command, losing: Path) -> None:  # noqa: F811 - likewise
    (step,) = command.json("show", losing, "--step", 2)["steps"]
    assert step["frames"] == sum(piece["field"] == "" for piece in step["prompt"]) > 0
    pieces = step["segments"] - step["frames"]
    assert f"{pieces} pieces and {step['frames']} of words around fields" in command.text("show", losing, "--step", 2)


def test_a_lost_goal_is_given_whole_to_be_pasted_back(command: Command) -> None:  # noqa: F811 - likewise
    out = command.text("lost", Path(__file__).parents[2] / "sample_runs" / "requests.jsonl")
    assert "- goal = Answer all 14 letters in letters/. Never promise a date" in out


@pytest.mark.parametrize("head", ["notes", "customer"])
def test_a_field_is_found_by_the_name_that_the_first_line_gives_it(
    command: Command, tmp_path: Path, head: str  # noqa: F811 - the fixture
) -> None:
    """`show` says that order_id left; who asks for order_id is told of that field, whatever holds it."""
    run, messages = record("sheep", goal="Ship it", folder=tmp_path / "runs"), [user("Ship it; order_id is there")]
    for n in range(1, 5):
        held = {"order_id": "ZX-99812"} if n < 3 else {"depot": "Hamburg"}
        messages += [call(f"c{n}", "book", n=n), result(f"c{n}", f"fine {n}")]
        given = {"notes": held} if head == "notes" else {"state": {head: held}}
        run.save(messages, prompt=[{"role": "system", "content": json.dumps(held)}, *messages], **given)
    run.finish()
    path = tmp_path / "runs" / "sheep.json"
    assert "order_id left at 3" in command.text("show", path)
    body = command.json("lifeline", path, "order_id")
    assert (body["field"], body["present"], body["unrecorded"]) == (f"{head}.order_id", [[1, 2]], [3])
