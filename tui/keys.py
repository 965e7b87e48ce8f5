"""Every command, declared once: the bindings, the footer, the help screen and the palette are made from this list.

A command that does not work yet is not here. `problems()` says what would clash; a test holds it empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from textual.binding import Binding

Group = Literal["move", "jump", "look", "pane", "run", "take", "app"]
GROUPS: Mapping[Group, str] = {
    "move": "Moving", "jump": "Jumping", "look": "Looking closer", "pane": "Panes", "run": "Runs and lanes",
    "take": "Taking away", "app": "The inspector",
}  # fmt: skip


class Command(msgspec.Struct, frozen=True):
    id: str
    """Also the name of the screen's method: `action_ID`, and the binding's id for a keymap."""
    keys: tuple[str, ...]
    """Names as the toolkit knows them."""
    shown: str
    """As the reader sees them."""
    label: str
    """For the footer, one or two words."""
    tooltip: str
    """One sentence: help screen and palette."""
    group: Group
    footer: int | None = None
    """Rank in the footer, 1 first; None: not in it."""
    right: bool = False
    """Stands at the footer's right end, and goes last."""

    @property
    def palette(self) -> str:
        """What the palette calls it."""
        return self.id.replace("_", " ")


def _c(
    id: str, keys: str, shown: str, label: str, tooltip: str, group: Group, footer: int | None = None,
    right: bool = False,
) -> Command:  # fmt: skip
    return Command(id, tuple(keys.split()), shown, label, tooltip, group, footer, right)


COMMANDS: tuple[Command, ...] = (
    _c("older", "left h", "← h", "step", "One step back; moving back stops following.", "move", 1),
    _c("newer", "right l", "→ l", "step", "One step on.", "move"),
    _c("older_ten", "shift+left", "shift ←", "ten", "Ten steps back.", "move"),
    _c("newer_ten", "shift+right", "shift →", "ten", "Ten steps on.", "move"),
    _c("go_to", "g", "g", "go to", "Go to a step by its number.", "move", 15),
    _c("first", "home", "Home", "first", "The first step.", "move"),
    _c("now", "end", "End", "now", "The newest step, and follow it.", "move"),
    _c("follow", "space", "space", "follow", "Follow the newest step, or stop following.", "move", 9),
    _c("up", "up k", "↑ k", "up", "One row up in the pane; in steps one step back.", "move"),
    _c("down", "down j", "↓ j", "down", "One row down in the pane; in steps one step on.", "move"),
    _c("page_up", "pageup", "PgUp", "page up", "A page up in the pane.", "move"),
    _c("page_down", "pagedown", "PgDn", "page down", "A page down in the pane.", "move"),
    _c("error", "x", "x", "error", "The newest failed call at or before the cursor; again: the one before.", "jump", 2),
    _c("error_newer", "X", "X", "error", "The next failed call.", "jump"),
    _c("drop", "d", "d", "drop", "The newest loss, a row of alike ones as one; again: the one before.", "jump", 3),
    _c("drop_newer", "D", "D", "drop", "The next step that lost something.", "jump"),
    _c("boundary", "b", "b", "boundary", "The newest compaction, trim or rewrite; again: the one before.", "jump", 4),
    _c("boundary_newer", "B", "B", "boundary", "The next compaction, trim or rewrite.", "jump"),
    _c("cycle", "c", "c", "cycle", "Where the newest cycle was named; again: the one before.", "jump", 5),
    _c("cycle_newer", "C", "C", "cycle", "Where the next cycle was named.", "jump"),
    _c("repeat", "n", "n", "again", "Repeat the last jump or find.", "jump"),
    _c("repeat_newer", "N", "N", "again", "Repeat the last jump or find, towards newer steps.", "jump"),
    _c("why", "w", "w", "why", "Why this step failed, else the first line's cause: drop, last step, birth.", "look", 6),
    _c("find", "slash", "/", "find", "Find a text: its lifeline is drawn while you type.", "look", 8),
    _c("changes", "equals_sign v", "= v", "diff", "Show the whole prompt, or only what changed.", "look", 7),
    _c("base", "m", "m", "base", "Mark this step as the base of the comparison; again: the parent step.", "look"),
    _c("pin", "p", "p", "pin", "Follow the piece under the cursor, or the text last found, as a lifeline.", "look", 13),
    _c("raw", "r", "r", "raw", "The raw record of the piece under the cursor, with file and line.", "look", 12),
    _c("counted", "i", "i", "counted", "How a figure was counted: rule, evidence, source.", "look", 14),
    _c("doubts", "u", "u", "doubts", "Guarded calls of which nobody knows whether they happened.", "look"),
    _c("open", "enter", "Enter", "open", "Open the row under the cursor.", "look"),
    _c("timeline", "Z", "Z", "timeline", "Zoom the timeline around the cursor, or show the whole run.", "look"),
    _c("pane_steps", "1", "1", "steps", "One row a step.", "pane"),
    _c("pane_prompt", "2", "2", "prompt", "What the model saw, answered, and what came back.", "pane"),
    _c("pane_lost", "3", "3", "lost", "What left the prompt or the state, and what that led to.", "pane"),
    _c("pane_loops", "4", "4", "loops", "Cycles, waiting, and all attempts.", "pane"),
    _c("pane_state", "5", "5", "state", "Goal, plan, facts and notes that the agent holds.", "pane"),
    _c("pane_lifelines", "6", "6", "lifelines", "Where each thing stood, step by step.", "pane"),
    _c("next_pane", "tab", "Tab", "next pane", "The next pane.", "pane"),
    _c("previous_pane", "shift+tab", "shift Tab", "previous pane", "The pane before.", "pane"),
    _c("zoom", "z", "z", "zoom", "This pane alone, or all panes.", "pane"),
    _c("back", "escape", "Esc", "back", "One level back, to the lane before a jump too; never quits.", "pane"),
    _c("next_run", "full_stop right_square_bracket", ". ]", "next run", "The next run.", "run"),
    _c("previous_run", "comma left_square_bracket", ", [", "previous run", "The run before.", "run"),
    _c("runs", "R", "R", "runs", "The list of runs; typing filters it.", "run", 16),
    _c("problems", "exclamation_mark", "!", "problems", "What happened to the file, what could not be read.", "run"),
    _c("lane", "L", "L", "lane", "The other lane (subagents and branches); of more than two, a list.", "run"),
    _c("copy", "y", "y", "copy", "Copy the row or block: to the terminal's clipboard and to a file.", "take", 10),
    _c("editor", "o", "o", "editor", "Open the record in your editor ($VISUAL or $EDITOR).", "take", 11),
    _c("suspend", "ctrl+z", "ctrl z", "suspend", "Back to the shell for a while; its command fg returns here.", "app"),
    _c("help", "question_mark", "?", "keys", "All keys.", "app", 0, True),
    _c("quit", "q", "q", "quit", "Leave.", "app", 10, True),
)
PALETTE_ONLY: tuple[Command, ...] = (
    _c("provenance", "", "", "provenance", "How much of what the model saw is in this file.", "look"),
)
"""Commands without a key: reached by a click or the palette."""
PANE_IDS = tuple(c.id.removeprefix("pane_") for c in COMMANDS if c.id.startswith("pane_"))
BY_ID: Mapping[str, Command] = {command.id: command for command in (*COMMANDS, *PALETTE_ONLY)}
TAKEN = {"ctrl+p": "the palette", "ctrl+q": "quit", "ctrl+c": "the terminal"}
"""Keys of the toolkit that stay as they are."""
AVOIDED = {"ctrl+m", "ctrl+j", "ctrl+i", "ctrl+h"}
"""A terminal sends these for Enter, Enter, Tab and Backspace."""


def bindings(commands: Iterable[Command] = COMMANDS) -> list[Binding]:
    """One binding a key, all with id and tooltip; the first key carries the command's id, the others a numbered one."""
    return [
        Binding(
            key, f"{'app.' if command.id == 'quit' else ''}{command.id}", command.label, show=False,
            key_display=command.shown, id=command.id if order == 0 else f"{command.id}.{order + 1}",
            tooltip=command.tooltip, priority=key in ("tab", "shift+tab"),
        )
        for command in commands
        for order, key in enumerate(command.keys)
    ]  # fmt: skip


def problems(keymap: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with the keys, after a user's keymap (binding id -> keys): unknown ids, keys given twice."""
    given = dict(keymap or {})
    ids = {binding.id for binding in bindings()}
    found = [f"no command is called {name!r}" for name in given if name not in ids]
    owner: dict[str, str] = {}
    for binding in bindings():
        for key in (given.get(binding.id or "", "") or binding.key).split(","):
            if key in TAKEN:
                found.append(f"{key} of {binding.id} belongs to {TAKEN[key]}")
            elif key in AVOIDED:
                found.append(f"{key} of {binding.id} is what a terminal sends for another key")
            elif key in owner and owner[key] != binding.id:
                found.append(f"{key} is given to {owner[key]} and to {binding.id}")
            owner[key] = binding.id or ""
    return found
