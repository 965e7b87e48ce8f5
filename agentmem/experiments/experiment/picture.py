"""The picture of the water-meter experiment: window against right answers, failed calls and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from agentmem.experiments.experiment.rows import Row, window_text
from agentmem.experiments.plot import Panel, Role, Series, page

_ROLES: Final[tuple[Role, ...]] = ("trace", "state")
_FIGURES: tuple[tuple[str, Callable[[Row], float]], ...] = (
    ("Tasks answered right", lambda row: row.correct),
    ("Calls that failed", lambda row: row.tool_errors),
    ("Tokens in total", lambda row: row.total_tokens),
    ("Tokens a call", lambda row: row.tokens_per_call),
)


def plot_svg(rows: Sequence[Row]) -> str:
    """Four panels over the windows, widest first; one line a seed offset, at most two of them.

    Raises ValueError for no rows, or for more than two seed offsets.
    """
    offsets = sorted({row.seed_offset for row in rows})
    if not rows or len(offsets) > len(_ROLES):
        raise ValueError(f"a plot takes one or two seed offsets; there are {len(offsets)}")
    windows = sorted({row.window for row in rows}, key=lambda w: float("inf") if w is None else w, reverse=True)
    labels = tuple((float(i), window_text(window)) for i, window in enumerate(windows))
    panels = [
        Panel(
            title,
            "window, tokens over state and trace",
            labels,
            tuple(
                Series(
                    f"seed {offset:+d}",
                    role,
                    tuple(sorted((float(windows.index(r.window)), figure(r)) for r in rows if r.seed_offset == offset)),
                )
                for offset, role in zip(offsets, _ROLES, strict=False)
            ),
        )
        for title, figure in _FIGURES
    ]
    lines = ("A narrower window drops fields of the state that a later call needs: more calls fail, more are made.",)
    return page("What a window costs: the water-meter experiment", lines, panels)
