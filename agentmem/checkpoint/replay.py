"""From a checkpoint and the ledger's lines to versions of the run: roll forward, go back, and say what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from agentmem.checkpoint import ledger_line
from agentmem.checkpoint.delta.state import applied
from agentmem.checkpoint.ledger_line import DamagedLine, Line
from agentmem.checkpoint.store import LIVE, SCHEMA, Checkpoint, DamagedError, NewerSchemaError
from agentmem.checkpoint.values import parsed
from agentmem.model import Problem

_READ = frozenset({"schema", "checksum", "step", "messages", "notes", "state", "system", "tools", "usage"})
_TYPES: dict[str, type | tuple[type, ...]] = {
    "seq": int, "run": str, "lane": str, "at": (int, float), "status": str, "goal": str, "model": str, "window": int,
}  # fmt: skip


class Ledger(msgspec.Struct):
    """The lines of a ledger that can be read, in file order, and what cannot."""

    lines: list[Line]
    problems: list[Problem]
    torn: bool
    """It does not end in a newline: being written, or left by a crash."""
    holes: list[int] = msgspec.field(default_factory=list)
    """For each line that cannot be read, how many that can stand before it; not for half a line at the end."""


def read_ledger(data: bytes, path: str) -> Ledger:
    """Half a line behind which the next save went on with the next number is no damage: a crash cut it short, so that
    it was never acknowledged, and nothing is lost. Raises NewerSchemaError for a line of a newer version."""
    lines: list[Line] = []
    problems: list[Problem] = []
    holes: list[int] = []
    halves = 0
    """How many of the last problems are half lines, with no whole line behind them yet."""
    torn = bool(data) and not data.endswith(b"\n")
    start = 0
    for number, raw in enumerate(data.split(b"\n"), 1):
        if raw.strip():
            try:
                line = ledger_line.decode(raw)
                if halves and line.seq == (lines[-1].seq if lines else 0) + 1:
                    del problems[-halves:], holes[-halves:]
                halves = 0
                lines.append(line)
            except ledger_line.NewerLine as error:
                raise NewerSchemaError(f"{path}: line {number}: {error}") from None
            except DamagedLine as error:
                place = f"{path}: line {number}, byte {start}"
                last = torn and start + len(raw) == len(data)
                halves = halves + 1 if ledger_line.half(raw) else 0
                holes += [] if last else [len(lines)]
                problems.append(Problem(place, f"half a line, {len(raw)} bytes" if last else f"damaged: {error}"))
        start += len(raw) + 1
    return Ledger(lines, problems, torn, holes)


def read_checkpoint(data: bytes, path: str) -> Checkpoint:
    """The version in a checkpoint file, ours or a stranger's plain one.

    Raises DamagedError with where and why, NewerSchemaError for a newer schema.
    """
    try:
        value = parsed(data)
    except ValueError as error:
        raise DamagedError(f"{path}: damaged: {error}") from None
    if not isinstance(value, dict):
        raise DamagedError(f"{path}: damaged: no JSON object but {type(value).__name__}")
    schema = value.get("schema")
    ours = schema == SCHEMA or ("checksum" in value and "seq" in value)
    if schema != SCHEMA and isinstance(schema, str) and schema.startswith(SCHEMA.rpartition("/")[0] + "/"):
        raise NewerSchemaError(f"{path}: schema {schema!r} is not one that this library reads ({SCHEMA})")
    version = value.get("schema_version")
    if not ours and isinstance(version, int) and version > 1:
        raise NewerSchemaError(f"{path}: schema version {version} is newer than this library reads (1)")
    if ours and (wrong := ledger_line.check(data, b"checksum")):
        raise DamagedError(f"{path}: damaged: {wrong}")
    step = value.get("step", 0)
    messages = value.get("messages")
    if not isinstance(messages, list):
        raise DamagedError(f"{path}: not a checkpoint: messages is {_kind(value, 'messages')}, not a list")
    if not isinstance(step, int) or isinstance(step, bool):
        raise DamagedError(f"{path}: not a checkpoint: step is {_kind(value, 'step')}, not an integer")
    state = value.get("state")
    if state is not None and not isinstance(state, dict):
        raise DamagedError(f"{path}: not a checkpoint: state is {_kind(value, 'state')}, not an object")
    known = {key: _typed(value, key, kind) for key, kind in _TYPES.items()}
    if not ours:
        known["seq"] = known["run"] = None
    extra = {key: found for key, found in value.items() if key not in _READ and known.get(key) is None}
    return Checkpoint(
        path=path, step=step, seq=known["seq"], messages=messages, notes=value.get("notes"), state=state,
        system=value.get("system"), tools=value.get("tools"), usage=value.get("usage"), run=known["run"],
        goal=known["goal"], model=known["model"], window=known["window"], status=known["status"],
        lane=known["lane"] or "main", at=known["at"], extra=extra,
    )  # fmt: skip


def _kind(value: dict[str, Any], key: str) -> str:
    return type(value[key]).__name__ if key in value else "missing"


def _typed(value: dict[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    found = value.get(key)
    return found if isinstance(found, kind) and not isinstance(found, bool) else None


class _OfStep(msgspec.Struct, frozen=True):
    """What a save says of its step alone, and is unknown of the next."""

    step: int
    usage: Any
    drops: list[Any] | None
    attempts: list[Any] | None
    prompt: list[Any] | None


class Replay:
    """Applies lines one after the other."""

    def __init__(self, path: str, start: Checkpoint | None = None) -> None:
        self._path = path
        self.seq: int | None = start.seq if start else None
        self._version = start
        self._messages: list[Any] = list(start.messages) if start else []
        self._prompt: list[Any] | None = []
        """The last exact prompt; None where a line that may have changed it cannot be read."""
        self._read = 0
        """Number of the save whose line was read last."""
        self._step: _OfStep | None = None
        """What that line says of its step alone."""

    def pass_over(self, line: Line) -> None:
        """A line of a save that the start holds already, all but what stands in the lines alone: prompt, drops and
        attempts."""
        found = self._of_step(line)
        if self._version is not None and self._version.seq == line.seq:
            self._version = replace(
                self._version, prompt=found.prompt, drops=found.drops, attempts=found.attempts
            )  # fmt: skip

    def _of_step(self, line: Line) -> _OfStep:
        """What is of the step alone. The end of a run is no step of its own: it has what its last step had."""
        last, follows = self._step, line.seq == self._read + 1
        prompt = self._prompted(line)
        ends = line.status not in (None, LIVE) and not line.whole and not line.add
        if last is not None and follows and ends and line.step == last.step:
            self._step = last
        else:
            self._step = _OfStep(line.step, line.usage, line.drops, line.attempts, prompt)
        return self._step

    def _prompted(self, line: Line) -> list[Any] | None:
        """The exact prompt of this save; None where none was given, or where it cannot be read."""
        if line.whole:
            self._prompt = []
        elif line.seq != self._read + 1:
            self._prompt = None
        self._read = line.seq
        edit = line.prompt
        if edit is None:
            return None
        known = edit.keep == 0 or (self._prompt is not None and edit.keep <= len(self._prompt))
        self._prompt = [*(self._prompt or [])[: edit.keep], *edit.add] if known else None
        return self._prompt

    def fits(self, line: Line) -> bool:
        """Whether the line can stand on what was applied so far."""
        if line.whole:
            return True
        return self._version is not None and self.seq is not None and line.seq == self.seq + 1

    def apply(self, line: Line) -> None:
        """Raises ValueError if the line does not fit."""
        if not self.fits(line):
            raise ValueError(f"save {line.seq} does not follow save {self.seq}")
        if line.whole:
            self._messages = []
        if line.keep > len(self._messages):
            raise ValueError(f"save {line.seq} keeps {line.keep} messages of {len(self._messages)}")
        before = None if line.whole else self._version
        del self._messages[line.keep :]
        self._messages += line.add
        step = self._of_step(line)
        state = before.state if before else None
        if line.state is not None:
            state = applied(state, line.state.set, line.state.unset, line.state.full)
        self.seq = line.seq
        self._version = Checkpoint(
            path=self._path, step=line.step, seq=line.seq, messages=[], state=state, lane=line.lane, at=line.at,
            notes=_or(line.notes, before.notes if before else None),
            run=_or(line.run, before.run if before else None),
            goal=_or(line.goal, before.goal if before else None),
            model=_or(line.model, before.model if before else None),
            system=_or(line.system, before.system if before else None),
            tools=_or(line.tools, before.tools if before else None),
            window=_or(line.window, before.window if before else None),
            status=_or(line.status, before.status if before else LIVE),
            extra=self._version.extra if self._version else {},
            usage=step.usage, drops=step.drops, attempts=step.attempts, prompt=step.prompt, source="ledger",
        )  # fmt: skip

    def version(self) -> Checkpoint | None:
        """What the last line led to, with a list of its own; before the first line the start."""
        return None if self._version is None else replace(self._version, messages=list(self._messages))


def _or(new: Any, old: Any) -> Any:
    return old if new is None else new


def rolled(checkpoint: Checkpoint | None, ledger: Ledger, path: str) -> Checkpoint | None:
    """The newest version: the checkpoint and the lines after it. Without a checkpoint, from the ledger alone.

    Raises DamagedError if a later save stands in the ledger and cannot be reached.
    """
    if checkpoint is not None and checkpoint.seq is None:
        return noted(checkpoint, "checkpoint", ledger.problems, ledger)
    replay = Replay(path, checkpoint)
    moved = 0
    broken = ""
    for line in ledger.lines:
        if replay.seq is not None and line.seq <= replay.seq:
            replay.pass_over(line)
            continue
        try:
            replay.apply(line)
            moved += 1
            broken = ""
        except ValueError as error:
            broken = broken or str(error)
    if broken:
        raise DamagedError(f"{path}: damaged: {broken}" + (f" ({ledger.problems[0].what})" if ledger.problems else ""))
    found = replay.version()
    source = "ledger" if checkpoint is None else "checkpoint and ledger" if moved else "checkpoint"
    return None if found is None else noted(found, source, ledger.problems, ledger)


def noted(checkpoint: Checkpoint, source: str, problems: list[Problem], ledger: Ledger) -> Checkpoint:
    """The same version with where it comes from and what is damaged."""
    return replace(checkpoint, source=source, problems=tuple(problems), damaged=len(ledger.problems))


def continuous(ledger: Ledger, seq: int | None) -> bool:
    """Whether the lines lead, without a gap, to that save: then the next line may stand on them."""
    reached: int | None = None
    for line in ledger.lines:
        reached = line.seq if line.whole or (reached is not None and line.seq == reached + 1) else None
    return reached is not None and reached == seq


def versions(
    ledger: Ledger, path: str, problems: list[Problem], first: int | None = None
) -> Iterator[Checkpoint]:
    """Every version that the ledger's lines lead to, oldest first; with `first` from the save of that number on. Those
    behind a damaged line, up to the next whole one, are left out and added to the problems."""
    replay = Replay(path)
    for line in ledger.lines:
        try:
            replay.apply(line)
        except ValueError as error:
            problems.append(Problem(f"{path}: save {line.seq}, step {line.step}", f"not shown: {error}"))
            continue
        version = replay.version() if first is None or line.seq >= first else None
        if version is not None:
            yield noted(version, "ledger", problems, ledger)
