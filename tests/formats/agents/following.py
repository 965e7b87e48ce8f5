"""What tests of readers share: a draft as a value to compare, a writer that appends in pieces, cuts, whole texts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentmem.formats import NotYet, Options, Unreadable, recognise
from agentmem.formats.draft import LaneDraft, RunDraft
from agentmem.formats.reader import Reader
from agentmem.inspect.assemble import Assembler
from agentmem.inspect.open import Opened
from agentmem.inspect.texts import Texts
from agentmem.model import Run


def reader_of(path: Path, run_id: str | None = None) -> Reader:
    """The reader that the file's own content asks for, not yet refreshed."""
    known = recognise(path)
    assert known is not None, f"{path.name} is not recognised"
    return known.open(path, Options(run_id=run_id))


def read(path: Path, run_id: str | None = None) -> Reader:
    reader = reader_of(path, run_id)
    reader.refresh()
    return reader


def opened(path: Path, run_id: str | None = None) -> Opened:
    known = recognise(path)
    assert known is not None
    return Opened(path, known, Options(run_id=run_id))


def run_of(reader: Reader) -> Run:
    texts = Texts(reader, getattr(reader, "keeper", None), getattr(reader, "rows", None))
    return Assembler(reader.draft, texts).run()


def heads(lane: LaneDraft, n: int) -> list[str | None]:
    """Heads of the pieces of a prompt; of the list as it stands for n = steps + 1."""
    return [lane.tape.segment(ident).head for ident in lane.tape.ids(n)]


def _lane(lane: LaneDraft) -> dict[str, Any]:
    tape = lane.tape
    steps = [
        {
            "prompt": [tape.keys[ident] for ident in tape.ids(step.n)],
            "replies": [tape.keys[ident] for ident in step.replies],
            "calls": [(call.tool, call.arguments, call.outcome, call.error) for call in step.calls],
            "usage": None if step.usage is None else (step.usage.prompt, step.usage.output),
            "boundary": None if step.boundary is None else (step.boundary.kind, step.boundary.why),
            "fields": [(field.name, field.value, field.done) for field in step.fields],
        }
        for step in lane.steps
    ]
    now = [tape.keys[ident] for ident in tape.live]
    return {"kind": lane.kind, "from": lane.spawned_by, "steps": steps, "now": now, "answered": lane.answered}


def picture(draft: RunDraft) -> dict[str, Any]:
    """Everything of a draft that a person would see, comparable."""
    return {
        "id": draft.id, "goal": draft.goal, "model": draft.model, "window": draft.window, "unknown": draft.unknown,
        "finished": draft.finished, "lanes": {ident: _lane(lane) for ident, lane in draft.lanes.items()},
        "problems": sorted((one.where, one.what) for one in draft.problems if "half a record" not in one.what),
    }  # fmt: skip


def grow(path: Path, data: bytes, seed: int, most: int = 40) -> Reader:
    """A writer that appends in pieces of any size, and a reader that looks after each. Returns the reader."""
    chance = random.Random(seed)
    places = sorted(chance.sample(range(1, len(data)), min(most, len(data) - 1)))
    path.write_bytes(b"")
    reader: Reader | None = None
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        with path.open("ab") as file:
            file.write(data[start:end])
        if reader is None and recognise(path) is not None:
            reader = reader_of(path)
        if reader is not None:
            try:
                reader.refresh()
            except NotYet:
                continue
    assert reader is not None
    return reader


def cuts(path: Path, data: bytes, places: int, seed: int = 7) -> Iterable[tuple[int, RunDraft | str]]:
    """The file cut at random places: (place, what a fresh reader makes of it, or why it opens nothing)."""
    chance = random.Random(seed)
    for place in sorted(chance.sample(range(1, len(data)), min(places, len(data) - 1))):
        path.write_bytes(data[:place])
        known = recognise(path)
        if known is None:
            yield place, "not recognised"
            continue
        try:
            reader = known.open(path, Options())
            reader.refresh()
        except (NotYet, Unreadable) as error:
            yield place, str(error)
            continue
        run_of(reader)
        yield place, reader.draft


def every_text_is_whole(path: Path, run_id: str | None = None) -> int:
    """Every piece of every prompt can be fetched from the file and is what its key says. Returns how many there are."""
    source = opened(path, run_id)
    count = 0
    for lane in source.run.lanes:
        seen: set[int] = set()
        for step in lane.steps:
            for segment in (*step.prompt, *step.replies):
                if segment.id in seen or segment.head is None:
                    continue
                seen.add(segment.id)
                count += 1
                assert source.text(segment) is not None, f"{lane.id} {step.n} {segment.kind} {segment.head[:40]!r}"
    return count
