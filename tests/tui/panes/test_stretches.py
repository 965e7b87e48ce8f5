"""Stretches of a prompt's ids and sums over them say what looking at each piece says."""

from __future__ import annotations

from array import array
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agentmem.model import FRAME
from agentmem.tape import Piece, Tape
from agentmem.tokens import chars4
from tui.widgets.prompt.seen import Seen
from tui.widgets.prompt.stretches import Total, stretches, total

PARTS = st.lists(st.tuples(st.integers(1, 3), st.sampled_from((1, 2, 7, 8, 9, 17, 40))), max_size=9)

SORTS = st.lists(st.sampled_from(("here", "reply", "frame", "unknown")), max_size=40)


@given(PARTS, st.randoms(use_true_random=False))
def test_stretches_are_the_ids_in_order_and_as_long_as_can_be(parts: list[tuple[int, int]], random: Random) -> None:
    found, at = [], 0
    for gap, size in parts:
        found.append(range(at + gap, at + gap + size))
        at += gap + size
    random.shuffle(found)
    ids = array("L", (ident for part in found for ident in part))
    told = stretches(ids, at + 1)
    assert [ident for part in told for ident in part] == list(ids)
    assert all(one.stop != other.start for one, other in pairwise(told))


@given(SORTS, st.integers(0, 40), st.integers(0, 40))
def test_a_prompt_tells_places_and_sums_as_its_pieces_do(sorts: list[str], one: int, other: int) -> None:
    tape = Tape(chars4)
    for number, sort in enumerate(sorts):
        text = None if sort == "unknown" else f"text {number}" * (number + 1)
        piece = Piece("user", text, field=FRAME if sort == "frame" else None)
        ident = tape.add(piece) if sort == "reply" else tape.append(piece)
        if ident % 3 == 0:
            tape.close()
    tape.close()
    prompt = tape.view(tape.steps, None, "exact")
    seen = Seen(prompt)
    pieces = [segment for segment in prompt if segment.field != FRAME]
    assert list(seen.ids) == [segment.id for segment in pieces]
    assert [seen.place_of(segment.id) for segment in pieces] == list(range(len(pieces)))
    start, end = sorted((min(one, len(pieces)), min(other, len(pieces))))
    known = [segment.tokens for segment in pieces[start:end] if segment.tokens is not None]
    later = [n for segment in pieces[start:end] if (n := tape.born[segment.id]) > 1]
    assert seen.total(start, end) == Total(sum(known), len(known), min(later, default=0), max(later, default=0))


def test_sums_of_many_pieces_stay_right_while_the_tape_grows() -> None:
    tape = Tape(chars4)
    for number in range(2_000):
        tape.append(Piece("user", f"text {number}" * (number % 5 + 1)))
        if number % 7 == 0:
            tape.close()
            n = tape.steps
            ids = tape.ids(n)
            found = total(tape, stretches(tape.packed(n), len(tape)))
            assert (found.tokens, found.known) == (sum(tape.tokens[i] for i in ids), len(ids))
            assert (found.first, found.last) == ((2, n) if n > 1 else (0, 0))
