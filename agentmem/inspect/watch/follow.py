"""Which paths changed: file events on the folders that matter, and a stat poll of our own as the backstop.

Folders are watched, never files (a watch on a file goes deaf after the first atomic replace), not recursively, and the
plan is made again when folders come or go. Where events do not come or are refused, polling goes on alone and says so.
"""

from __future__ import annotations

import os
import queue
import stat
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from agentmem.formats.source import Signature, signature_of

STEP_MS = 10
DEBOUNCE_MS = 50
"""watchfiles gathers what comes within this time; 14 to 21 ms from write to callback."""
RESTART_MS = 200
FAST_POLL = 0.1
SLOW_POLL = 1.5
EAGER_POLL = 0.01
"""So often a log that grows is looked at while it does: events come 10 to 20 ms late, because they are gathered."""
QUIET_AFTER = 5.0
"""Seconds without a change after which the poll slows down."""
POLLED_AT_ONCE = 400
"""Files looked at in one round of the poll, so that thousands cost little."""
FIRST = 2
"""So many at the beginning of the list are looked at in every round: the chosen run and its ledger."""
REFUSED_SECONDS = 30.0
"""Where file events were refused they are asked for again after this time: limits of the system come and go."""

Watcher = Callable[..., Iterable[set[tuple[Any, str]]]]
"""`watchfiles.watch`, or what does the same."""


def signature(path: str) -> Signature | None:
    """None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return signature_of(status)


def _identity(folder: Path) -> tuple[str, int, int] | None:
    """A folder that was deleted and made again is another one: a watch on the old one is deaf."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return (str(folder), status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


class Events:
    """File events of a set of folders, from a thread of its own, put out as sets of paths."""

    def __init__(
        self, out: Callable[[set[str]], None], trouble: Callable[[str], None], watch: Watcher | None = None
    ) -> None:
        self._out = out
        self._trouble = trouble
        self._watch = watch
        self._folders: frozenset[tuple[str, int, int]] = frozenset()
        self._stop = threading.Event()
        self._again_at: float | None = None
        """Events were refused: when to ask for them again."""

    def plan(self, folders: Iterable[Path]) -> None:
        """Watch these folders from now on; those that do not exist are left to the poll."""
        wanted = frozenset(found for folder in folders if (found := _identity(folder)) is not None)
        again = self._again_at is not None and time.monotonic() >= self._again_at
        if wanted == self._folders and not again:
            return
        self.close()
        self._folders = wanted
        if wanted:
            self._stop = threading.Event()
            paths = sorted(path for path, _, _ in wanted)
            threading.Thread(
                target=self._run, args=(paths, self._stop), name="agentmem-events", daemon=True
            ).start()

    def close(self) -> None:
        self._stop.set()
        self._folders = frozenset()
        self._again_at = None

    def _run(self, folders: list[str], stop: threading.Event) -> None:
        watch = self._watch
        try:
            if watch is None:
                from watchfiles import watch as watchfiles_watch

                watch = watchfiles_watch
            found = watch(
                *folders, watch_filter=None, step=STEP_MS, debounce=DEBOUNCE_MS, recursive=False, stop_event=stop,
                rust_timeout=RESTART_MS, yield_on_timeout=True, raise_interrupt=False, ignore_permission_denied=True,
                force_polling=False,
            )  # fmt: skip
            works = False
            for changes in found:
                if stop.is_set():
                    return
                if not works:
                    works = True
                    self._trouble("")
                if changes:
                    self._out({path for _, path in changes})
            why = "it ended"
        except FileNotFoundError:
            # A folder went while the watch was set up: the next plan has another set.
            why = ""
        except Exception as error:  # noqa: BLE001 - the library raises several kinds at the limits of the system
            why = f"{type(error).__name__}: {error}".partition("\n")[0][:90]
        if not stop.is_set():
            self._again_at = time.monotonic() + (REFUSED_SECONDS if why else 0.0)
            if why:
                self._trouble(f"no file events here, polling ({why})")


class Poll:
    """The backstop: stats of the files that matter, in rounds; fast while things move, slow when idle."""

    def __init__(self) -> None:
        self._known: dict[str, Signature | None] = {}
        self._order: list[str] = []
        self._place = 0
        self._changed_at = 0.0
        self._due = 0.0
        self.eager: str | None = None
        """A file that only grows, whose lines are wanted at once. One that is rewritten would be seen half written."""
        self._eager_due = 0.0

    def watch(self, paths: Iterable[str]) -> None:
        """The files to look at, the most important ones first."""
        order = list(dict.fromkeys(paths))
        if order == self._order:
            return
        self._known = {path: self._known[path] if path in self._known else signature(path) for path in order}
        self._order = order
        self._place = 0

    def interval(self, now: float) -> float:
        return FAST_POLL if now - self._changed_at < QUIET_AFTER else SLOW_POLL

    def wait(self, now: float) -> float:
        """Seconds until the next round."""
        eager = self.eager is not None and now - self._changed_at < QUIET_AFTER
        return max(0.0, (min(self._due, self._eager_due) if eager else self._due) - now)

    def moved(self, now: float) -> None:
        """Something changed: look often for a while."""
        self._changed_at = now
        self._due = min(self._due, now + FAST_POLL)

    def round(self, now: float) -> set[str]:
        """Paths that changed since they were last looked at; part of them a round where there are many."""
        self._eager_due = now + EAGER_POLL
        if self.eager is not None and now < self._due:
            return self._looked([self.eager], now)
        self._due = now + self.interval(now)
        if not self._order:
            return set()
        count = min(len(self._order), POLLED_AT_ONCE)
        batch = self._order[:FIRST] + [self._order[(self._place + i) % len(self._order)] for i in range(count)]
        self._place = (self._place + count) % len(self._order)
        return self._looked(batch, now)

    def _looked(self, batch: Iterable[str], now: float) -> set[str]:
        changed = set()
        for path in batch:
            now_signed = signature(path)
            if now_signed != self._known.get(path):
                self._known[path] = now_signed
                changed.add(path)
        if changed:
            self.moved(now)
        return changed


class Follower:
    """Events and poll together. `next` waits for what comes first: changed paths, a message of another thread, time."""

    def __init__(self, watch: Watcher | None = None) -> None:
        self.inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.notice: str | None = None
        """Why there are no file events, in words; None while there are."""
        self.poll = Poll()
        self._events = Events(self.inbox.put, self._refused, watch)

    def _refused(self, why: str) -> None:
        if (why or None) != self.notice:
            self.notice = why or None
            self.inbox.put(set())

    def plan(self, folders: Iterable[Path], files: Iterable[str], eager: str | None = None) -> None:
        """What matters from now on; `eager`: one of the files, which only grows and is wanted at once."""
        self._events.plan(folders)
        self.poll.watch(files)
        self.poll.eager = eager

    def tell(self, message: object) -> None:
        """Wake the waiting thread with a message. From any thread."""
        self.inbox.put(message)

    def next(self, longest: float) -> tuple[set[str], list[object]]:
        """(changed paths, messages), after at most `longest` seconds. Everything that waits is taken at once."""
        changed: set[str] = set()
        messages: list[object] = []
        now = time.monotonic()
        wait = min(longest, self.poll.wait(now))
        try:
            item = self.inbox.get(timeout=max(wait, 0.001))
            while True:
                if isinstance(item, set):
                    changed |= item
                else:
                    messages.append(item)
                item = self.inbox.get_nowait()
        except queue.Empty:
            pass  # everything that waited was taken
        now = time.monotonic()
        if changed:
            self.poll.moved(now)
        if self.poll.wait(now) <= 0:
            changed |= self.poll.round(now)
        return changed, messages

    def close(self) -> None:
        self._events.close()
