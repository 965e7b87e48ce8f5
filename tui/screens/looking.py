"""Commands that look closer or take something away: panes, changes, pins, raw records, figures, copies, the editor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentmem import safe

from ..follow import run_name
from ..keys import PANE_IDS
from ..messages import RawReady
from .base import RunBase
from .layout import DRAWER

if TYPE_CHECKING:
    from agentmem.model import Segment


class Looking(RunBase):
    def action_pane_steps(self) -> None:
        self.activate("steps")

    def action_pane_prompt(self) -> None:
        self.activate("prompt")

    def action_pane_lost(self) -> None:
        self.activate("lost")

    def action_pane_loops(self) -> None:
        self.activate("loops")

    def action_pane_state(self) -> None:
        self.activate("state")

    def action_pane_lifelines(self) -> None:
        self.activate("lifelines")

    def _cycle_panes(self, by: int) -> None:
        shown = [i for i in PANE_IDS if self.single or i not in DRAWER or i == self.drawer]
        self.activate(shown[(shown.index(self.active) + by) % len(shown)])

    def action_next_pane(self) -> None:
        self._cycle_panes(1)

    def action_previous_pane(self) -> None:
        self._cycle_panes(-1)

    def action_open(self) -> None:
        if self.reader.ready:
            self.pane.open_selected()
        elif self.inspector.searched and self.reader.run is None:
            self.inspector.start_demo()

    def action_zoom(self) -> None:
        self.alone = not self.alone
        self.redraw()

    def action_timeline(self) -> None:
        self.zoomed = not self.zoomed
        self.redraw()

    def action_changes(self) -> None:
        self.changes = not self.changes
        self.redraw()
        if self.changes and self.single:
            self.activate("prompt")

    def action_base(self) -> None:
        if self.reader.ready:
            self.say(self.reader.mark_base())
            self.redraw()

    def action_back(self) -> None:
        """One level back: inside the pane, the zoom, the changes, the timeline's zoom, the lane before, the first
        pane."""
        if self.pane.back():
            return
        if self.alone:
            self.alone = False
        elif self.changes:
            self.changes = False
        elif self.zoomed:
            self.zoomed = False
        elif self.reader.ready and self.reader.back():
            pass  # the reader stands in the lane before again
        elif self.active != "steps":
            self.activate("steps")
            return
        self.redraw()

    def action_pin(self) -> None:
        """The text last found, else the piece under the cursor; a pinned text again: no longer."""
        typed = self.inspector.last_find
        if not typed:
            piece = self._piece()
            typed = piece[1].head.strip()[:60] if piece is not None and piece[1].head else ""
        if not typed:
            self.say("Nothing to pin: / finds a text, or put the cursor on a piece.")
        elif typed in self.pins:
            self.pins = tuple(pin for pin in self.pins if pin != typed)
            self.say(f"No longer pinned: {typed}")
        else:
            self.pins = (*self.pins, typed)
            self.inspector.ask_lifeline(self.reader.lane, typed)
            self.say(f"Pinned: {typed} (its lifeline is in 6 lifelines too)")
        self.inspector.last_find = ""
        if self.reader.ready:
            self.redraw()

    def _piece(self) -> tuple[str, Segment] | None:
        """(lane, segment) under the cursor of the pane."""
        from agentmem.tape import PromptView

        place = self.pane.under_cursor()
        if place is None or not self.reader.ready:
            return None
        prompt = self.reader.index[place[0]].steps[0].prompt if self.reader.index else None
        if isinstance(prompt, PromptView) and 0 <= place[1] < len(prompt.tape):
            return place[0], prompt.tape.segment(place[1])
        return None

    def action_raw(self) -> None:
        piece = self._piece()
        if piece is None:
            self.say("No piece under the cursor here.")
        elif piece[1].where is None:
            self.say("No record: this piece stands nowhere in the file.")
        else:
            self.inspector.ask_raw(piece[0], piece[1].id)

    def show_raw(self, message: RawReady) -> None:
        from .over.sheet import TextSheet

        line = "" if message.line is None else f", line {message.line}"
        self.app.push_screen(TextSheet(f"{message.path}{line}", message.raw, words=False))

    def action_counted(self) -> None:
        from .over.sheet import TextSheet

        # Of a run without a step the panes still hold the one before.
        rows = () if not self.reader.ready else self.pane.explain() or self.panes["steps"].explain()
        if rows:
            self.app.push_screen(TextSheet("how it was counted", "\n".join(rows)))

    def action_copy(self) -> None:
        block = self.pane.copy_block() if self.reader.ready else None
        if not block:
            self.say("Nothing to copy here.")
            return
        from .leaving import keep_copy

        shown = safe.block(block)
        self.app.copy_to_clipboard(shown)
        try:
            path = keep_copy(shown)
        except OSError as error:
            self.say(f"Copied to the terminal's clipboard (OSC 52); no file: {error.strerror or error}", True)
            return
        self.say(f"Copied {len(shown):,} characters to the terminal's clipboard (OSC 52) and to {path}")

    def action_editor(self) -> None:
        from .leaving import edit

        piece = self._piece()
        where = piece[1].where if piece is not None else None
        run = self.reader.run
        path = "" if run is None else run.path
        if where is not None and os.path.isfile(where.source):
            self.say(edit(self.app, where.source, where.line), True)
        else:
            # A piece of a version that was overwritten since, or a row of a database: the run's file as it stands.
            self.say(edit(self.app, path, None), True)

    def action_next_run(self) -> None:
        self._other_run(1)

    def action_previous_run(self) -> None:
        self._other_run(-1)

    def _other_run(self, by: int) -> None:
        names = self.ring
        if len(names) < 2:
            self.say("There is one run." if names else "There is no run.")
            return
        here = run_name(self.reader.run) if self.reader.run else ""
        self.inspector.choose(names[(names.index(here) + by if here in names else 0) % len(names)])

    def action_runs(self) -> None:
        from .over.picker import RunPicker

        current = run_name(self.reader.run) if self.reader.run else ""
        self.app.push_screen(RunPicker(self.runs, current, self.inspector.clock()), self._chosen)

    def _chosen(self, name: str | None) -> None:
        if name is not None:
            self.inspector.choose(name)

    def action_suspend(self) -> None:
        self.app.action_suspend_process()

    def action_help(self) -> None:
        from .over.help import Help

        self.app.push_screen(Help())

    def action_problems(self) -> None:
        from agentmem.inspect.telling.pulse import earlier_said

        from .over.sheet import TextSheet

        run = self.reader.run
        if run is None:
            return
        rows = [self.trouble, run.notice or ""] + [f"{found.where}: {found.what}" for found in run.problems]
        rows += [earlier_said(run)] if run.earlier else []
        rows += [f"gap after step {gap.after}: {gap.missing} missing. {gap.why}" for gap in run.gaps]
        self.app.push_screen(TextSheet("problems", "\n".join(row for row in rows if row) or "None."))

    def action_doubts(self) -> None:
        from agentmem.inspect.telling.pulse import begun_line

        from .over.sheet import DOUBT, TextSheet

        run = self.reader.run
        if run is None or not run.doubts:
            self.say("No call is in doubt.")
            return
        rows = [begun_line(call) for call in run.doubts]
        self.app.push_screen(TextSheet("calls in doubt", "\n\n".join([*rows, DOUBT])))

    def action_provenance(self) -> None:
        from .over.sheet import PROVENANCE, TextSheet

        run = self.reader.run
        if run is not None:
            missing = "".join(f"\nnot in this file: {what}" for what in run.unknown)
            self.app.push_screen(TextSheet(run.provenance.upper(), PROVENANCE[run.provenance] + missing))
