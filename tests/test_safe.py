"""Nothing from outside reaches a terminal as anything but text."""

from __future__ import annotations

import ast
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agentmem import safe
from tests.house.tree import parsed, sources

ANY = st.text(st.characters(codec=None), max_size=60)
DANGEROUS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(ANY)
def test_a_block_holds_no_control_format_or_surrogate_but_newline_and_tab(text: str) -> None:
    assert not [c for c in safe.block(text) if unicodedata.category(c) in DANGEROUS and c not in "\n\t"]


@given(ANY)
def test_a_line_is_one_line_and_encodes(text: str) -> None:
    shown = safe.line(text)
    assert shown.encode() and "\n" not in shown and "\t" not in shown if text else shown == ""


LETTERS = st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="\u3164\uffa0\u115f\u1160")


@given(st.text(LETTERS, max_size=60))
def test_harmless_text_stands_as_it_is(text: str) -> None:
    assert safe.block(text) == text


def test_controls_become_visible() -> None:
    assert safe.line("a\x1b[2J\x07\x9b\u202eb\ud800\u2028") == "a␛[2J␇<U+009B><U+202E>b<U+D800><U+2028>"


def test_tag_and_zero_width_characters_are_counted_as_hidden() -> None:
    assert safe.hidden("a\u200bb\U000e0041c") == 2


def test_lone_surrogates_become_encodable() -> None:
    assert safe.encodable("a\ud800b") == "a\ufffdb"


@given(st.text(max_size=60))
def test_json_made_safe_for_a_terminal_is_the_same_value_and_nothing_in_it_acts(text: str) -> None:
    document = safe.json_text(json.dumps({text: text}, ensure_ascii=False))
    assert json.loads(document) == {text: text}
    assert safe.hidden(document) == 0


def test_every_control_and_format_character_there_is_becomes_visible() -> None:
    text = "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) in DANGEROUS and c not in "\n\t")
    assert not [c for c in safe.block(text) if unicodedata.category(c) in DANGEROUS]


@given(ANY)
def test_plain_text_is_ascii(text: str) -> None:
    assert safe.plain(safe.block(text)).isascii()
    assert safe.plain(text) == text or not text.isascii()


def test_every_sign_of_ours_has_one_in_ascii_of_the_same_width() -> None:
    """As the screens and commands write them: none becomes a question mark, and columns stay columns."""
    ours = [path for path in sources("tui", "agentmem") if {"tui", "cli", "telling"} & set(path.parts)]
    words = {node.value for path in ours for node in ast.walk(parsed(path))
             if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:2] != "[^"}  # fmt: skip
    signs = {sign for word in words for sign in word if not sign.isascii() and cell_len(sign)}
    assert {"▲", "…", "█", "▁", "Δ"} <= signs
    assert not [sign for sign in signs if safe.plain(sign) in ("?", "")]
    assert not [sign for sign in signs if len(safe.plain(sign)) != cell_len(sign)]


@pytest.mark.parametrize(("asked", "encoding", "term", "only"), [
    (None, "utf-8", "xterm", False), (None, "UTF-8", "linux", True), (None, "ascii", "xterm", True),
    (None, "iso8859-1", "xterm", True), (None, None, "xterm", True), ("1", "utf-8", "xterm", True),
    ("0", "ascii", "linux", False),
])  # fmt: skip
def test_what_a_terminal_shows_is_told_from_its_encoding_unless_it_is_asked_for(
    asked: str | None, encoding: str | None, term: str, only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    if asked is not None:
        monkeypatch.setenv(safe.ASCII, asked)
    assert safe.shows_ascii_only(encoding) is only
    assert safe.shows_ascii_only(encoding, is_terminal=False) is (asked == "1"), "a file gets all of it"
