"""Losses that were spared: what left while its value stood elsewhere, or with a text that was worded anew.

Such a loss is no drop by itself. It becomes one when a later call fails for the lack of it: then it is told with the
honest word that its value still stood, and where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from agentmem.formats.draft import Call
from agentmem.formats.fields import field_kind
from agentmem.inspect.compare.row import Passage, Row, title
from agentmem.inspect.compare.survive import near
from agentmem.inspect.compare.words import clears, is_item, leaf, may_name, names_field, pairs_of, spelled, stands
from agentmem.model import HEAD_CHARACTERS, KINDS, Field, Segment, Still
from agentmem.pattern import pattern
from agentmem.tape import Tape

DONE_KINDS = frozenset({"call", "thinking"})
"""Kinds of pieces in which a value does not count as held."""
_NULL = "null"
_LONGEST_NOTE = 20_000
_NEAR = 48
"""Pieces carved from one text have neighbouring ids."""
_LACKING = pattern(
    r"\b(?:missing|required|requires|without|absent|lacks?|lacking|needs?|undefined|empty|null|none|expected|KeyError"
    r"|(?:not|never) (?:given|set|provided|supplied|present|defined)|no (?:such )?(?:field|argument|parameter|key))\b",
    re.IGNORECASE,
)
"""Words of an error that says that something is not there, as against one that refuses what it was given."""

Place = tuple[str, int | None]
"""Where a value stands, in words, and the piece that holds it; None: it is held outside the prompt."""


def stands_as(value: str, text: str) -> bool:
    """Whether a value stands in a text as it is, or as the inside of a JSON string."""
    if stands(value, text):
        return True
    if "\n" in value or '"' in value or "\\" in value:
        return stands(msgspec.json.encode(value).decode()[1:-1], text)
    return False


def field_place(field: Field) -> Place:
    return f"the field {field.name}" + ("" if field.segment is not None else ", outside the prompt"), field.segment


def piece_place(tape: Tape, ident: int, fields: Iterable[Field]) -> Place:
    """A piece in words. A span that is called after a field which `fields` does not hold (it was carved out of its
    message when the state held it) is told by the message that it is part of."""
    segment = tape.segment(ident)
    if segment.kind == "goal":
        return "the goal", ident
    if not segment.field:
        return f"the {title(segment)}", ident
    if any(field.name == segment.field for field in fields):
        return f"the field {segment.field}", ident
    whole = segment.where and (segment.where.source, segment.where.offset, segment.where.part)
    for other in range(max(0, ident - _NEAR), min(len(tape), ident + _NEAR)):
        if tape.field_of(other) is None:
            beside = tape.segment(other)
            where = beside.where
            if whole is not None and where is not None and (where.source, where.offset, where.part) == whole:
                return f"the {title(beside)}", ident
    return "a message", ident


def place_of(
    value: str, fields: Sequence[Field], tape: Tape, ids: Iterable[int], text: Callable[[int], str | None]
) -> Place | None:
    """Where a value stands, as a field of the state or in a piece that is no call; None: nowhere."""
    if not stands(value, value):
        return None
    for field in fields:
        if field.value == value:
            return field_place(field)
    for ident in ids:
        if KINDS[tape.kinds[ident]] not in DONE_KINDS and stands_as(value, text(ident) or ""):
            return piece_place(tape, ident, fields)
    return None


def reworded_rows(
    passage: Passage, name: str, old: str, texts: Sequence[str], of: Field | Segment
) -> list[Row]:
    """What the text `name` said as `name = value` and no text in its place says: one row each. A name that still stands
    there, or a field of that name, is no loss."""
    if "=" not in old and ":" not in old:
        return []
    kept = set(chain.from_iterable(text.splitlines() for text in texts))
    gone = "\n".join(part for part in old[:_LONGEST_NOTE].splitlines() if part not in kept)
    if not gone:
        return []
    kind, segment = (of.kind, of.id) if isinstance(of, Segment) else (field_kind(name), of.segment)
    rows: dict[str, Row] = {}
    for key, value in pairs_of(gone):
        short = leaf(key)
        if not may_name(short) or short in rows or any(stands(short, text) for text in texts):
            continue
        if any(leaf(field.name) == short and field.value not in (_NULL, "") for field in passage.after):
            continue
        rows[short] = Row(
            passage.index, "field", key, kind, value[:HEAD_CHARACTERS], None, "rewritten", False, segment, value,
            still=Still(f"{name} was worded anew without it", part_of=name),
        )  # fmt: skip
    return list(rows.values())


def reworded_fields(passage: Passage) -> list[Row]:
    """What the texts of fields said that have another value now. Items of a list are taken where they left."""
    if passage.restarted or passage.gap:
        return []
    now = {field.name: field for field in passage.after}
    rows: list[Row] = []
    for field in passage.before:
        other = now.get(field.name)
        if other is None or other is field or other.value == field.value or other.value == _NULL:
            continue
        if not is_item(field.name) and not clears(field.name, field.value):
            rows += reworded_rows(passage, field.name, field.value, (other.value,), field)
    return rows


def lacks(row: Row, call: Call, given: Mapping[str, str], had: bool) -> bool:
    """Whether a failed call lacked what was spared. `given`: its arguments, empty ones left out; `had`: the tool had
    that argument before and lacks it now.

    A call that was given the value under its name lacks nothing, nor one that was given another value, unless that is
    the lost one with a character or two gone wrong.
    """
    name, value, error = leaf(row.name), row.text or "", call.error or ""
    named = not is_item(row.name) and names_field(name, error)
    if not (named or had):
        return False
    for other, value_given in given.items():
        if spelled(other) == spelled(name):
            return named and near(value, value_given)
    values = "\n".join(given.values())
    if stands(name, values) and stands_as(value, values):
        return False
    return had or not stands_as(value, error) or _LACKING.search(error) is not None
