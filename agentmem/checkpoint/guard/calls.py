"""The guard of a run: what is known of its calls, their keys, and what may be made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import msgspec

from agentmem.checkpoint.given import moment
from agentmem.checkpoint.guard.doubt import NOT_DONE, Doubt, InDoubt, Look, ResultNotKept, ResultNotRecorded, doubt_of
from agentmem.checkpoint.guard.tool import Tool
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.store import CheckpointError, ConflictError
from agentmem.checkpoint.values import copied, encoded

if TYPE_CHECKING:
    from agentmem.checkpoint.recorder import Recorder

P = ParamSpec("P")
R = TypeVar("R")
Mark = tuple[int, str, bytes]
"""(number of the newest save, tool, arguments): equal for equal calls of one step."""


class Guarded:
    """One call under guard, inside `with guard.call(...)`."""

    def __init__(self, call: Call, done: bool) -> None:
        self.key = call.key
        self.attempt = call.attempt
        self.done = done
        """It was done before: `result` is what was recorded then. Do not do it again."""
        self.result: Any = call.result
        """Set it to what the call gave, a JSON value."""
        self._call = call


class Guard:
    """Guards the calls of one run. `run.guard` is the one of a recorder. Safe to use from several threads."""

    def __init__(self, run: Recorder, *, clock: Callable[[], float] = time.time) -> None:
        self._run = run
        self._clock = clock
        self._lock = threading.RLock()
        self._known: dict[str, Call] | None = None
        """The newest attempt of every call."""
        self._here: set[str] = set()
        """Keys of calls that are being made in this process."""
        self._owed: dict[str, Call] = {}
        """What came of calls and could not be recorded yet."""
        self._taken: dict[Mark, set[int]] = {}
        """Which of the equal calls of a step are under way or done, counted from 0."""
        self._places: dict[str, tuple[Mark, int]] = {}
        """Key -> which call that is; of those that are in `_taken`."""

    def _now(self) -> float:
        return moment(self._clock(), "clock")

    # -- doubt ----------------------------------------------------------------------------------------------------

    @property
    def in_doubt(self) -> tuple[Doubt, ...]:
        """Calls that were started, by this run in any process, and of which nothing more is known; oldest first."""
        with self._lock:
            return tuple(doubt_of(call) for call in self._latest(fresh=True).values() if self._open(call))

    @property
    def after_save(self) -> tuple[Call, ...]:
        """Calls that were done after the newest save: a loop that goes on from it does not have their results."""
        with self._lock:
            seq = self._run.seq
            return tuple(c for c in self._latest(fresh=True).values() if c.outcome == "ok" and c.seq >= seq)

    def happened(self, key: str, result: Any = None) -> None:
        """The answer to a doubt: it happened, and this is what it gave. Raises KeyError if that call is in no doubt."""
        with self._lock:
            self._answer(key, outcome="ok", result=copied(result, "result", objects=True)[0])

    def did_not_happen(self, key: str, why: str = "it did not happen") -> None:
        """The answer to a doubt: it may be made again, as the next attempt. Raises KeyError likewise."""
        with self._lock:
            self._answer(key, outcome="error", error=why)

    def _answer(self, key: str, **answer: Any) -> None:
        call = self._latest(fresh=True).get(key)
        if call is None or not self._open(call):
            raise KeyError(f"run {self._run.run_id!r} has no call in doubt with key {key}")
        self._record(msgspec.structs.replace(call, ended=self._now(), told=True, **answer))

    # -- one call -------------------------------------------------------------------------------------------------

    @contextmanager
    def call(
        self, tool: str, arguments: Any = None, *, call_id: str | None = None, key: str | None = None,
        check: Look | None = None, honours_key: bool = False,
    ) -> Iterator[Guarded]:  # fmt: skip
        """Guards the block. Inside, `done` says that it was done before; else do it and set `result`.

        `call_id` is the model's id of the call, `key` a key of your own; `check` asks the other side about a call in
        doubt; `honours_key` says that the other side does a thing once however often it is sent with one key, so that a
        call in doubt may be made again. The block's exception makes a failed attempt; a KeyboardInterrupt or another
        BaseException leaves the call in doubt.

        Raises InDoubt, ResultNotKept, SaveError or another CheckpointError before the block if it must not be made;
        ResultNotRecorded after it; TypeError for arguments that are no JSON values.
        """
        guarded = self._enter(tool, arguments, call_id, key, check, honours_key)
        if guarded.done:
            yield guarded
            return
        try:
            yield guarded
        except Exception as error:
            self._leave(guarded, error)
            raise
        except BaseException:
            with self._lock:
                self._here.discard(guarded.key)
            raise
        self._leave(guarded, None)

    def _enter(
        self, tool: str, arguments: Any, call_id: str | None, key: str | None, check: Look | None, honours_key: bool
    ) -> Guarded:
        held = copied(arguments, "arguments")[0]
        with self._lock:
            self._latest()  # what is owed is recorded first: it may be this very call
            given = key or self._key(tool, held, call_id)
            for _ in range(3):
                last = self._settled(given, tool, check, honours_key)
                if last is not None and last.outcome == "ok":
                    if not last.kept:
                        raise ResultNotKept(last)
                    self._take(given, tool, held, call_id, key)
                    return Guarded(last, done=True)
                call = Call(
                    key=given, attempt=last.attempt + 1 if last else 1, tool=tool, arguments=held,
                    started=self._now(), seq=self._run.seq, step=self._run.step + 1,
                    lane=self._run.lane, call_id=call_id,
                )  # fmt: skip
                try:
                    self._run.store.begin(self._run.run_id, call)
                except ConflictError:
                    self._latest(fresh=True)  # another process was faster: what it began is now in doubt here
                    continue
                self._latest()[given] = call
                self._here.add(given)
                self._take(given, tool, held, call_id, key)
                return Guarded(call, done=False)
            raise ConflictError(f"run {self._run.run_id!r}: another process keeps making the call {given}")

    def _settled(self, key: str, tool: str, check: Look | None, honours_key: bool) -> Call | None:
        """The newest attempt, after every doubt about calls of this tool was settled. Raises InDoubt."""
        if key in self._here:
            raise ConflictError(f"the call {key} of {tool} is being made in this process just now")
        for call in list(self._latest().values()):
            if call.tool != tool or not self._open(call) or (honours_key and call.key != key):
                continue
            if check is not None:
                found = check(doubt_of(call))
                if found is NOT_DONE:
                    self.did_not_happen(call.key)
                else:
                    self.happened(call.key, found)
            elif honours_key:
                self.did_not_happen(call.key, "in doubt; made again with the same key")
            else:
                raise InDoubt(doubt_of(call))
        return self._latest().get(key)

    def _leave(self, guarded: Guarded, error: Exception | None) -> None:
        with self._lock:
            self._here.discard(guarded.key)
            ended: dict[str, Any] = {"ended": self._now()}
            if error is not None:
                ended |= {"outcome": "error", "error": _said(error)}
            else:
                ended |= {"outcome": "ok"}
                try:
                    ended |= {"result": copied(guarded.result, "result", objects=True)[0]}
                except TypeError as wrong:
                    ended |= {"kept": False, "error": _said(wrong)}
            call = msgspec.structs.replace(guarded._call, **ended)
            try:
                self._record(call)
            except ConflictError:
                raise  # something else is said to have come of it: that is not to be overwritten
            except CheckpointError as unsaved:
                self._owed[call.key] = call
                if error is None:
                    self._free(call.key)  # to make it again is to ask for this result
                    raise ResultNotRecorded(unsaved, call, guarded.result) from unsaved
                error.add_note(f"agentmem: the failed attempt at {call.tool} was not recorded: {unsaved}")

    # -- keys -----------------------------------------------------------------------------------------------------

    def _key(self, tool: str, arguments: Any, call_id: str | None) -> str:
        mark = self._mark(tool, arguments)
        parts: list[Any] = [self._run.run_id, tool]
        parts += [call_id] if call_id is not None else [mark[0], mark[2].decode(), self._next(mark)]
        return "am_" + blake2b(encoded(parts), digest_size=16).hexdigest()

    def _mark(self, tool: str, arguments: Any) -> Mark:
        return self._run.seq, tool, msgspec.json.encode(arguments, order="sorted")

    def _next(self, mark: Mark) -> int:
        """The first of the equal calls that is neither under way nor done."""
        taken = self._taken.get(mark, set())
        return next(place for place in range(len(taken) + 1) if place not in taken)

    def _take(self, given: str, tool: str, arguments: Any, call_id: str | None, key: str | None) -> None:
        """An equal call in the same step is another call once this one is under way or done."""
        if call_id is None and key is None:
            mark = self._mark(tool, arguments)
            place = self._next(mark)
            self._taken.setdefault(mark, set()).add(place)
            self._places[given] = mark, place

    def _free(self, key: str) -> None:
        """A failed attempt: the next equal call is the next attempt at this one."""
        mark, place = self._places.pop(key, (None, 0))
        if mark is not None:
            self._taken[mark].discard(place)

    # -- the store ------------------------------------------------------------------------------------------------

    def _latest(self, *, fresh: bool = False) -> dict[str, Call]:
        for call in list(self._owed.values()):
            self._pay(call)
        if self._known is None or fresh:
            self._known = {}
            for call in self._run.store.calls(self._run.run_id):
                before = self._known.get(call.key)
                if before is None or call.attempt >= before.attempt:
                    self._known[call.key] = call
        return self._known

    def _pay(self, call: Call) -> None:
        """Records what is owed, unless only the store's answer was lost when it was recorded first."""
        try:
            self._record(call)
        except ConflictError:
            if call not in self._run.store.calls(self._run.run_id):
                raise
            self._recorded(call)

    def _record(self, call: Call) -> None:
        self._run.store.end(self._run.run_id, call)
        self._recorded(call)

    def _recorded(self, call: Call) -> None:
        self._owed.pop(call.key, None)
        if self._known is not None:
            self._known[call.key] = call
        if call.outcome == "error":
            self._free(call.key)

    def _open(self, call: Call) -> bool:
        return call.outcome == "started" and call.key not in self._here

    # -- the decorator --------------------------------------------------------------------------------------------

    @overload
    def irreversible(self, function: Callable[P, R]) -> Tool[P, R]: ...

    @overload
    def irreversible(
        self, *, name: str | None = None, check: Look | None = None, honours_key: bool = False
    ) -> Callable[[Callable[P, R]], Tool[P, R]]: ...

    def irreversible(
        self, function: Callable[P, R] | None = None, *, name: str | None = None, check: Look | None = None,
        honours_key: bool = False,
    ) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:  # fmt: skip
        """Guards every call of a function or a coroutine function, as `call` does; with or without brackets.

        Its arguments, by name, must be JSON values. A parameter `idempotency_key` is given the key; a caller who passes
        one decides the key.
        """
        if function is None:
            return lambda inner: Tool(self, inner, name, check, honours_key)
        return Tool(self, function, name, check, honours_key)


def _said(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text.encode("utf-8", "replace").decode()[:2000]
