"""The chip at the left of the header: where the reader is and how the run stands; apart from it, how the agent is."""

from __future__ import annotations

from msgspec.structs import replace
from rich.cells import cell_len

from agentmem.inspect.telling.pulse import age, standing

from ..context import View
from ..messages import Do
from ..safe import text
from .line import Span, fit

_WARNS = {"unreadable": "UNREADABLE", "gone": "GONE"}


def fit_name(outside: str, limit: int) -> str:
    """Outside text as one short word or name."""
    shown = text(outside)
    return shown if cell_len(shown) <= limit else fit(shown, limit).rstrip()


def _ago(seconds: float | None) -> str:
    return "" if seconds is None else f" {age(seconds)}"


def chip(view: View) -> Span:
    """One state: what is wrong with the file comes before that it was written a moment ago."""
    if not view.following:
        more = f" +{view.behind}" if view.behind else ""
        return Span(f" ○ PAUSED{more} ", "ink-warning", True, fill="warning", target=Do("follow"))
    found = standing(view.run, view.context.now)
    if found.word in ("unreadable", "gone"):
        return Span(f" ! {_WARNS[found.word]} ", "ink-warning", True, fill="warning", target=Do("problems"))
    if view.progress is not None:
        done, total = view.progress
        return Span(f" READING {100 * done // max(1, total)}% ", "ink-faint", True, fill="faint")
    if found.word == "ended":
        return Span(" ■ ENDED ", "ink-faint", True, fill="faint")
    if found.word == "stale":
        return Span(f" ◦ STALE{_ago(found.seconds)} ", "ink-warning", True, fill="warning", target=Do("follow"))
    if found.word == "quiet":
        return Span(f" ● QUIET{_ago(found.seconds)} ", "ink-faint", True, fill="faint", target=Do("follow"))
    return Span(" ● LIVE ", "ink-primary", True, fill="primary", target=Do("follow"))


def chips(view: View) -> list[Span]:
    """The chip, and what stands in its place where there is no room: of PAUSED its mark and how far the reader is."""
    whole = chip(view)
    return [whole] if view.following or not view.behind else [whole, replace(whole, text=f" ○ +{view.behind} ")]


def agent(view: View, cells: int = 14) -> str:
    """The agent's state, apart from the reader's place: `model 14s`, `pytest 2m`, `your turn`, `ended`, `quiet 34s`.
    `cells`: for the name of what it waits for."""
    run, now = view.run, view.context.now
    found = standing(run, now)
    told = "" if view.following else found.word + ("" if found.word == "ended" else _ago(found.seconds))
    if found.word in ("ended", "unreadable", "gone"):
        return told
    if run.pending is not None and not (found.word in ("quiet", "stale") and run.pending[0] == "model"):
        # That the model is waited for is a guess, which a long silence takes back; a call is in the file.
        what, since = run.pending
        return fit_name(what, cells) + ("" if since is None or now is None else _ago(now - since))
    if found.word in ("quiet", "stale"):
        return told
    steps = run.main.steps
    return "your turn" if found.word == "live" and steps and not steps[-1].open else ""
