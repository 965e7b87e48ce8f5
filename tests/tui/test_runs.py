"""Several runs, lanes, trouble, the bell, the editor, copies, raw records: what stands around one run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentmem.model import Lane, RunInfo
from tests.tui.builders import calm, many, story
from tests.tui.seen import inspecting, watching
from tests.tui.sources import Progress, RunChanged, RunsChanged, Trouble
from tui.screens.leaving import editor_command


async def test_dots_and_brackets_go_to_the_other_run_and_it_is_followed() -> None:
    """You should see the other run at its newest step."""
    async with inspecting(story(), calm()) as seen:
        await seen.press("left")
        for key in ("full_stop", "right_square_bracket"):
            await seen.press(key)
            await seen.until(" calm 5/5 ")
            assert "● LIVE" in seen.header
            await seen.press("comma" if key == "full_stop" else "left_square_bracket")
            await seen.until(" fix-parser 31/31 ")


async def test_the_list_of_runs_opens_one() -> None:
    """You should see both runs with their goals, then the chosen one."""
    async with inspecting(story(), calm()) as seen:
        await seen.press("R")
        await seen.until("runs: 2 of 2 live")
        assert "fix-parser" in seen.text and "calm" in seen.text
        await seen.press("down", "enter")
        await seen.until(" calm 5/5 ")


async def test_typing_filters_the_list_of_runs_and_escape_takes_it_back() -> None:
    """You should see one run of thousands, then all again, then the run that was open."""
    rows = tuple(
        RunInfo(f"run-{n}", f"/x/run-{n}.json", "codex", 1000.0 - n, "live" if n < 3 else "ended", n, f"goal {n}",
                model="gpt", tokens=500, window=1000, silent=n % 2, cycles=2)
        for n in range(5_000)
    )  # fmt: skip
    async with inspecting(story(), size=(120, 24)) as seen:
        await seen.play(RunsChanged(rows), until="fix-parser")
        await seen.press("R")
        await seen.until("runs: 3 of 5000 live")
        row = await seen.row("● run-1 ")
        assert all(words in row for words in ("codex", "gpt", "50%", "▲1", "↻2", "goal 1"))
        await seen.press(*"4321 q")
        await seen.until("No run holds 4321 q")
        await seen.press("backspace", "backspace")
        await seen.until("1 hold: 4321")
        assert sum("codex" in row for row in seen.rows) == 1
        await seen.press("escape")
        await seen.until("type to filter")
        await seen.press("escape")
        await seen.until("31 of 31")


async def test_the_list_tells_alarms_and_share_of_the_window_of_runs_that_were_open() -> None:
    """You should see them beside the run that is open, and nothing beside one that never was."""
    async with inspecting(story(), calm()) as seen:
        await seen.press("R")
        row = await seen.row("fix-parser", "64%", "▲1", "↻1")
        assert row.startswith("▌")
        assert "%" not in await seen.row(" calm ")


async def test_a_list_that_changes_keeps_the_cursor_on_its_run() -> None:
    """You should see the cursor on the same run, though another has come before it."""
    async with inspecting(story(), calm()) as seen:
        await seen.press("R", "down")
        await seen.until("▌● calm")
        rows = [RunInfo(run.id, run.path, run.format, None, "live") for run in (many(3), story(), calm())]
        await seen.play(RunsChanged(tuple(rows)), until="runs: 3 of 3 live")
        await seen.until("▌● calm")


async def test_the_keys_for_the_other_run_go_round_all_of_them_while_the_list_turns() -> None:
    """You should see each run once before the first comes again, whichever changed last."""
    runs = [story(), calm(), many(4)]
    infos = [RunInfo(run.id, run.path, run.format, None, "live") for run in runs]
    async with inspecting(*runs) as seen:
        opened = []
        for turn in range(3):
            await seen.play(RunsChanged(tuple(infos[turn:] + infos[:turn])), until="1 steps")
            await seen.press("full_stop")
            await seen.until(f" {runs[(turn + 1) % 3].id} {len(runs[(turn + 1) % 3].main.steps)}/")
            opened.append(seen.app.run_screen.reader.run)
        assert len({run.id for run in opened if run is not None}) == 3


async def test_one_run_says_that_there_is_no_other() -> None:
    """You should see a sentence."""
    async with inspecting(story()) as seen:
        await seen.press("full_stop")
        await seen.until("There is one run.")


async def test_lanes_are_gone_through() -> None:
    """You should see the lane's name and its own steps."""
    run = story()
    steps = tuple(replace(step, lane="sub") for step in story(7).main.steps)
    other = Lane("sub", "subagent", steps, ("main", 3), "scout")
    async with inspecting(replace(run, lanes=(run.main, other)), size=(120, 40)) as seen:
        await seen.press("L")
        await seen.until("lane scout")
        assert "step 7 of 7" in seen.header
        await seen.press("L")
        await seen.until("step 31 of 31")


async def test_more_than_two_lanes_are_offered_as_a_list() -> None:
    """You should see kind, name and steps of each, then the chosen one."""
    run = story()
    others = []
    for name in ("scout", "writer"):
        steps = tuple(replace(step, lane=name) for step in story(7).main.steps)
        others.append(Lane(name, "subagent", steps, ("main", 3), name))
    async with inspecting(replace(run, lanes=(run.main, *others)), size=(120, 40)) as seen:
        await seen.press("L")
        await seen.until("3 lanes of fix-parser")
        assert "step 3 of main" in seen.text
        await seen.press("down", "down", "enter")
        await seen.until("lane writer")


async def test_a_failing_worker_is_said_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """You should see why it stopped, the last good run, and later steps again."""
    monkeypatch.setattr("tui.app.RETRY_SECONDS", 0.05)
    async with inspecting(story(20), size=(120, 40)) as seen:
        await seen.play(PermissionError(13, "permission denied"), until="! follower stopped: PermissionError")
        assert "step 20 of 20" in seen.header
        await seen.play(RunChanged(story(21)), Trouble(""), until="step 21 of 21")
        await seen.until_gone("follower stopped")


async def test_trouble_comes_and_goes() -> None:
    """You should see it beside the name, on a narrow screen in a row of its own and on `!`; then the name alone."""
    for size in ((80, 24), (120, 40)):
        async with inspecting(story(), size=size) as seen:
            await seen.play(Trouble("no file events here, polling"), until="! no file events here")
            assert "64%" in seen.header and " fix-parser" in seen.header
            await seen.press("exclamation_mark")
            await seen.until("problems")
            assert "no file events here, polling" in seen.text
            await seen.press("escape")
            await seen.play(Trouble(""), until=" fix-parser ")
            await seen.until_gone("!")


async def test_a_run_that_cannot_be_opened_is_shown_as_itself(tmp_path: Path) -> None:
    """You should see its reason in its own place, never beside another run, and the keys lead past it."""
    for name, age in (("first", 0), ("bad", 60), ("last", 120)):
        path = tmp_path / f"{name}.json"
        told = [{"role": "user", "content": name}, {"role": "assistant", "content": "done"}]
        path.write_text(json.dumps({"run_id": name, "step": 1, "messages": [5] * 300_000 if name == "bad" else told}))
        os.utime(path, (1_790_000_000 - age,) * 2)
    async with watching([tmp_path], until=" first ") as seen:
        await seen.read(1)
        await seen.press("right_square_bracket")
        await seen.until("bad: it cannot be read.")
        assert "no message in its list of 300000" in seen.text and "first" not in seen.text
        await seen.press("i", "y")
        await seen.until("Nothing to copy here.")
        await seen.press("right_square_bracket")
        await seen.until(" last ")
        await seen.press("left_square_bracket")
        await seen.until("bad: it cannot be read.")
        await seen.press("left_square_bracket")
        await seen.until(" first ")
        await seen.pilot.pause(0.3)
        assert "!" not in seen.header and "300000" not in seen.text


async def test_a_big_file_says_how_much_is_read() -> None:
    """You should see megabytes in the ruler's row until all is read."""
    async with inspecting(story(), size=(120, 40)) as seen:
        await seen.play(Progress(12_400_000, 500_000_000), until="12.4 of 500.0 MB read; later steps come")
        seen.source.play(Progress(500_000_000, 500_000_000))
        await seen.until_gone("MB read")


async def test_the_bell_rings_for_a_new_silent_drop_and_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr("tui.app.Inspector.bell", lambda app: rung.append("bell"))
    for asked, count in ((False, 0), (True, 1)):
        async with inspecting(story(28), bell=asked) as seen:
            await seen.play(RunChanged(story(29)), until="29/29")
            await seen.play(RunChanged(story(30)), until="30/30")
        assert len(rung) == count


async def test_a_raw_record_shows_its_file_and_line() -> None:
    """You should see the record."""
    async with inspecting(story()) as seen:
        await seen.press("x", "r")
        await seen.until("/tmp/run.jsonl, line 12")
        assert '{"role": "assistant"}' in seen.text


async def test_a_figure_says_how_it_was_counted() -> None:
    """You should see rule and source."""
    async with inspecting(story()) as seen:
        await seen.press("i")
        await seen.until("counted with chars4, an estimate")
        assert "window: 32,000, from the file" in seen.text


async def test_a_base_is_marked_and_taken_back() -> None:
    """You should see which step changes are against."""
    async with inspecting(story()) as seen:
        await seen.press("left", "m")
        await seen.until("Changes are against step 30 now.")
        await seen.press("m")
        await seen.until("Changes are against the parent step")


async def test_the_editor_opens_the_record_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an editor you should see what to set."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with inspecting(story()) as seen:
        await seen.press("o")
        await seen.until("No editor: set VISUAL or EDITOR.")


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vim", ["vim", "+12", "/x"]), ("code -w", ["code", "-w", "-g", "/x:12"]), ("hx", ["hx", "/x:12"]),
        ("unknown --flag", ["unknown", "--flag", "/x"]), ("/usr/bin/nano", ["/usr/bin/nano", "+12", "/x"]),
    ],
)  # fmt: skip
def test_editors_are_told_the_line_as_they_want_it(editor: str, command: list[str]) -> None:
    assert editor_command(editor, "/x", 12) == command
    assert editor_command("vim", "/x", None) == ["vim", "/x"]


async def test_a_copy_that_cannot_be_written_still_goes_to_the_clipboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """You should see that there is no file, and why."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(blocked))
    async with inspecting(story()) as seen:
        await seen.press("y")
        await seen.until("no file:")
        assert seen.app.clipboard.startswith("step 31")


async def test_a_long_run_opens_at_its_end_and_jumps_in_the_middle() -> None:
    """You should see the newest steps, then step 1455 with its neighbours on both sides."""
    async with inspecting(many(1500)) as seen:
        assert "1500" in seen.cursor_row
        await seen.press("x")
        assert " 1455/1500 " in seen.header
        assert "1454" in seen.text and "1456" in seen.text
