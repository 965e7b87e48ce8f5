"""Commands that move the reader: steps, jumps, why, find, lanes, and rows in a pane."""

from __future__ import annotations

from .base import RunBase


class Moving(RunBase):
    def _by(self, steps: int) -> None:
        if self.reader.ready:
            self.reader.by(steps)
            self.redraw()

    def action_older(self) -> None:
        self._by(-1)

    def action_newer(self) -> None:
        self._by(1)

    def action_older_ten(self) -> None:
        self._by(-10)

    def action_newer_ten(self) -> None:
        self._by(10)

    def action_first(self) -> None:
        if self.reader.ready:
            self.reader.go((self.reader.lane, 1))
            self.redraw()
            if self.reader.run is not None and self.reader.run.earlier:
                from agentmem.inspect.telling.pulse import earlier_said

                self.say(earlier_said(self.reader.run))

    def action_now(self) -> None:
        if self.reader.ready:
            self.reader.go((self.reader.lane, self.reader.last))
            self.redraw()

    def action_follow(self) -> None:
        if self.reader.ready:
            self.reader.toggle_follow()
            self.redraw()

    def action_up(self) -> None:
        self.pane.move(-1)

    def action_down(self) -> None:
        self.pane.move(1)

    def action_page_up(self) -> None:
        self.pane.page(-1)

    def action_page_down(self) -> None:
        self.pane.page(1)

    def _jump(self, kind: str, newer: bool = False) -> None:
        if self.reader.ready:
            self.say(self.reader.jump(kind, newer))
            self.redraw()

    def action_error(self) -> None:
        self._jump("error")

    def action_error_newer(self) -> None:
        self._jump("error", True)

    def action_drop(self) -> None:
        self._jump("drop")

    def action_drop_newer(self) -> None:
        self._jump("drop", True)

    def action_boundary(self) -> None:
        self._jump("boundary")

    def action_boundary_newer(self) -> None:
        self._jump("boundary", True)

    def action_cycle(self) -> None:
        self._jump("cycle")

    def action_cycle_newer(self) -> None:
        self._jump("cycle", True)

    def action_repeat(self) -> None:
        if self.reader.ready:
            self.say(self.reader.repeat(False))
            self.redraw()

    def action_repeat_newer(self) -> None:
        if self.reader.ready:
            self.say(self.reader.repeat(True))
            self.redraw()

    def action_why(self) -> None:
        if not self.reader.ready:
            return
        link, lane = self.reader.because()
        self.redraw()
        if link.segment is not None and "prompt" in self.panes:
            self.panes["prompt"].reveal_segment(link.segment)
        self.say(f"why, {self.reader.because_place()}: {link.sentence}{'. ' if lane else ''}{lane}")

    def action_lane(self) -> None:
        """The other lane; of more than two, a list."""
        run, index = self.reader.run, self.reader.index
        if run is None or index is None or not self.reader.ready:
            return
        if len(run.lanes) > 2:
            from .over.picker import LanePicker

            self.app.push_screen(LanePicker(run, index, self.reader.lane), self._to_lane)
            return
        self.say(self.reader.next_lane())
        self.redraw()

    def _to_lane(self, lane: str | None) -> None:
        if lane is not None and self.reader.index is not None and lane in self.reader.index.lanes:
            self.reader.go((lane, len(self.reader.index[lane].steps)))
            self.redraw()

    def action_go_to(self) -> None:
        if not self.reader.ready:
            return
        from .over.ask import Ask

        self.app.push_screen(Ask("go to step", f"1 to {self.reader.here.steps[-1].number}"), self._go_to)

    def _go_to(self, typed: str | None) -> None:
        if typed is None or not typed.strip():
            return
        try:
            number = int(typed)
        except ValueError:
            self.say(f"{typed.strip()} is not a step number.")
            return
        n = self.reader.here.n_of(number)
        self.reader.go((self.reader.lane, self.reader.here.nearest(number) if n is None else n))
        self.redraw()
        if n is None:
            self.say(f"No step {number} here; this is {self.reader.step.number}.")

    def action_find(self) -> None:
        if not self.reader.ready:
            return
        from .over.find import Find

        self.app.push_screen(Find(self), self._found)

    def _found(self, typed: str | None) -> None:
        if not typed:
            return
        lifeline = self.lifelines.get((self.reader.lane, typed))
        if lifeline is None:
            self.say("The search has not come back yet; / again in a moment.")
            return
        self.inspector.last_find = typed
        if not lifeline.present:
            self.say("It stands in no prompt of this lane." + (" Said by the model, not in the prompt."
                                                               if lifeline.said else ""))  # fmt: skip
        self.reader.found(lifeline)
        self.redraw()
