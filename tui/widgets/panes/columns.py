"""Building one row out of columns: cells counted, outside text cut before it is cleaned. Pure.

Every pane makes its lines with `row`, so that a line is exactly as wide as it was asked to be, whatever stands in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

from agentmem.model import STATE_KINDS, Lane, Run, Step
from agentmem.safe import cut_mark

from ...safe import text as safe_text
from ..line import Line, Span, fit

WORDS: dict[str, str] = {"goal": "GOAL"}
STATE_EDGE = STATE_KINDS | {"system", "tools"}


def clean(outside: str | None, cells: int) -> str:
    """Outside text for one row of at most about `cells` cells. A long text is cut first: a 1 MB line costs nothing."""
    if not outside:
        return ""
    most = max(0, cells) * 2 + 64
    return safe_text(outside if len(outside) <= most else outside[:most])


def squeezed(outside: str | None, cells: int) -> str:
    """Likewise, with every run of blanks as one: reports indent the line that says what failed."""
    return " ".join(clean(outside, 2 * cells).split())


def column(outside: str | None, width: int, *, right: bool = False) -> str:
    """Outside text in exactly `width` cells."""
    return fit(clean(outside, width), width, right=right)


def row(spans: Iterable[Span], width: int, *, fill: str | None = None, target: object = None) -> Line:
    """A line of exactly `width` cells: what is too much is cut at the right, what is missing is padded."""
    taken: list[Span] = []
    left = width
    for span in spans:
        length = cell_len(span.text)
        if length > left:
            taken.append(Span(fit(span.text, left), span.role, span.bold, span.strike, span.fill) if left else Span(""))
            left = 0
            break
        if length:
            taken.append(span)
            left -= length
    if left:
        taken.append(Span(" " * left))
    return Line(tuple(taken), fill, target)


def spread(
    left: Iterable[Span], right: Iterable[Span], width: int, *, fill: str | None = None, target: object = None
) -> Line:
    """`left` from the left edge, `right` against the right one, which keeps its room as far as there is any."""
    ending = [span for span in right if span.text]
    reserved = min(sum(cell_len(span.text) for span in ending), width)
    head = row(left, width - reserved)
    tail = row(ending, reserved)
    return Line(head.spans + tail.spans, fill, target)


def blank(width: int, fill: str | None = None) -> Line:
    return Line((Span(" " * width),), fill)


def said(sentence: str, width: int, role: str = "label", indent: int = 1, target: object = None) -> list[Line]:
    """A sentence of ours (safe already, or cleaned), wrapped by words to as many rows as it needs."""
    return [row((Span(" " * indent), Span(part, role)), width, target=target)
            for part in wrap_words(sentence, max(8, width - indent - 1))]  # fmt: skip


def wrap_words(text: str, width: int, limit: int | None = None) -> list[str]:
    """Rows of at most `width` cells, broken at spaces where there are any; with `limit`, the last one ends in `…`."""
    rows: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            rows.append(line)
        while cell_len(word) > width:
            part = _head(word, width)
            rows.append(part)
            word = word[len(part) :]
        line = word
        if limit is not None and len(rows) >= limit:
            break
    else:
        rows.append(line)
        line = ""
    if limit is not None and (len(rows) > limit or line):
        rows = rows[:limit]
        whole = cell_len(rows[-1]) < width
        rows[-1] = cut_mark(rows[-1] if whole else set_cell_size(rows[-1], max(0, width - 1)))
    return rows


def _head(word: str, width: int) -> str:
    """The longest start of `word` that fits in `width` cells; at least one character, so that wrapping ends."""
    part = word[:width]
    while len(part) > 1 and cell_len(part) > width:
        part = part[: min(len(part) - 1, max(1, len(part) * width // max(1, cell_len(part))))]
    return part


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 step`, `3 steps`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def spans_of_steps(numbers: Iterable[int]) -> str:
    """Step numbers as `3`, `3 5 7` or `3 to 9` where they follow one another."""
    taken = list(numbers)
    if not taken:
        return ""
    if len(taken) > 2 and taken[-1] - taken[0] == len(taken) - 1:
        return f"{taken[0]} to {taken[-1]}"
    if len(taken) > 4:
        return " ".join(str(n) for n in taken[:2]) + f" … {taken[-1]}"
    return " ".join(str(n) for n in taken)


def word_of(kind: str) -> str:
    return WORDS.get(kind, kind)


def edge_role(kind: str) -> str:
    return "state" if kind in STATE_EDGE else "trace"


def text_role(kind: str) -> str:
    if kind == "error":
        return "text-error"
    return "text-state" if kind in STATE_EDGE else "text-trace"


def step_at(run: Run, lane_id: str, n: int) -> Step | None:
    """The step n of a lane; None if the run has no such lane or step (it may have been rewritten meanwhile)."""
    for lane in run.lanes:
        if lane.id == lane_id:
            return step_in(lane, n)
    return None


def step_in(lane: Lane, n: int) -> Step | None:
    steps = lane.steps
    if not steps:
        return None
    place = n - steps[0].n
    return steps[place] if 0 <= place < len(steps) and steps[place].n == n else None


def n_of(lane: Lane, number: int) -> int | None:
    """The n of the step that shows this number (numbers increase along a lane)."""
    steps = lane.steps
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        if steps[middle].number < number:
            low = middle + 1
        else:
            high = middle
    return steps[low].n if low < len(steps) and steps[low].number == number else None


def cut(text: str, width: int) -> str:
    """Like `fit` without padding."""
    return text if cell_len(text) <= width else cut_mark(set_cell_size(text, max(0, width - 1)))
