"""The list of runs, newest change first, and the list of lanes; Enter opens one."""

from __future__ import annotations

import time

from textual import events
from textual.message import Message

from agentmem.inspect.telling.circles import together
from agentmem.inspect.telling.pulse import age, trouble
from agentmem.model import Run, RunInfo

from ...follow import run_name
from ...index import Index
from ...messages import Opened
from ...safe import text
from ...widgets.line import Line, Span, fit
from ...widgets.rows import Rows
from .sheet import Sheet, Title

STATUS = {
    "live": ("●", "text-primary", "live"),
    "ended": ("■", "label", "ended"),
    "stale": ("◦", "label", "stale: neither ended nor written to for a while"),
    "unknown": ("?", "label", "cannot tell whether it ended"),
    "trouble": ("!", "text-warning", "not a run, or damaged"),
}
"""By status of a run (`trouble`: whatever its status): mark, role, what it means."""


class RunRows(Rows):
    """Runs that hold what is typed. `now`: seconds since the epoch, or None where no age is to be shown."""

    always_cursor = True

    def __init__(self, infos: tuple[RunInfo, ...], current: str, now: float | None) -> None:
        super().__init__()
        self._now, self._current, self.typed = now, current, ""
        self._infos: tuple[RunInfo, ...] = ()
        self._words: tuple[str, ...] = ()
        self._shown: tuple[RunInfo, ...] = ()
        self.take(infos)

    def take(self, infos: tuple[RunInfo, ...]) -> None:
        """A new list; the cursor stays on its run."""
        chosen = self._chosen() or self._current
        self._infos = infos
        self._words = tuple(
            "\n".join((i.id, i.path, i.format, i.agent or "", i.model or "", i.goal or "")).lower() for i in infos
        )
        self._filter(chosen)

    def tick(self, now: float) -> None:
        """The ages grow while the list is looked at."""
        self._now = now
        self.changed()

    def _chosen(self) -> str | None:
        at = self.selected
        return run_name(self._shown[at]) if at is not None and at < len(self._shown) else None

    def _filter(self, chosen: str | None) -> None:
        words = self.typed.lower().split()
        found = [i for i, held in zip(self._infos, self._words, strict=True) if all(word in held for word in words)]
        self._shown = tuple(found)
        self.changed(selected=next((at for at, info in enumerate(found) if run_name(info) == chosen), 0))

    def say(self) -> str:
        """For the title."""
        runs = [info for info in self._infos if info.problem is None]
        said = f"{sum(info.status == 'live' for info in runs)} of {len(runs)} live, newest change first"
        return said + (f" · {len(self._shown)} hold: {self.typed}" if self.typed else " · type to filter")

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        if event.key == "backspace":
            self.typed = self.typed[:-1]
        elif event.is_printable and event.character is not None:
            self.typed += event.character
        elif event.key == "escape" and self.typed:
            self.typed = ""
        else:
            return
        event.stop()
        event.prevent_default()
        self._filter(self._chosen())
        self.post_message(Typed())

    def line_count(self, width: int) -> int:
        return max(1, len(self._shown))

    def head(self, width: int) -> tuple[Line, ...]:
        name, model = _cells(width)
        words = f"   {fit('run', name)} {fit('agent', AGENT)} {fit('model', model) + ' ' if model else ''}"
        words += f"{fit('steps', 6, right=True)} {fit('window', 6, right=True)}  {fit('', ALARMS)}"
        words += f"{fit('changed', 7, right=True)}  goal"
        return (Line((Span(words, "label"),)),)

    def line(self, index: int, width: int) -> Line:
        if index >= len(self._shown):
            return Line((Span(f"   No run holds {text(self.typed)}." if self._infos else "   No runs.", "label"),))
        info = self._shown[index]
        name, model = _cells(width)
        glyph, role, _ = STATUS["trouble" if info.problem or info.damage else info.status]
        used = 3 + name + 1 + AGENT + 1 + (model + 1 if model else 0) + 6 + 7 + 2 + ALARMS + 7 + 2
        about = text(trouble(info) or info.goal or info.path)
        agent = text(info.agent or info.format)
        spans = [
            Span(" "), Span(f"{glyph} ", role), Span(fit(text(info.id), name), bold=run_name(info) == self._current),
            Span(f" {fit(agent, AGENT)} ", "label"), Span(fit(text(info.model or ""), model) + " " if model else ""),
            Span(fit("" if info.steps is None else str(info.steps), 6, right=True)),
            Span(f" {fit(_share(info), 6, right=True)}  "), *_alarms(info),
            Span(fit(self._ago(info), 7, right=True) + "  ", "text-primary" if info.pending else "label"),
            Span(fit(about, max(0, width - used)), "text-warning" if info.problem or info.damage else "label"),
        ]  # fmt: skip
        return Line(tuple(spans), target=run_name(info))

    def _ago(self, info: RunInfo) -> str:
        return "" if self._now is None or info.at is None else age(self._now - info.at)

    def selectable(self, index: int, width: int) -> bool:
        return index < len(self._shown)


class Typed(Message):
    """What is typed is another text now."""


AGENT, ALARMS = 14, 8


def _cells(width: int) -> tuple[int, int]:
    """(cells of the name, of the model; 0: it is not shown)."""
    return (18, 0) if width < 100 else (24, 0) if width < 120 else (26, 16) if width < 140 else (30, 24)


def _share(info: RunInfo) -> str:
    return "" if info.tokens is None or not info.window else f"{round(100 * info.tokens / info.window)}%"


def _alarms(info: RunInfo) -> tuple[Span, ...]:
    silent = f"▲{info.silent}" if info.silent else ""
    cycles = f"↻{info.cycles}" if info.cycles else ""
    return Span(fit(silent, ALARMS // 2), "text-error"), Span(fit(cycles, ALARMS // 2), "text-warning")


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
        words = f" {fit('kind', 10)} {fit('lane', max(20, width - 55))} {fit('steps', 6, right=True)}   ▲  ↻  from"
        return (Line((Span(words, "label"),)),)

    def line(self, index: int, width: int) -> Line:
        lane = self._run.lanes[index]
        alarms = len(self._index[lane.id].alarms)
        cycles = len(together([cycle for cycle in self._run.cycles if cycle.lane == lane.id]))
        came = "" if lane.spawned_by is None else f"step {lane.spawned_by[1]} of {text(lane.spawned_by[0])}"
        spans = (
            Span(f" {fit(lane.kind, 10)} ", "label"), Span(fit(text(lane.name or lane.id), max(20, width - 55))),
            Span(f" {fit(str(len(lane.steps)), 6, right=True)}"),
            Span(f" {fit(str(alarms) if alarms else '', 3, right=True)}", "text-error"),
            Span(f"{fit(str(cycles) if cycles else '', 3, right=True)}  ", "text-warning"), Span(came, "label"),
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
    """Dismissed with the name of the run (`run_name`), or None. Typing filters; Esc takes that back, then leaves."""

    def __init__(self, infos: tuple[RunInfo, ...], current: str, now: float | None = None) -> None:
        super().__init__()
        self._now = now
        self._rows = RunRows(infos, current, now)
        self.title_text = f"runs: {self._rows.say()}"

    def rows(self) -> Rows:
        return self._rows

    def on_mount(self) -> None:
        super().on_mount()
        if self._now is not None:
            self.set_interval(1.0, lambda: self._rows.tick(time.time()))

    def take(self, infos: tuple[RunInfo, ...]) -> None:
        """The list has changed while it is looked at."""
        self._rows.take(infos)
        self.on_typed()

    def on_typed(self) -> None:
        self.query_one(Title).say(text(f"runs: {self._rows.say()}"))

    def on_opened(self, message: Opened) -> None:
        message.stop()
        if isinstance(message.target, str):
            self.dismiss(message.target)
