"""`/`: while a text is typed its lifeline is drawn, and a sentence says where it stood."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Input

from agentmem.model import Lifeline

from ...context import View
from ...safe import text
from ...widgets.line import Line, Span, fit
from ...widgets.panes.lifelines import numbers
from ...widgets.rows import Band
from ...widgets.strip import lifeline_line
from ...widgets.timeline import view_axis
from ..base import RunBase
from .ask import Ask


def sentence(lifeline: Lifeline) -> str:
    """`in the prompt 3-27, gone since 28, needed at 30`; what the model said without seeing it is named too."""
    parts = []
    if lifeline.present:
        spans = [str(a) if a == b else f"{a}-{b}" for a, b in lifeline.present]
        parts.append("in the prompt " + ", ".join(spans[-4:] if len(spans) > 4 else spans))
        if lifeline.levels and lifeline.levels[-1] in "·▲✗":
            parts.append(f"gone since {lifeline.present[-1][1] + 1}")
    else:
        parts.append("in no prompt of this lane")
    if lifeline.held:
        kept = [f"{of} {a}" if a == b else f"{of} {a}-{b}" for of, a, b in lifeline.held[-3:]]
        parts.append(f"held in {', '.join(kept)}")
    if lifeline.alarms and lifeline.levels[-1:] not in "·▲✗":
        parts.append("left unrecorded at " + numbers(lifeline.alarms))
    parts += [f"lost as {of} at {at}" for of, at in lifeline.lost_as[:2]]
    if lifeline.needed:
        parts.append("needed at " + numbers(lifeline.needed))
    if lifeline.said:
        parts.append("said by the model, not in the prompt, at " + numbers(lifeline.said))
    parts += [f"{form} since {at}?" for at, form in lifeline.changed[:2]]
    return ", ".join(parts)


class Found(Band):
    """The lifeline of what is typed, and its sentence."""

    DEFAULT_CSS = "Found { height: 2; }"
    fill = "panel"
    typed = ""
    lifeline: Lifeline | None = None
    names: tuple[str, ...] = ()

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        axis = view_axis(view, width)
        if not self.typed:
            names = "  ".join(self.names)
            hint = f" fields: {names}" if names else " any text of the prompts and replies of this lane"
            return (Line(()), Line((Span(fit(hint, width), "label"),)))
        if self.lifeline is None:
            return (Line(()), Line((Span(" searching", "label"),)))
        line = lifeline_line(self.typed, self.lifeline, axis, view.cursor[1])
        return (line, Line((Span(" "), Span(fit(text(sentence(self.lifeline)), width - 1)))))


class Typed(Input):
    """Tab and ctrl+t belong to the field itself: keys typed fast before them have then been taken in."""

    BINDINGS = [  # noqa: RUF012  # the toolkit's own way to declare them
        Binding("tab", "screen.complete", "complete", show=False),
        Binding("ctrl+t", "screen.pin", "pin", show=False),
    ]


class Find(Ask):
    """Enter goes to the last step where the text stood, Tab completes a field's name, ctrl+t pins."""

    def __init__(self, run_screen: RunBase) -> None:
        super().__init__("find", "Enter goes there · Tab takes a field's name · ctrl+t pins · Esc leaves")
        self._run_screen = run_screen
        self._order = 0
        self._begun: str | None = None
        """What was typed before Tab put a name there."""

    def above(self) -> ComposeResult:
        yield Found(id="found")

    def typed(self) -> Input:
        return Typed(id="typed", select_on_focus=False)

    def on_mount(self) -> None:
        found = self.query_one(Found)
        found.names = self._names()
        found.show(self._run_screen.view(self._run_screen.context()))

    def _names(self) -> tuple[str, ...]:
        """Fields that one asks for: the lost ones first, the newest of them foremost, then those of this step."""
        reader = self._run_screen.reader
        lost = [drop.name for drop in reversed(reader.here.alarms) if drop.what == "field"]
        names = dict.fromkeys([*lost, *(field.name for field in reader.step.fields if not field.name.endswith("]"))])
        short = [name.partition(".")[2] or name for name in names]
        told = (one if short.count(one) == 1 else name.removeprefix("facts.")
                for name, one in zip(names, short, strict=True))  # fmt: skip
        return tuple(dict.fromkeys(text(name) for name in told))[:12]

    def on_input_changed(self, event: Input.Changed) -> None:
        typed = event.value
        found = self.query_one(Found)
        found.typed, found.lifeline = typed, self._known(typed)
        if typed and found.lifeline is None:
            self._run_screen.inspector.ask_lifeline(self._run_screen.reader.lane, typed)
        found.show(found.view)

    def _known(self, typed: str) -> Lifeline | None:
        return self._run_screen.lifelines.get((self._run_screen.reader.lane, typed))

    def arrived(self) -> None:
        """The worker has answered."""
        found = self.query_one(Found)
        found.lifeline = self._known(found.typed)
        found.show(found.view)

    def action_complete(self) -> None:
        """Tab: the first name that begins so, again the next."""
        found, typed = self.query_one(Found), self.query_one(Input)
        if self._begun is None or not typed.value.startswith(self._begun) or typed.value not in found.names:
            self._begun, self._order = typed.value, 0
        names = [name for name in found.names if name.startswith(self._begun)]
        if names:
            typed.value = names[self._order % len(names)]
            typed.cursor_position = len(typed.value)
            self._order += 1

    def action_pin(self) -> None:
        typed = self.query_one(Input).value
        if typed and typed not in self._run_screen.pins:
            self._run_screen.pins = (*self._run_screen.pins, typed)
            self._run_screen.redraw()
        self.dismiss(typed)
