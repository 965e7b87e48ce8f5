"""One run, opened for a command: its value, whole texts on request, and a look again where it is followed."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentmem.formats import recognise
from agentmem.formats.draft import RunDraft
from agentmem.formats.reader import Format, Keeper, Options, Reader
from agentmem.formats.source import NotYet, Unreadable, slice_of
from agentmem.inspect.assemble import Assembler
from agentmem.inspect.discover import NoRuns, find, is_address, postgres, told, why_unknown
from agentmem.inspect.telling.pulse import CUT, NO_PERMISSION
from agentmem.inspect.texts import Texts
from agentmem.model import Run, RunInfo, Segment

NEARLY_SECONDS = 0.15
"""How much longer than it was given a file is read that is nearly read: no short one is shown in parts."""


class SeveralRuns(Exception):
    """A target holds several runs and none was chosen; `runs` lists them."""

    def __init__(self, target: str, runs: Sequence[RunInfo]) -> None:
        shown = ", ".join(run.id for run in runs[:12])
        more = f" and {len(runs) - 12} more" if len(runs) > 12 else ""
        super().__init__(f"{told(target)} holds {len(runs)} runs; choose one with --run: {shown}{more}")
        self.runs = tuple(runs)


@contextmanager
def unswept() -> Iterator[None]:
    """Inside, no garbage is looked for: what a run is made of stays, and every search would walk all of it again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Opened:
    """A reader with its run. `refresh` looks again; values given out before stay as they are."""

    @unswept()
    def __init__(
        self, path: Path, known: Format, options: Options, *, window: int | None = None, seconds: float | None = None,
        reader: Reader | None = None,
    ) -> None:  # fmt: skip
        self._path = path
        self._options = options
        self._window = window
        self.reader = known.open(path, options) if reader is None else reader
        self.overwritten = known.overwritten
        self._sampled = False
        """What was read is more than `run` says."""
        self._draft: RunDraft | None = None
        self.behind: tuple[int, int] | None = None
        """(bytes read, bytes there) while not everything was read; None: it is."""
        self._look(seconds)
        self._assemble()

    def _look(self, seconds: float | None) -> bool:
        if seconds is None:
            return self.reader.refresh()
        with slice_of(seconds, NEARLY_SECONDS) as given:
            changed = self.reader.refresh()
        left = given.behind.values()
        self.behind = (sum(done for done, _ in left), sum(total for _, total in left)) if left else None
        return changed

    def _assemble(self) -> None:
        if self._draft is not self.reader.draft:
            self._draft = self.reader.draft
            keeper = self._options.keeper or getattr(self.reader, "keeper", None)
            self._texts = Texts(self.reader, keeper, getattr(self.reader, "rows", None))
            self._assembler = Assembler(self._draft, self._texts, window=self._window)
        self.run: Run = self._assembler.run()

    @unswept()
    def refresh(self, seconds: float | None = None) -> bool:
        """Read what is new, of append files for about `seconds` (None: to the end). True if the run changed; `run` is
        then a new value."""
        changed = self._look(seconds) or self._sampled
        self._sampled = False
        if changed:
            self._assemble()
        return changed

    def sample(self) -> Reader:
        """Read what is new, and leave `run` as it is until the next refresh. Raises as the reader does."""
        self._sampled = self.reader.refresh() or self._sampled
        return self.reader

    def grew_older(self) -> bool:
        """Look at the clock only: True if the run's status is another now (a live run that went quiet)."""
        run = self._assembler.run(changed=False)
        if (run.status, run.pending, len(run.doubts)) == (self.run.status, self.run.pending, len(self.run.doubts)):
            return False
        self.run = run
        return True

    def watched(self) -> Iterable[Path]:
        """Folders whose changes matter to this run."""
        return self.reader.watched()

    def text(self, segment: Segment) -> str | None:
        """Whole text of a piece; None if it is unknown or no longer the same in the file."""
        return self._texts.of(segment)

    def raw(self, segment: Segment) -> bytes | None:
        """Bytes of the record that holds a piece."""
        return None if segment.where is None else self._texts.raw(segment.where)

    def segment(self, lane_id: str, ident: int) -> Segment:
        """The piece of that id. Raises KeyError for an unknown lane."""
        assert self._draft is not None
        return self._draft.lanes[lane_id].tape.segment(ident)


def choose(target: str, run_id: str | None) -> RunInfo:
    """The one run of a target. Raises Unreadable, NoRuns, SeveralRuns."""
    rows = find([target] if target else [])
    if run_id is not None:
        named = (
            [row for row in rows if row.id == run_id] or [row for row in rows if Path(row.path).stem == run_id]
            or [row for row in rows if row.id.startswith(run_id)]
        )  # fmt: skip
        if len(named) != 1:
            raise _not_one(target, run_id, named, rows)
        rows = named
    # What is cut may be in the middle of a write, what may not be read is a run all the same: neither is passed over.
    there = [row for row in rows if row.problem is None or row.problem.startswith((CUT, NO_PERMISSION))]
    if len(there) == 1:
        rows = there
    if len(rows) > 1:
        raise SeveralRuns(target or "this folder", rows)
    if rows[0].problem is not None:
        kind = NotYet if rows[0].problem.startswith(CUT) else Unreadable
        raise kind(f"{rows[0].path}: {rows[0].problem}")
    return rows[0]


def _not_one(target: str, run_id: str, named: Sequence[RunInfo], rows: Sequence[RunInfo]) -> Exception:
    """Why no run, or no single one, has that name: where nothing can be read, the reason of that."""
    there = [row for row in named or rows if row.problem is None]
    if not there and rows[0].problem is not None:
        others = f" (and {len(rows) - 1} more that cannot be read)" if len(rows) > 1 else ""
        return Unreadable(f"{rows[0].path}: {rows[0].problem}{others}")
    if len(there) == 1 and not named:
        try:
            open_info(there[0])
        except (Unreadable, NotYet) as wrong:
            return wrong  # listed by its name, yet it holds no run
    shown = ", ".join(row.id for row in there[:12]) + (f" and {len(there) - 12} more" if len(there) > 12 else "")
    where = told(target) if target else "this folder"
    return NoRuns(f"{where}: {'more than one run' if named else 'no run'} {run_id}; there are {shown}")


def open_run(
    target: str, run_id: str | None = None, *, counter: str = "quick", window: int | None = None,
    keeper: Keeper | None = None,
) -> Opened:  # fmt: skip
    """Open the run of a target. Raises Unreadable or NotYet for what cannot be read, NoRuns, SeveralRuns, all with one
    line that names the file and the reason; UnknownCounter."""
    return open_info(choose(target, run_id), counter=counter, window=window, keeper=keeper)


def open_info(
    info: RunInfo, *, counter: str = "quick", window: int | None = None, keeper: Keeper | None = None,
    seconds: float | None = None, reader: Reader | None = None,
) -> Opened:  # fmt: skip
    """Open a run of the list; `seconds` as for `Opened.refresh`; `reader`: one that has followed it until now. Raises
    Unreadable, NotYet."""
    path = Path(info.path)
    known = postgres().format_of(info.path) if is_address(info.path) else recognise(path)
    if known is None:
        raise Unreadable(f"{path}: {why_unknown(path)}")
    options = Options(counter, info.id if known.runs else None, keeper)
    return Opened(path, known, options, window=window, seconds=seconds, reader=reader)


__all__ = ["NoRuns", "NotYet", "Opened", "SeveralRuns", "Unreadable", "choose", "find", "open_info", "open_run"]
