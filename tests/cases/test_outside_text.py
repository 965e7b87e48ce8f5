"""What stands in a file reaches the terminal as text: brackets, sequences, bidi, wherever a command prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentmem.cli import main
from tests.cases.written import call, result, said, save, system, user

BRACKETS = [
    "[/'A', 1, /'B']", '[{"key"=1,state=X}]', "[/tmp/x]", "[/]", "}, [/* deps */]);", "ZLEX z [b + should",
    "[@click=app.quit]x[/]", "[red]", "[link=file:///etc/passwd]x[/link]", ":smile:", '{"a":["b"]}',
]  # fmt: skip
SEQUENCES = [
    "\x1b]52;c;QUJD\x07", "\x1b]8;;http://x\x1b\\y", "\x1b]0;title\x07", "\x1b]9;x\x07", "\x1b]777;notify;x\x07",
    "\x1b[2J",
    "\x1b[H", "\x1b[6n", "\x1b[c", "\x1b[>q", "\x1b[201~", "\x1b[?1049h", "\x1bP+q\x1b\\",
    "\x1b_G\x1b\\", "\x1b^x\x1b\\",
    "\x1bXx\x1b\\", "\x1b[31m", "\x07", "\x08", "\r", "\x00", "\x7f", "\x0b", "\x0c", "\x0e", "\x9b31m", "\x1b]0;open",
    "\u202e", "\u2066", "\u200f", "\u200b", "\U000e0041", "\ufff9",
]  # fmt: skip
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e"
    "\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)
COMMANDS = (
    ["show"], ["show", "--step", "2"], ["drops"], ["lost"], ["ledger"], ["diff", "--from", "1", "--to", "2"],
    ["lifeline", "x"], ["line"],
)  # fmt: skip


def everywhere(path: Path, text: str) -> Path:
    """A run with that text as goal, tool, argument, result, error, field name, value, note, status and model."""
    return save(path, {
        "step": 2, "model": text, "goal": f"goal {text}", "notes": f"note {text}", "run_id": f"id {text}",
        "state": {f"name {text}": f"value {text}", "plan": [{"content": f"item {text}", "status": text}]},
        "messages": [
            system(f"system {text}"), user(f"ask {text}"), call("c1", f"tool{text}", **{f"arg{text}": text}),
            result("c1", f"Error: {text}"), said(f"answer {text}"), user(f"Progress so far: {text}"),
            said(text),
        ],
    })  # fmt: skip


@pytest.mark.parametrize("text", BRACKETS + SEQUENCES)
def test_no_text_of_a_file_is_more_than_text(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str) -> None:
    path = everywhere(tmp_path / "run.json", text)
    for command in COMMANDS:
        capfd.readouterr()
        code = main([command[0], str(path), *command[1:], "--no-history"])
        out, err = capfd.readouterr()
        assert code == 0 and err == ""
        assert FORBIDDEN.search(out.replace("\n", "")) is None, command


@pytest.mark.parametrize("text", BRACKETS)
def test_brackets_stand_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str) -> None:
    path = everywhere(tmp_path / "run.json", text)
    assert main(["show", str(path), "--step", "2", "--no-history"]) == 0
    assert f"answer {text}" in capfd.readouterr().out


@pytest.mark.parametrize("text", SEQUENCES)
def test_json_gives_the_text_back_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str) -> None:
    path = everywhere(tmp_path / "run.json", text)
    capfd.readouterr()
    assert main(["show", str(path), "--json", "--no-history"]) == 0
    out, _ = capfd.readouterr()
    assert json.loads(out)["goal"] == f"goal {text}"
    assert FORBIDDEN.search(out.replace("\n", "")) is None


def test_a_lone_surrogate_neither_stops_a_command_nor_leaves_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = everywhere(tmp_path / "run.json", "a\ud800b")
    for command in COMMANDS:
        for more in ([], ["--json"]):
            if command == ["line"] and more:
                continue
            assert main([command[0], str(path), *command[1:], "--no-history", *more]) == 0
            out, _ = capfd.readouterr()
            assert out.encode("utf-8")


def test_a_file_name_is_text_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "run\x1b[31m\u202e.json", [user("a"), said("b")])
    assert main(["show", str(path), "--no-history"]) == 0
    assert FORBIDDEN.search(capfd.readouterr().out.replace("\n", "")) is None
    path.write_text("broken")
    assert main(["show", str(path), "--no-history"]) == 2
    assert FORBIDDEN.search(capfd.readouterr().err.replace("\n", "")) is None
