"""Every command is declared once and works; keys do not clash; help, footer and palette come from the list."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from agentmem.model import Begun
from agentmem.safe import plain
from tests.tui.builders import story
from tests.tui.seen import inspecting
from tui.keys import COMMANDS, PALETTE_ONLY, PANE_IDS, bindings, problems
from tui.screens.over.help import help_lines
from tui.screens.run import RunScreen
from tui.widgets.footer import footer_line


def test_no_key_clashes() -> None:
    assert problems() == []


def test_a_keymap_with_an_unknown_name_or_a_taken_key_is_reported() -> None:
    assert problems({"no_such": "a"}) == ["no command is called 'no_such'"]
    assert any("is given to" in found for found in problems({"error": "d"}))
    assert any("the palette" in found for found in problems({"error": "ctrl+p"}))


def test_every_binding_has_an_id_and_a_tooltip_and_ids_are_unique() -> None:
    ids = [binding.id for binding in bindings()]
    assert all(ids) and len(set(ids)) == len(ids)
    assert all(binding.tooltip for binding in bindings())


@pytest.mark.parametrize("command", [*COMMANDS, *PALETTE_ONLY], ids=lambda command: command.id)
def test_every_command_has_its_method(command: object) -> None:
    ident = getattr(command, "id", "")
    assert ident == "quit" or callable(getattr(RunScreen, f"action_{ident}", None))


def test_commands_that_do_not_work_yet_are_no_keys() -> None:
    assert not {"f", "W", "e", "7"} & {key for command in COMMANDS for key in command.keys}


def test_the_help_screen_shows_every_key() -> None:
    shown = "\n".join(line.plain for line in help_lines(200))
    assert all(command.shown in shown and command.tooltip in shown for command in COMMANDS)


def test_the_help_screen_says_what_is_counted_at_the_tabs_and_what_a_cut_looks_like() -> None:
    shown = "\n".join(line.plain for line in help_lines(200))
    assert "−4 ·29     at lost: other steps, not pieces, that lost something" in shown
    assert "…          the text goes on: it is cut here" in shown
    assert "$          the text goes on: it is cut here" in plain(shown)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_sentence_of_the_help_screen_is_cut(width: int) -> None:
    lines = [line.plain for line in help_lines(width)]
    assert all(cell_len(line) <= width for line in lines)
    said = " ".join(" ".join(lines).split())
    assert all(" ".join(command.tooltip.split()) in said for command in COMMANDS)


@pytest.mark.parametrize("width", [60, 79, 80, 100, 120, 150, 300])
def test_the_footer_fills_its_row_exactly_and_always_shows_the_way_to_the_keys(width: int) -> None:
    line = footer_line(None, width)
    assert cell_len(line.plain) == width
    assert "? keys" in line.plain


async def test_the_footer_of_80_columns_has_what_matters_most() -> None:
    """You should see steps, error, drop, boundary, cycle, why, diff, find, keys."""
    async with inspecting(story()) as seen:
        for words in ("← → step", "x error", "d drop", "b boundary", "c cycle", "w why", "= diff", "/ find", "? keys"):
            assert words in seen.rows[-1]


async def test_help_opens_and_escape_leaves_it() -> None:
    """You should see all groups of keys, then the run again."""
    async with inspecting(story(), size=(100, 45)) as seen:
        await seen.press("question_mark")
        await seen.until("agentmem: keys and marks")
        assert "Moving" in seen.text and "Jumping" in seen.text
        await seen.press("escape")
        assert "● LIVE" in seen.header


async def test_escape_goes_one_level_back_and_never_quits() -> None:
    """You should see the zoom go, then the changes, then the steps pane, and still the app."""
    async with inspecting(story(), size=(120, 40)) as seen:
        await seen.press("2", "equals_sign", "z")
        levels = []
        for _ in range(3):
            levels.append((seen.app.run_screen.alone, seen.app.run_screen.changes))
            await seen.press("escape")
        assert levels == [(True, True), (False, True), (False, False)]
        await seen.press("escape", "escape", "escape")
        assert seen.app.run_screen.active == "steps" and "● LIVE" in seen.header


@pytest.mark.parametrize(("width", "order"), [(80, list(PANE_IDS)), (120, ["steps", "prompt", "lost"])])
async def test_tab_goes_round_the_panes(width: int, order: list[str]) -> None:
    """You should see each pane in turn, and the first again."""
    async with inspecting(story(), size=(width, 40)) as seen:
        for ident in [*order[1:], order[0]]:
            await seen.press("tab")
            assert seen.app.run_screen.active == ident
        await seen.press("shift+tab")
        assert seen.app.run_screen.active == order[-1]


async def test_numbers_open_panes() -> None:
    """You should see each pane's tab open."""
    async with inspecting(story()) as seen:
        for number, ident in enumerate(PANE_IDS, 1):
            await seen.press(str(number))
            assert seen.app.run_screen.active == ident


async def test_the_palette_has_every_command() -> None:
    async with inspecting(story()) as seen:
        titles = {found.title for found in seen.app.get_system_commands(seen.app.run_screen)}
        assert {command.palette for command in COMMANDS if command.id not in ("quit", "open", "up", "down")} <= titles


async def test_q_quits() -> None:
    async with inspecting(story()) as seen:
        await seen.press("q")
        assert not seen.app.is_running or seen.app._exit


async def test_the_palette_shows_our_commands_first_and_of_the_toolkit_only_useful_ones() -> None:
    """You should see a step back at the top, with its key, and theme, screenshot and quit at the end."""
    async with inspecting(story()) as seen:
        titles = [found.title for found in seen.app.get_system_commands(seen.app.run_screen)]
        assert titles[0] == "older" and titles[-3:] == ["Theme", "Screenshot", "Quit"]
        await seen.press("ctrl+p")
        await seen.until("← h: One step back")
        assert "Theme" not in seen.text and "Maximize" not in seen.text
        await seen.press(*"nobody knows")
        await seen.until("Guarded calls of which nobody knows")


async def test_a_call_in_doubt_is_said_and_told_whole() -> None:
    """You should see it in the first two rows, and on a sheet its arguments, its key and what to do."""
    call = Begun("main", 31, "send_mail", '{"to":"ann"}', "am_17", 1, 1_790_000_000.0, True)
    async with inspecting(replace(story(), begun=(call,)), until=" fix-pars") as seen:
        assert " ?1 " in seen.header and "? 1 call in doubt: send_mail at step 31, key am_17" in seen.rows[1]
        assert "w why" not in seen.rows[1] and seen.rows[1].rstrip().endswith("u doubts")
        for way in ("click", "key"):
            if way == "click":
                await seen.pilot.click("#verdict", offset=(10, 0))
            else:
                await seen.press("u")
            await seen.said("send_mail at step 31, begun 2026-09-21T14:13:20Z, attempt 1, key am_17:")
            await seen.said("run.guard.happened(KEY, result)")
            await seen.press("escape")
            await seen.until("u doubts")
    async with inspecting(story()) as seen:
        await seen.press("u")
        await seen.until("No call is in doubt.")


async def test_the_shell_is_one_key_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toolkit stops the process; what comes back is its matter too."""
    stopped: list[bool] = []
    async with inspecting(story()) as seen:
        monkeypatch.setattr(seen.app, "action_suspend_process", lambda: stopped.append(True))
        await seen.press("ctrl+z")
        assert stopped == [True]
