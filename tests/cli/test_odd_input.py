"""What a fresh user does to the commands: names for paths, files in the middle of a write, huge and odd values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import record
from agentmem.cli import common, experiment
from agentmem.cli import main as agentmem
from tests.cli.test_commands import Command
from tests.formats.helpers import call, result, said, user
from tui.__main__ import Refused, options


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(capfdbinary)


def loop(steps: int, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [user("fix the parser")]
    for number in range(1, steps + 1):
        messages += [call(f"c{number}", path=f"f{number}"), result(f"c{number}", f"text {number}")]
    return {"step": steps, "messages": messages, "notes": "", **more}


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with `runs/` in it, where we stand: one run of ours that ended, one that did not."""
    monkeypatch.chdir(tmp_path)
    for name, ended in ((".hid", True), ("thirty", False)):
        run = record(name, goal=f"the goal of {name}")
        run.save([user("go"), said("ok")])
        run.save([user("go"), said("ok"), user("on"), said("done")])
        if ended:
            run.finish()
    yield tmp_path / "runs"


def test_a_list_names_runs_as_they_name_themselves_and_says_which_ended(command: Command, runs: Path) -> None:
    rows = {row["id"]: row for row in command.json("show", runs)["runs"]}
    assert {name: (row["status"], row["steps"], row["goal"]) for name, row in rows.items()} == {
        ".hid": ("ended", 2, "the goal of .hid"), "thirty": ("live", 2, "the goal of thirty"),
    }  # fmt: skip


def test_a_list_tells_that_a_strangers_run_ended(command: Command, tmp_path: Path) -> None:
    written(tmp_path / "short.json", loop(2, status="done"))
    written(tmp_path / "long.json", {**loop(3000), "status": "done"})
    written(tmp_path / "open.json", loop(3))
    rows = {row["id"]: row for row in command.json("show", tmp_path)["runs"]}
    assert {name: (row["status"], row["steps"]) for name, row in rows.items()} == {
        "short": ("ended", 2), "long": ("ended", 3000), "open": ("live", 3),
    }  # fmt: skip


def test_a_list_keeps_to_its_columns_whatever_the_names(command: Command, tmp_path: Path) -> None:
    for number in range(2):
        written(tmp_path / f"{number}.json", loop(1, run_id=f"{number}" + "x" * 5000, goal="y\nz" * 5000))
    rows = command.text("show", tmp_path).splitlines()
    assert rows[0].split() == ["run", "format", "status", "steps", "done", "changed", "goal", "or", "trouble", "path"]
    assert len(rows) == 3 and all(len(row) < 400 for row in rows)


def test_a_run_is_opened_by_its_name_from_above_and_from_inside_its_folder(
    command: Command, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command.json("show", "thirty")["id"] == "thirty"
    assert command.json("show", ".hid")["id"] == ".hid"
    assert "no such file" in command.refused("show", "forty")
    monkeypatch.chdir(runs)
    assert {row["id"] for row in command.json("show")["runs"]} == {".hid", "thirty"}
    assert command.json("show", "thirty")["id"] == "thirty"


def test_a_lifeline_without_a_text_is_refused(command: Command, tmp_path: Path) -> None:
    assert "TEXT missing" in command.refused("lifeline", written(tmp_path / "a.json", loop(2)))


def test_a_lifeline_of_what_is_nowhere_is_one_line(command: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", loop(2))
    assert command.text("lifeline", path, "nowhere").splitlines() == ["found in no prompt of 3 steps, 1 open"]


def test_a_goal_of_a_megabyte_is_one_short_row(command: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", loop(2, goal="line one\nline two " * 60_000))
    rows = command.text("show", path).splitlines()
    assert rows[1].startswith("goal: line one⏎line two") and len(rows[1]) < 200
    assert max(map(len, rows)) < 400


def test_every_drop_is_one_row_whatever_stands_in_it(command: Command, tmp_path: Path) -> None:
    lines = "first line\nsecond line"
    values = [
        {"step": 1, "messages": [user(lines), said("ok")], "notes": "", "state": {lines: lines, "port": "8443"}},
        {"step": 2, "messages": [user("on"), said("fine")], "notes": "", "state": {"port": "8443"}},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    rows = command.text("drops", path).splitlines()
    assert len(command.json("drops", path)["drops"]) == len([row for row in rows if "last in" in row]) > 0
    assert not [row for row in rows if row.startswith("second line")] and any("⏎" in row for row in rows)


def test_one_version_of_a_list_says_that_its_past_cannot_be_told(command: Command, tmp_path: Path) -> None:
    for name, value in (("a", loop(3)["messages"]), ("b", loop(3))):
        path = written(tmp_path / f"{name}.json", value)
        assert "cannot tell what was left out" in command.text("show", path)
        assert "nothing left unrecorded" not in command.text("show", path)
        assert "cannot be told" in command.text("drops", path)


def test_counts_of_one_are_told_in_the_singular(command: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", [user("go"), said("done")])
    shown = "\n".join(command.text(*words) for words in (
        ("show", path), ("show", path, "--step", 1), ("drops", path), ("ledger", path), ("lost", path),
        ("lifeline", path, "go"), ("lifeline", path, "nowhere"),
    ))  # fmt: skip
    for plural in ("1 steps", "1 tokens", "1 attempts", "1 distinct calls", "1 times", "1 pieces"):
        assert f" {plural}" not in f" {shown}".replace("\n", " "), shown


@pytest.mark.parametrize("messages", ["text", 3, {"a": 1}, [1, "x", None]])
def test_what_is_no_list_of_messages_is_refused_in_one_line(command: Command, tmp_path: Path, messages: object) -> None:
    message = command.refused("show", written(tmp_path / "a.json", {"step": 1, "messages": messages, "notes": ""}))
    assert "a.json" in message and "message" in message


def test_a_file_that_is_rewritten_in_place_all_the_time_is_read(command: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", loop(50))
    whole = path.read_bytes()
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            with path.open("wb") as file:
                file.write(whole[: len(whole) // 2])
                file.flush()
                time.sleep(0.03)
                file.write(whole[len(whole) // 2 :])
            time.sleep(0.02)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for name in ("show", "line", "drops", "ledger") * 3:
            command.json(name, path, "--no-history")
    finally:
        stop.set()
        writer.join()


def test_a_fault_of_ours_is_one_line_without_the_name_of_an_exception(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTMEM_DEBUG", raising=False)
    path = written(tmp_path / "a.json", loop(1))

    def failing(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(common, "open_run", failing)
    message = command.refused("show", path)
    assert "a.json: internal error" in message and "AGENTMEM_DEBUG=1" in message and "ZeroDivision" not in message
    monkeypatch.setenv("AGENTMEM_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        agentmem(["show", str(path)])


def test_an_answer_of_the_system_is_told_with_its_file(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/full/disk")

    monkeypatch.setattr(common, "open_run", failing)
    assert command.refused("show", "x.json") == "agentmem: /full/disk: no space left on device\n"


def cut(data: bytes) -> bytes:
    return data[: len(data) * 6 // 10]


def nulled(data: bytes) -> bytes:
    return data[: len(data) // 3] + bytes(600) + data[len(data) // 3 :]


def glued(data: bytes) -> bytes:
    return data + cut(data)


def beheaded(data: bytes) -> bytes:
    return data[len(data) // 5 :]


REAL = Path(__file__).parents[2].parent / "shared" / "real"
FILES = [path for path in sorted(REAL.rglob("*")) if path.is_file() and path.stat().st_size < 60_000]


@pytest.mark.skipif(not FILES, reason="the real files are not here")
@pytest.mark.parametrize("distort", [cut, nulled, glued, beheaded])
def test_distorted_real_files_give_a_document_or_one_line(
    command: Command, tmp_path: Path, distort: Callable[[bytes], bytes]
) -> None:
    for number, real in enumerate(FILES):
        path = tmp_path / f"{number}-{real.name}"
        path.write_bytes(distort(real.read_bytes()))
        os.utime(path, (1.7e9, 1.7e9))  # nobody is writing it: it is refused at once
        code, out, err = command.all("show", path, "--json", "--no-history")
        assert code in (0, 2) and "internal error" not in err, real
        assert (json.loads(out) if code == 0 else err.count("\n") == 1 and path.name in err), real


def test_a_command_of_a_process_says_one_line_and_leaves_with_two(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tui", "show", str(tmp_path / "none.json")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "none.json: no such file" in done.stderr


@pytest.mark.parametrize("name", ["show", "line", "drops", "lost", "ledger", "history"])
def test_an_empty_path_is_refused_and_is_not_the_newest_run(command: Command, runs: Path, name: str) -> None:
    assert command.refused(name, "") == "agentmem: PATH is empty\n"


@pytest.mark.parametrize("given", [[""], ["watch", ""], ["a.json", "", "--bell"]])
def test_an_empty_path_of_the_inspector_is_refused(given: list[str]) -> None:
    with pytest.raises(Refused, match="PATH is empty"):
        options(given)


def test_history_takes_the_name_of_a_run_as_the_other_commands_do(command: Command, runs: Path) -> None:
    again = record("thirty", goal="another goal", resume=False)
    again.save([user("go"), said("ok")])
    by_path = command.json("history", "runs/thirty.json")["runs"]
    assert len(by_path) == 2 and command.json("history", "thirty")["runs"] == by_path
    assert command.text("history", "thirty").splitlines()[:2] == command.text(
        "history", "runs/thirty.json"
    ).splitlines()[:2]
    assert "nothing is kept of nowhere" in command.text("history", "nowhere")


def test_the_word_that_a_run_gave_when_it_ended_stands_in_the_head_and_the_document(
    command: Command, runs: Path
) -> None:
    run = record("odd", goal="g")
    run.save([user("go"), said("ok")])
    assert command.json("show", "odd")["ended_as"] is None
    run.finish("given up: no key")
    assert command.json("show", "odd")["ended_as"] == "given up: no key"
    head = command.text("show", "odd").splitlines()[0]
    assert "ended: given up: no key" in head and head.endswith("1 token (counted, chars4)")


def test_the_experiment_says_what_its_columns_count(command: Command) -> None:
    with pytest.raises(SystemExit):
        agentmem(["experiment", "--help"])
    said_of = " ".join(experiment.COLUMNS.split())
    assert all(f"{column}:" in said_of for column in ("steps", "tokens", "a call", "fits", "dropped"))
    (row,) = command.json("experiment", "--window", "unlimited")["rows"]
    assert row["total_tokens"] / row["tokens_per_call"] < row["steps"], "by the calls alone, as it says"


def test_a_held_field_is_outside_the_prompt_only_where_all_of_the_prompt_is_known(
    command: Command, runs: Path
) -> None:
    for known in (True, False):
        name = f"known-{known}"
        run = record(name, goal="a goal that no message says")
        run.save(
            [user("go"), said("ok")], state={"port": "8841"}, system="s" if known else None,
            tools=[] if known else None,
        )  # fmt: skip
        step = command.text("show", name, "--step", 1)
        assert ("held, not in the prompt" in step) is known
        assert ("held; the prompt is not known whole" in step) is not known
        found = command.text("lifeline", name, "port")
        assert ("held outside it 1" in found) is known and ("not found in it 1" in found) is not known
