"""The difference of two prompts: matched by content, pairs for stubs and fields, everything told once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentmem.inspect.difference import Difference, difference
from agentmem.model import Kind
from agentmem.tape import Piece, PromptView, Tape
from tests.tui.panes.builders import story

WORDS = st.lists(st.sampled_from("abcdef"), max_size=12)


def prompt(*pieces: tuple[Kind, str]) -> PromptView:
    tape = Tape(len)
    for kind, text in pieces:
        tape.append(Piece(kind, text))
    return tape.view(tape.close(), None, "exact")


def sorts(found: Difference) -> list[str]:
    return [change.sort for change in found.changes]


@given(WORDS, WORDS)
def test_every_piece_is_told_once_and_in_the_order_of_the_later_prompt(old: list[str], new: list[str]) -> None:
    before, after = prompt(*(("user", word) for word in old)), prompt(*(("user", word) for word in new))
    found = difference(before, after)
    added = [change.now.head for change in found.of("added") if change.now is not None]
    gone = [change.was.head for change in found.of("gone") if change.was is not None]
    assert added == [word for word in new if word not in old]
    assert sorted(filter(None, gone)) == sorted(word for word in old if word not in new)
    assert found.kept == sum(word in old for word in new) == sum(change.count for change in found.of("same"))
    assert found.kept_tokens == found.kept


def test_against_nothing_all_is_added() -> None:
    assert sorts(difference(None, prompt(("user", "a"), ("user", "b")))) == ["added", "added"]


def test_what_left_stands_where_it_stood() -> None:
    before = prompt(("user", "a"), ("user", "b"), ("user", "c"))
    assert sorts(difference(before, prompt(("user", "a"), ("user", "c")))) == ["same", "gone", "same"]


def test_a_stub_is_paired_with_what_it_stands_for_and_a_field_with_its_earlier_value() -> None:
    run = story()
    steps = run.main.steps
    (short,) = difference(steps[24].prompt, steps[25].prompt).of("shortened")
    assert short.was is not None and short.now is not None and short.now.stub_of == short.was.id
    (changed,) = difference(steps[28].prompt, steps[29].prompt).of("changed")
    assert changed.was is not None and changed.now is not None and changed.now.field == changed.was.field == "plan"
    assert not difference(steps[28].prompt, steps[29].prompt).of("gone")


def test_a_summary_is_added_and_what_it_replaced_is_gone() -> None:
    steps = story().main.steps
    found = difference(steps[14].prompt, steps[15].prompt)
    assert [change.now.kind for change in found.of("added") if change.now] == ["summary"] and len(
        found.of("gone")
    ) == 28


def test_a_stub_is_not_paired_across_lanes_whose_ids_mean_other_pieces() -> None:
    one, other = Tape(len), Tape(len)
    one.append(Piece("result", "a long result"))
    before = one.view(one.close(), None, "exact")
    other.append(Piece("result", "short", stub_of=0))
    after = other.view(other.close(), None, "exact")
    assert sorts(difference(before, after)) == ["gone", "added"]
