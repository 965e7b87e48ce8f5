"""One save prepared as bytes: the ledger line that says what changed, and the checkpoint that holds everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from agentmem.checkpoint import ledger_line
from agentmem.checkpoint.delta.messages import MessageEdit, MessageMemo
from agentmem.checkpoint.delta.state import StateMemo
from agentmem.checkpoint.given import moment
from agentmem.checkpoint.store import LIVE, SCHEMA, Change, Checkpoint
from agentmem.checkpoint.values import copied, encoded

STICKY = ("goal", "model", "window", "system", "tools", "notes")
"""In the ledger only when they change, in every checkpoint."""


class Given(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one save was given; None is not given."""

    messages: Sequence[Any]
    step: int
    state: dict[str, Any] | None = None
    prompt: Sequence[Any] | None = None
    sticky: dict[str, Any] = msgspec.field(default_factory=dict)
    once: dict[str, Any] = msgspec.field(default_factory=dict)
    """Of this step only: usage, drops, attempts."""
    status: str | None = None


class RunMemo:
    """What the last save of a run left. `prepare` changes nothing; `advance` is called once the save is stored."""

    def __init__(self, run: str, lane: str, seq: int, clock: Callable[[], float] = time.time) -> None:
        self.run, self.lane, self.seq, self.clock = run, lane, seq, clock
        self.state: dict[str, Any] | None = None
        self.status: str | None = None
        self.extra: dict[str, Any] = {}
        self.messages = MessageMemo()
        self._prompts = MessageMemo()
        self._states = StateMemo()
        self._sticky: dict[str, bytes] = {}
        self._written: dict[str, bytes] = {}
        """Sticky values as the ledger's last line left them."""
        self._once: dict[str, Any] = {}
        """Of the last step: the end of a run is no step of its own."""
        self._continuous = False
        """The next line may stand on those before it."""

    def restore(self, saved: Checkpoint, continuous: bool) -> None:
        """Go on from a version that was read. Raises TypeError naming the path of a value that cannot be written."""
        self.messages.advance(self.messages.edit(saved.messages))
        if saved.state is not None:
            self.state = copied(saved.state, "state")[0]
            self._states.advance(self.state)
        self.status = saved.status
        once = ((name, getattr(saved, name)) for name in ("usage", "drops", "attempts"))
        self._once = {name: copied(value, name)[0] for name, value in once if value is not None}
        self.hold({name: getattr(saved, name) for name in STICKY})
        self._continuous = continuous
        if continuous:
            self._written = dict(self._sticky)

    def hold(self, sticky: dict[str, Any]) -> None:
        """Values for the next save. Raises TypeError naming the path."""
        self._sticky = self._kept(sticky)

    def _kept(self, sticky: dict[str, Any]) -> dict[str, bytes]:
        kept = dict(self._sticky)
        for name, value in sticky.items():
            if value is not None:
                kept[name] = encoded(copied(value, name, objects=True, nones=name == "notes")[0])
        return kept

    def prepare(self, given: Given) -> Prepared:
        """Raises TypeError naming the path of a value that cannot be written exactly."""
        state = None if given.state is None else copied(given.state, "state")[0]
        return Prepared(
            memo=self,
            given=given,
            at=moment(self.clock(), "clock"),
            edit=self.messages.edit(given.messages),
            exact=None if given.prompt is None else self._prompts.edit(given.prompt, path="prompt"),
            state=state,
            sticky=self._kept(given.sticky),
            once={
                name: copied(value, name, objects=True)[0] for name, value in given.once.items() if value is not None
            },
        )

    def line(self, save: Prepared) -> bytes:
        """What changed, as a ledger line; the whole, if nothing before it can be stood on."""
        if not self._continuous:
            return self.whole_line(save)
        entry: dict[str, Any] = {**save.first(), "keep": save.edit.keep, "add": _raws(save.edit.pieces)}
        if save.exact is not None:
            entry["prompt"] = {"keep": save.exact.keep, "add": _raws(save.exact.pieces)}
        if save.state is not None and (change := self._states.edit(save.state)) is not None:
            entry["state"] = change
        entry.update((k, msgspec.Raw(v)) for k, v in save.sticky.items() if self._written.get(k) != v)
        entry.update(save.once)
        if save.given.status is not None:
            entry["status"] = save.given.status
        return ledger_line.encode(entry)

    def whole_line(self, save: Prepared) -> bytes:
        """The save as a line that needs none before it."""
        save.whole = True
        added = msgspec.Raw(b"".join(self.messages.parts(save.edit)))
        entry: dict[str, Any] = {**save.first(), "run": self.run, "whole": True, "keep": 0, "add": added}
        if save.exact is not None:
            entry["prompt"] = {"keep": 0, "add": msgspec.Raw(b"".join(self._prompts.parts(save.exact)))}
        state = self.state if save.state is None else save.state
        if state is not None:
            entry["state"] = StateMemo().edit(state)
        entry.update((k, msgspec.Raw(v)) for k, v in save.sticky.items())
        entry.update(self._of_step(save))
        entry["status"] = self._status(save)
        return ledger_line.encode(entry)

    def checkpoint(self, save: Prepared) -> list[bytes | bytearray]:
        """Everything as it stands after the save, in parts. Messages last: the start of the file tells the rest."""
        head: dict[str, Any] = {"schema": SCHEMA, "run": self.run, **save.first(), "status": self._status(save)}
        head.update((name, msgspec.Raw(save.sticky[name])) for name in STICKY[:3] if name in save.sticky)
        usage = self._of_step(save).get("usage")
        if usage is not None:
            head["usage"] = usage
        state = self.state if save.state is None else save.state
        if state is not None:
            head["state"] = state
        head["notes"] = msgspec.Raw(save.sticky.get("notes", b"null"))
        head.update((name, msgspec.Raw(save.sticky[name])) for name in ("system", "tools") if name in save.sticky)
        head.update((key, value) for key, value in self.extra.items() if key not in head and key != "messages")
        start = msgspec.json.encode(head)[:-1]
        return ledger_line.sealed([start, b',"messages":', *self.messages.parts(save.edit)], b"checksum")

    def _of_step(self, save: Prepared) -> dict[str, Any]:
        return save.once if save.given.status in (None, LIVE) else {**self._once, **save.once}

    def _status(self, save: Prepared) -> str:
        return save.given.status or self.status or LIVE

    def change(self, save: Prepared) -> Change:
        line = self.line(save)
        state = self.state if save.state is None else save.state
        goal = save.sticky.get("goal")
        return Change(
            run=self.run, seq=self.seq + 1, step=save.given.step, at=save.at, line=line, whole=save.whole,
            whole_line=lambda: self.whole_line(save), checkpoint=lambda: self.checkpoint(save), lane=self.lane,
            status=self._status(save), goal=None if goal is None else msgspec.json.decode(goal),
            state=None if state is None else encoded(state),
        )  # fmt: skip

    def advance(self, save: Prepared) -> None:
        """The save was stored."""
        self.status = self._status(save)
        self.messages.advance(save.edit)
        if save.exact is not None:
            self._prompts.advance(save.exact)
        elif save.whole:
            self._prompts = MessageMemo()
        if save.state is not None:
            self.state = save.state
        if self.state is not None and (save.state is not None or save.whole):
            self._states.advance(self.state)
        self._once = self._of_step(save)
        self._sticky = save.sticky
        self._written = dict(save.sticky)
        self._continuous = True
        self.seq += 1


class Prepared(msgspec.Struct, kw_only=True, eq=False):
    """A save, checked and encoded as far as it is new."""

    memo: RunMemo
    given: Given
    at: float
    edit: MessageEdit
    exact: MessageEdit | None
    state: dict[str, Any] | None
    sticky: dict[str, bytes]
    once: dict[str, Any]
    whole: bool = False
    """A whole line was asked for."""

    def first(self) -> dict[str, Any]:
        return {"seq": self.memo.seq + 1, "step": self.given.step, "lane": self.memo.lane, "at": self.at}


def _raws(pieces: list[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"".join((b"[", b",".join(pieces), b"]")))
