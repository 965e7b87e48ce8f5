"""Which saves of a run can be had where its ledger is damaged, and what is said where one cannot."""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

import msgspec

from agentmem.checkpoint.replay import Ledger, Replay
from agentmem.checkpoint.store import Checkpoint, DamagedError, MissingError
from agentmem.model import Problem

_NONE = "No earlier version can be rebuilt"


class _Save(msgspec.Struct, frozen=True):
    """A save of which something is known."""

    seq: int
    step: int
    at: float
    rebuilt: bool
    """The ledger leads to it: nothing that it stands on is lost."""
    kept: bool = False
    """The store has it whole, whatever the ledger says."""

    @property
    def good(self) -> bool:
        """It can be had."""
        return self.rebuilt or self.kept


class Saves:
    """The saves of a run: those that its lines lead to, and the newest where the store keeps that whole."""

    def __init__(self, ledger: Ledger, newest: Checkpoint | None, path: str) -> None:
        self._path = path
        self._problem = ledger.problems[0] if ledger.problems else None
        known: dict[int, _Save] = {}
        replay = Replay(path)
        for line in ledger.lines:
            try:
                replay.apply(line)
                rebuilt = True
            except ValueError as error:
                rebuilt = line.seq in known and known[line.seq].rebuilt
                if not rebuilt and self._problem is None:
                    self._problem = Problem(f"{path}: save {line.seq}, step {line.step}", f"damaged: {error}")
            known[line.seq] = _Save(line.seq, line.step, line.at, rebuilt)
        if newest is not None:
            seq = max(known, default=0) + 1 if newest.seq is None else newest.seq  # a file that is not ours tells none
            rebuilt = seq in known and known[seq].rebuilt
            known[seq] = _Save(seq, newest.step, newest.at or 0.0, rebuilt, kept=True)
        self._saves = [known[seq] for seq in sorted(known)]
        first = bool(self._saves) and 0 in ledger.holes and self._saves[0].seq > 1
        # A line at the end that cannot be read is the newest save, or one that was never acknowledged.
        self._endless = newest is None and len(ledger.lines) in ledger.holes
        self._gaps: list[tuple[_Save | None, _Save]] = [(None, self._saves[0])] if first else []
        self._gaps += [(one, other) for one, other in pairwise(self._saves) if other.seq > one.seq + 1]

    @property
    def whole(self) -> bool:
        """Whether every save can be had."""
        return not self._gaps and not self._endless and all(save.good for save in self._saves)

    def must_be_whole(self) -> None:
        """Raises DamagedError saying where, why and what can be had, if one of them cannot."""
        if not self.whole:
            number = sum(save.good for save in self._saves)
            self._refuse("not every version can be had", f"rebuild=True gives the {number} that can")

    def find(self, generation: int = 0, step: int | None = None, at: float | None = None) -> int:
        """Number of the save that is asked for: see `Store.load`. Raises MissingError, DamagedError."""
        if step is None and at is None:
            return self._before(generation)
        found = [s for s in self._saves if (step is None or s.step == step) and (at is None or s.at <= at)]
        what = f"step {step}" if step is not None else "what stood at that moment"
        if len(found) + generation < 1:
            if self._may_hold(step):
                self._refuse(f"{what} cannot be had", self._instead(generation, step, at))
            asked = f"step {step}" if step is not None else "save so early"
            steps = [save.step for save in self._saves]
            raise MissingError(
                f"{self._path}: there is no {asked}; it holds {len(steps)} saves, steps {min(steps)} to {max(steps)}"
            )
        save = found[generation - 1]
        unread = step is None and any(
            one is not None and one.seq >= save.seq and at is not None and one.at <= at for one, _ in self._gaps
        )
        if not save.good or unread:
            self._refuse(f"{what} cannot be had", self._instead(generation, step, at))
        return save.seq

    def _before(self, generation: int) -> int:
        if not self._saves:
            self._refuse("no version can be had", _NONE)
        seq = self._saves[-1].seq + self._endless + generation
        if seq < self._saves[0].seq and not (self._gaps and self._gaps[0][0] is None):
            raise MissingError(
                f"{self._path}: there is no generation {generation}; the ledger holds {len(self._saves)} saves"
            )
        if not any(save.seq == seq and save.good for save in self._saves):
            self._refuse(f"generation {generation} cannot be had", self._instead(generation, None, None))
        return seq

    def last_good(self, generation: int, step: int | None, at: float | None) -> int:
        """Number of the newest save not after what is asked for that can be rebuilt. Raises DamagedError for none."""
        found = self._last(generation, step, at)
        if found is None:
            self._refuse("nothing before it can be had", _NONE)
        return found.seq

    def _last(self, generation: int, step: int | None, at: float | None) -> _Save | None:
        last = self._saves[-1].seq + generation if self._saves and step is None and at is None else None
        found = [
            save
            for save in self._saves
            if save.rebuilt and (step is None or save.step <= step) and (at is None or save.at <= at)
            and (last is None or save.seq <= last)
        ]  # fmt: skip
        return found[-1] if found else None

    def _may_hold(self, step: int | None) -> bool:
        """Whether a save that cannot be read may be of that step."""
        steps = [save.step for save in self._saves]
        if not steps:
            return True
        early = bool(self._gaps) and self._gaps[0][0] is None
        if step is None:
            return early
        inside = bool(self._gaps) and min(steps) <= step <= max(steps)
        return inside or (early and step < min(steps)) or (self._endless and step > max(steps))

    def offer(self) -> str:
        """What can be had instead of the newest, in words."""
        return _told(self._last(0, None, None))

    def _instead(self, generation: int, step: int | None, at: float | None) -> str:
        told = _told(self._last(generation, step, at))
        newest = self._saves[-1] if self._saves else None
        return f"{told}; the newest, step {newest.step}, is whole" if newest is not None and newest.kept else told

    def _refuse(self, what: str, instead: str) -> NoReturn:
        problem = self._problem
        if problem is None:
            one = next((save for save, _ in self._gaps if save is not None), None)
            problem = Problem(self._path, f"damaged: saves are missing after save {one.seq if one else 0}")
        raise DamagedError(f"{problem.where}: {problem.what}; {what}. {instead}")


def _told(save: _Save | None) -> str:
    return _NONE if save is None else f"It is good to step {save.step} (save {save.seq}): rebuild=True gives that"
