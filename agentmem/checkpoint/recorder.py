"""Recording a run: `record` opens it, `save` keeps a step, `finish` ends it.

    run = agentmem.record("parser", goal="write a parser")
    messages = run.messages or [{"role": "user", "content": "..."}]
    while ...:
        ...
        run.save(messages, state=state, notes=notes)
    run.finish("done")
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from agentmem.checkpoint.delta.run import Given, RunMemo
from agentmem.checkpoint.files import CHECKPOINT, DEFAULT_FOLDER, LEDGER, FileStore, history_path, load_path
from agentmem.checkpoint.given import mapping, message_list, number, optional, records, step_number
from agentmem.checkpoint.store import LIVE, Checkpoint, CheckpointError, ConflictError, Resumed, SaveError, Store
from agentmem.checkpoint.values import copied

if TYPE_CHECKING:
    from agentmem.checkpoint.guard import Guard

T = TypeVar("T")


OVER = frozenset({"done", "finished", "completed", "success"})
"""Words of `finish` after which there is nothing to go on with."""


class Recorder:
    """One run that is being recorded. Made by `record`. Safe to use from several threads."""

    def __init__(
        self, run_id: str, store: Store, *, goal: str | None, lane: str, resume: bool, rebuild: bool, reopen: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.run_id = run_id
        self.store = store
        self.step = 0
        """The step of the last save; 0 before the first."""
        self.messages: list[Any] = []
        """What the resumed run held, then what the last save was given. Yours to go on with."""
        self.state: dict[str, Any] | None = None
        self.notes: Any = None
        self.problems: list[str] = []
        """What was found damaged, or could not be recorded, in words."""
        self.finished = False
        """Whether `finish` was called here. What a resumed run had come to is in `resumed.status`."""
        self._lock = threading.RLock()
        self._pending: dict[str, Any] = {}
        self._interrupted = False
        self._guard: Guard | None = None
        there = store.resume(run_id, rebuild)
        found = _of_lane(store, run_id, lane, there, rebuild) if resume else there
        self._memo = RunMemo(run_id, lane, found.seq, clock)
        over = found.checkpoint is not None and found.checkpoint.status in OVER and not reopen
        self.resumed: Checkpoint | None = found.checkpoint if resume and not over else None
        """The version that the run goes on from; None for a new one."""
        try:
            if there.checkpoint is not None:
                self._memo.extra = copied(dict(there.checkpoint.extra), "extra")[0]
            if (saved := self.resumed) is not None:
                self.step, self.messages, self.notes = saved.step, list(saved.messages), saved.notes
                self.state = None if saved.state is None else copied(saved.state, "state")[0]
                self.problems += (f"{problem.where}: {problem.what}" for problem in saved.problems)
                self._memo.restore(saved, found.continuous)
        except TypeError as wrong:  # a stranger's file may hold what no save can write again
            path = found.checkpoint.path if found.checkpoint is not None else run_id
            raise CheckpointError(f"{path}: cannot be gone on from: {wrong}; move it away to begin anew") from None
        self._memo.hold({"goal": optional(goal, str, "goal")})

    @property
    def lane(self) -> str:
        """Whose conversation this is: `main`, or a subagent's."""
        return self._memo.lane

    @property
    def seq(self) -> int:
        """Number of the newest save; 0 before the first."""
        return self._memo.seq

    @property
    def guard(self) -> Guard:
        """Guards calls that cannot be undone: see `agentmem.checkpoint.guard`."""
        with self._lock:
            if self._guard is None:
                from agentmem.checkpoint.guard import Guard  # only who guards calls needs it

                self._guard = Guard(self, clock=self._memo.clock)
            return self._guard

    def update(self, *, state: Any = None, notes: Any = None) -> None:
        """State and notes for the next save, where a wrapped client makes the saves."""
        with self._lock:
            self._pending.update((k, v) for k, v in (("state", state), ("notes", notes)) if v is not None)

    def wrap(self, client: T) -> T:
        """The same OpenAI- or Anthropic-like client, recording every call as a step of this run.

        See `agentmem.checkpoint.client`. Raises TypeError for a client that has no call to record.
        """
        from agentmem.checkpoint.client import wrap  # only who wraps a client needs it

        return wrap(client, self)

    def save(
        self,
        messages: Sequence[Any],
        *,
        state: Any = None,
        notes: Any = None,
        step: int | None = None,
        usage: Any = None,
        model: str | None = None,
        system: Any = None,
        tools: Any = None,
        prompt: Sequence[Any] | None = None,
        drops: Sequence[Any] | None = None,
        attempts: Sequence[Any] | None = None,
        window: int | None = None,
        goal: str | None = None,
    ) -> int:
        """Keep this step; when it returns, the checkpoint survives a crash and power loss. Returns the step's number.

        `messages` is the whole list as it stands after the step; `prompt` the exact list that was sent for it; `state`
        is a mapping or has `to_dict`; `usage` is what the provider's client gave; `window` the model's limit in tokens.
        `step` is counted if it is not given. What is None stays as it was (state, notes, model, system, tools, window,
        goal) or is unknown (the others).

        Raises TypeError naming the path of a value that a file cannot give back exactly, ValueError for a window below
        1, a step beyond 64 bits or a clock that gives no moment, ConflictError if another saved the run in between,
        SaveError if it could not be written. The previous checkpoint stands after all of them.
        """
        with self._lock:
            if self.finished:
                raise ValueError(f"run {self.run_id!r} is finished; record it again to go on")
            asked = optional(step, int, "step")
            if optional(window, int, "window") is not None:
                number(window, "window", least=1)
            held = notes if notes is not None else self._pending.get("notes")
            given = Given(
                messages=message_list(messages),
                step=step_number(self.step + 1 if asked is None else asked),
                state=mapping(state if state is not None else self._pending.get("state"), "state", nones=True),
                prompt=None if prompt is None else message_list(prompt, "prompt"),
                sticky={
                    "goal": optional(goal, str, "goal"),
                    "model": optional(model, str, "model"),
                    "window": window,
                    "system": system,
                    "tools": list(tools) if isinstance(tools, tuple) else tools,
                    "notes": held,
                },
                once={
                    "drops": records(drops, "drops"),
                    "attempts": records(attempts, "attempts"),
                    "usage": mapping(usage, "usage"),
                },
                status=None if self._memo.status in (None, LIVE) else LIVE,
            )
            self._store(given)
            self.messages = messages if isinstance(messages, list) else list(messages)
            return self.step

    def finish(self, status: str = "done") -> None:
        """The run ends: `done`, or another word that says how. Keeps what the last save held, with that status."""
        with self._lock:
            if self.finished:
                return
            if not optional(status, str, "status") or status == LIVE:
                raise ValueError(f"a run does not end as {status!r}")
            copied(status, "status")
            state = mapping(self._pending.get("state"), "state", nones=True)
            sticky = {"notes": self._pending.get("notes")}
            last = self._memo.messages.copies
            self._store(Given(messages=last, step=self.step, state=state, sticky=sticky, status=status))
            self.finished = True

    def _store(self, given: Given) -> None:
        if self._interrupted:
            self._read_back()
        prepared = self._memo.prepare(given)
        self._interrupted = True
        try:
            self.store.commit(self.run_id, self._memo.change(prepared))
        except CheckpointError as error:
            if isinstance(error, SaveError) and error.stored:
                self._memo.advance(prepared)
            self._interrupted = error.unanswered
            raise
        self._memo.advance(prepared)
        self._interrupted = False
        self.step = given.step
        self.state = self.state if prepared.state is None else copied(prepared.state, "state")[0]
        if given.sticky.get("notes") is not None:
            self.notes = given.sticky["notes"]
        self._pending = {}

    def _read_back(self) -> None:
        """The save before was broken off by something like Ctrl-C, or the store gave no answer: what it holds is what
        was saved."""
        found = _of_lane(self.store, self.run_id, self._memo.lane, self.store.resume(self.run_id), False)
        if found.seq - self._memo.seq not in (0, 1):
            raise ConflictError(f"run {self.run_id!r} was saved by another while a save was broken off here")
        if found.checkpoint is not None and (self.step or self.resumed or found.seq > self._memo.seq):
            if found.seq > self._memo.seq:
                memo = RunMemo(self.run_id, self._memo.lane, found.seq, self._memo.clock)
                memo.extra = self._memo.extra
                memo.restore(found.checkpoint, found.continuous)
                self._memo = memo
            self.step = found.checkpoint.step
        self._interrupted = False

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish("done")
            return
        word = "interrupted" if isinstance(error, KeyboardInterrupt) else f"failed: {type(error).__name__}"
        try:
            self.finish(word)
        except (CheckpointError, TypeError, ValueError) as unsaved:
            error.add_note(f"agentmem: the end of run {self.run_id!r} was not saved: {unsaved}")


def _of_lane(store: Store, run_id: str, lane: str, found: Resumed, rebuild: bool) -> Resumed:
    """What the lane goes on from: where another lane saved the run last, the newest save of this one, or nothing. The
    first save of a lane that goes on must then be whole, for the one before it is another's.

    Raises DamagedError, and CheckpointError for a file that holds no step but its newest, of another lane.
    """
    newest = found.checkpoint
    if newest is None or newest.lane == lane:
        return found
    if newest.seq is None:
        held = f"holds nothing but lane {newest.lane!r}"
        raise CheckpointError(f"{newest.path}: {held}, which lane {lane!r} would replace")
    own = None
    for version in store.history(run_id, rebuild):
        own = version if version.lane == lane else own
    return Resumed(checkpoint=own, seq=found.seq, continuous=False)


def record(
    run_id: str,
    *,
    goal: str | None = None,
    folder: str | os.PathLike[str] = DEFAULT_FOLDER,
    resume: bool = True,
    reopen: bool = False,
    lane: str = "main",
    rebuild: bool = False,
    store: Store | str | os.PathLike[str] | None = None,
    clock: Callable[[], float] = time.time,
) -> Recorder:
    """Open a run to record it. With `resume` it goes on from what is there: `step`, `messages`, `state` and `notes`;
    a run that is done is begun anew, unless `reopen` says to go on with it. One that failed or was interrupted goes on.

    `lane` tells the conversation of a subagent from that of the main loop. Each lane goes on from its own newest save,
    never from another's; the run has one recorder at a time, whatever the lane: the second to save gets ConflictError.

    `resume=False` begins anew in the same files in any case; what was recorded before stays in the ledger. `rebuild`
    takes the newest version from the ledger, where the checkpoint is damaged. `store` is another place than `folder`: a
    store, the path of an SQLite file (`runs.db`), a `postgresql://` address, or another folder of files. `clock` gives
    the times of the saves, in seconds since the epoch.

    Raises DamagedError, NewerSchemaError or another CheckpointError if what is there cannot be gone on from.
    """
    copied(optional(lane, str, "lane"), "lane")
    place = FileStore(folder) if store is None else place_of(store)
    return Recorder(run_id, place, goal=goal, lane=lane, resume=resume, rebuild=rebuild, reopen=reopen, clock=clock)


def place_of(store: Store | str | os.PathLike[str]) -> Store:
    """The store of an address: `postgresql://...`, a file that ends in `.db`, `.sqlite` or `.sqlite3`, or else a folder
    of files, which need not be there yet.

    Raises ValueError or TypeError for what can be none of them, CheckpointError if what it needs is not installed.
    """
    if not isinstance(store, str | os.PathLike):
        if not hasattr(store, "commit"):
            raise TypeError(f"store is a store, an address or a folder, not {type(store).__name__}")
        return store
    address = os.fspath(store)
    if address.startswith(("postgresql://", "postgres://")):
        from agentmem.checkpoint.postgres import PostgresStore  # an extra

        return PostgresStore(address)
    if address.endswith((".db", ".sqlite", ".sqlite3")):
        from agentmem.checkpoint.sqlite import SqliteStore  # only who keeps runs there needs it

        return SqliteStore(address)
    told = not address or "://" in address or os.path.splitext(address)[1] or os.path.isfile(address)
    if told and not os.path.isdir(address):
        # A mistyped address or file name is not made a folder of that name.
        raise ValueError(
            f"{address!r}: a store is a file that ends in .db or .sqlite, a postgresql:// address, or a folder"
        )
    return FileStore(address)


def _path(run: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """The checkpoint of a run id, or of a path. Raises CheckpointError for a text that may be both."""
    named = isinstance(run, str) and not run.endswith((CHECKPOINT, LEDGER))
    kept = FileStore(folder).paths(run) if isinstance(run, str) else None
    if kept is not None and named:
        return kept.checkpoint
    path = Path(run)
    if path.name.endswith(LEDGER):
        path = path.with_name(path.name.removesuffix(LEDGER) + CHECKPOINT)
    if kept is None or not (kept.checkpoint.exists() or kept.ledger.exists()):
        return path
    if Path(run).exists():
        raise CheckpointError(
            f"{run}: is both a file and the id of a run in {kept.checkpoint.parent}; give Path({str(run)!r}) for the "
            "file, or the path of the run's own file"
        )
    return kept.checkpoint


def load(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str] = DEFAULT_FOLDER,
    *,
    generation: int = 0,
    rebuild: bool = False,
    step: int | None = None,
    at: float | None = None,
    store: Store | str | os.PathLike[str] | None = None,
) -> Checkpoint:
    """The newest version of a run: the checkpoint, rolled forward by the ledger. Changes nothing.

    `run` is a path (a Path, or a text that ends in `.json`) or a run id, looked up in `folder`; a text that may be both
    is the run of that id, where there is one, and refused where there are both. `generation=-1` is the
    version one save before, from the ledger, `-2` the one before that. `rebuild` takes the newest from the ledger; of a
    version that is damaged, the newest before it that can be rebuilt. `step` asks for the last save of that step, `at`
    for the last one up to that moment (seconds since the epoch). `store` is as in `record`.

    Raises MissingError if there is none, DamagedError saying where, why and what can be had instead, CheckpointError.
    """
    if store is not None:
        return place_of(store).load(os.fspath(run), generation, rebuild, step=step, at=at)
    return load_path(_path(run, folder), generation, rebuild, step=step, at=at)


def history(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str] = DEFAULT_FOLDER,
    *,
    rebuild: bool = False,
    since: float | None = None,
    until: float | None = None,
    store: Store | str | os.PathLike[str] | None = None,
) -> Iterator[Checkpoint]:
    """Every version of a run, oldest first; those saved from `since` to `until` (seconds since the epoch, both
    included). `store` is as in `record`.

    Raises MissingError, and DamagedError before the first version where one of them cannot be had, saying where, why
    and what can be had instead: `rebuild` gives those that can be rebuilt.
    """
    if store is not None:
        return place_of(store).history(os.fspath(run), rebuild, since=since, until=until)
    return history_path(_path(run, folder), rebuild, since=since, until=until)
