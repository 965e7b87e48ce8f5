"""The state inside the prompt: which spans of a message are fields of the state, and which piece carries a field.

A field is in the prompt if its rendered line or its value (4 characters or more, whole words) stands in a message.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from agentmem.formats.messages import compact_json
from agentmem.model import KINDS, Field, Kind, TokenCounter
from agentmem.pattern import pattern
from agentmem.tape import Tape

SHORTEST = 4
_SAID = frozenset(KINDS.index(kind) for kind in ("call", "thinking"))
"""What was done with a value, or thought about it, does not carry the field."""
_WORD = pattern(r"\w+")
_FEW = 64
"""So many pieces are looked at faster than the whole is asked for."""
PLACES = 20
"""So many places of one field are tried where others stand already."""
_LISTED = ("facts", "plan")
_STATUS_KEYS = ("status", "state", "done", "completed")
_ITEM_KEYS = ("content", "title", "text", "task", "subject", "step", "description", "name")
_DONE = frozenset({"done", "completed", "complete", "finished", "closed", "x", "true"})


def field_kind(name: str) -> Kind:
    """The kind of the piece that carries a field."""
    root = re.split(r"[.\[]", name, maxsplit=1)[0]
    kinds: dict[str, Kind] = {
        "goal": "goal", "task": "goal", "objective": "goal", "plan": "plan", "todos": "plan", "notes": "note",
        "note": "note", "last_error": "error", "summary": "summary",
    }  # fmt: skip
    return kinds.get(root, "fact")


def flatten(state: Mapping[str, Any], count: TokenCounter) -> tuple[Field, ...]:
    """Fields of a state by their names, one level: `goal`, `facts.port`, `plan[2]`; deeper values as canonical JSON.

    A list of objects with a status is a plan. A `log` is what was, not state. A `verified` map (name -> verifier, or
    {by, step}) is taken into the facts that it names.
    """
    verified = state.get("verified")
    by = verified if isinstance(verified, Mapping) else {}
    progress = state.get("step")
    out: list[Field] = []
    for name, value in state.items():
        if (name == "verified" and isinstance(value, Mapping)) or (name == "log" and isinstance(value, list)):
            continue
        if isinstance(value, Mapping):
            if not value:
                continue
            for key, inner in value.items():
                out.append(_field(f"{name}.{key}", inner, by, count))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                done = _item_done(inner)
                if done is None and name == "plan" and isinstance(progress, int) and not isinstance(progress, bool):
                    done = index < progress
                out.append(_field(f"{name}[{index}]", _item_text(inner), by, count, done))
        elif value is not None:
            out.append(_field(str(name), value, by, count))
        else:
            out.append(Field(str(name), "null", 0))
    return tuple(out)


def _field(name: str, value: object, by: Mapping[str, Any], count: TokenCounter, done: bool | None = None) -> Field:
    text = value if isinstance(value, str) else compact_json(value)
    who = by.get(name, by.get(name.partition(".")[2] or name))
    verifier, at = (who, None) if isinstance(who, str) else (None, None)
    if isinstance(who, Mapping):
        verifier = who.get("by") if isinstance(who.get("by"), str) else None
        at = who.get("step") if isinstance(who.get("step"), int) else None
    return Field(name, text, count(text), verifier, at, None, done)


def _item_done(item: object) -> bool | None:
    if not isinstance(item, Mapping):
        return None
    for key in _STATUS_KEYS:
        if key in item:
            return str(item[key]).lower() in _DONE
    return None


def _item_text(item: object) -> object:
    if isinstance(item, Mapping) and _item_done(item) is not None:
        for key in _ITEM_KEYS:
            if isinstance(item.get(key), str):
                return item[key]
    return item


def _forms(field: Field) -> Iterable[str]:
    """How a field may be rendered, longest first."""
    short = field.name.partition(".")[2] or field.name
    quoted = json.dumps(field.value, ensure_ascii=False)
    for name in dict.fromkeys((field.name, short)):
        yield from (f'"{name}": {quoted}', f'"{name}":{quoted}', f'"{name}": {field.value}')
        for joint in (": ", " = ", "=", ":", " : "):
            yield f"{name}{joint}{field.value}"
    if len(field.value) >= SHORTEST:
        yield field.value


def places(text: str, field: Field) -> Iterator[tuple[int, int]]:
    """Spans of the field's rendered line or value in `text`, as whole words; rendered lines first."""
    if not field.value or field.value == "null" or (field.value not in text and not _maybe_escaped(text, field)):
        return
    for form in _forms(field):
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            if _whole(text, start, end):
                yield start, end
            start = text.find(form, start + 1)


def place(text: str, field: Field) -> tuple[int, int] | None:
    """The first of `places`; None if the field does not stand in `text`."""
    return next(places(text, field), None)


def _maybe_escaped(text: str, field: Field) -> bool:
    return '"' in text and json.dumps(field.value, ensure_ascii=False)[1:-1] in text


def _whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return not (_wordy(before) and _wordy(first)) and not (_wordy(last) and _wordy(after))


def _wordy(character: str) -> bool:
    return bool(character) and (character.isalnum() or character == "_")


def carve(text: str, fields: Iterable[Field]) -> list[tuple[int, int, Field | None]]:
    """`text` cut into spans, in order: those that carry a field and what stands between them. Spans never overlap;
    the longest span is taken first; punctuation between them is left out. One span if no field stands there."""
    placed = [(span, field) for field in fields if (span := place(text, field))]
    taken: list[tuple[int, int, Field | None]] = []
    for _, field in sorted(placed, key=lambda item: item[0][0] - item[0][1]):
        for first, last in islice(places(text, field), PLACES):
            if all(last <= start or first >= end for start, end, _ in taken):
                taken.append((first, last, field))
                break
    if not taken:
        return [(0, len(text), None)]
    taken.sort(key=lambda item: item[0])
    out: list[tuple[int, int, Field | None]] = []
    at = 0
    for start, end, owner in taken:
        if any(character.isalnum() for character in text[at:start]):
            out.append((at, start, None))
        out.append((start, end, owner))
        at = end
    if any(character.isalnum() for character in text[at:]):
        out.append((at, len(text), None))
    return out


class _Texts:
    """Texts of the few pieces that are new, read once for all the fields that are looked for in them."""

    def __init__(self, text_of: Callable[[int], str | None]) -> None:
        self._text_of = text_of
        self._known: dict[int, str | None] = {}

    def get(self, ident: int) -> str | None:
        if ident not in self._known:
            self._known[ident] = self._text_of(ident)
        return self._known[ident]


class Finder:
    """Which live piece carries each field of one lane. Looks only at pieces it has not looked at for that field.

    A piece rendered under a field's name carries it even while it shows the value of the save before; an item of a list
    is told by its text.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._seen: dict[tuple[str, str], tuple[int | None, int]] = {}
        self._words: dict[int, array[int]] = {}
        """Hash of a word -> pieces in which it stands, so that a value is looked for only where its words are."""
        self._noted = 0
        """Pieces before this one have their words there."""

    def follow(self, tape: Tape) -> None:
        """Another tape with the same pieces takes the place of the one before."""
        self._tape = tape

    def assign(
        self, fields: tuple[Field, ...], text_of: Callable[[int], str | None],
        may_hold: Callable[[str], bool] | None = None,
    ) -> tuple[Field, ...]:  # fmt: skip
        """The same fields with `segment` set to the live piece that carries each; None where none does. `may_hold`
        False of a value: it stands in no piece, which is known without looking at them."""
        out = []
        fresh = _Texts(text_of)
        for field in fields:
            found = self._tape.carrier(field.name)
            if found is not None and field.name.endswith("]") and place(text_of(found) or "", field) is None:
                found = None
            if found is None:
                found = self._search(field, text_of, fresh, may_hold)
            out.append(
                field if found == field.segment else Field(
                    field.name, field.value, field.tokens, field.verified_by, field.verified_at, found, field.done
                )
            )  # fmt: skip
        return tuple(out)

    def _search(
        self, field: Field, text_of: Callable[[int], str | None], fresh: _Texts,
        may_hold: Callable[[str], bool] | None,
    ) -> int | None:  # fmt: skip
        tape, name = self._tape, (field.name, field.value)
        found, upto = self._seen.get(name, (None, 0))
        if found is not None:
            if tape.standing[found]:
                return found
            upto = 0
        if upto < len(tape):
            if len(tape) - upto <= _FEW:
                found = self._look(field, reversed(range(upto, len(tape))), fresh.get)
            elif may_hold is None or may_hold(field.value):
                self._take_in(text_of)
                found = self._look(field, self._candidates(field.value, upto), text_of)
            else:
                found = None
        self._seen[name] = (found, len(tape))
        return found

    def _look(self, field: Field, idents: Iterable[int], text_of: Callable[[int], str | None]) -> int | None:
        tape = self._tape
        for ident in idents:
            if tape.standing[ident] and tape.kinds[ident] not in _SAID:
                text = text_of(ident)
                if text is not None and place(text, field) is not None:
                    return ident
        return None

    def _take_in(self, text_of: Callable[[int], str | None]) -> None:
        """Note the words of pieces that are new since the last time."""
        tape = self._tape
        for ident in range(self._noted, len(tape)):
            if tape.kinds[ident] not in _SAID:
                for word in set(_WORD.findall(text_of(ident) or "")):
                    self._words.setdefault(hash(word), array("L")).append(ident)
        self._noted = len(tape)

    def _candidates(self, value: str, upto: int) -> Iterator[int]:
        """Standing pieces from `upto` on in which all words of the value may stand, as it is or as JSON; the last
        first."""
        found: set[int] = set()
        standing = self._tape.standing
        for form in {value, json.dumps(value, ensure_ascii=False)[1:-1]}:
            words = set(_WORD.findall(form))
            if not words:
                return reversed(range(upto, len(self._tape)))
            rarest, *others = sorted((self._words.get(hash(word), _NOWHERE) for word in words), key=len)
            found.update(
                ident for ident in islice(rarest, bisect_left(rarest, upto), None)
                if standing[ident] and all(_holds(places, ident) for places in others)
            )  # fmt: skip
        return iter(sorted(found, reverse=True))


_NOWHERE = array("L")


def _holds(places: array[int], ident: int) -> bool:
    """Whether it is among these, which are in order."""
    at = bisect_left(places, ident)
    return at < len(places) and places[at] == ident
