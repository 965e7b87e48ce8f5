"""Whole texts as rows: nothing lost, nothing wider than the pane, however large or odd the text is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agentmem.safe import block
from tui.widgets.prompt import layout as module
from tui.widgets.prompt.layout import TAB, Layout, Layouts

ODD = st.text(st.sampled_from("ab \t\n\x1b\x00漢字é\u0301🎉\u200d\ufe0f☎\u202e\ud800"), max_size=200)


def rows(layout: Layout) -> list[str]:
    return [layout.row(index) for index in range(layout.rows)]


@given(st.one_of(ODD, st.text(max_size=200)), st.integers(2, 90))
def test_no_row_is_wider_than_asked_and_no_character_is_lost(text: str, width: int) -> None:
    found = rows(Layout(text, width))
    assert all(cell_len(row) <= width for row in found)
    assert "".join(found) == block(text.expandtabs(TAB)).replace("\n", "")


@given(st.text(st.sampled_from("abc\n "), max_size=300), st.integers(2, 40))
def test_plain_text_breaks_at_the_width_and_at_line_ends(text: str, width: int) -> None:
    expected = []
    for line in text.split("\n"):
        expected += [line[at : at + width] for at in range(0, len(line), width)] or [""]
    assert rows(Layout(text, width)) == expected


def test_a_line_of_a_megabyte_has_its_last_row_at_hand() -> None:
    layout = Layout("x" * 1_000_000 + "END", 60)
    assert layout.rows == 16_667 and layout.row(layout.rows - 1).endswith("END")


def test_very_many_wide_characters_are_wrapped_by_arithmetic_and_still_fit() -> None:
    text = "漢字🎉e\u0301" * 30_000
    layout = Layout(text, 61)
    assert all(cell_len(layout.row(index)) <= 61 for index in range(0, layout.rows, 97))
    assert isinstance(layout._starts[0], int), "a text of this size is not measured character by character"


def test_scrubbing_past_an_open_piece_lays_it_out_once() -> None:
    layouts = Layouts()
    first = layouts.of(7, "text\n" * 100, 40)
    assert layouts.of(7, "text\n" * 100, 40) is first
    assert layouts.of(7, "text\n" * 100, 41) is not first


def test_layouts_of_large_texts_leave_when_there_are_too_many() -> None:
    layouts = Layouts(limit=3, characters=1_000)
    kept = [layouts.of(key, "x" * 400, 40) for key in range(5)]
    assert layouts.of(4, "x" * 400, 40) is kept[4]
    assert layouts.of(0, "x" * 400, 40) is not kept[0]


def test_the_arithmetic_holds_for_every_character_that_is_taken_to_be_one_cell() -> None:
    taken = [chr(code) for code in range(0x20, 0x2600) if not module._ODD.search(chr(code))]
    assert [c for c in taken if block(c) == c and cell_len(c) != 1] == []


@given(st.text(st.sampled_from("abc  \n漢é-"), max_size=300), st.integers(2, 40))
def test_rows_end_between_words_and_a_word_is_cut_only_where_it_is_longer_than_a_row(text: str, width: int) -> None:
    for line in text.split("\n"):
        found = rows(Layout(line, width, words=True))
        assert all(cell_len(row) <= width for row in found)
        assert "".join(found).replace(" ", "") == line.replace(" ", "")
        whole = {word for word in line.split() if cell_len(word) <= width}
        shown = " ".join(found).split()
        assert whole <= set(shown)
        assert all(row.strip() for row in found) or not line.strip() or line.startswith(" ") or line.endswith(" ")


def test_a_text_too_long_to_look_for_its_words_is_still_shown_whole() -> None:
    text = "word " * 400_000
    layout = Layout(text, 60, words=True)
    assert layout.rows == -(-len(text) // 60) and layout.row(0) == text[:60]
