"""The list of runs, newest change first, and the list of lanes; Enter opens one."""

from __future__ import annotations

from agentmem.model import Run, RunInfo

from ...index import Index
from ...messages import Opened
from ...safe import text
from ...widgets.line import Line, Span, fit
from ...widgets.rows import Rows
from ..base import run_name
from .sheet import Sheet

_STATUS = {"live": ("●", "text-primary"), "ended": ("■", "label"), "stale": ("!", "text-warning"),
           "unknown": ("?", "label")}  # fmt: skip


class RunRows(Rows):
    always_cursor = True

    def __init__(self, infos: tuple[RunInfo, ...], current: str) -> None:
        super().__init__()
        self._infos = infos
        self.selected = next((i for i, info in enumerate(infos) if run_name(info) == current), 0)
        self._reveal = True

    def line_count(self, width: int) -> int:
        return len(self._infos)

    def head(self, width: int) -> tuple[Line, ...]:
        words = f"   {fit('format', 16)} {fit('run', 26)} {fit('steps', 6, right=True)}  goal"
        return (Line((Span(words, "label"),)),)

    def line(self, index: int, width: int) -> Line:
        info = self._infos[index]
        glyph, role = _STATUS[info.status]
        steps = "" if info.steps is None else str(info.steps)
        about = text(info.problem) if info.problem else text(info.goal or info.path)
        spans = (
            Span(" "), Span(f"{glyph} ", role), Span(fit(text(info.format), 16), "label"), Span(" "),
            Span(fit(text(info.id), 26)), Span(f" {fit(steps, 6, right=True)}  "),
            Span(fit(about, max(0, width - 55)), "text-warning" if info.problem else "label"),
        )  # fmt: skip
        return Line(spans, target=run_name(info))


class LaneRows(Rows):
    always_cursor = True

    def __init__(self, run: Run, index: Index, current: str) -> None:
        super().__init__()
        self._run, self._index = run, index
        self.selected = next((i for i, lane in enumerate(run.lanes) if lane.id == current), 0)
        self._reveal = True

    def line_count(self, width: int) -> int:
        return len(self._run.lanes)

    def head(self, width: int) -> tuple[Line, ...]:
        return (Line((Span(f" {fit('kind', 10)} {fit('lane', 30)} {fit('steps', 6, right=True)}  ▲  from", "label"),)),)

    def line(self, index: int, width: int) -> Line:
        lane = self._run.lanes[index]
        alarms = len(self._index[lane.id].alarms)
        came = "" if lane.spawned_by is None else f"step {lane.spawned_by[1]} of {text(lane.spawned_by[0])}"
        spans = (
            Span(f" {fit(lane.kind, 10)} ", "label"), Span(fit(text(lane.name or lane.id), 30)),
            Span(f" {fit(str(len(lane.steps)), 6, right=True)}"),
            Span(f" {fit(str(alarms) if alarms else '', 2, right=True)}  ", "text-error"), Span(came, "label"),
        )  # fmt: skip
        return Line(spans, target=lane.id)


class LanePicker(Sheet):
    """Dismissed with the id of the lane, or None."""

    def __init__(self, run: Run, index: Index, current: str) -> None:
        super().__init__()
        self._run, self._index, self._current = run, index, current
        self.title_text = f"{len(run.lanes)} lanes of {run.id}"

    def rows(self) -> Rows:
        return LaneRows(self._run, self._index, self._current)

    def on_opened(self, message: Opened) -> None:
        message.stop()
        if isinstance(message.target, str):
            self.dismiss(message.target)


class RunPicker(Sheet):
    """Dismissed with the name of the run (`run_name`), or None."""

    def __init__(self, infos: tuple[RunInfo, ...], current: str) -> None:
        super().__init__()
        self._infos, self._current = infos, current
        live = sum(info.status == "live" for info in infos)
        self.title_text = f"runs, {live} of {len(infos)} live, newest change first"

    def rows(self) -> Rows:
        return RunRows(self._infos, self._current)

    def on_opened(self, message: Opened) -> None:
        message.stop()
        if isinstance(message.target, str):
            self.dismiss(message.target)
