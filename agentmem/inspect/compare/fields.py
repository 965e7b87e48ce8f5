"""The state against the parent's state: fields that are gone, nulled, or held but no longer in the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from agentmem.formats.draft import Call, Declared
from agentmem.formats.fields import SHORTEST, field_kind
from agentmem.inspect.compare.boundary import cause_of, declared_record
from agentmem.inspect.compare.row import Outcome, Passage, Row, Spared
from agentmem.inspect.compare.spared import (
    DONE_KINDS,
    field_place,
    piece_place,
    reworded_fields,
    reworded_rows,
    stands_as,
)
from agentmem.inspect.compare.words import clears, is_item, leaf, may_name, reworded, root, spelled, stands
from agentmem.model import HEAD_CHARACTERS, KINDS, Cause, Field, Kind, Still
from agentmem.pattern import pattern

_NULL = "null"
_FORGETS = frozenset({
    "forget", "delete", "remove", "clear", "unset", "drop", "discard", "erase", "purge", "reset", "rewrite", "replace",
    "overwrite", "update", "set", "write", "edit", "pop", "prune", "forgets", "remember", "save", "store", "put",
})  # fmt: skip
_PLAN_TOOLS = frozenset({"todo", "todos", "plan", "task", "tasks"})
_TOOL_WORD = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST_ARGUMENTS = 100_000
_PLACES = frozenset({("step",), ("plan", "step"), ("current", "step"), ("step", "index")})
"""Words of the names under which a plan keeps its place."""
REWORDED = "it was worded anew"


class Gone(msgspec.Struct, frozen=True, eq=False):
    """A field of the parent that this step does not have, has as null, or holds outside the prompt."""

    field: Field
    sort: Literal["gone", "nulled", "held"]


def gone_fields(before: Sequence[Field], after: Sequence[Field]) -> list[Gone]:
    """What the state or the prompt no longer has. Items of a list go by their value, all else by name."""
    if before is after or not before:
        return []
    now = {field.name: field for field in after}
    items: dict[tuple[str, str], list[Field]] = {}
    for field in after:
        if is_item(field.name):
            items.setdefault((root(field.name), field.value), []).append(field)
    out = []
    for field in before:
        if field.value == _NULL or not field.value:
            continue
        if is_item(field.name):
            same = items.get((root(field.name), field.value))
            if not same:
                out.append(Gone(field, "gone"))
            elif field.segment is not None and all(item.segment is None for item in same):
                out.append(Gone(field, "held"))
            continue
        other = now.get(field.name)
        if other is None:
            out.append(Gone(field, "gone"))
        elif other.value == _NULL:
            out.append(Gone(field, "nulled"))
        elif field.segment is not None and other.segment is None and other.value == field.value:
            out.append(Gone(field, "held"))
    return out


def compare_fields(passage: Passage, outcome: Outcome, declared: Sequence[Declared], covered: set[int]) -> set[int]:
    """Rows and spared fields of the state; `covered` grows by the pieces that they account for. Returns which of the
    declared drops (by Python's id) were found to be of a field that left."""
    names = {item.name: item for item in declared if item.name}
    used: set[int] = set()
    pending: list[Gone] = []
    recorded = frozenset(covered)
    for gone in gone_fields(passage.before, passage.after):
        if gone.field.segment in recorded:
            continue  # the piece that carried it was declared: that row tells it
        name = gone.field.name
        record = names.get(name) or (None if is_item(name) else names.get(leaf(name)))
        if record is not None:
            used.add(id(record))
            _row(passage, outcome, covered, gone, record.cause, True, declared_record(record), record.stub)
            continue
        why = _spared(passage, gone)
        if why is not None:
            _spare(passage, outcome, covered, gone.field, why)
            if why == REWORDED:
                fresh = [other.value for other in passage.after if root(other.name) == root(name)]
                outcome.waiting += reworded_rows(passage, name, gone.field.value, fresh, gone.field)
        else:
            pending.append(gone)
    if pending:
        _undeclared(passage, outcome, covered, pending)
    if passage.before is not passage.after:
        outcome.waiting += reworded_fields(passage)
    return used


def _undeclared(passage: Passage, outcome: Outcome, covered: set[int], pending: list[Gone]) -> None:
    moved = _moved(passage, pending)
    for gone in pending:
        field = gone.field
        place = moved.get(field.name)
        if place is not None:
            same = place[2]
            why = f"its value still stood in {place[0]}" if same else f"another value stood in {place[0]}"
            outcome.waiting.append(_moved_row(passage, gone, why))
            reason = "its value stands elsewhere" if same else "another value stands under its name"
            _spare(passage, outcome, covered, field, reason)
            continue
        if gone.sort == "nulled":
            _row(passage, outcome, covered, gone, "nulled", False, None)
            continue
        if gone.sort == "gone":
            call = next((call for call in passage.calls if removes(call, field)), None)
            if call is not None:
                _row(passage, outcome, covered, gone, "removed", True, f"the call {call.tool} names it")
                continue
            if is_item(field.name) and _replaced(passage, field):
                kept = "a new list stands in its place"
                _row(passage, outcome, covered, gone, "replaced", True, kept)
                continue
            _row(passage, outcome, covered, gone, "silent", False, None)
            continue
        cause, recorded, record = cause_of(passage.boundary)
        _row(passage, outcome, covered, gone, cause, recorded, record)


def _moved_row(passage: Passage, gone: Gone, why: str) -> Row:
    """What is told of a field that was spared, should a call fail for it."""
    field, kind = gone.field, kind_of(gone.field)
    call = next((call for call in passage.calls if removes(call, field)), None)
    cause: Cause = "nulled" if gone.sort == "nulled" else "removed" if call is not None else "silent"
    return Row(
        passage.index, "plan" if kind == "plan" else "field", field.name, kind, field.value[:HEAD_CHARACTERS],
        field.tokens, cause, cause == "removed", field.segment, field.value,
        record=f"the call {call.tool} names it" if call is not None and cause == "removed" else None,
        held=gone.sort == "held", still=Still(why),
    )  # fmt: skip


def _row(
    passage: Passage, outcome: Outcome, covered: set[int], gone: Gone, cause: Cause, recorded: bool,
    record: str | None, stub: int | None = None,
) -> None:  # fmt: skip
    field = gone.field
    kind = kind_of(field)
    ids = _pieces(passage, field, covered)
    covered.update(ids)
    outcome.rows.append(
        Row(
            passage.index, "plan" if kind == "plan" else "field", field.name, kind, field.value[:HEAD_CHARACTERS],
            field.tokens, cause, recorded, field.segment, field.value, max(1, len(ids)), record, stub,
            gone.sort == "held", ids,
        )
    )  # fmt: skip


def _spare(passage: Passage, outcome: Outcome, covered: set[int], field: Field, why: str) -> None:
    ids = _pieces(passage, field, covered)
    covered.update(ids)
    outcome.spared.append(Spared(field.name, why, field.segment))


def _pieces(passage: Passage, field: Field, covered: set[int]) -> tuple[int, ...]:
    """Pieces that left and carried that field."""
    tape = passage.tape
    return tuple(
        ident for ident in passage.left
        if ident not in covered
        and (ident == field.segment or (tape.field_of(ident) == field.name and not is_item(field.name)))
    )  # fmt: skip


def kind_of(field: Field) -> Kind:
    if field.done is not None:
        return "plan"
    return field_kind(field.name)


def _spared(passage: Passage, gone: Gone) -> str | None:
    """Why the loss of a field says nothing; None if it may be a loss."""
    field = gone.field
    if passage.restarted:
        return "a new run begins here"
    if passage.gap:
        return "steps are missing before this one: unknown"
    if gone.sort == "held":
        return None
    if clears(field.name, field.value):
        return "the last error, a counter or a clock was cleared"
    if not is_item(field.name) and kind_of(field) != "note":
        return None
    if field.done:
        return "it was done"
    if kind_of(field) == "plan" and _advanced(passage, field):
        return "the plan advanced"
    fresh = [other.value for other in passage.after if root(other.name) == root(field.name)]
    if reworded(field.value, fresh):
        return REWORDED
    return None


def _advanced(passage: Passage, field: Field) -> bool:
    """Whether the plan's place (its `step`) moved on, past that item."""
    places = []
    for fields in (passage.before, passage.after):
        held = next((item.value for item in fields if spelled(leaf(item.name)) in _PLACES), None)
        places.append(int(held) if held is not None and held.isdigit() and len(held) < 10 else None)
    was, now = places
    index = re.search(r"\[(\d{1,9})\]$", field.name)
    if was is None or now is None or now <= was or index is None:
        return False
    return int(index.group(1)) < now


def _replaced(passage: Passage, item: Field) -> bool:
    """Whether another item stands in the place of one that left its list: in a plan any new one (it was written anew),
    in other lists one at its index, or nothing that it had. A list that lost one and grew at its end lost it."""
    name = root(item.name)
    had = {field.value for field in passage.before if root(field.name) == name}
    now = [field for field in passage.after if root(field.name) == name and is_item(field.name)]
    fresh = [field for field in now if field.value not in had]
    if kind_of(item) == "plan" or len(fresh) == len(now):
        return bool(fresh)
    return any(field.name == item.name for field in fresh)


def _moved(passage: Passage, gone: Sequence[Gone]) -> dict[str, tuple[str, int | None, bool]]:
    """Name -> place of those whose value stands elsewhere: in another field, or in a piece of the prompt; False behind
    the place: their name stands there with another value. The arguments of an old call do not count: they say what was
    done with the value, and every call that used it would hide its loss."""
    found: dict[str, tuple[str, int | None, bool]] = {}
    had = {field.name for field in passage.before}
    fresh = [field for field in passage.after if field.name not in had and field.value not in (_NULL, "")]
    for item in gone:
        other = None if item.sort == "held" else next((new for new in fresh if _same_thing(item.field, new)), None)
        if other is not None:
            found[item.field.name] = (*field_place(other), other.value == item.field.value)
    open_ = {
        item.field.name: item.field.value for item in gone
        if len(item.field.value) >= SHORTEST and item.field.name not in found
    }  # fmt: skip
    if not open_:
        return found
    for ident in passage.live():
        if KINDS[passage.tape.kinds[ident]] in DONE_KINDS:
            continue
        text = passage.text(ident)
        if text is None:
            continue
        for name in [name for name, value in open_.items() if stands_as(value, text)]:
            found[name] = (*piece_place(passage.tape, ident, passage.after), True)
            del open_[name]
        if not open_:
            break
    return found


def _same_thing(old: Field, new: Field) -> bool:
    """Whether a new field carries on an old one: its value (4 characters or more), or its name on another level."""
    if old.value == new.value and len(old.value) >= SHORTEST:
        return True
    if is_item(old.name) or is_item(new.name):
        return False
    name = leaf(old.name)
    return spelled(name) == spelled(leaf(new.name)) and (old.value == new.value or may_name(name))


def removes(call: Call, field: Field) -> bool:
    """Whether a call forgets, deletes or rewrites that field by its name."""
    if call.outcome in ("error", "denied") or len(call.arguments) > _LONGEST_ARGUMENTS:
        return False
    tool = {word.lower() for word in _TOOL_WORD.findall(call.tool)}
    if field.done is not None or root(field.name) in ("plan", "todos"):
        if tool & _PLAN_TOOLS:
            return not _names(call.arguments, {field.value})  # a call that writes the item does not take it away
    if not tool & _FORGETS:
        return False
    names = {field.name, leaf(field.name)}
    if is_item(field.name):
        names.add(field.value)
    return _names(call.arguments, names)


def _names(arguments: str, names: set[str]) -> bool:
    """Whether one of the names is a key or a whole value of the arguments."""
    try:
        value: object = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return any(stands(name, arguments) for name in names)
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if item in names:
                return True
        elif isinstance(item, dict):
            if names & item.keys():
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False
