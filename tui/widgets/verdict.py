"""The second row: the worst thing in one sentence with its consequence (`agentmem.inspect.telling.verdict`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from ..context import View
from ..messages import Do, ToStep
from ..safe import text
from .line import Line, Span, fit
from .rows import Band

if TYPE_CHECKING:
    from agentmem.inspect.telling.verdict import Verdict

_LOOK = {"alarm": ("text-error", "error-muted"), "warning": ("text-warning", "warning-muted"),
         "calm": ("label", None), "unknown": ("label", None)}  # fmt: skip


def verdict_line(found: Verdict, width: int, explained: bool) -> Line:
    """The sentence, cut before the way to its cause (`w why`) is, which stands there if `explained`: if the key, at the
    step under the cursor, explains this sentence and not a failure of that step."""
    role, fill = _LOOK[found.level]
    doubt = found.glyph == "?" and found.level == "alarm"
    why = "w why" if explained else ""
    room = width - 2 - (cell_len(why) + 2 if why else 0)
    sentence = Span(fit(text(found.sentence), room), role, bold=found.level == "alarm")
    spans = [Span(" "), sentence]
    if why:
        press = Do("why")
        spans += [Span("  "), Span("w", "text-primary", True, target=press), Span(" why", "label", target=press)]
    target = ToStep(found.lane, found.n) if found.lane is not None and found.n is not None else None
    return Line(tuple(spans), fill=fill, target=Do("doubts") if doubt else target)


class VerdictRow(Band):
    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        # With the values that it needs: the first paint does without them.
        from agentmem.inspect.telling.why import explains

        found = view.index.verdict
        explained = explains(view.run, view.cursor, found)
        if view.progress is not None:
            found = replace(found, text=f"so far: {found.text}")
        return (verdict_line(found, width, explained),)
