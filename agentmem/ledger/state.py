"""A detector as a bounded plain value and back: what a checkpoint keeps of the ledger.

Kept: the last 61 keys, every warned key with its count (the newest 200 groups), the edits seen (the newest 500
signatures; 50 files with 20 edits each).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar, get_args

from agentmem.ledger.detect import Detector
from agentmem.ledger.edits import File, Made
from agentmem.ledger.group import Group, Item, Key, Place
from agentmem.model import CycleKind

SEEN = 500
FILES = 50
EDITS = 20
GROUPS = 200
PLACES = 20
_KINDS = frozenset(get_args(CycleKind))
K = TypeVar("K")
V = TypeVar("V")


class BadLedger(ValueError):
    """What was saved is no ledger; the message says which part."""


def _newest(values: dict[K, V], limit: int) -> dict[K, V]:
    return values if len(values) <= limit else dict(islice(values.items(), len(values) - limit, None))


def _live(detector: Detector) -> list[Group]:
    held = {*detector.warned.values(), *detector.errors.values(), *detector.undone.values()}
    # A cycle that swallows a relapse begins where that which came back was named.
    held.update(group.origin for group in list(held) if group.origin is not None)
    return [group for group in detector.groups if group in held][-GROUPS:]


def prune(detector: Detector) -> None:
    """Forgets what no later verdict needs, so that a detector that runs for ever stays small."""
    detector.seen = _newest(detector.seen, SEEN)
    detector.files.files = _newest(detector.files.files, FILES)
    for file in detector.files.files.values():
        file.pairs = _newest(file.pairs, EDITS)
        file.contents = _newest(file.contents, EDITS)
        del file.undos[:-EDITS]
    if len(detector.groups) > GROUPS:
        live = dict.fromkeys(_live(detector))
        detector.groups = live
        detector.warned = {key: group for key, group in detector.warned.items() if group in live}
        detector.errors = {error: group for error, group in detector.errors.items() if group in live}
        detector.undone = {path: group for path, group in detector.undone.items() if group in live}
        detector.failing = {tool: error for tool, error in detector.failing.items() if error in detector.errors}
    for group in detector.groups:
        if len(group.places) > PLACES:
            group.places = [*group.places[:3], *group.places[3 - PLACES :]]
    detector.polls = list(detector.polling.values())
    for polls in detector.polls:
        if len(polls.places) > PLACES:
            polls.places = [*polls.places[:3], *polls.places[3 - PLACES :]]
        polls.asked = _newest(polls.asked, PLACES)
    detector.polling = _newest(detector.polling, GROUPS)


def _made(made: Made) -> list[Any]:
    place, key, tool = made
    return [list(place), list(key), tool]


def dump(detector: Detector) -> dict[str, Any]:
    """Plain JSON values, nothing shared with the detector."""
    groups = _live(detector)
    at = {id(group): place for place, group in enumerate(groups)}
    turning = detector.turning
    return {
        "recent": [
            [list(i.place), list(i.key), i.tool, i.error and i.error[1], i.failed, i.ordinal >= detector.floor]
            for i in detector.history.items
        ],
        "seen": list(detector.seen)[-SEEN:],
        "groups": [
            {
                "lane": g.lane, "kind": g.kind, "period": g.period, "keys": [list(key) for key in g.keys],
                "tools": list(g.tools), "places": [list(place) for place in g.places], "hits": g.hits,
                "warned_at": g.warned_at, "ended_at": g.ended_at, "detail": g.detail,
                "origin": None if g.origin is None else at.get(id(g.origin)),
            }
            for g in groups
        ],
        "warned": [[*key, at[id(g)]] for key, g in detector.warned.items() if id(g) in at],
        "errors": [[*error, at[id(g)]] for error, g in detector.errors.items() if id(g) in at],
        "undone": [[path, at[id(g)]] for path, g in detector.undone.items() if id(g) in at],
        "turning": None if turning is None else at.get(id(turning)),
        "files": [
            {
                "path": path, "current": file.current, "reversals": file.reversals,
                "pairs": [[*pair, stands, _made(made)] for pair, (stands, made) in file.pairs.items()],
                "contents": [[content, _made(made)] for content, made in file.contents.items()],
                "undos": [_made(made) for made in file.undos],
            }
            for path, file in detector.files.files.items()
        ],
    }  # fmt: skip


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadLedger(f"a text was expected, not {type(value).__name__}")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadLedger(f"a whole number was expected, not {type(value).__name__}")
    return value


def _row(value: object, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise BadLedger(f"a list of {length} was expected")
    return value


def _rows(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise BadLedger(f"a list was expected, not {type(value).__name__}")
    return value


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadLedger(f"an object was expected, not {type(value).__name__}")
    return value


def _key(value: object) -> Key:
    first, second = _row(value, 2)
    return _text(first), _text(second)


def _place(value: object) -> Place:
    first, second = _row(value, 2)
    return _number(first), _number(second)


def _load_made(value: object) -> Made:
    place, key, tool = _row(value, 3)
    return _place(place), _key(key), _text(tool)


def _group(value: object) -> Group:
    saved = _object(value)
    if _text(saved.get("kind")) not in _KINDS:
        raise BadLedger(f"unknown kind {saved['kind'][:40]!r}")
    period = _number(saved.get("period"))
    if period < 1:
        raise BadLedger("a period below 1")
    ended = saved.get("ended_at")
    return Group(
        lane=_text(saved.get("lane")), kind=saved["kind"], period=period,
        keys=tuple(_key(key) for key in _rows(saved.get("keys"))),
        tools=tuple(_text(tool) for tool in _rows(saved.get("tools"))),
        places=[_place(place) for place in _rows(saved.get("places"))], hits=_number(saved.get("hits")),
        warned_at=_number(saved.get("warned_at")), ended_at=None if ended is None else _number(ended),
        detail=_text(saved.get("detail")),
    )  # fmt: skip


def _file(value: object) -> tuple[str, File]:
    saved = _object(value)
    file = File(reversals=_number(saved.get("reversals")))
    file.current = None if saved.get("current") is None else _text(saved.get("current"))
    for old, new, stands, made in (_row(row, 4) for row in _rows(saved.get("pairs"))):
        file.pairs[_text(old), _text(new)] = (_text(stands), _load_made(made))
    for content, made in (_row(row, 2) for row in _rows(saved.get("contents"))):
        file.contents[_text(content)] = _load_made(made)
    file.undos = [_load_made(made) for made in _rows(saved.get("undos"))]
    return _text(saved.get("path")), file


def load(detector: Detector, saved: object) -> None:
    """Fills a new detector with what `dump` gave. Raises BadLedger naming the part that is wrong."""
    whole = _object(saved)

    def part(name: str, read: Callable[[Any], None]) -> None:
        try:
            read(whole.get(name))
        except BadLedger as error:
            raise BadLedger(f"saved ledger, {name}: {error}") from None

    groups: list[Group] = []

    def group_at(value: object) -> Group:
        place = _number(value)
        if not 0 <= place < len(groups):
            raise BadLedger(f"there is no group {place}")
        return groups[place]

    def recent(rows: object) -> None:
        for ordinal, row in enumerate(_rows(rows)):
            place, key, tool, error, failed, counts = _row(row, 6)
            prefix = None if error is None else (_text(tool), _text(error))
            detector.history.add(Item(_place(place), _key(key), _text(tool), prefix, failed is True, ordinal))
            if counts is not True:
                detector.floor = ordinal + 1
            detector.ordinal = ordinal + 1

    def pairs(rows: object) -> Iterable[tuple[Key, Group]]:
        return [((_text(a), _text(b)), group_at(at)) for a, b, at in (_row(row, 3) for row in _rows(rows))]

    part("recent", recent)
    part("seen", lambda rows: detector.seen.update(dict.fromkeys(_text(sig) for sig in _rows(rows))))
    def found(rows: object) -> None:
        groups.extend(_group(row) for row in _rows(rows))
        for group, row in zip(groups, _rows(rows), strict=True):
            if row.get("origin") is not None:
                group.origin = group_at(row["origin"])

    part("groups", found)
    part("warned", lambda rows: detector.warned.update(pairs(rows)))
    part("errors", lambda rows: detector.errors.update(pairs(rows)))
    part("undone", lambda rows: detector.undone.update(
        {_text(path): group_at(at) for path, at in (_row(row, 2) for row in _rows(rows))}))  # fmt: skip
    part("files", lambda rows: detector.files.files.update(_file(row) for row in _rows(rows)))
    detector.groups = dict.fromkeys(groups)
    detector.failing = {error[0]: error for error, group in detector.errors.items() if group.ended_at is None}
    if whole.get("turning") is not None:
        part("turning", lambda at: setattr(detector, "turning", group_at(at)))
    prune(detector)
