"""The second row: the worst thing in one sentence with its consequence (`agentmem.inspect.telling.verdict`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.cells import cell_len

from ..context import View
from ..keys import BY_ID
from ..messages import Do, ToStep
from ..safe import text
from .line import Line, Span, fit
from .rows import Band

if TYPE_CHECKING:
    from agentmem.inspect.telling.verdict import Verdict
    from agentmem.model import Run

WHY, DOUBTS = BY_ID["why"], BY_ID["doubts"]
_LOOK = {"alarm": ("text-error", "error-muted"), "warning": ("text-warning", "warning-muted"),
         "calm": ("label", None), "unknown": ("label", None)}  # fmt: skip


def verdict_line(found: Verdict, width: int, explained: bool) -> Line:
    """The sentence, cut before the way to its cause (`w why`) is, which stands there if `explained`: if the key, at the
    step under the cursor, explains this sentence and not a failure of that step. Of a call in doubt the key tells all
    of it (`u doubts`)."""
    role, fill = _LOOK[found.level]
    doubt = found.glyph == "?" and found.level == "alarm"
    key = DOUBTS if doubt else WHY if explained else None
    room = width - 2 - (cell_len(f"{key.shown} {key.label}") + 2 if key else 0)
    sentence = Span(fit(text(found.sentence), room), role, bold=found.level == "alarm")
    spans = [Span(" "), sentence]
    if key is not None:
        press = Do(key.id)
        spans += [Span("  "), Span(key.shown, "text-primary", True, target=press),
                  Span(f" {key.label}", "label", target=press)]  # fmt: skip
    target = ToStep(found.lane, found.n) if found.lane is not None and found.n is not None else None
    return Line(tuple(spans), fill=fill, target=Do("doubts") if doubt else target)


def _of_lane(run: Run, ident: str, said: str) -> str:
    """What is said of another lane than the one that is shown: its name comes first, where nothing cuts it off."""
    lane = run.lane(ident)
    name = lane.name or lane.id
    return f"{name}: {said.removesuffix(f' (lane {name})')}"


class VerdictRow(Band):
    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        # With the values that it needs: the first paint does without them.
        from agentmem.inspect.telling.why import explains

        found = view.index.verdict
        explained = explains(view.run, view.cursor, found)
        if found.lane is not None and found.lane != view.cursor[0]:
            found = replace(found, text=_of_lane(view.run, found.lane, found.text))
        if view.progress is not None:
            found = replace(found, text=f"so far: {found.text}")
        return (verdict_line(found, width, explained),)
