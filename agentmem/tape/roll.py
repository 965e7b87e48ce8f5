"""The prompts of one lane: columns for pieces, for each step only its edits, a whole id list now and then."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from agentmem.model import (
    FIXED_KINDS,
    FRAME,
    HEAD_CHARACTERS,
    KINDS,
    STATE_KINDS,
    Prompt,
    Provenance,
    Segment,
    TokenCounter,
    Tokens,
    Where,
)
from agentmem.tape.match import opcodes
from agentmem.tape.pieces import Edit, Piece

_CODE = {kind: code for code, kind in enumerate(KINDS)}
_UNKNOWN = -1
_BUCKET = bytes(0 if kind in STATE_KINDS else 2 if kind in FIXED_KINDS else 1 for kind in KINDS)
_NOTHING = (None, None, None, None)


class PromptView(Prompt):
    """The prompt of one step; segments are made when looked at."""

    __slots__ = ("_ids", "_n", "_tape")

    def __init__(
        self, tape: Tape, n: int, ids: array[int] | None, limit: int | None, provenance: Provenance
    ) -> None:
        self._tape, self._n, self._ids = tape, n, ids
        self.limit = limit
        self.provenance = provenance

    @property
    def ids(self) -> Sequence[int]:
        return self._tape.ids(self._n) if self._ids is None else self._ids

    @property
    def packed(self) -> array[int]:
        """The ids without a copy; not to be changed."""
        return self._tape.packed(self._n) if self._ids is None else self._ids

    @property
    def tape(self) -> Tape:
        return self._tape

    def __len__(self) -> int:
        return self._tape.length(self._n) if self._ids is None else len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Segment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Segment, ...]: ...
    def __getitem__(self, index: int | slice) -> Segment | tuple[Segment, ...]:
        ids = self.ids
        if isinstance(index, slice):
            return tuple(self._tape.segment(i) for i in ids[index])
        return self._tape.segment(ids[index])

    def __iter__(self) -> Iterator[Segment]:
        return map(self._tape.segment, self.ids)


class Tape:
    """The prompts of one lane. `count` is the token counter; each content is counted once."""

    def __init__(self, count: TokenCounter) -> None:
        self._count = count
        self.kinds = bytearray()
        self.keys = array("Q")
        self.tokens = array("q")
        self.born = array("L")
        """Step n whose prompt first holds the piece; 0: in none so far."""
        self.died = array("L")
        """First step n whose prompt no longer holds it; 0: it still stands."""
        self._heads: list[str | None] = []
        self._where: list[Where | None] = []
        self._characters = array("q")
        self.frames = array("L")
        """Pieces that are the words between the fields of a rendered state, in order."""
        self._extra: dict[int, tuple[str | None, int | None, str | None, str | None]] = {}
        self._counted: dict[int, int] = {}
        self.live: list[int] = []
        self.standing = bytearray()
        """1 for a piece that stands in the list now."""
        self._carriers: dict[str, list[int]] = {}
        self._live_keys: dict[int, int] = {}
        self._sums = [0, 0, 0]
        self._unknown = [0, 0, 0]
        self._pending: list[Edit] = []
        self._edits: list[tuple[Edit, ...]] = []
        self._left: list[tuple[int, ...]] = []
        self._came: list[tuple[int, ...]] = []
        self._lengths = array("L")
        self._bases: list[tuple[int, array[int]]] = []
        self._since_base = 0
        self._near: tuple[int, array[int]] = (0, array("L"))
        """(n, ids) of the prompt asked for last: the one beside it is a few edits away. Taken whole from any thread."""

    # -- pieces ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many pieces there are."""
        return len(self.keys)

    @property
    def steps(self) -> int:
        """How many prompts are closed."""
        return len(self._edits)

    def add(self, piece: Piece) -> int:
        """Take a piece into the columns without putting it into the prompt (a reply). Returns its id."""
        tokens = piece.tokens
        if tokens is None and piece.text is not None:
            tokens = self._counted.get(piece.key)
            if tokens is None:
                tokens = self._counted[piece.key] = self._count(piece.text)
        ident = len(self.keys)
        self.kinds.append(_CODE[piece.kind])
        self.keys.append(piece.key)
        self.tokens.append(_UNKNOWN if tokens is None else tokens)
        self.standing.append(0)
        self.born.append(0)
        self.died.append(0)
        self._heads.append(None if piece.text is None else piece.text[:HEAD_CHARACTERS])
        self._where.append(piece.where)
        self._characters.append(_UNKNOWN if piece.text is None else len(piece.text))
        extra = (piece.call_id, piece.stub_of, piece.field, piece.tool)
        if extra != _NOTHING:
            self._extra[ident] = extra
            if extra[2] == FRAME:
                self.frames.append(ident)
        return ident

    def segment(self, ident: int) -> Segment:
        call_id, stub_of, field, tool = self._extra.get(ident, _NOTHING)
        tokens, characters = self.tokens[ident], self._characters[ident]
        return Segment(
            ident, KINDS[self.kinds[ident]], self._heads[ident], None if tokens == _UNKNOWN else tokens,
            self.keys[ident], self._where[ident], call_id, stub_of, field, tool,
            None if characters == _UNKNOWN else characters,
        )  # fmt: skip

    def marks(self, ident: int) -> tuple[str | None, int | None, str | None, str | None]:
        """(call_id, stub_of, field, tool) of a piece, without making its segment."""
        return self._extra.get(ident, _NOTHING)

    def characters(self, ident: int) -> int | None:
        """Length of a piece's whole text in code points, without making its segment."""
        characters = self._characters[ident]
        return None if characters == _UNKNOWN else characters

    def carrier(self, field: str) -> int | None:
        """The last piece in the list that carries that field; None if none does."""
        found = self._carriers.get(field)
        if not found:
            return None
        return found[0] if len(found) == 1 else max(found, key=self.live.index)

    def field_of(self, ident: int) -> str | None:
        """Name of the field that the piece carries."""
        extra = self._extra.get(ident)
        return extra[2] if extra else None

    def adopt(self, other: Tape, ids: Iterable[int]) -> None:
        """Begin with the prompt of another lane (a branch): the pieces are taken over, with ids of this tape."""
        start = len(self.live)
        taken = []
        for ident in ids:
            seg = other.segment(ident)
            piece = Piece(seg.kind, seg.head, seg.where, seg.call_id, seg.field, seg.tool, seg.tokens, None, seg.key)
            taken.append(self.add(piece))
            self._characters[taken[-1]] = other._characters[ident]
        self.splice(start, 0, taken)

    def unrolled(self) -> Tape:
        """A tape with the same pieces, of which none stands in a prompt yet."""
        made = Tape(self._count)
        made.kinds, made.keys, made.tokens = self.kinds[:], self.keys[:], self.tokens[:]
        made._heads, made._where, made._characters = self._heads[:], self._where[:], self._characters[:]
        made.frames, made._extra, made._counted = self.frames[:], dict(self._extra), dict(self._counted)
        made.standing = bytearray(len(self))
        made.born, made.died = (array("L", bytes(made.frames.itemsize * len(self))) for _ in range(2))
        return made

    def relocate(self, ident: int, where: Where) -> None:
        """The same content now stands elsewhere in the file."""
        self._where[ident] = where

    def mark_stub(self, ident: int, stub_of: int) -> None:
        call_id, _, field, tool = self._extra.get(ident, _NOTHING)
        self._extra[ident] = (call_id, stub_of, field, tool)

    # -- the list -------------------------------------------------------------------------------------------------

    def append(self, piece: Piece) -> int:
        ident, position = self.add(piece), len(self.live)
        self.live.append(ident)
        self._weigh(ident, 1)
        last = self._pending[-1] if self._pending else None
        if last and not last.gone and position == last.position + len(last.new):
            self._pending[-1] = Edit(last.position, (), (*last.new, ident))
        else:
            self._pending.append(Edit(position, (), (ident,)))
        return ident

    def splice(self, position: int, gone: int, new: Iterable[int | Piece] = ()) -> tuple[int, ...]:
        """Take `gone` pieces out at `position` and put `new` there. Returns the ids put in. An id of a piece taken in
        before (a reply that now stands in the prompt) may be put in as it is."""
        ids = tuple(item if isinstance(item, int) else self.add(item) for item in new)
        out = tuple(self.live[position : position + gone])
        if not out and not ids:
            return ids
        self.live[position : position + gone] = ids
        for ident in out:
            self._weigh(ident, -1)
        for ident in ids:
            self._weigh(ident, 1)
        last = self._pending[-1] if self._pending else None
        if last and not out and not last.gone and position == last.position + len(last.new):
            self._pending[-1] = Edit(last.position, (), last.new + ids)
        else:
            self._pending.append(Edit(position, out, ids))
        return ids

    def _weigh(self, ident: int, sign: int) -> None:
        self.standing[ident] = sign > 0
        extra = self._extra.get(ident)
        bucket = _BUCKET[self.kinds[ident]]
        if extra is not None and (field := extra[2]) is not None:
            bucket = 0 if bucket != 2 else 2
            carriers = self._carriers.setdefault(field, [])
            if sign > 0:
                carriers.append(ident)
            else:
                carriers.remove(ident)
        tokens = self.tokens[ident]
        if tokens == _UNKNOWN:
            self._unknown[bucket] += sign
        else:
            self._sums[bucket] += sign * tokens
        key = self.keys[ident]
        count = self._live_keys.get(key, 0) + sign
        if count:
            self._live_keys[key] = count
        else:
            del self._live_keys[key]

    def sync(self, pieces: Sequence[Piece]) -> None:
        """Make the list equal to `pieces`: what stands in both, in order, keeps its id and takes its new place."""
        live, keys = self.live, self.keys
        start, end_old, end_new = 0, len(live), len(pieces)
        while start < end_old and start < end_new and keys[live[start]] == pieces[start].key:
            self._moved(live[start], pieces[start])
            start += 1
        while end_old > start and end_new > start and keys[live[end_old - 1]] == pieces[end_new - 1].key:
            end_old, end_new = end_old - 1, end_new - 1
            self._moved(live[end_old], pieces[end_new])
        if start == end_old and start == end_new:
            return
        old = [keys[i] for i in live[start:end_old]]
        new = [piece.key for piece in pieces[start:end_new]]
        shift = start
        for kind, a, b, c, d in opcodes(old, new):
            if kind == "equal":
                for offset in range(b - a):
                    self._moved(live[shift + c + offset], pieces[start + c + offset])
            else:
                self.splice(shift + c, b - a, pieces[start + c : start + d])

    def _moved(self, ident: int, piece: Piece) -> None:
        if piece.where is not None:
            self._where[ident] = piece.where

    # -- steps ----------------------------------------------------------------------------------------------------

    def close(self) -> int:
        """The list as it stands is the prompt of the next step. Returns its n, from 1."""
        n = len(self._edits) + 1
        left, came = self.pending_changes()
        for edit in self._pending:
            for ident in edit.new:
                if not self.born[ident]:
                    self.born[ident] = n
                self.died[ident] = 0
            for ident in edit.gone:
                self.died[ident] = n
        for edit in self._pending:
            self._since_base += len(edit.new) + len(edit.gone) + 2
        self._edits.append(tuple(self._pending))
        self._left.append(left)
        self._came.append(came)
        self._lengths.append(len(self.live))
        self._pending = []
        if self._since_base > max(64, len(self.live)):
            self._bases.append((n, array("L", self.live)))
            self._since_base = 0
        return n

    def pending_changes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(ids that left and whose content stands nowhere in the list, ids that came) since the last close. The frame
        of a rendered state never left: it is words around the fields."""
        gone: dict[int, None] = {}
        came: dict[int, None] = {}
        for edit in self._pending:
            for ident in edit.gone:
                if ident in came:
                    del came[ident]
                else:
                    gone[ident] = None
            for ident in edit.new:
                if ident in gone:
                    del gone[ident]
                else:
                    came[ident] = None
        left = (i for i in gone if self.keys[i] not in self._live_keys and self.field_of(i) != FRAME)
        return tuple(left), tuple(came)

    def left(self, n: int) -> tuple[int, ...]:
        """Ids that stood in the prompt before and whose content stands nowhere in prompt n; steps + 1: the open one."""
        return self.pending_changes()[0] if n == len(self._left) + 1 else self._left[n - 1]

    def came(self, n: int) -> tuple[int, ...]:
        """Ids that stand in prompt n and did not in the one before."""
        return self.pending_changes()[1] if n == len(self._came) + 1 else self._came[n - 1]

    def edits(self, n: int) -> tuple[Edit, ...]:
        return tuple(self._pending) if n == len(self._edits) + 1 else self._edits[n - 1]

    def ids(self, n: int) -> list[int]:
        """Ids of the prompt of closed step n, in order; n = steps + 1: the list as it stands."""
        return list(self.live) if n == len(self._edits) + 1 else self.packed(n).tolist()

    def packed(self, n: int) -> array[int]:
        """Ids of the prompt of closed step n, in order; not to be changed. Beside the last one: its edits only."""
        place = bisect_right(self._bases, n, key=lambda base: base[0])
        base = (0, array("L")) if place == 0 else self._bases[place - 1]
        near = self._near
        at, ids = near if abs(near[0] - n) <= n - base[0] else base
        if at == n:
            return ids
        ids = ids[:]
        for step in range(at, n):
            for edit in self._edits[step]:
                ids[edit.position : edit.position + len(edit.gone)] = array("L", edit.new)
        for step in range(at - 1, n - 1, -1):
            for edit in reversed(self._edits[step]):
                ids[edit.position : edit.position + len(edit.new)] = array("L", edit.gone)
        self._near = (n, ids)
        return ids

    def length(self, n: int) -> int:
        """How many pieces prompt n has."""
        return len(self.live) if n == len(self._lengths) + 1 else self._lengths[n - 1]

    def has_key(self, key: int) -> bool:
        """Whether that content stands in the list now."""
        return key in self._live_keys

    def sums(self, more: Iterable[int] = ()) -> Tokens:
        """Tokens of the list as it stands and of the pieces `more`, by origin. None where all pieces of that origin are
        unknown."""
        sums, unknowns = self._sums[:], self._unknown[:]
        for ident in more:
            tokens, bucket = self.tokens[ident], _BUCKET[self.kinds[ident]]
            if tokens == _UNKNOWN:
                unknowns[bucket] += 1
            else:
                sums[bucket] += tokens
        state, trace, fixed = (
            None if unknown and not total else total for unknown, total in zip(unknowns, sums, strict=True)
        )
        return Tokens(state, trace, fixed, sum(unknowns))

    def view(
        self, n: int, limit: int | None, provenance: Provenance, more: Sequence[int] = (), at: int = 0
    ) -> PromptView:
        """The prompt of step n; that of the open step is copied, so that it never changes, with the pieces `more` put
        in at place `at`."""
        ids = None
        if n == len(self._edits) + 1:
            ids = array("L", self.live)
            ids[at:at] = array("L", more)
        return PromptView(self, n, ids, limit, provenance)
