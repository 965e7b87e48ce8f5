"""Which paths changed: file events on the folders that matter, and a stat poll of our own as the backstop.

Folders are watched, never files (a watch on a file goes deaf after the first atomic replace), not recursively, and the
plan is made again when folders come or go. Where events do not come or are refused, polling goes on alone and says so.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

STEP_MS = 10
DEBOUNCE_MS = 50
"""watchfiles gathers what comes within this time; 14 to 21 ms from write to callback."""
RESTART_MS = 200
FAST_POLL = 0.1
SLOW_POLL = 1.5
QUIET_AFTER = 5.0
"""Seconds without a change after which the poll slows down."""
POLLED_AT_ONCE = 400
"""Files looked at in one round of the poll, so that thousands cost little."""

Signature = tuple[int, int, int]


def signature(path: str) -> Signature | None:
    """(inode, size, mtime in nanoseconds); None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class Events:
    """File events of a set of folders, from a thread of its own, put on a queue as sets of paths."""

    def __init__(
        self, out: Callable[[set[str]], None], trouble: Callable[[str], None],
        watch: Callable[..., Iterable[object]] | None = None,
    ) -> None:  # fmt: skip
        self._out = out
        self._trouble = trouble
        self._watch = watch
        self._folders: frozenset[str] = frozenset()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def plan(self, folders: Iterable[Path]) -> None:
        """Watch these folders from now on; those that do not exist are left to the poll."""
        wanted = frozenset(str(folder) for folder in folders if folder.is_dir())
        if wanted == self._folders:
            return
        self.close()
        self._folders = wanted
        if not wanted:
            return
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(wanted, self._stop), name="agentmem-events", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._folders = frozenset()

    def _run(self, folders: frozenset[str], stop: threading.Event) -> None:
        watch = self._watch
        try:
            if watch is None:
                from watchfiles import watch as watchfiles_watch

                watch = watchfiles_watch
            found = watch(
                *sorted(folders), watch_filter=None, step=STEP_MS, debounce=DEBOUNCE_MS, recursive=False,
                stop_event=stop, rust_timeout=RESTART_MS, yield_on_timeout=False, raise_interrupt=False,
                ignore_permission_denied=True,
            )  # fmt: skip
            for changes in found:
                if stop.is_set():
                    return
                self._out({path for _, path in changes})  # type: ignore[attr-defined]  # sets of (change, path)
        except Exception as error:  # noqa: BLE001 - the library raises several kinds at the limits of the system
            if not stop.is_set():
                self._trouble(f"no file events here, polling ({type(error).__name__})")


class Poll:
    """The backstop: stats of the files that matter, in rounds; fast while things move, slow when idle."""

    def __init__(self) -> None:
        self._known: dict[str, Signature | None] = {}
        self._order: list[str] = []
        self._place = 0
        self._changed_at = 0.0
        self._due = 0.0

    def watch(self, paths: Iterable[str]) -> None:
        """The files to look at, the most important ones first."""
        order = list(dict.fromkeys(paths))
        self._known = {path: self._known[path] if path in self._known else signature(path) for path in order}
        self._order = order
        self._place = 0

    def interval(self, now: float) -> float:
        return FAST_POLL if now - self._changed_at < QUIET_AFTER else SLOW_POLL

    def wait(self, now: float) -> float:
        """Seconds until the next round."""
        return max(0.0, self._due - now)

    def moved(self, now: float) -> None:
        """Something changed: look often for a while."""
        self._changed_at = now
        self._due = min(self._due, now + FAST_POLL)

    def round(self, now: float) -> set[str]:
        """Paths that changed since they were last looked at; part of them a round where there are many."""
        self._due = now + self.interval(now)
        if not self._order:
            return set()
        count = min(len(self._order), POLLED_AT_ONCE)
        batch = [self._order[0]] + [self._order[(self._place + i) % len(self._order)] for i in range(count)]
        self._place = (self._place + count) % len(self._order)
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

    def __init__(self, watch: Callable[..., Iterable[object]] | None = None) -> None:
        self.inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.notice: str | None = None
        """Why there are no file events, in words; None while there are."""
        self.poll = Poll()
        self._events = Events(self.inbox.put, self._refused, watch)

    def _refused(self, why: str) -> None:
        self.notice = why
        self.inbox.put(set())

    def plan(self, folders: Iterable[Path], files: Iterable[str]) -> None:
        """What matters from now on."""
        self._events.plan(folders)
        self.poll.watch(files)

    def tell(self, message: object) -> None:
        """Wake the waiting thread with a message. From any thread."""
        self.inbox.put(message)

    def next(self, longest: float) -> tuple[set[str], list[object]]:
        """(changed paths, messages), after at most `longest` seconds. Everything that waits is taken at once."""
        changed: set[str] = set()
        messages: list[object] = []
        now = time.monotonic()
        wait = min(longest, self.poll.wait(now)) if self.poll else longest
        try:
            item: object = self.inbox.get(timeout=max(wait, 0.001))
            while True:
                if isinstance(item, set):
                    changed |= item
                else:
                    messages.append(item)
                item = self.inbox.get_nowait()
        except queue.Empty:
            pass
        now = time.monotonic()
        if changed:
            self.poll.moved(now)
        if self.poll.wait(now) <= 0:
            changed |= self.poll.round(now)
        return changed, messages

    def close(self) -> None:
        self._events.close()
