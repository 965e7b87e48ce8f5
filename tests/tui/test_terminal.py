"""The real app in a real terminal: what bytes it writes, and how it starts and ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.terminal import ROOT, Terminal
from tui.__main__ import is_place, options
from tui.terminal import skeleton

MARK = "HOSTILE"
ATTACK = (
    f"{MARK}\x1b[31m{MARK}\x1b]0;{MARK}\x07{MARK}\x1b]52;c;{MARK}\x07\x1b]8;;{MARK}\x07\x9b5n{MARK}\x90q{MARK}"
    f"\u202e{MARK}[@click=app.quit]{MARK}[/]\r{MARK}\x08\x00"
)


def write_run(folder: Path) -> Path:
    messages = [
        {"role": "system", "content": ATTACK},
        {"role": "user", "content": f"a goal {ATTACK}"},
        {"role": "assistant", "content": ATTACK, "tool_calls": [
            {"id": ATTACK, "type": "function",
             "function": {"name": f"tool{ATTACK}", "arguments": json.dumps({"a": ATTACK})}},
        ]},
        {"role": "tool", "tool_call_id": ATTACK, "content": f"Error: {ATTACK}"},
        {"role": "assistant", "content": "done"},
    ]  # fmt: skip
    path = folder / "runs" / "hostile.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"messages": messages, "state": {"goal": ATTACK, "facts": {ATTACK: ATTACK}}}))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_no_byte_of_a_transcript_acts_on_the_terminal(folder: Path) -> None:
    """What the transcript holds never follows an escape byte, and no C1 or bidi control is written."""
    path = write_run(folder)
    terminal = Terminal(["watch", str(path)], folder, (120, 40))
    try:
        terminal.until(MARK)
        for key in ("1", "2", "=", "3", "4", "5", "6", "w", "i"):
            terminal.type(key)
            terminal.settle()
        terminal.type("\x1b")
        terminal.settle(0.5)
        assert terminal.end() == 0
    finally:
        terminal.close()
    for sequence in (f"\x1b[31m{MARK}", f"\x1b]0;{MARK}", f"\x1b]52;c;{MARK}", f"\x1b]8;;{MARK}", f"\x9b5n{MARK}",
                     f"\x90q{MARK}", f"\u202e{MARK}", f"\r{MARK}", f"{MARK}\x08"):  # fmt: skip
        assert sequence.encode() not in terminal.seen
    assert "\u202e".encode() not in terminal.seen and "\x9b".encode() not in terminal.seen


def test_the_screen_is_given_back(folder: Path) -> None:
    """The alternate screen is left, the cursor is shown, and the file is as it was."""
    path = write_run(folder)
    before = path.read_bytes()
    terminal = Terminal([], folder)
    try:
        terminal.until("hostile")
        assert terminal.end() == 0
    finally:
        terminal.close()
    tail = terminal.seen[-400:]
    assert b"\x1b[?1049l" in tail and b"\x1b[?25h" in tail
    assert path.read_bytes() == before and sorted(p.name for p in path.parent.iterdir()) == ["hostile.json"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["terminated", "hung up"])
def test_a_signal_gives_the_screen_back_as_well(folder: Path, number: int) -> None:
    """The alternate screen, the mouse and hidden cursor are left, keys are read as before, it dies of the signal."""
    terminal = Terminal([str(write_run(folder))], folder)
    try:
        before = terminal.modes()
        terminal.until("hostile")
        terminal.settle()
        assert terminal.modes() != before
        assert terminal.signal(number) == -number
        assert terminal.modes() == before
    finally:
        terminal.close()
    for left in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l"):
        assert left in terminal.seen[-400:]


def test_the_screen_is_painted_whole_when_it_comes_back_from_the_shell(folder: Path) -> None:
    """You should see the header, the steps and the footer again, though nothing of them has changed."""
    terminal = Terminal([str(write_run(folder))], folder)
    try:
        terminal.until("hostile")
        terminal.settle()
        terminal.stop()
        before = len(terminal.seen)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.settle(0.5)
        assert all(words in terminal.seen[before:] for words in (b"hostile", b"steps", b" keys"))
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_a_run_that_appears_later_opens_by_itself(folder: Path) -> None:
    """You should see that nothing is there, then the run."""
    terminal = Terminal([], folder)
    try:
        terminal.until("No runs found here.")
        write_run(folder)
        terminal.until("hostile", 40)  # a run that comes before the file events do is found by the next look
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_names_are_completed_however_fast_one_types(folder: Path) -> None:
    """You should see the name once, though the terminal brings `/`, `g` and Tab in one go."""
    terminal = Terminal(["watch", str(write_run(folder))], folder, (100, 30))
    try:
        terminal.until("hostile")
        terminal.settle()
        terminal.type("/")
        terminal.until("Tab takes a field's name")
        terminal.type("go\t")
        terminal.until("goal")
        terminal.settle()
        terminal.type("\x1b")
        terminal.settle(0.5)
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert b"goalgo" not in terminal.seen


def test_the_editor_gets_the_screen_and_gives_it_back(folder: Path) -> None:
    """You should see the editor with file and line while it runs, then the inspector where it was."""
    editor = folder / "vi"
    editor.write_text('#!/bin/sh\necho "opened $*"\nread line\n')
    editor.chmod(0o755)
    path = write_run(folder)
    terminal = Terminal(["watch", str(path)], folder, (100, 30), {"EDITOR": str(editor)})
    try:
        terminal.until("hostile")
        terminal.settle()
        terminal.type("2")
        terminal.settle()
        terminal.type("o")
        terminal.until("opened ")
        terminal.until(str(path))
        before = len(terminal.seen)
        terminal.type("\r")
        terminal.settle(0.5)
        assert b"hostile" in terminal.seen[before:]
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_a_subcommand_loads_no_toolkit() -> None:
    code = (
        "import sys; from tui.__main__ import main; code = main(['--version']); "
        "assert not {'textual', 'rich'} & set(sys.modules); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True).returncode == 0


def test_the_first_paint_waits_for_no_reader() -> None:
    """What the worker needs is loaded in its thread, behind the first paint."""
    code = "import sys, tui.app; sys.exit(any(n in sys.modules for n in ('agentmem.model', 'agentmem.formats')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shwo", "x"], "no command 'shwo'"),
        (["watch", "--window", "0"], "--window 0 is not above zero"),
        (["--bel"], "unrecognized arguments: --bel"),
        (["watch", "x"], "the inspector needs a terminal"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(arguments: list[str], words: str) -> None:
    command = [sys.executable, "-m", "tui", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_places_are_told_from_mistyped_commands(tmp_path: Path) -> None:
    assert is_place(str(tmp_path)) and is_place("runs/*.json") and is_place("postgresql://host/db")
    assert not is_place("shwo")


def test_watch_and_bare_paths_take_the_same_options() -> None:
    assert options(["watch", "a", "b", "--bell"]).path == options(["a", "b", "--bell"]).path == ["a", "b"]
    assert options(["demo", "--speed", "5"]).speed == 5.0


def test_the_screen_is_not_drawn_into_a_file(tmp_path: Path) -> None:
    """The toolkit draws on standard error: `agentmem watch x 2>log` must not stand there, blank."""
    terminal, seen = os.openpty()
    command = [sys.executable, "-m", "tui", "watch", "x"]
    done = subprocess.run(command, cwd=ROOT, check=False, stdin=seen, stdout=seen, stderr=subprocess.PIPE, text=True)
    os.close(terminal)
    os.close(seen)
    assert done.returncode == 2 and "standard error" in done.stderr and done.stderr.count("\n") == 1


def test_the_skeleton_leaves_the_screen_when_the_start_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), skeleton():
        raise KeyboardInterrupt
    said = capsys.readouterr().err
    assert said.startswith("\x1b[?1049h") and said.endswith("\x1b[?1049l") and "reading" in said


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_the_folder_of_the_demo_goes_when_its_terminal_does(name: str, tmp_path: Path) -> None:
    code = (
        "import os, signal, threading; from tui.__main__ import start_demo; from tui.terminal import gone_with\n"
        "stop, made = threading.Event(), []; gone_with(made, stop)\n"
        "folder = start_demo(None, 1.0, stop, made); assert made == [folder] and os.path.isdir(folder)\n"
        f"os.kill(os.getpid(), signal.{name})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == -getattr(signal, name), "it still dies of the signal"
    assert list(tmp_path.glob("agentmem-demo-*")) == []


@pytest.mark.parametrize("ignored", [False, True], ids=["as usual", "hang-up ignored"])
def test_the_app_ends_with_its_terminal(tmp_path: Path, ignored: bool) -> None:
    """Else the toolkit reads the end of a terminal that is gone for ever, at the cost of a core. This terminal does not
    control the process, so that no signal comes of itself."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN) if ignored else None
    terminal = Terminal(["watch", str(ROOT / "sample_runs" / "plain.json")], tmp_path)
    if ignored:
        signal.signal(signal.SIGHUP, before)
    try:
        terminal.until("step")
        terminal.hang_up()
        assert terminal.process.wait(20) == -signal.SIGHUP
    finally:
        terminal.process.kill()
        terminal.process.wait()


@pytest.mark.parametrize(
    "env", [{"AGENTMEM_ASCII": "1"}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, {"TERM": "linux"}],
    ids=["asked", "no UTF-8", "console"],
)  # fmt: skip
def test_a_terminal_that_shows_ascii_only_gets_nothing_else(env: dict[str, str], folder: Path) -> None:
    """Signs of ours have others in the same cells; no escape of Python stands on the screen."""
    for name in ("fix-parser.json", "fix-parser.steps.jsonl"):
        shutil.copy(ROOT / "sample_runs" / name, folder)
    terminal = Terminal(["watch", "fix-parser.json"], folder, env=env)
    terminal.until("# ENDED")
    terminal.settle()
    assert terminal.end() == 0
    assert terminal.seen.isascii() and b"\\u" not in terminal.seen
