"""The state pane: goal, plan, facts and who verified them, notes, last failure, budgets; what is not in the prompt.

One column of sections; from 120 cells on two, side by side: what it is about, and what it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentmem.inspect.telling.explain import explain_drop, explain_field
from agentmem.inspect.telling.left import cause_word
from agentmem.inspect.telling.marks import drop_glyph
from agentmem.model import Cursor, Drop, Field, Run, Step

from ...context import Context
from ...messages import ToStep
from ..bars import bar
from ..line import Line, Span, called, fit, thousands
from ..rows import Pane
from .columns import clean, column, count, row, said, step_at, wrap_words
from .held import Held, Item, held_at, number

LABEL = 9
"""Cells of the section's name."""
TWO_FROM = 120
GOAL_ROWS = 3
BAR = 14
Row = tuple[Line, object]
"""A line, and the field or drop that it shows."""


def state_rows(run: Run, step: Step, held: Held, width: int) -> list[Row]:
    """All rows at a width."""
    if width < TWO_FROM:
        left = about(run, step, held, width)
        right = known(run, step, held, width)
        return left + ([(row((), width), None)] if left and right else []) + right
    half = width // 2
    left, right = about(run, step, held, half), known(run, step, held, width - half)
    rows: list[Row] = []
    for place in range(max(len(left), len(right))):
        one = left[place] if place < len(left) else (row((), half), None)
        other = right[place] if place < len(right) else (row((), width - half), None)
        fill = other[0].fill
        # The ground of one half must not spread over the other.
        spans = one[0].spans + tuple(_filled(span, fill) for span in other[0].spans)
        rows.append((Line(spans, None, other[0].target or one[0].target), other[1] or one[1]))
    return rows


def _filled(span: Span, fill: str | None) -> Span:
    return Span(span.text, span.role, span.bold, span.strike, span.fill or fill)


# -- what it is about -----------------------------------------------------------------------------------------------


def about(run: Run, step: Step, held: Held, width: int) -> list[Row]:
    rows: list[Row] = []
    room = width - LABEL - 2
    if held.goal is not None:
        wrapped = wrap_words(clean(held.goal.held.value, room * GOAL_ROWS), room, limit=GOAL_ROWS)
        rows += _section("goal", [(Span(part, bold=True),) for part in wrapped], width, held.goal)
    if held.plan:
        done = sum(item.held.done is True for item in held.plan)
        lines: list[tuple[Span, ...]] = []
        if any(item.held.done is not None for item in held.plan):
            lines.append((Span(f"{done} of {len(held.plan)} done"),))
            items: list[Item | None] = [None]
        else:
            items = []
        following = next((item for item in held.plan if item.held.done is False), None)
        for item in held.plan:
            lines.append(_plan_item(item, item is following, room))
            items.append(item)
        rows += _section("plan", lines, width, *items)
    if held.failure is not None and held.failure.held.value not in ("", "null"):
        note = "   new" if held.failure.new or held.failure.was is not None else ""
        value = clean(held.failure.held.value, room - len(note))
        spans = (Span(fit(value, room - len(note)).rstrip(), "text-error"), Span(note, "label"))
        rows += _section(held.failure.label, [spans], width, held.failure)
    budgets = [
        _budget("steps", "attempts", "budget_steps", held, ""),
        _budget("spend", "spent_usd", "budget_spend_usd", held, "$"),
    ]
    rows += _section("budget", [line for line in budgets if line is not None], width)
    for item in held.others:
        rows += _section(item.held.name, [_value(item, room)], width, item)
    return rows


def _section(name: str, lines: Sequence[Sequence[Span]], width: int, *items: Item | None) -> list[Row]:
    rows: list[Row] = []
    for place, spans in enumerate(lines):
        item = items[place] if place < len(items) else None
        label = column(name, LABEL - 1) + " " if place == 0 else " " * LABEL
        rows.append((row((Span(" "), Span(label, "label"), *spans), width, target=item and item.held),
                     item.held if item is not None else None))  # fmt: skip
    return rows


def _plan_item(item: Item, following: bool, room: int) -> tuple[Span, ...]:
    done = item.held.done
    glyph, role = ("✓", "text-state") if done else ("→", "text-primary") if following else ("·", "label")
    note = item.backwards or ("new" if item.new else "just done" if item.finished else "")
    text = clean(item.held.value, room)
    shown = fit(text, max(4, room - 4 - len(note))).rstrip()
    return (Span(f"{glyph} ", role), Span(shown, "label" if done or not following else "foreground", following),
            Span(f"  {note}" if note else "", "text-error" if item.backwards else "label"))  # fmt: skip


def _budget(word: str, used: str, limit: str, held: Held, sign: str) -> tuple[Span, ...] | None:
    spent, most = held.counters.get(used), held.counters.get(limit)
    have = number(spent.held.value) if spent is not None else None
    top = number(most.held.value) if most is not None else None
    if have is None and top is None:
        return None
    if have is None or top is None or top <= 0:
        shown = spent or most
        return (Span(f"{word}  "), Span(clean(f"{sign}{shown.held.value}" if shown else "?", 20)))
    over = have >= top
    text = f"{sign}{have:.2f} of {sign}{top:.2f}" if sign else f"{have:.0f} of {top:.0f}"
    back = f"  {spent.backwards}" if spent is not None and spent.backwards else ""
    return (Span(f"{word}  "), Span(bar(min(have, top), BAR, top / BAR), "warning" if over else "trace"),
            Span(f"  {text}" + ("  used up" if over else ""), "text-warning" if over else "foreground"),
            Span(clean(back, 30), "text-error"))  # fmt: skip


def _value(item: Item, room: int) -> tuple[Span, ...]:
    note, role = _note(item, None)
    text = clean(item.held.value, room)
    return (Span(fit(text, max(4, room - len(note) - 2)).rstrip()), Span(f"  {note}" if note else "", role))


# -- what it knows --------------------------------------------------------------------------------------------------


def known(run: Run, step: Step, held: Held, width: int) -> list[Row]:
    rows: list[Row] = []
    name, tokens = (14 if width >= 60 else 11), 7
    by = 20 if width >= 70 else 14
    value = max(6, width - 3 - name - tokens - 2 - by)
    if held.facts or held.gone or held.left:
        head = fit("fact", name) + fit("value", value) + fit("tokens", tokens, right=True)
        rows.append((row((Span(f"   {head}  verified by", "label"),), width), None))
    for item in held.facts:
        rows.append(_fact(item, run, (name, value, tokens, by), width))
        if item.was is not None:
            was = fit(f"was {clean(item.was, value)}", value).rstrip()
            rows.append((row((Span(" " * (3 + name)), Span(was, "label", strike=False)), width), None))
    for drop in held.gone:
        rows.append(_gone(drop, (name, value, tokens, by), width))
    for drop in held.left:
        rows.append(_gone(drop, (name, value, tokens, by), width))
    if held.notes:
        if rows:
            rows.append((row((), width), None))
        rows.append((row((Span("   note", "label"),), width), None))
    for item in held.notes:
        at = "" if item.held.verified_at is None else f"@{item.held.verified_at}"
        for place, part in enumerate(wrap_words(clean(item.held.value, 3 * width), max(10, width - 4 - name), limit=3)):
            mark = ("+" if item.new else "~" if item.was is not None else " ") if place == 0 else " "
            spans = (Span(f" {mark} ", "text-state"), Span(fit(at if place == 0 else "", name), "label"), Span(part))
            rows.append((row(spans, width, target=item.held), item.held))
    return rows


def _fact(item: Item, run: Run, cells: tuple[int, int, int, int], width: int) -> Row:
    name, value, tokens, by = cells
    mark, role = (" ", "label")
    if item.new or item.was is not None:
        mark, role = ("+", "text-state") if item.new else ("~", "text-warning")
    note, note_role = _note(item, run)
    if item.lost is not None:
        mark, role, note_role = drop_glyph(item.lost), "text-error", "text-error"
        note = f"{cause_word(item.lost)} since {item.lost.step}"
    elif not item.new and item.was is None and item.held.segment is None and not run.synthetic:
        mark, role = "─", "label"
    spans = (
        Span(f" {mark} ", role), Span(column(item.label, name - 1) + " "), Span(column(item.held.value, value)),
        Span(fit(thousands(item.held.tokens), tokens, right=True), "label"), Span("  "),
        Span(column(note, by), note_role),
    )  # fmt: skip
    return row(spans, width, target=item.held), item.held


def _note(item: Item, run: Run | None) -> tuple[str, str]:
    if item.backwards:
        return item.backwards, "text-error"
    if run is not None and item.held.segment is None and not run.synthetic:
        return ("place unknown", "label") if run.hidden else ("not in the prompt", "text-warning")
    if item.held.verified_by is not None:
        at = "" if item.held.verified_at is None else f" @{item.held.verified_at}"
        return f"✓ {item.held.verified_by}{at}", "text-state"
    if item.held.name.startswith("facts."):
        return "no verifier", "label"
    return ("new" if item.new else "changed" if item.was is not None else ""), "label"


def _gone(drop: Drop, cells: tuple[int, int, int, int], width: int) -> Row:
    name, value, tokens, by = cells
    note = f"{cause_word(drop)} {'here' if drop.recorded else f'since {drop.step}'}"
    role = "text-error" if drop.alarming else "text-warning"
    text = column(drop.text if drop.text is not None else drop.head, value)
    spans = (
        Span(f" {drop_glyph(drop)} ", role),
        Span(column(called(drop.name), name - 1) + " ", role, True),
        Span(text.rstrip(), role, strike=True), Span(" " * (len(text) - len(text.rstrip()))),
        Span(fit(thousands(drop.tokens), tokens, right=True), role), Span("  "),
        Span(fit(note, by), role, drop.alarming),
    )  # fmt: skip
    return row(spans, width, fill="error-muted" if drop.alarming else None, target=ToStep(drop.lane, drop.n)), drop


class StatePane(Pane):
    ident: ClassVar[str] = "state"
    title: ClassVar[str] = "state"

    def __init__(self) -> None:
        super().__init__()
        self._bound: tuple[Run, Step | None, Context] | None = None
        self._cursor: Cursor = ("", 0)
        self._rows: list[Row] = []
        self._made_for: tuple[Step | None, int] | None = None

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        self._bound = (run, step_at(run, *cursor), context)
        self._made_for = None
        self.changed("keep" if cursor[0] == self._cursor[0] else "start")
        self._cursor = cursor

    def _make(self, width: int) -> list[Row]:
        if self._bound is None:
            return []
        run, step, context = self._bound
        if self._made_for == (step, width):
            return self._rows
        self._made_for = (step, width)
        if step is None:
            self._rows = []
            return self._rows
        parent = step_at(run, *step.parent) if step.parent is not None else None
        held = held_at(step, parent, context.index.lanes.get(step.lane))
        if held.empty:
            words = "No state in this run. Press / and p to follow a text."
            self._rows = [(line, None) for line in said(words, width)]
            if run.goal is not None:
                goal = f"The goal, as the run tells it: {clean(run.goal, width * GOAL_ROWS)}"
                wrapped = wrap_words(goal, max(8, width - 2), limit=GOAL_ROWS)
                self._rows += [(row((Span(" "), Span(part)), width), None) for part in wrapped]
        else:
            self._rows = state_rows(run, step, held, width)
        return self._rows

    def line_count(self, width: int) -> int:
        return len(self._make(width))

    def wanted(self, width: int) -> int:
        """At this step or at the newest one, so that there is room when the reader goes on."""
        here = self.line_count(width)
        if self._bound is None:
            return here
        run, _, context = self._bound
        index = context.index.lanes.get(self._cursor[0])
        if index is None or not index.steps:
            return here
        newest = index.steps[-1]
        parent = step_at(run, *newest.parent) if newest.parent is not None else None
        return max(here, len(state_rows(run, newest, held_at(newest, parent, index), width)))

    def line(self, index: int, width: int) -> Line:
        return self._make(width)[index][0]

    def heading(self, width: int) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        if self._bound is None or self._bound[1] is None:
            return (), ()
        step = self._bound[1]
        tokens = "?" if step.tokens.state is None else f"≈{thousands(step.tokens.state)}"
        size = count(len(step.fields), "field")
        return (Span(f"step {step.number}"),), (Span(f"{size}   ", "label"), Span(f"{tokens} tokens"))

    def open_target(self, target: object) -> bool:
        """A field that stands in the prompt: go to its piece there."""
        if not isinstance(target, Field) or self._bound is None or self._bound[1] is None:
            return False
        if target.segment is not None:
            from ...messages import Opened, ToSegment

            step = self._bound[1]
            self.post_message(Opened(ToSegment(step.lane, step.n, target.segment), self.ident))
        return True

    def _selected(self) -> object:
        rows = self._make(self.size.width)
        return rows[self.selected][1] if self.selected is not None and self.selected < len(rows) else None

    def under_cursor(self) -> tuple[str, int] | None:
        found = self._selected()
        if isinstance(found, Field | Drop) and found.segment is not None:
            return self._cursor[0], found.segment
        return None

    def explain(self) -> tuple[str, ...]:
        found = self._selected()
        if self._bound is None or self._bound[1] is None:
            return ()
        run, step = self._bound[0], self._bound[1]
        if isinstance(found, Field):
            return explain_field(run, step, found)
        return explain_drop(run, found) if isinstance(found, Drop) else ()

    def copy_block(self) -> str | None:
        found = self._selected()
        if isinstance(found, Field):
            return f"{found.name} = {found.value}"
        return super().copy_block()
