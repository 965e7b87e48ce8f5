"""The tape holds every prompt exactly, whatever the edits were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentmem.model import STATE_KINDS, Where
from agentmem.tape import Piece, Tape, content_key
from agentmem.tokens import chars4

LISTS = st.lists(st.lists(st.integers(0, 12), max_size=14), min_size=1, max_size=25)


def piece(number: int) -> Piece:
    return Piece("user" if number % 3 else "fact", f"text {number}" * (number + 1))


def texts(tape: Tape, n: int) -> list[str | None]:
    return [segment.head for segment in tape.view(n, None, "exact")]


@given(LISTS)
def test_every_prompt_of_a_synced_list_comes_back_in_order(versions: list[list[int]]) -> None:
    tape = Tape(chars4)
    for version in versions:
        tape.sync([piece(number) for number in version])
        tape.close()
    for n, version in enumerate(versions, 1):
        assert texts(tape, n) == [(piece(number).text or "")[:120] for number in version]


@given(LISTS, st.lists(st.integers(0, 24), max_size=12))
def test_prompts_come_back_in_whatever_order_they_are_asked_for(versions: list[list[int]], asked: list[int]) -> None:
    tape = Tape(chars4)
    for version in versions:
        tape.sync([piece(number) for number in version])
        tape.close()
    for place in asked:
        n = place % len(versions) + 1
        assert texts(tape, n) == [(piece(number).text or "")[:120] for number in versions[n - 1]]
        assert list(tape.packed(n)) == tape.ids(n)


@given(LISTS)
def test_a_piece_left_only_if_its_content_stands_nowhere_in_the_new_prompt(versions: list[list[int]]) -> None:
    tape = Tape(chars4)
    before: list[int] = []
    for version in versions:
        tape.sync([piece(number) for number in version])
        n = tape.close()
        left = {tape.keys[ident] for ident in tape.left(n)}
        assert left == {piece(number).key for number in before} - {piece(number).key for number in version}
        before = version


@given(LISTS)
def test_the_three_sums_are_those_of_the_prompt(versions: list[list[int]]) -> None:
    tape = Tape(chars4)
    for version in versions:
        tape.sync([piece(number) for number in version])
        sums = tape.sums()
        tape.close()
        made = [piece(number) for number in version]
        state = sum(chars4(item.text or "") for item in made if item.kind in STATE_KINDS)
        assert (sums.state, sums.prompt) == (state, sum(chars4(item.text or "") for item in made))


@given(LISTS)
def test_edits_lead_from_each_prompt_to_the_next(versions: list[list[int]]) -> None:
    tape = Tape(chars4)
    for version in versions:
        tape.sync([piece(number) for number in version])
        tape.close()
    ids: list[int] = []
    for n in range(1, tape.steps + 1):
        for edit in tape.edits(n):
            assert tuple(ids[edit.position : edit.position + len(edit.gone)]) == edit.gone
            ids[edit.position : edit.position + len(edit.gone)] = edit.new
        assert ids == tape.ids(n)


def test_a_prompt_of_a_closed_step_does_not_change_when_the_tape_goes_on() -> None:
    tape = Tape(chars4)
    tape.append(piece(1))
    tape.close()
    closed, opened = tape.view(1, None, "exact"), tape.view(2, None, "exact")
    tape.append(piece(2))
    tape.close()
    assert (len(closed), len(opened), len(tape.view(2, None, "exact"))) == (1, 1, 2)


def test_a_reply_that_now_stands_in_the_prompt_keeps_its_id() -> None:
    tape = Tape(chars4)
    reply = tape.add(Piece("assistant", "I will look"))
    tape.splice(0, 0, (reply,))
    assert tape.ids(tape.close()) == [reply]


def test_a_piece_knows_the_steps_in_which_it_stood() -> None:
    tape = Tape(chars4)
    for version in ([1, 2], [1], [1]):
        tape.sync([piece(number) for number in version])
        tape.close()
    assert [(tape.born[i], tape.died[i]) for i in (0, 1)] == [(1, 0), (1, 2)]


def test_an_unknown_text_is_counted_as_unknown_and_never_as_zero() -> None:
    tape = Tape(chars4)
    tape.append(Piece("system", None))
    sums = tape.sums()
    assert (sums.fixed, sums.prompt, sums.unknown) == (None, 0, 1)
    assert tape.view(1, None, "partial")[0].tokens is None


def test_the_head_is_the_first_120_characters_and_the_place_is_kept() -> None:
    tape = Tape(chars4)
    ident = tape.append(Piece("user", "x" * 500, Where("a.json", 7, 9)))
    segment = tape.segment(ident)
    assert (segment.head, segment.characters, segment.where and segment.where.offset) == ("x" * 120, 500, 7)


def test_equal_text_of_another_kind_is_other_content() -> None:
    assert content_key("user", "same") != content_key("fact", "same")


def test_a_branch_begins_with_the_prompt_of_another_lane() -> None:
    first, branch = Tape(chars4), Tape(chars4)
    first.sync([piece(1), piece(2)])
    first.close()
    branch.adopt(first, first.ids(1))
    branch.append(piece(3))
    branch.close()
    assert texts(branch, 1) == [*texts(first, 1), (piece(3).text or "")[:120]]
    assert branch.sums().prompt == sum(chars4(piece(n).text or "") for n in (1, 2, 3))


def test_many_growing_steps_are_held_without_a_list_each() -> None:
    tape = Tape(chars4)
    for number in range(3000):
        tape.append(Piece("user", f"message {number}"))
        tape.close()
    held = sum(len(base) for _, base in tape._bases)
    assert held < 4 * len(tape)
    assert tape.ids(1500) == list(range(1500))
