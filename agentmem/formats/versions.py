"""A message list seen in versions (a checkpoint overwritten, a list that grows, a log of requests) -> one lane.

A version that extends the one before is walked on; any other is compared by the hashes of its messages, the edits are
put on the tape before the first new model call, and the walk goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, overload

import msgspec
import xxhash

from agentmem.formats.draft import Call, LaneDraft, StepDraft
from agentmem.formats.fields import carve, field_kind
from agentmem.formats.loose import decode
from agentmem.formats.messages import Message, Part, split
from agentmem.formats.said import NOTHING, Region, content_keys
from agentmem.model import FRAME, Boundary, Field, Where
from agentmem.tape import Piece

_MATCH_CELLS = 4_000_000
FRAMED = 0.3
"""A message of which fields are at least this share is a rendered state: what stands between them is its frame."""
PARTS = 4096
"""More parts than a message has; parts beyond it are not told apart."""


class Item(msgspec.Struct):
    """One message of a list: its bytes, and where they stand."""

    data: bytes
    source: str
    offset: int
    length: int
    line: int | None = None
    base: int = 0
    """Added to the ordinals of its pieces: place of the message in its record, times PARTS."""
    key: int = 0

    def __post_init__(self) -> None:
        self.key = self.key or xxhash.xxh3_64_intdigest(self.data)


class Listed(Sequence[Item]):
    """The messages of one record: each is made when it is looked at, because most are told from the version before by
    their hashes alone."""

    def __init__(self, data: Sequence[bytes | msgspec.Raw], source: str, offset: int, length: int, line: int) -> None:
        self._data, self._source, self._offset, self._length, self._line = data, source, offset, length, line
        self.keys = list(map(xxhash.xxh3_64_intdigest, data))

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self._data)))]
        place = range(len(self._data))[index]
        data = bytes(self._data[place])
        return Item(data, self._source, self._offset, self._length, self._line, place * PARTS, self.keys[place])


def decode_message(data: bytes) -> Message:
    """The message of these bytes; what is no object becomes one `other` piece."""
    try:
        value: Any = decode(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return Message("other", [Part("other", data.decode("utf-8", "replace"))])
    return split(value)


def extract_message(data: bytes, part: int) -> str | None:
    """Whole text of one part of a message, from its bytes."""
    parts = decode_message(data).parts
    number = part % PARTS
    return parts[number].text if number < len(parts) else None


def _is_item(data: bytes) -> bool:
    """Whether it is a Responses item, of which several make one answer."""
    return b'"type"' in data and b'"role":"assistant"' not in data.replace(b" ", b"")[:40]


class MessageList:
    """Feeds versions of one message list to a lane. `seen` are the messages of the last version, by hash."""

    def __init__(self, lane: LaneDraft, *, decode: Callable[[bytes], Message] = decode_message) -> None:
        self.lane = lane
        self.seen: list[int] = []
        self.goal_text: str | None = None
        """The first user text that is no result and no compaction preamble."""
        self.starts_orphaned = False
        """Whether it begins behind the first request: no user text in it is the goal, and no piece is one."""
        self.first_change: bool = False
        """Whether the last version changed what stood before its new messages."""
        self.same = 0
        """So many messages at the beginning are those of the version before."""
        self.old = 0
        """So many messages stand before the new ones in the last version."""
        self.joined = True
        """Whether the last message of the version before still stands: nothing that came in behind it was cut."""
        self.late = False
        """Whether the last version was cut behind its answer."""
        self.compaction: Message | None = None
        self._prefix: list[int] = []
        self._sizes: list[int] = []
        self._contents: list[tuple[int, int]] = []
        """`content_keys` of each message of the last version."""
        self._rewritten = NOTHING
        """What stood behind the last message that this version and the one before have in common."""
        self._decode = decode
        self._texts: dict[int, str] = {}
        """Texts of the pieces of the last version's new messages, for the fields that look for their place."""
        self._merging = False

    @property
    def answered(self) -> bool:
        """Whether the last version held an answer of the model."""
        return any(whole for whole, _ in self._contents)

    def pieces_of_last(self, messages: int) -> int:
        """How many pieces the last `messages` messages of the last version have."""
        return sum(self._sizes[len(self._sizes) - messages :])

    def recent_text(self, ident: int) -> str | None:
        """Text of a piece that came with the last version; None otherwise."""
        return self._texts.get(ident)

    def update(
        self, items: Sequence[Item], *, keep: int = 0, fields: Sequence[Field] = (),
        on_step: Callable[[StepDraft, int], None] | None = None, stays: bool = True, calls: int = 0,
        late: bool = False, on_folded: Callable[[StepDraft], None] | None = None,
    ) -> int:  # fmt: skip
        """Take in a version: the first `keep` messages of the last one and then `items`. `on_step` is told of every new
        step with the index of its first assistant message.

        Returns how many messages are new. `fields` is the state held with this version; spans of new messages that
        carry one become pieces of their own. `stays` False: the list is a captured request, whose assistant messages
        were answers of earlier calls; nothing in it is a new call. `calls`: so many model calls were made since the
        last version, as the file itself counts them: where the same is said again and again and the list was trimmed,
        its last messages are new although they look like those before. `late`: the list was cut behind the answer of
        the one new call, if there is one, and not before it. `on_folded` is told of the step of a call that `calls`
        counts and whose answer stands nowhere any more (`_folded`), while the list before is still its prompt.
        """
        self._texts = {}
        keep = min(keep, len(self.seen))
        fresh_keys = items.keys if isinstance(items, Listed) else [item.key for item in items]
        known = len(self.seen)
        start, blocks, end = self._common(fresh_keys, keep)
        again = self._again(items, fresh_keys, keep, end, calls) if calls > 0 else end
        repeated = again < end
        if repeated:
            start, blocks, end = self._common(fresh_keys[: again - keep], keep)
        self.first_change, self.same, self.old = start < known, start, end
        self.compaction = None
        self._rewritten = NOTHING
        self.joined = start + (blocks[-1][0] + blocks[-1][2] if blocks else 0) == known
        self.late = late = late and start < known and self.joined and self.answers(items[end - keep :]) == 1
        if on_folded is not None and calls == 1 and self._folded(items[end - keep :], start, blocks):
            on_folded(self.lane.close())
        if start < known and not late:
            if not blocks and start == keep + len(items) and any(whole for whole, _ in self._contents[start:]):
                self._went_back()
            self._edit(items, keep, start, blocks, fields)
            if repeated:
                self._rewritten = NOTHING
        for index in range(end, keep + len(items)):
            self._take(items[index - keep], fields, on_step, index, stays)
        if late:
            self.seen += fresh_keys[end - keep :]
            self._edit(items, keep, start, [*blocks, (known - start, end - start, keep + len(items) - end)], fields)
        self.seen[keep:] = fresh_keys
        return keep + len(items) - end

    def _folded(self, fresh: Sequence[Item], start: int, blocks: Sequence[tuple[int, int, int]]) -> bool:
        """Whether the list lost its end since the version before and `fresh`, what is new behind what stands, holds no
        new answer: that of a call made since was cut with it, or went into a summary."""
        if self.joined or start >= len(self.seen):
            return False
        old = Region(self._contents[start + (blocks[-1][0] + blocks[-1][2] if blocks else 0) :])
        for item in fresh:
            message = self._decode(item.data)
            if message.role == "assistant" and not old.holds(content_keys(message)):
                return False
        # Where the last answer that stands was given more than once, it may be the new one.
        stand = [*range(start), *(start + a + n for a, _, size in blocks for n in range(size))]
        last = next((self._contents[place] for place in reversed(stand) if self._contents[place][0]), None)
        return last is None or self._contents.count(last) == 1

    def answers(self, items: Iterable[Item]) -> int:
        """How many model calls these messages are the answers of."""
        calls, inside = 0, False
        for item in items:
            answer = self._decode(item.data).role == "assistant"
            calls += answer and not (inside and _is_item(item.data))
            inside = answer
        return calls

    def _common(self, keys: Sequence[int], keep: int) -> tuple[int, list[tuple[int, int, int]], int]:
        """What the last version and this one have in common: (length of the same beginning, blocks behind it, where the
        new messages begin)."""
        start, known = keep, len(self.seen)
        while start < known and start - keep < len(keys) and self.seen[start] == keys[start - keep]:
            start += 1
        if start == known:
            return start, [], start
        blocks = _matches(self.seen[start:], list(keys[start - keep :]))
        return start, blocks, start + (blocks[-1][1] + blocks[-1][2] if blocks else 0)

    def _again(self, items: Sequence[Item], keys: Sequence[int], keep: int, end: int, calls: int) -> int:
        """Where the last `calls` answers begin, if that is before `end` and all that stands there stands in the list
        more than once; else `end`."""
        times = Counter(keys)
        for place in range(len(items) - 1, -1, -1):
            item = items[place]
            if place < end - keep and (times[keys[place]] < 2 or _is_item(item.data)):
                return end
            if self._decode(item.data).role == "assistant":
                calls -= 1
                if calls == 0:
                    return min(end, keep + place)
        return end

    def _edit(
        self, items: Sequence[Item], keep: int, start: int, blocks: Sequence[tuple[int, int, int]],
        fields: Sequence[Field],
    ) -> None:  # fmt: skip
        """Put the edits of the part that was there before on the tape."""
        last = blocks[-1] if blocks else None
        end = start + (last[1] + last[2] if last else 0)
        position = len(self._prefix) + sum(self._sizes[:start])
        old_at, new_at = 0, 0
        sizes, contents = self._sizes[:start], self._contents[:start]
        lane = self.lane
        for a, b, size in [*blocks, (len(self.seen) - start, end - start, 0)]:
            gone = sum(self._sizes[start + old_at : start + a])
            pieces: list[Piece] = []
            for item in items[start - keep + new_at : start - keep + b]:
                message = self._decode(item.data)
                if message.compaction:
                    self.compaction = message
                made = self._pieces(item, message, fields)
                sizes.append(len(made))
                contents.append(content_keys(message))
                pieces.extend(made)
            if gone or pieces:
                for ident, piece in zip(lane.splice(position, gone, pieces), pieces, strict=True):
                    if piece.text is not None:
                        self._texts[ident] = piece.text
            position += len(pieces)
            kept = slice(start + a, start + a + size)
            sizes += self._sizes[kept]
            contents += self._contents[kept]
            position += sum(self._sizes[kept])
            old_at, new_at = a + size, b + size
        behind = start + (last[0] + last[2] if last else 0)
        self._rewritten = Region(self._contents[behind:]) if behind < len(self._contents) else NOTHING
        self._sizes, self._contents = sizes, contents
        if self.compaction is not None:
            self._mark_compaction(self.compaction)
        self._merging = False

    def _went_back(self) -> None:
        self.lane.boundary = Boundary("rewind", False, None, None, "the list was cut back to what it held earlier")

    def _mark_compaction(self, message: Message) -> None:
        self.lane.boundary = Boundary(
            "compaction", True, None, None, "a summary stands in the place of older messages", message.opaque
        )

    def _take(
        self, item: Item, fields: Sequence[Field], on_step: Callable[[StepDraft, int], None] | None, index: int,
        stays: bool,
    ) -> None:  # fmt: skip
        message = self._decode(item.data)
        lane = self.lane
        content = content_keys(message)
        self._contents.append(content)
        if message.role == "assistant" and stays and not self._rewritten.holds(content):
            if content[1]:
                # A call that was never made before: what follows is new, even if it is like something older.
                self._rewritten = NOTHING
            if not (self._merging and _is_item(item.data)):
                step = lane.close()
                if on_step:
                    on_step(step, index)
            pieces = self._pieces(item, message, fields)
            self._sizes.append(len(pieces))
            for piece, part in zip(pieces, self._parts_of(pieces, message), strict=True):
                call = None
                if piece.kind == "call" and part is not None and part.tool is not None:
                    call = Call(part.tool, part.arguments or "", part.call_id)
                self._keep(lane.reply(piece, call), piece)
            self._merging = True
            return
        self._merging = False
        pieces = self._pieces(item, message, fields)
        self._sizes.append(len(pieces))
        for piece, part in zip(pieces, self._parts_of(pieces, message), strict=True):
            if piece.kind in ("result", "error"):
                if not lane.steps:
                    self.starts_orphaned = True
                self._keep(lane.answer(piece, failed=part.failed if part else None), piece)
            else:
                self._keep(lane.append(piece), piece)
        if message.compaction and lane.boundary is None and lane.steps:
            self._mark_compaction(message)

    def prefix(self, pieces: Sequence[Piece]) -> None:
        """What stands before the messages (system, tools), as it is from now on."""
        keys = [piece.key for piece in pieces]
        if keys != self._prefix:
            self.lane.splice(0, len(self._prefix), pieces)
            self._prefix = keys

    def _keep(self, ident: int, piece: Piece) -> None:
        if piece.text is not None:
            self._texts[ident] = piece.text

    def _parts_of(self, pieces: list[Piece], message: Message) -> list[Part | None]:
        return [
            message.parts[piece.where.part % PARTS]
            if piece.where and piece.where.part % PARTS < len(message.parts)
            else None
            for piece in pieces
        ]

    def _pieces(self, item: Item, message: Message, fields: Sequence[Field]) -> list[Piece]:
        out: list[Piece] = []
        for number, part in enumerate(message.parts):
            where = Where(item.source, item.offset, item.length, item.base + number, None, item.line)
            if part.kind == "user" and part.text and self.goal_text is None and not self.starts_orphaned:
                self.goal_text = part.text
            if part.kind == "user" and part.text is not None and part.text == self.goal_text:
                if not any(field.name in ("goal", "task") for field in fields):
                    out.append(Piece("goal", part.text, where))
                    continue
            if fields and part.text and message.role in ("user", "system", "other"):
                out.extend(_carved(part, where, fields))
            else:
                out.append(
                    Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
                )  # fmt: skip
        return out


def _carved(part: Part, where: Where, fields: Sequence[Field]) -> list[Piece]:
    text = part.text or ""
    spans = carve(text, fields)
    if len(spans) == 1 and spans[0][2] is None:
        return [Piece(part.kind, text, where, part.call_id, None, part.tool, part.tokens)]
    carried = sum(end - start for start, end, owner in spans if owner)
    frame = carried >= FRAMED * len(text)
    pieces = []
    for start, end, owner in spans:
        place = Where(where.source, where.offset, where.length, where.part, (start, end), where.line)
        kind = field_kind(owner.name) if owner else "other" if frame else part.kind
        pieces.append(Piece(kind, text[start:end], place, field=owner.name if owner else FRAME if frame else None))
    return pieces


def _matches(old: list[int], new: list[int]) -> list[tuple[int, int, int]]:
    """Common runs (start in old, start in new, length), in order."""
    if not old or not new:
        return []
    slid = old.index(new[0]) if new[0] in old else len(old)
    if slid < len(old) and old[slid:] == new[: len(old) - slid]:
        return [(slid, 0, len(old) - slid)]
    if len(old) * len(new) <= _MATCH_CELLS:
        return [tuple(block) for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()[:-1]]  # type: ignore[misc]  # Match is a triple
    places = {key: index for index, key in reversed(list(enumerate(new)))}
    runs: list[tuple[int, int, int]] = []
    b = 0
    for a, key in enumerate(old):
        spot = places.get(key, -1)
        if spot < b:
            continue
        if runs and runs[-1][0] + runs[-1][2] == a and runs[-1][1] + runs[-1][2] == spot:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((a, spot, 1))
        b = spot + 1
    return runs
