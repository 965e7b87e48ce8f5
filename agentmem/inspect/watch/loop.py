"""The loop: what changed is looked at, the chosen run first, and a new value told. The view is never lost."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from agentmem.formats.source import NotYet, Unreadable
from agentmem.inspect.discover import NoRuns
from agentmem.inspect.history import HistoryStore, MemoryKeeper, store_path
from agentmem.inspect.open import Opened, open_info
from agentmem.inspect.watch.answers import Ask, answer, newest
from agentmem.inspect.watch.catalogue import Catalogue
from agentmem.inspect.watch.follow import Follower, Watcher
from agentmem.inspect.watch.sample import Sampler
from agentmem.inspect.watch.servers import Wakes
from agentmem.inspect.watch.told import Emit, Progress, RunChanged, RunsChanged, Trouble
from agentmem.model import Lane, Run

FIRST_RETRY, LAST_RETRY = 0.05, 1.6
"""A half-written file is looked at again after this time, then after twice of it, and so on to the second."""
HALF_SECONDS = 0.4
"""A file that is half written for so long is said to be."""
RUNS_SECONDS = 0.25
"""The list of runs is told at most this often."""
LOOK_SECONDS = 2.0
"""How often targets are looked through for runs that appeared without an event; less often where that is dear."""
SLOWEST_LOOK = 30.0
SECOND_LOOK = 0.5
LOOK_SHARE = 500
"""Looking through takes at most this part of the time."""
WORK_SECONDS = 0.03
"""For so long at a time runs of the list are described."""
STATUS_SECONDS = 5.0
IDLE_SECONDS = 0.5
SLICES = (0.005, 0.1, 0.2, 0.4, 0.8)
"""Seconds for which a long file is read before what was read is shown; the last one again and again."""
DRAWN_SECONDS = 0.08
"""How long reading waits for the screen to draw the first slice: beside it drawing would take four times as long."""
BURST_SECONDS = 0.4
"""The same for what was appended to a run that is shown: a burst is told once, not in parts that are each drawn."""
KEPT_OPEN = 4
BEING_WRITTEN = "being written"


class Watch:
    """Follows files, folders and globs; of no target, what is found for this folder.

    `choose`, `ask_text`, `ask_raw` and `ask_lifeline` may be called from any thread; they are answered through `emit`.
    `watcher` is `watchfiles.watch`, or what does the same.
    """

    def __init__(
        self, targets: Sequence[str], *, counter: str = "quick", window: int | None = None, history: bool = True,
        watcher: Watcher | None = None,
    ) -> None:  # fmt: skip
        self._counter = counter
        self._window = window
        self._keeper: MemoryKeeper | HistoryStore = HistoryStore(store_path()) if history else MemoryKeeper()
        self._sampler = Sampler(self._keeper, counter)
        self._follower = Follower(watcher)
        self._catalogue = Catalogue(targets)
        self._wakes = Wakes(targets, self._follower.inbox.put)
        self._chosen: str | None = None
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._retry = 0.0
        """Seconds until the chosen run is looked at again, because it was half written or not read to its end."""
        self._slice = 0
        self._drawn = 0.0
        """Until then the screen draws the first part of a long file; of `time.monotonic`."""
        self._half_since: float | None = None
        self._last: Run | None = None
        """As told last."""
        self._told: str | None = None
        """Name of the run that was told last."""
        self._wrong = ""
        self._told_trouble: str | None = ""
        """None: whatever there is to say is to be told again."""
        self._told_runs: object = None
        self._look_due = 0.0
        self._first_look = True
        self._dirty = True
        """The list of runs may be another than the one told."""

    # -- from any thread ------------------------------------------------------------------------------------------

    def choose(self, run_id: str) -> None:
        """Show that run from now on: its id, or `PATH#ID` where several have that id."""
        self._follower.tell(run_id)

    def ask_text(self, lane: str, segment_ids: Sequence[int]) -> None:
        """Whole texts of these pieces of the chosen run."""
        self._follower.tell(Ask("text", lane, tuple(segment_ids)))

    def ask_raw(self, lane: str, segment_id: int) -> None:
        """The raw record that holds a piece."""
        self._follower.tell(Ask("raw", lane, (segment_id,)))

    def ask_lifeline(self, lane: str, text: str) -> None:
        """Where a text stood in that lane."""
        self._follower.tell(Ask("lifeline", lane, text))

    # -- the loop -------------------------------------------------------------------------------------------------

    def run(self, emit: Emit, stop: threading.Event) -> None:
        """Until `stop` is set."""
        status, told = time.monotonic(), 0.0
        self._wakes.start()
        try:
            while not stop.is_set():
                now = time.monotonic()
                if now >= self._look_due:
                    self._look(now)
                if self._catalogue.waiting:
                    self._dirty |= self._catalogue.work(WORK_SECONDS)
                if self._chosen is None and (first := self._catalogue.first()) is not None:
                    self._set(first, emit)
                if self._dirty and now - told >= RUNS_SECONDS:
                    told, self._dirty = now, False
                    self._tell_runs(emit)
                changed, messages = self._follower.next(self._longest())
                if stop.is_set():
                    return
                for message in newest(messages):
                    self._answer(message, emit)
                if changed:
                    self._retry = min(self._retry, FIRST_RETRY)
                if changed or (self._retry and time.monotonic() >= self._drawn):
                    self._changed(changed, emit)
                self._sampler.note(changed)
                read = self._sampler.work(self._catalogue.holds, self._opened_at, self._shown_path(), WORK_SECONDS)
                for path, steps in read.items():
                    self._dirty |= self._catalogue.counted(path, steps)
                if now - status >= STATUS_SECONDS:
                    status = now
                    self._refresh(emit, quiet=True)
                self._tell_trouble(emit)
        finally:
            self._wakes.stop()
            self._catalogue.close()
            self._follower.close()
            self._keeper.close()

    def _longest(self) -> float:
        """How long nothing may come before the loop goes on."""
        if self._catalogue.waiting:
            return 0.0
        longest = RUNS_SECONDS if self._dirty else IDLE_SECONDS
        return min([longest, *(wait for wait in (self._retry or None, self._sampler.wait()) if wait is not None)])

    def _opened_at(self, path: str) -> Opened | None:
        return next((one for one in self._open.values() if os.path.abspath(one.run.path) == path), None)

    def _shown_path(self) -> str | None:
        opened = self._open.get(self._chosen or "")
        return None if opened is None else os.path.abspath(opened.run.path)

    def _look(self, now: float) -> None:
        began = time.monotonic()
        self._dirty |= self._catalogue.look(self._chosen) or not len(self._catalogue)
        cost = time.monotonic() - began
        # The first look pays for imports and comes before events are on: the second one follows soon in any case.
        pause = min(max(LOOK_SECONDS, LOOK_SHARE * cost), SLOWEST_LOOK)
        self._look_due = now + (SECOND_LOOK if self._first_look else pause)
        self._first_look = False
        self._plan()

    def _plan(self) -> None:
        opened = self._open.get(self._chosen or "")
        paths = self._catalogue.paths()
        folders = self._catalogue.folders()
        if opened is not None:
            paths.insert(0, os.path.abspath(opened.run.path))
            folders.update(Path(folder).absolute() for folder in opened.watched())
        ledgers = [path.removesuffix(".json") + side for path in paths[:1] if path.endswith(".json")
                   for side in (".steps.jsonl", ".calls.jsonl")]  # fmt: skip
        ledgers += [f"{path}-wal" for path in paths[:1] if path.endswith((".db", ".sqlite", ".sqlite3"))]
        grows = paths[0] if opened is not None and paths[0].endswith(".jsonl") else None
        self._follower.plan(folders, [*paths[:1], *ledgers, *paths[1:]], grows)

    # -- the chosen run -------------------------------------------------------------------------------------------

    def _set(self, name: str, emit: Emit) -> None:
        self._chosen = name
        self._slice, self._half_since, self._last = 0, None, None
        self._wrong, self._retry, self._told_trouble = "", 0.0, None
        opened = self._open.get(name)
        if opened is not None:
            self._open.move_to_end(name)
            self._tell(opened, emit)
        self._refresh(emit)
        # What was written between the look and the plan is seen by the second look; a long file is looked at again in
        # any case, once its first part is drawn.
        self._plan()
        if not self._slice:
            self._refresh(emit)

    def _changed(self, changed: set[str], emit: Emit) -> None:
        """Paths changed: the chosen run is looked at first, then the rows of the others."""
        self._refresh(emit)
        if changed:
            dirty, unknown = self._catalogue.changed(changed)
            self._dirty |= dirty
            if unknown:
                # Something appeared or went: look through soon, but not once an event.
                self._look_due = min(self._look_due, time.monotonic() + FIRST_RETRY)

    def _refresh(self, emit: Emit, quiet: bool = False) -> None:
        """Look at the chosen run; tell it if it changed. What goes wrong is said, and looked at again."""
        name = self._chosen
        if name is None:
            return
        opened = self._open.get(name)
        if opened is None and name not in self._catalogue:
            # It left the list before it was opened, as the row of a server that could not be asked at first does:
            # another one is chosen.
            self._chosen = None
            return
        seconds = SLICES[min(self._slice, len(SLICES) - 1)] if opened is None or self._slice else BURST_SECONDS
        try:
            if opened is None:
                info = self._catalogue.origin(name)
                opened = open_info(
                    info, counter=self._counter, window=self._window, keeper=self._keeper, seconds=seconds,
                    reader=self._sampler.take(os.path.abspath(info.path)),
                )  # fmt: skip
                self._open[name] = opened
                while len(self._open) > KEPT_OPEN:
                    _, old = self._open.popitem(last=False)
                    if old.overwritten:
                        self._sampler.give(os.path.abspath(old.run.path), old.reader)
                changed = True
            else:
                changed = opened.refresh(seconds)
                changed = changed or (quiet and opened.grew_older())
        except (NotYet, Unreadable, NoRuns, OSError) as error:
            self._wrong = str(error)
            self._later()
            if opened is None and self._told not in (None, name):
                self._instead(name, emit)
            return
        self._wrong = ""
        self._go_on(opened, emit)
        if changed or opened.run is not self._last:
            self._tell(opened, emit)

    def _instead(self, name: str, emit: Emit) -> None:
        """What was chosen cannot be opened: it is shown as a run without a step, so that its reason does not stand
        beside the run that was shown before."""
        info = self._catalogue.origin(name)
        why = self._wrong.removeprefix(f"{info.path}: ")
        self._told = name
        self._catalogue.learn(name, damage=why)
        self._dirty = True
        emit(RunChanged(Run(
            info.id, info.path, info.format, "partial", None, False, (Lane("main", "main", ()),), (), (), "unknown",
            self._counter, None, "unknown", notice=f"not readable: {why}",
        )))  # fmt: skip

    def _go_on(self, opened: Opened, emit: Emit) -> None:
        """Whether and when to look again without being woken."""
        half = (opened.run.notice or "").startswith(BEING_WRITTEN)
        if not half:
            self._half_since = None
        elif self._half_since is None:
            self._half_since = time.monotonic()
        if opened.behind is not None:
            self._slice += 1
            self._retry = 0.001 if self._slice > 1 else DRAWN_SECONDS
            self._drawn = time.monotonic() + self._retry
            emit(Progress(*opened.behind))
            return
        if self._slice:
            self._slice = 0
            emit(Progress(1, 1))
        if half:
            self._later()
        else:
            self._retry = 0.0

    def _later(self) -> None:
        self._retry = min(max(FIRST_RETRY, 2 * self._retry), LAST_RETRY)

    def _tell(self, opened: Opened, emit: Emit) -> None:
        """A new value; one that says no more than that the file is half written waits a little, so that a writer that
        is not atomic does not make the screen flicker."""
        run, last = opened.run, self._last
        if self._half_since is not None and last is not None and run.id == last.id and _same(run, last):
            early = time.monotonic() - self._half_since < HALF_SECONDS
            if early or (last.notice or "").startswith(BEING_WRITTEN):
                return
        if run is last:
            return
        self._last, self._told = run, self._chosen
        for _ in run.survivals:
            pass  # found here, so that the screen need not wait for it
        emit(RunChanged(run))
        steps = sum(not step.open for lane in run.lanes for step in lane.steps)
        at = {} if run.changed_at is None else {"at": run.changed_at}
        assert self._chosen is not None
        self._dirty = True
        self._catalogue.learn(
            self._chosen, id=run.id, status=run.status, steps=steps, goal=run.goal, model=run.model, **at
        )

    # -- what is told of the rest ---------------------------------------------------------------------------------

    def _tell_trouble(self, emit: Emit) -> None:
        # Of a run without a step its notice says what is wrong with it.
        wrong = (self._wrong if self._last is not None or self._told != self._chosen else "") or self._catalogue.problem
        notice = self._keeper.notice if isinstance(self._keeper, HistoryStore) else None
        text = wrong or self._follower.notice or notice or ""
        if text != self._told_trouble:
            self._told_trouble = text
            emit(Trouble(text))

    def _tell_runs(self, emit: Emit) -> None:
        rows = self._catalogue.rows(self._chosen)
        told = [(row.path, row.id, row.at, row.status, row.steps) for row in rows]
        if told != self._told_runs and (rows or not self._catalogue.waiting):
            self._told_runs = told
            emit(RunsChanged(rows))

    def _answer(self, message: object, emit: Emit) -> None:
        opened = self._open.get(self._chosen or "")
        if isinstance(message, str):
            name = self._catalogue.named(message)
            if name is not None:
                self._set(name, emit)
        elif opened is not None and isinstance(message, Ask):
            answer(opened, message, emit)


def _same(run: Run, other: Run) -> bool:
    return len(run.lanes) == len(other.lanes) and all(a is b for a, b in zip(run.lanes, other.lanes, strict=True))
