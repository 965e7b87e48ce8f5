"""The steps pane: one row a step, what the agent carries and what its steps cost side by side on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from agentmem.inspect.telling.marks import ANSWER_UNKNOWN, ERROR, UNSURE

from ..context import Context
from ..index import LaneIndex, glyphs
from ..messages import Moved, ToStep
from ..safe import text
from .bars import bar
from .header import approx
from .line import Line, Span, fit, thousands
from .rows import Pane

if TYPE_CHECKING:
    from agentmem.model import Cursor, Run, Step

STATE_CELLS = 5
COUNTED = "trace, counted"
GAP = "gap "
FELL = 0.9
"""Share of the parent's size under which a Δ is a fall worth a colour."""


class StepsPane(Pane):
    ident = "steps"
    title = "steps"
    always_cursor = True
    lasting = True

    def __init__(self) -> None:
        super().__init__()
        self._run: Run | None = None
        self._lane: LaneIndex | None = None
        self._given: Context | None = None
        self._shown: Cursor | None = None

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        lane = context.index[cursor[0]]
        same = self._given is not None and context.index is self._given.index
        if not same or lane is not self._lane or run is not self._run:
            self.strips.clear()
        self._run, self._given, self._lane = run, context, lane
        moved, self._shown = self._shown != cursor, cursor
        self.selected = cursor[1] - 1
        self.changed(selected=cursor[1] - 1 if moved else None)

    def line_count(self, width: int) -> int:
        return 0 if self._lane is None else len(self._lane.steps)

    def selectable(self, index: int, width: int) -> bool:
        return True

    def selection_moved(self, index: int) -> None:
        if self._lane is not None:
            self._shown = (self._lane.lane.id, index + 1)
            self.post_message(Moved(self._shown))

    def heading(self, width: int) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        if self._lane is None or self._run is None:
            return (), ()
        sign = approx(self._run)
        counted = "" if self._lane.scaled else "bars counted, "
        return (), (Span(f"{counted}1 cell = {sign}{thousands(round(self._scale(width)))}", "label"),)

    def head(self, width: int) -> tuple[Line, ...]:
        out, trace, delta = columns(width)
        action = width - 25 - out - trace - delta
        row = f"{'#':>5} {'':3}{fit('action', action)} {fit('out' if out > 3 else '', out)}"
        # Parts that are not in the file are in the total only: no scale would make the bars sum to it.
        name = "trace" if self._lane is None or self._lane.scaled or trace < len(COUNTED) else COUNTED
        row += f"{fit('state', STATE_CELLS)} {fit(name, trace)}"
        row += fit("total", 7, right=True) + (fit("Δ", delta, right=True) if delta else "")
        return (Line((Span(row, "label"),)),)

    def _scale(self, width: int) -> float:
        lane = self._lane
        _, trace, _ = columns(width)
        if lane is None:
            return 1.0
        return max(lane.largest_trace / trace, lane.largest_state / STATE_CELLS, 1.0)

    def line(self, index: int, width: int) -> Line:
        assert self._lane is not None and self._run is not None
        lane, step = self._lane, self._lane.steps[index]
        out, trace, delta = columns(width)
        action = width - 25 - out - trace - delta
        here = index == self.selected
        scale = self._scale(width)
        size, parts = lane.size(step.n), lane.parts(step.n)
        # Of an open step the header says how rough its figure is.
        figure = f"≈{thousands(size)}" if step.unsure is not None and size is not None else thousands(size)
        spans = [
            Span(f" {step.number:>4} ", "foreground" if here else "label", here),
            *self._mark(step),
            *self._gap(step),
            *action_spans(step, action - (len(GAP) if step.gap else 0), self._run.synthetic),
            Span(" "),
            self._outcome(step, out),
            Span(bar(parts.state or 0, STATE_CELLS, scale), "state"),
            Span(" "),
            Span(bar(parts.trace or 0, trace, scale), "primary" if here else "trace"),
            Span(fit(figure, 7, right=True), "foreground", here),
        ]
        if delta:
            spans.append(self._delta(step, size, delta))
        return Line(tuple(spans), target=ToStep(lane.lane.id, step.n, "prompt"))

    def _mark(self, step: Step) -> list[Span]:
        assert self._lane is not None
        mask = self._lane.mask(step.n)
        spans = [Span(glyph, role) for glyph, role in glyphs(mask & ~ERROR)][:2]
        if spans and spans[0].text == "↻" and step.n in self._lane.letters:
            spans = [Span(f"↻{self._lane.letters[step.n]}", "text-warning")]
        used = sum(len(span.text) for span in spans)
        return [*spans, Span(" " * max(0, 3 - used))]

    def _gap(self, step: Step) -> list[Span]:
        """Steps before this one are not in the file."""
        return [Span(GAP, "text-warning")] if step.gap else []

    def _outcome(self, step: Step, cells: int) -> Span:
        word, role = outcome(step)
        if cells < 5 and word in ("ok", "open"):
            word = ""
        return Span(fit(word, cells), role)

    def _delta(self, step: Step, size: int | None, cells: int) -> Span:
        before = None
        if self._given is not None and step.parent is not None:
            parent = self._given.index.lanes.get(step.parent[0])
            if parent is not None and 0 < step.parent[1] <= len(parent.steps):
                before = parent.size(step.parent[1])
        if size is None or before is None:
            return Span(" " * cells)
        change = size - before
        sign = "−" if change < 0 else "+"
        role = "text-warning" if size < FELL * before else "label"
        figure = thousands(abs(change))
        if len(figure) >= cells - 1:
            figure = f"{abs(change) / 1000:.0f}k"  # 156k instead of 156.3k keeps its distance from the total
        return Span(fit(f"{sign}{figure}", cells, right=True), role)

    def badge(self) -> tuple[Span, ...]:
        return ()

    def copy_block(self) -> str | None:
        if self._lane is None or self.selected is None:
            return None
        step = self._lane.steps[self.selected]
        rows = [f"step {step.number}"]
        for attempt in step.attempts:
            rows.append(f"{attempt.tool} {attempt.arguments}".strip())
            rows.append(f"  {attempt.outcome}: {attempt.error or attempt.result_head or ''}".rstrip(": "))
        return "\n".join(rows)

    def explain(self) -> tuple[str, ...]:
        if self._lane is None or self._run is None or self.selected is None:
            return ()
        # Not needed for the first paint, which would pay for the comparisons that it stands on.
        from agentmem.inspect.telling.explain import explain_header

        step = self._lane.steps[self.selected]
        size = self._lane.size(step.n)
        figure = "?" if size is None else self._lane.sign(step.n, self._run.counter) + thousands(size)
        if size is not None and self._run.window:
            figure += f" {round(100 * size / self._run.window)}%"
        now = None if self._given is None else self._given.now
        header = explain_header(self._run, step, figure, now)
        return (*explain_size(self._run, self._lane, step), "", *header)

    def under_cursor(self) -> tuple[str, int] | None:
        if self._lane is None or self.selected is None:
            return None
        step = self._lane.steps[self.selected]
        pieces = step.replies or step.results or step.prompt[-1:]
        return (self._lane.lane.id, pieces[0].id) if pieces else None


def columns(width: int) -> tuple[int, int, int]:
    """(cells of out, of the trace bar, of Δ) at a width of the pane."""
    if width >= 72:
        return 5, 14, 7
    if width >= 60:
        return 5, 9, 0
    return 2, 6, 0


def outcome(step: Step) -> tuple[str, str]:
    """(word, role): trouble has colour, `ok` is grey."""
    if step.open:
        return "open", "text-primary"
    if step.pending:
        done = len(step.attempts) - step.pending
        return (f"{done}/{len(step.attempts)}" if done else "…"), "text-primary"
    found = {attempt.outcome for attempt in step.attempts}
    if found & {"error", "denied"}:
        return "✗", "text-error"
    if not found:
        return "", "label"
    return ("?", "label") if found == {"unknown"} else ("ok", "label")


def action_spans(step: Step, cells: int, synthetic: bool) -> list[Span]:
    """What the step did, in exactly `cells` cells: tool, then arguments with paths shortened from the left."""
    if step.open:
        return [Span(fit("the next call", cells), "text-primary")]
    if not step.attempts:
        said = next((seg.head for seg in step.replies if seg.head and seg.kind != "thinking"), None)
        if synthetic:
            return [Span(fit("saved", cells), "label")]
        if step.unsure == "folded":
            return [Span(fit(ANSWER_UNKNOWN, cells), "text-warning")]
        return [Span(fit(text((said or "").strip()) if said else "said nothing", cells), "label")]
    from .panes.calls import arguments_text, told

    first = step.attempts[0]
    more = f" +{len(step.attempts) - 1}" if len(step.attempts) > 1 else ""
    name = fit(text(first.tool), min(cells, 20)).rstrip()
    room = cells - len(more)
    said = " " + told(first.tool, arguments_text(first.arguments, max(0, room * 2)))
    left = room - len(name)
    if left < 3:
        return [Span(fit(name, room), "foreground"), Span(more, "label")]
    if len(said) > left:
        said = " ".join(_shorter(word) for word in said.split(" "))
    said = _cut_once(said, left)
    return [Span(fit(name, min(len(name), room)), "foreground"), Span(said, "label"), Span(more, "label")]


def _cut_once(said: str, cells: int) -> str:
    """Arguments in exactly `cells` cells; a path that would be cut at both ends is cut at one, so that more of the
    file's name is seen."""
    shown = fit(said, cells)
    last = shown.rstrip().rpartition(" ")[2]
    if not (last.startswith("…/") and last.endswith("…")):
        return shown
    at = len(shown.rstrip()) - len(last)
    bare = said[at + 2 :]
    whole = said[:at] + "…" + bare
    return fit(whole if cell_len(bare) < cells - at else said[:at] + bare, cells)


def _shorter(word: str) -> str:
    head, slash, tail = word.rpartition("/")
    return f"…/{tail}" if slash and tail and head else word


def explain_size(run: Run, lane: LaneIndex, step: Step) -> tuple[str, ...]:
    """How the figures of a step were counted: rule, evidence and source."""
    # Asked for by a key; the first paint, which imports this module, does without the values.
    from agentmem.inspect.measure import Scale

    size, tokens = lane.size(step.n), step.tokens
    rows = [f"step {step.number}: {'unknown' if size is None else f'{size:,} tokens'}"]
    if step.usage is not None and step.usage.prompt:
        rows.append(f"reported by the provider: {step.usage.rule or 'prompt tokens of the call'}")
        if step.usage.source:
            rows.append(f"source: {step.usage.source}")
    elif size is not None and tokens.prompt is not None and size != tokens.prompt:
        rows.append(f"not reported for this step: counted {tokens.prompt:,} with {run.counter}, so it is estimated:")
        rows.append(Scale(lane.steps, step.n - 1).rule(step) or "as counted")
    elif size is not None:
        rows.append(f"counted with {run.counter}{'' if approx(run) == '' else ', an estimate'}")
    parts = {"state": tokens.state, "trace": tokens.trace, "fixed": tokens.fixed}
    rows.append("counted by origin: " + ", ".join(f"{k} {'?' if v is None else f'{v:,}'}" for k, v in parts.items()))
    scaled = lane.parts(step.n)
    if scaled is not tokens and size != tokens.prompt:
        words = f"state {scaled.state:,}, trace {scaled.trace:,}, fixed {scaled.fixed:,}"
        rows.append(f"the bars are scaled so that they sum to the total, by largest remainders: {words}")
    elif size is not None and size != tokens.prompt:
        rows.append("the bars are as counted: what is not in this file is in the total only")
    if step.unsure is not None:
        rows.append(f"not sure: {UNSURE[step.unsure]}")
    if tokens.unknown:
        some = "1 piece" if tokens.unknown == 1 else f"{tokens.unknown} pieces"
        rows.append(f"{some} could not be counted: the text is not in this file")
    window = {"declared": "from the file", "model": f"of the model {run.model or ''}", "given": "given with --window"}
    rows.append(f"window: {run.window:,}, {window.get(run.window_source, '')}" if run.window else "window: unknown")
    return tuple(rows)
