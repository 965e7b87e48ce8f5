"""Follows targets and tells what changed: the one loop under the app. Runs in a worker thread; blocks.

`choose`, `ask_text`, `ask_raw` and `ask_lifeline` may be called from any thread; they are answered through `emit`.
The view is never lost: what cannot be read now leaves the last good run standing and says why.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentmem.formats.source import NotYet, Unreadable
from agentmem.inspect.discover import NoRuns, describe, find, is_side_file, nothing
from agentmem.inspect.follow import Follower
from agentmem.inspect.history import HistoryStore, MemoryKeeper, store_path
from agentmem.inspect.lifelines import text_lifeline
from agentmem.inspect.open import Opened, open_info
from agentmem.model import Lifeline, Run, RunInfo

RETRY_SECONDS = 0.05
"""A half-written file is looked at again after this time."""
RUNS_SECONDS = 0.25
"""The list of runs is told at most this often."""
LOOK_SECONDS = 2.0
"""How often targets are looked through for runs that appeared without an event."""
STATUS_SECONDS = 5.0
KEPT_OPEN = 4
RAW_CHARACTERS = 2_000_000


@dataclass(frozen=True, slots=True)
class RunChanged:
    run: Run


@dataclass(frozen=True, slots=True)
class RunsChanged:
    infos: tuple[RunInfo, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int
    """Bytes read of the chosen run; equal when all is read."""


@dataclass(frozen=True, slots=True)
class TextReady:
    run_id: str
    lane: str
    segment_id: int
    text: str | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RawReady:
    run_id: str
    lane: str
    segment_id: int
    raw: str
    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class LifelineReady:
    run_id: str
    lane: str
    text: str
    lifeline: Lifeline


@dataclass(frozen=True, slots=True)
class Trouble:
    text: str
    """Empty: it is over."""


Event = RunChanged | RunsChanged | Progress | TextReady | RawReady | LifelineReady | Trouble
Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class _Choose:
    run_id: str


@dataclass(frozen=True, slots=True)
class _Ask:
    kind: str
    lane: str
    what: tuple[int, ...] | str


class Watch:
    """Follows files, folders and globs; of no target, what is found for this folder."""

    def __init__(
        self, targets: Sequence[str], *, counter: str = "chars4", window: int | None = None, history: bool = True
    ) -> None:
        self._targets = tuple(targets)
        self._counter = counter
        self._window = window
        self._keeper = HistoryStore(store_path()) if history else MemoryKeeper()
        self._follower = Follower()
        self._infos: dict[str, RunInfo] = {}
        """By path and id."""
        self._chosen: str | None = None
        self._by_hand = False
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._trouble = ""
        self._again = False
        self._told_runs: tuple[tuple[str, object], ...] = ()

    # -- from any thread ------------------------------------------------------------------------------------------

    def choose(self, run_id: str) -> None:
        """Show that run from now on."""
        self._follower.tell(_Choose(run_id))

    def ask_text(self, lane: str, segment_ids: Sequence[int]) -> None:
        """Whole texts of these pieces of the chosen run."""
        self._follower.tell(_Ask("text", lane, tuple(segment_ids)))

    def ask_raw(self, lane: str, segment_id: int) -> None:
        """The raw record that holds a piece."""
        self._follower.tell(_Ask("raw", lane, (segment_id,)))

    def ask_lifeline(self, lane: str, text: str) -> None:
        """Where a text stood in that lane."""
        self._follower.tell(_Ask("lifeline", lane, text))

    # -- the loop -------------------------------------------------------------------------------------------------

    def run(self, emit: Emit, stop: threading.Event) -> None:
        """Until `stop` is set."""
        looked = status = told = 0.0
        dirty = True
        try:
            while not stop.is_set():
                now = time.monotonic()
                if now - looked >= LOOK_SECONDS:
                    looked = now
                    dirty |= self._look(emit)
                if dirty and now - told >= RUNS_SECONDS:
                    told, dirty = now, False
                    self._tell_runs(emit)
                longest = RETRY_SECONDS if self._again else RUNS_SECONDS if dirty else 0.25
                changed, messages = self._follower.next(longest)
                if stop.is_set():
                    return
                for message in self._newest(messages):
                    self._answer(message, emit)
                if changed or self._again:
                    dirty |= self._changed(changed, emit)
                if now - status >= STATUS_SECONDS:
                    status = now
                    self._refresh(emit, quiet=True)
        finally:
            self._follower.close()
            self._keeper.close()

    @staticmethod
    def _newest(messages: list[object]) -> list[object]:
        """Of several lifelines asked for while typing only the last is wanted."""
        last = max((i for i, m in enumerate(messages) if isinstance(m, _Ask) and m.kind == "lifeline"), default=-1)
        return [m for i, m in enumerate(messages) if i == last or not (isinstance(m, _Ask) and m.kind == "lifeline")]

    def _look(self, emit: Emit) -> bool:
        """Look through the targets; choose a run if none is chosen. True if the list changed."""
        try:
            found = {self._name(info): info for info in find(self._targets)}
            problem = ""
        except (NoRuns, Unreadable) as error:
            found, problem = {}, str(error)
        gone = [name for name in self._infos if name not in found and name != self._chosen]
        fresh = [name for name in found if name not in self._infos]
        for name in gone:
            del self._infos[name]
        moved = [name for name, info in found.items() if name in self._infos and info.at != self._infos[name].at]
        for name in (*fresh, *moved):
            self._infos[name] = self._enriched(name, found[name])
        self._plan()
        if not self._infos:
            self._say(problem or nothing(self._targets), emit)
        elif self._chosen is None:
            self._choose_first(emit)
        return bool(gone or fresh or moved) or not self._infos

    def _enriched(self, name: str, info: RunInfo) -> RunInfo:
        """What is known of a run that was open once stays known."""
        before = self._infos.get(name)
        if before is None or before.steps is None:
            return info
        goal, model = info.goal or before.goal, info.model or before.model
        return replace(info, steps=info.steps or before.steps, goal=goal, model=model)

    @staticmethod
    def _name(info: RunInfo) -> str:
        return f"{os.path.abspath(info.path)}#{info.id}"

    def _plan(self) -> None:
        chosen = self._infos.get(self._chosen or "")
        first = [chosen.path] if chosen else []
        folders = {Path(info.path).parent for info in self._infos.values()}
        for target in self._targets or ("runs",):
            path = Path(target)
            folders.update({path, path / "runs", path.parent} if not path.is_file() else {path.parent})
        opened = self._open.get(self._chosen or "")
        if opened is not None:
            folders.update(opened.watched())
        files = [*first, *(info.path for info in self._infos.values())]
        side = [str(Path(p).with_name(Path(p).name.removesuffix(".json") + ".steps.jsonl")) for p in files]
        self._follower.plan(folders, [file for pair in zip(files, side, strict=True) for file in pair])

    def _choose_first(self, emit: Emit) -> None:
        """The newest live run; else the newest."""
        readable = [n for n, info in self._infos.items() if info.problem is None] or list(self._infos)
        readable.sort(key=lambda n: (self._infos[n].status != "live", -(self._infos[n].at or 0.0)))
        self._set(readable[0], emit)

    def _set(self, name: str, emit: Emit) -> None:
        self._chosen = name
        if name in self._open:
            self._open.move_to_end(name)
            emit(RunChanged(self._open[name].run))
        self._refresh(emit)
        self._plan()

    def _changed(self, changed: set[str], emit: Emit) -> bool:
        """Paths changed: the chosen run is looked at first, then the rows of the others."""
        self._again = False
        self._refresh(emit)
        known = {info.path: name for name, info in self._infos.items()}
        absolute = {os.path.abspath(path): name for path, name in known.items()}
        dirty = False
        for path in changed:
            base = path.removesuffix(".steps.jsonl") + ".json" if path.endswith(".steps.jsonl") else path
            name = absolute.get(os.path.abspath(base))
            if name is not None:
                info = self._infos[name]
                try:
                    at = os.stat(path).st_mtime
                except OSError:
                    continue
                self._infos[name] = replace(info, at=at, status="live" if info.status != "ended" else info.status)
                dirty = True
            elif not is_side_file(Path(base)) and os.path.isfile(base) and self._wanted(base):
                for info in describe(Path(base)):
                    if info.problem is None:
                        self._infos[self._name(info)] = info
                        dirty = True
                if self._chosen is None and self._infos:
                    self._choose_first(emit)
        return dirty

    def _wanted(self, path: str) -> bool:
        folder = os.path.dirname(os.path.abspath(path))
        wanted = self._targets or ("runs",)
        return any(os.path.abspath(t) in (folder, os.path.abspath(path), os.path.dirname(folder)) for t in wanted)

    def _refresh(self, emit: Emit, quiet: bool = False) -> None:
        """Look at the chosen run; tell it if it changed. What goes wrong is said, and looked at again."""
        name = self._chosen
        if name is None:
            return
        opened = self._open.get(name)
        try:
            if opened is None:
                info = self._infos[name]
                opened = open_info(info, counter=self._counter, window=self._window, keeper=self._keeper)
                self._open[name] = opened
                while len(self._open) > KEPT_OPEN:
                    self._open.popitem(last=False)
                changed = True
            else:
                changed = opened.refresh() or (quiet and opened.grew_older())
        except (NotYet, Unreadable) as error:
            self._again = True
            self._say(str(error), emit)
            return
        self._again = opened.run.notice == "being written"
        self._say(self._follower.notice or "", emit)
        if changed:
            emit(RunChanged(opened.run))
            self._learn(name, opened.run)

    def _learn(self, name: str, run: Run) -> None:
        info = self._infos.get(name)
        if info is not None:
            steps = sum(not step.open for lane in run.lanes for step in lane.steps)
            self._infos[name] = replace(
                info, status=run.status, steps=steps, goal=run.goal, model=run.model, at=run.changed_at or info.at
            )

    def _say(self, text: str, emit: Emit) -> None:
        if text != self._trouble:
            self._trouble = text
            emit(Trouble(text))

    def _tell_runs(self, emit: Emit) -> None:
        infos = tuple(sorted(self._infos.values(), key=lambda info: -(info.at or 0.0)))
        told = tuple((self._name(info), (info.at, info.status, info.steps)) for info in infos)
        if told != self._told_runs or not infos:
            self._told_runs = told
            emit(RunsChanged(infos))

    # -- answers --------------------------------------------------------------------------------------------------

    def _answer(self, message: object, emit: Emit) -> None:
        if isinstance(message, _Choose):
            named = [n for n, info in self._infos.items() if info.id == message.run_id or n == message.run_id]
            if named:
                self._set(named[0], emit)
            return
        opened = self._open.get(self._chosen or "")
        if opened is None or not isinstance(message, _Ask):
            return
        run = opened.run
        if isinstance(message.what, str):
            try:
                found = text_lifeline(
                    run, message.lane, message.what,
                    lambda ident: opened.text(opened.segment(message.lane, ident)),
                )  # fmt: skip
            except KeyError:
                return
            emit(LifelineReady(run.id, message.lane, message.what, found))
            return
        for ident in message.what:
            try:
                segment = opened.segment(message.lane, ident)
            except (KeyError, IndexError):
                continue
            if message.kind == "text":
                text = opened.text(segment)
                note = "" if text is not None else "not in the file" if segment.head is None else "changed in the file"
                emit(TextReady(run.id, message.lane, ident, text, note))
            else:
                raw = opened.raw(segment)
                shown = "" if raw is None else raw.decode("utf-8", "replace")[:RAW_CHARACTERS]
                where = segment.where
                path = run.path if where is None else where.source.removeprefix("history:")
                emit(RawReady(run.id, message.lane, ident, shown, path, where.line if where else None))
