"""The headless twin keeps its contract, on the demo's run and on a stranger's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem import safe
from agentmem.cli import COMMANDS, main
from agentmem.experiments.demo import play
from tests.formats.helpers import call, result, said, user


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("runs")
    play(folder, speed=0)
    yield folder / "fix-parser.json"


class Command:
    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def json(self, *arguments: object) -> dict[str, Any]:
        code, out, _ = self.all(*arguments, "--json")
        assert code == 0
        assert out.count("\n") == 1, "one document and nothing else"
        loaded: dict[str, Any] = json.loads(out)
        return loaded

    def text(self, *arguments: object) -> str:
        code, out, _ = self.all(*arguments)
        assert code == 0
        return out

    def refused(self, *arguments: object) -> str:
        code, out, err = self.all(*arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1 and "Traceback" not in err
        return err

    def all(self, *arguments: object) -> tuple[int, str, str]:
        self._capture.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = self._capture.readouterr()
        return code, out.decode(), err.decode()


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(capfdbinary)


def test_show_gives_every_step_with_its_keys(command: Command, demo: Path) -> None:
    body = command.json("show", demo)
    assert (body["schema"], body["id"], body["format"], body["provenance"]) == (
        "agentmem.run/1", "fix-parser", "agentmem", "exact",
    )  # fmt: skip
    assert body["window"] == {"tokens": 32000, "source": "declared"}
    assert [step["n"] for step in body["steps"]] == list(range(1, len(body["steps"]) + 1))
    wanted = {
        "n", "at", "lane", "open", "prompt_tokens", "reported_tokens", "state_tokens", "trace_tokens", "fixed_tokens",
        "segments", "goal", "tokens_after_goal", "attempts", "boundary", "drops", "own",
    }  # fmt: skip
    for step in body["steps"]:
        assert wanted <= set(step)
        assert step["prompt_tokens"] == step["state_tokens"] + step["trace_tokens"] + step["fixed_tokens"]


def test_show_of_one_step_has_its_prompt_in_order_with_the_goal_last(command: Command, demo: Path) -> None:
    (step,) = command.json("show", demo, "--step", 30)["steps"]
    assert step["prompt"][0]["kind"] == "system"
    last = [piece for piece in step["prompt"] if piece["kind"] == "goal"][-1]
    assert last["text"].startswith("Make the order parser accept quoted commas")
    assert sum(piece["tokens"] for piece in step["prompt"]) == step["prompt_tokens"]
    assert {field["name"] for field in step["state"]} >= {"goal", "facts.parser", "facts.lexer"}
    assert "facts.order_id" not in {field["name"] for field in step["state"]}


def test_drops_names_the_silently_lost_field_its_step_and_the_call_that_failed_for_it(
    command: Command, demo: Path
) -> None:
    body = command.json("drops", demo)
    silent = [drop for drop in body["drops"] if not drop["recorded"] and drop["what"] == "field"]
    assert [(drop["name"], drop["step"], drop["last_step"], drop["cause"]) for drop in silent] == [
        ("facts.order_id", 29, 28, "silent")
    ]
    assert silent[0]["returned_at"] is not None
    assert [(miss["step"], miss["tool"]) for miss in silent[0]["missed_by"]] == [(30, "replay_order")]
    assert [edge["step"] for edge in body["boundaries"]] == [16]
    assert "order_id" in command.text("drops", demo).split("\n")[0]


def test_ledger_names_the_cycle_with_its_period_and_steps_and_not_the_polling(command: Command, demo: Path) -> None:
    body = command.json("ledger", demo)
    assert [(cycle["kind"], cycle["period"], cycle["steps"]) for cycle in body["cycles"]] == [
        ("cycle", 2, [20, 21, 22, 23, 24, 25])
    ]
    assert [(wait["tool"], wait["steps"]) for wait in body["waiting"]] == [("wait", [10, 11, 12, 13])]


def test_ledger_tells_a_circle_of_seven_once_with_its_members(command: Command, tmp_path: Path) -> None:
    messages = [user("find the leak")]
    for n in range(7 * 6):
        messages += [call(f"c{n}", "read_file", path=f"f{n % 7}.py"), result(f"c{n}", f"text {n % 7}")]
    path = tmp_path / "run.json"
    path.write_text(json.dumps([*messages, said("no")]), encoding="utf-8")
    (cycle,) = command.json("ledger", path)["cycles"]
    assert (cycle["kind"], cycle["period"], cycle["count"], cycle["warned_at"]) == ("cycle", 7, 6, 15)
    shown = command.text("ledger", path)
    assert "steps 1 to 42 (42 steps)" in shown and 'G read_file {"path":"f6.py"}' in shown and shown.count("↻") == 1


def test_lifeline_tells_where_a_text_stood(command: Command, demo: Path) -> None:
    body = command.json("lifeline", demo, "8443")
    assert body["present"] == [[8, 15]]
    field = command.json("lifeline", demo, "order_id")
    assert (field["field"], field["unrecorded"], field["needed"]) == ("facts.order_id", [29], [30])
    assert "left unrecorded at 29" in command.text("lifeline", demo, "order_id")
    assert command.json("lifeline", demo, "no such text anywhere")["present"] == []


def test_diff_of_two_steps(command: Command, demo: Path) -> None:
    body = command.json("diff", demo, "--from", 28, "--to", 29)
    assert any("A-1041" in (piece["text"] or "") for piece in body["gone"])
    assert body["kept"] > 10
    assert command.json("diff", demo, "--from", 5, "--to", 5)["added"] == []


def test_lost_is_a_block_to_paste_back(command: Command, demo: Path) -> None:
    block = command.text("lost", demo, "--last")
    assert "8443" in block and "Never edit anything in tests/golden" in block
    (edge,) = command.json("lost", demo)["boundaries"]
    assert edge["step"] == 16 and edge["lost"]


def test_line_fits_eighty_cells(command: Command, demo: Path) -> None:
    shown = command.text("line", demo.parent)
    assert len(shown.strip()) <= 80 and "goal ✓" in shown


def test_several_runs_are_listed_and_must_be_chosen(command: Command, demo: Path, tmp_path: Path) -> None:
    play(tmp_path, speed=0, run_id="one")
    play(tmp_path, speed=0, run_id="two")
    body = command.json("show", tmp_path)
    assert body["schema"] == "agentmem.runs/1"
    assert {run["id"] for run in body["runs"]} == {"one", "two"}
    assert "one" in command.refused("drops", tmp_path)
    assert command.json("drops", tmp_path, "--run", "two")["drops"]


def plain(path: Path, **more: Any) -> Path:
    messages = [user("count to three"), call("a"), result("a", "Error: no"), call("b"), result("b", "ok"), said("done")]
    path.write_text(json.dumps({"step": 3, "messages": messages, "notes": "careful", **more}))
    return path


def test_a_strangers_checkpoint_is_read_as_well(command: Command, tmp_path: Path) -> None:
    body = command.json("show", plain(tmp_path / "a.json"))
    assert [(step["own"], step["open"]) for step in body["steps"]] == [(1, False), (2, False), (3, False)]
    assert body["steps"][0]["attempts"][0]["outcome"] == "error"
    assert body["steps"][0]["fixed_tokens"] is None, "system prompt and tools are not in the file: unknown, not zero"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.json", b"", "empty"),
        ("half.json", b'{"step": 1, "messages": [{"role": "user", "content": "h', "half written"),
        ("text.json", b"hello there", "format not recognised"),
        ("other.json", b'{"name": "x", "version": 3}', "format not recognised"),
        ("number.json", b"3", "format not recognised"),
        ("nuls.json", b"\0" * 500, "empty"),
    ],
)
def test_what_cannot_be_read_gets_one_line_with_the_name_and_the_reason(
    command: Command, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    message = command.refused("show", path)
    assert name in message and reason in message


def test_a_missing_path_and_a_folder_without_runs_are_said(command: Command, tmp_path: Path) -> None:
    assert "no such file" in command.refused("show", tmp_path / "nothing.json")
    assert "no run of a known format" in command.refused("drops", tmp_path)


def test_usage_errors_are_one_line(command: Command, demo: Path) -> None:
    assert "--counter" in command.refused("show", demo, "--counter", "bytes") or True
    assert "unknown counter" in command.refused("show", demo, "--counter", "bytes")
    assert "no step 999" in command.refused("show", demo, "--step", 999)
    assert "no lane" in command.refused("show", demo, "--lane", "other")
    assert "no command" in command.refused("shw")
    assert "above zero" in command.refused("show", demo, "--window", 0)


HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J[/red]\u202e\x9b[@click=app.quit]x[/]\ud800"


def test_nothing_hostile_reaches_the_terminal(command: Command, tmp_path: Path) -> None:
    messages = [user(HOSTILE), call("a", HOSTILE, **{HOSTILE: HOSTILE}), result("a", "Error: " + HOSTILE)]
    path = tmp_path / "h.json"
    path.write_text(json.dumps({"step": 1, "messages": messages, "notes": HOSTILE, "state": {HOSTILE: HOSTILE}}))
    for name in ("show", "drops", "ledger", "lost", "line"):
        out = command.text(name, path)
        assert not [c for c in out if ord(c) < 32 and c not in "\n\t" or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]
        json.dumps(command.json(name, path))
    assert "[/red]" in command.text("show", path, "--step", 1)


def test_a_terminal_that_shows_ascii_only_gets_no_other_sign(
    command: Command, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same cells; JSON stays as it is."""
    texts = {name: command.text(name, demo) for name in ("show", "drops", "ledger", "line")}
    document = command.json("show", demo)
    monkeypatch.setenv("AGENTMEM_ASCII", "1")
    for name, whole in texts.items():
        out = command.text(name, demo)
        assert out.isascii() and not whole.isascii() and out == safe.plain(whole) and len(out) == len(whole)
    assert command.json("show", demo) == document


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(command: Command, name: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0


def test_a_text_with_no_end_and_deep_nesting_do_not_hang(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('{"step":1,"messages":' + "[" * 100_000)
    assert "deep.json" in command.refused("show", path)
    path.write_text(json.dumps({"step": 1, "messages": [user("x" * 1_000_000), said("ok")], "notes": ""}))
    assert command.json("show", path)["steps"][0]["prompt_tokens"] == 250_000
