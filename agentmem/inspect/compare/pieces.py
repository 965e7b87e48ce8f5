"""The prompt against the parent's prompt: every piece that left becomes part of one row, or is spared with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agentmem.formats.draft import Declared
from agentmem.inspect.compare.boundary import cause_of, declared_record
from agentmem.inspect.compare.fields import REWORDED, compare_fields
from agentmem.inspect.compare.pair import Pair, cut_out, pair
from agentmem.inspect.compare.row import Outcome, Passage, Row, Spared, title
from agentmem.inspect.compare.spared import place_of, reworded_rows
from agentmem.inspect.compare.words import clears, leaf, reworded
from agentmem.model import HEAD_CHARACTERS, KINDS, STATE_KINDS, Cause, Kind, Segment, Still
from agentmem.tape import content_key

_PINNED = frozenset({"system", "tools", "goal", "summary", "plan", "fact", "note", "recall"})
_LONGEST_CUT = 2_000
"""Characters of what was cut out of a text that its row holds."""
_ROWS = 12
"""More pieces than this that vanish from the middle without a record are one row."""


def compare(passage: Passage) -> Outcome:
    """What left between the parent's prompt and state and this step's, in rows, and what is no drop and why."""
    outcome = Outcome()
    covered: set[int] = set()
    declared = list(passage.declared)
    gone = frozenset(passage.left) if declared else frozenset()
    for item in declared:
        if item.segment is not None:
            _declared_piece(passage, outcome, item, covered, gone)
    said = [item for item in declared if item.segment is None]
    used = compare_fields(passage, outcome, said, covered)
    for item in said:
        if id(item) not in used:
            _declared_name(passage, outcome, item, covered)
    rest = [ident for ident in passage.left if ident not in covered]
    if rest:
        _pieces(passage, outcome, rest)
    pairs: dict[int, Pair] | None = None
    for row in outcome.rows:
        row.keys.update(passage.tape.keys[ident] for ident in row.ids)
        if row.stub is None and row.ids and row.cause in ("shortened", "summarised") and row.recorded:
            pairs = pair(passage) if pairs is None else pairs
            found = pairs.get(row.ids[0])
            row.stub = None if found is None else found.new.id
    return outcome


def _declared_piece(
    passage: Passage, outcome: Outcome, item: Declared, covered: set[int], gone: frozenset[int]
) -> None:
    """A drop that the file declares of a piece by its id; `gone` are those that left."""
    ident = item.segment
    if ident is None or ident in covered:
        return
    never_stood = not passage.tape.born[ident] and not passage.tape.standing[ident]
    if ident not in gone and not never_stood:
        outcome.spared.append(Spared(item.name, "declared, but its content still stands", ident))
        return
    covered.add(ident)
    row = _said(passage, item, ident)
    if item.others:
        row.ids = (ident, *(other for other in item.others if other in gone and other not in covered))
        row.count = len(row.ids)
        counts = [passage.tape.segment(other).tokens for other in row.ids]
        known = [count for count in counts if count is not None]
        row.tokens = item.tokens if item.tokens is not None else sum(known) if known else None
        covered.update(row.ids)
    outcome.rows.append(row)


def _declared_name(passage: Passage, outcome: Outcome, item: Declared, covered: set[int]) -> None:
    """A drop that the file declares by name or text, of what is no field that left."""
    tape = passage.tape
    if any(field.segment is not None for field in passage.after if item.name in (field.name, leaf(field.name))):
        outcome.spared.append(Spared(item.name, "declared, but it still stands in the prompt"))
        return
    found = None if item.text is None else _by_text(passage, item.text, covered)
    if found is None and item.name:
        names = (item.name, f"facts.{item.name}")
        found = next((i for i in passage.left if i not in covered and tape.field_of(i) in names), None)
    if found is not None:
        covered.add(found)
    elif passage.absent(item.name, item.text) and not _another_left(passage, outcome, item.text):
        outcome.spared.append(Spared(item.name, "declared again; it has been gone since an earlier step"))
        return
    outcome.rows.append(_said(passage, item, found))


def _another_left(passage: Passage, outcome: Outcome, text: str | None) -> bool:
    """Whether a piece of that text left which no row tells, although its content may stand elsewhere in the prompt."""
    if text is None:
        return False
    keys, of = {content_key(kind, text) for kind in KINDS}, passage.tape.keys
    gone = sum(of[ident] in keys for edit in passage.edits for ident in edit.gone)
    came = sum(of[ident] in keys for edit in passage.edits for ident in edit.new)
    return gone - came > sum(row.text == text for row in outcome.rows)


def _said(passage: Passage, item: Declared, ident: int | None) -> Row:
    seg = None if ident is None else passage.tape.segment(ident)
    kind = seg.kind if seg is not None and item.kind == "other" else item.kind
    head = seg.head if seg is not None else item.text[:HEAD_CHARACTERS] if item.text is not None else None
    tokens = item.tokens if item.tokens is not None else seg.tokens if seg is not None else None
    name = item.name
    if seg is not None and name in ("", seg.call_id):
        name = title(seg)
    return Row(
        passage.index, item.what, name or kind, kind, head, tokens,
        item.cause, True, ident, item.text, 1, declared_record(item), item.stub, False,
        () if ident is None else (ident,),
    )  # fmt: skip


def _by_text(passage: Passage, text: str, covered: set[int]) -> int | None:
    """The piece that left with that text, or whose first 120 characters it is."""
    keys = {content_key(kind, text) for kind in KINDS}
    tape = passage.tape
    open_ = [ident for ident in passage.left if ident not in covered]
    found = next((ident for ident in open_ if tape.keys[ident] in keys), None)
    if found is not None or len(text) < HEAD_CHARACTERS:
        return found
    head = text[:HEAD_CHARACTERS]
    return next((ident for ident in open_ if tape.segment(ident).head == head), None)


def _pieces(passage: Passage, outcome: Outcome, rest: Sequence[int]) -> None:
    if passage.restarted:
        _spare_all(passage, outcome, rest, "a new run begins here")
        return
    pairs = pair(passage)
    open_: list[Segment] = []
    tape = passage.tape
    for ident in rest:
        if passage.goal_stands and KINDS[tape.kinds[ident]] == "goal" and tape.field_of(ident) is None:
            outcome.spared.append(Spared("goal", "the goal stands elsewhere in the prompt", ident))
            continue
        found = pairs.get(ident)
        if found is None or not _paired(passage, outcome, found):
            open_.append(tape.segment(ident) if found is None else found.old)
    if not open_:
        return
    cause, recorded, record = cause_of(passage.boundary)
    if recorded and passage.given:
        for seg in open_:
            outcome.rows.append(_row(passage, seg, cause, recorded, record))
        return
    if passage.gap:
        _spare_all(passage, outcome, [seg.id for seg in open_], "steps are missing before this one: unknown")
        return
    _unrecorded(passage, outcome, open_, cause if passage.given else "silent")


def _paired(passage: Passage, outcome: Outcome, found: Pair) -> bool:
    """Take in a piece in whose place something stands. False: that explains nothing."""
    old, new = found.old, found.new
    if found.sort == "changed":
        outcome.spared.append(Spared(title(old), "another value stands in its place", old.id))
        if not passage.before:  # else the fields of the state tell it
            _reworded(passage, outcome, old, [passage.text(new.id) or ""])
    elif found.sort == "stub":
        outcome.rows.append(_row(passage, old, "shortened", True, "a stub stands in its place", new))
    elif found.sort == "shorter" and not (passage.given and passage.boundary is not None and passage.boundary.recorded):
        _shorter(passage, outcome, old, new)
    elif found.sort == "blank":
        outcome.rows.append(_row(passage, old, "nulled", False, None, new))
    elif found.sort == "summary":
        cause, recorded, record = cause_of(passage.boundary)
        if not recorded:
            cause, record = "compacted", "a summary stands in its place"
        row = _row(passage, old, cause, True, record)
        row.stub = new.id
        outcome.rows.append(row)
    elif passage.boundary is not None and passage.boundary.recorded:
        return False
    elif old.kind == "recall":
        outcome.spared.append(Spared(title(old), "another recall stands in its place", old.id))
    else:
        row = _row(passage, old, "replaced", False, None, new)
        if old.kind in ("result", "error") and (new.characters or 0) < (old.characters or 0):
            row.text = (passage.text(old.id) or "")[:_LONGEST_CUT] or None
        outcome.rows.append(row)
    return True


def _shorter(passage: Passage, outcome: Outcome, old: Segment, new: Segment) -> None:
    """A part of a text stands in its place, and nothing says that the rest was cut: that is what was lost."""
    gone = cut_out(passage.text(old.id) or old.head or "", passage.text(new.id) or new.head or "")[0].strip()
    if not any(character.isalnum() for character in gone):
        outcome.spared.append(Spared(title(old), "it stands there without its spaces and signs", old.id))
    elif (place := place_of(gone, passage.after, passage.tape, passage.live(), passage.text)) is not None:
        outcome.spared.append(Spared(title(old), f"what was cut out of it stands in {place[0]}", old.id))
    else:
        row = _row(passage, old, "shortened", False, None, new)
        row.text = gone[:_LONGEST_CUT]
        outcome.rows.append(row)


def _row(
    passage: Passage, seg: Segment, cause: Cause, recorded: bool, record: str | None, new: Segment | None = None
) -> Row:
    """One row for one piece. Of a shortened piece the tokens are those that went."""
    tokens = seg.tokens
    if new is not None and cause == "shortened" and tokens is not None and new.tokens is not None:
        tokens = max(0, tokens - new.tokens)
    what: Literal["segment", "field", "plan"] = "segment" if seg.field is None else "field"
    if seg.kind == "plan":
        what = "plan"
    return Row(
        passage.index, what, title(seg), seg.kind, seg.head, tokens, cause, recorded, seg.id, None, 1, record,
        None if new is None else new.id, False, (seg.id,),
    )  # fmt: skip


def _spare_all(passage: Passage, outcome: Outcome, ids: Sequence[int], why: str) -> None:
    for ident in ids:
        outcome.spared.append(Spared(title(passage.tape.segment(ident)), why, ident))


def _unrecorded(passage: Passage, outcome: Outcome, open_: Sequence[Segment], known: Cause) -> None:
    """Nothing in the file records these. State pieces one by one; messages as one row: a sliding window if they were
    the oldest, else silent. `known`: a cause that the reader found all the same (a stale writer, a rewind)."""
    trace: list[Segment] = []
    for seg in open_:
        if seg.kind in STATE_KINDS or seg.field is not None:
            _state_piece(passage, outcome, seg, known)
        elif seg.kind == "system":
            outcome.rows.append(_row(passage, seg, known, False, None))
        else:
            trace.append(seg)
    if not trace:
        return
    cause: Cause = known if known != "silent" else "trimmed" if _oldest(passage, trace) else "silent"
    if len(trace) == 1 or (cause == "silent" and len(trace) <= _ROWS):
        outcome.rows.extend(_row(passage, seg, cause, False, None) for seg in trace)
        return
    trace.sort(key=lambda seg: seg.kind != "user")
    weights = [seg.tokens for seg in trace if seg.tokens is not None]
    counts: dict[Kind, int] = {}
    for seg in trace:
        counts[seg.kind] = counts.get(seg.kind, 0) + 1
    common = sorted(counts, key=lambda kind: -counts[kind])
    kinds = ", ".join([f"{counts[kind]} {kind}" for kind in common])
    outcome.rows.append(
        Row(
            passage.index, "segment", f"{len(trace)} pieces: {kinds}", common[0], trace[0].head,
            sum(weights) if weights else None, cause, False, trace[0].id, None, len(trace), None, None, False,
            tuple(seg.id for seg in trace),
        )
    )  # fmt: skip


def _state_piece(passage: Passage, outcome: Outcome, seg: Segment, known: Cause) -> None:
    fresh = [passage.text(ident) or "" for ident in passage.came if KINDS[passage.tape.kinds[ident]] in STATE_KINDS]
    text = passage.text(seg.id)
    if seg.kind == "goal" and any(KINDS[passage.tape.kinds[ident]] == "goal" for ident in passage.came):
        outcome.spared.append(Spared(title(seg), "another goal stands in its place", seg.id))
    elif seg.field and clears(seg.field, text or ""):
        why = "the last error, a counter or a clock was cleared"
        outcome.spared.append(Spared(title(seg), why, seg.id))
    elif seg.field and passage.before and all(field.name != seg.field for field in passage.before):
        outcome.spared.append(Spared(title(seg), "it had left the state at an earlier step", seg.id))
    elif seg.kind in ("recall", "summary") and any(
        passage.tape.kinds[ident] == KINDS.index(seg.kind) for ident in passage.came
    ):
        outcome.spared.append(Spared(title(seg), f"another {seg.kind} stands in its place", seg.id))
        if seg.kind == "summary":
            _reworded(passage, outcome, seg, fresh)
    elif text is not None and seg.kind in ("note", "plan", "fact") and reworded(text, fresh):
        outcome.spared.append(Spared(title(seg), REWORDED, seg.id))
        _reworded(passage, outcome, seg, fresh)
    elif text is not None and (place := place_of(text, (), passage.tape, passage.live(), passage.text)) is not None:
        outcome.spared.append(Spared(title(seg), "it stands elsewhere in the prompt", seg.id))
        if seg.field is not None:
            row = _row(passage, seg, known, False, None)
            row.ids, row.text, row.still = (), text, Still(f"its text still stood in {place[0]}")
            outcome.waiting.append(row)
    else:
        outcome.rows.append(_row(passage, seg, known, False, None))


def _reworded(passage: Passage, outcome: Outcome, old: Segment, texts: Sequence[str]) -> None:
    """What a piece said as `name = value` that is not said where other words stand in its place."""
    text = passage.text(old.id)
    if text is not None and not passage.gap:
        outcome.waiting += reworded_rows(passage, title(old), text, texts, old)


def _oldest(passage: Passage, trace: Sequence[Segment]) -> bool:
    """Whether what left stood before every message that stays: a window that slides."""
    gone = {seg.id for seg in trace}
    newest = max(gone)
    came = set(passage.came)
    kinds = passage.tape.kinds
    ids: list[int] | None = None
    for edit in passage.edits:
        if edit.position == 0 or gone.isdisjoint(edit.gone):
            continue
        ids = passage.live() if ids is None else ids
        for ident in ids[: edit.position]:
            if ident <= newest and ident not in came and KINDS[kinds[ident]] not in _PINNED:
                return False
    return True
