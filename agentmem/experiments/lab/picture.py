"""The picture of the lab: how the prompt grows, and how deep the goal is buried, in both runs."""

from __future__ import annotations

from agentmem.experiments.lab.turns import Lab, verdicts
from agentmem.experiments.plot import Panel, Series, page


def plot_svg(lab: Lab) -> str:
    """Two panels over the iterations; a band marks where the growing string has left its goal."""
    last = lab.rows[-1].iteration
    labels = tuple((float(n), str(n)) for n in _labelled(last))
    at = lab.strayed_at["string"]
    band = (float(at), float(last), "growing string off goal") if at is not None and at < last else None
    panels = (
        Panel(
            "Tokens in the prompt",
            "iteration",
            labels,
            (
                Series("growing string", "trace", tuple((row.iteration, row.string_tokens) for row in lab.rows)),
                Series("bounded state", "state", tuple((row.iteration, row.state_tokens) for row in lab.rows)),
            ),
            dots=False,
        ),
        Panel(
            "Tokens after the goal",
            "iteration",
            labels,
            (
                Series("growing string", "trace", tuple((row.iteration, row.string_goal_depth) for row in lab.rows)),
                Series("bounded state", "state", tuple((row.iteration, row.state_goal_depth) for row in lab.rows)),
            ),
            band=band,
            dots=False,
        ),
    )
    return page("Growing string against bounded state", verdicts(lab), panels)


def _labelled(last: int) -> list[int]:
    """The first, the last, and round numbers between them that leave the last one room."""
    step = next(step for step in (5, 10, 20, 50, 100) if last / step <= 7)
    return [*dict.fromkeys((1, *(n for n in range(step, last, step) if last - n > step / 2), last))]
