"""Whole texts come from the file, and only if they are still the same."""

from __future__ import annotations

from pathlib import Path

from agentmem.inspect.texts import Texts
from agentmem.model import Where
from agentmem.tape import Piece, Tape
from agentmem.tokens import chars4


class Lines:
    """Records are lines; part i is the i-th field between bars."""

    def __init__(self) -> None:
        self.asked = 0

    def extract(self, raw: bytes, part: int) -> str | None:
        self.asked += 1
        parts = raw.decode().split("|")
        return parts[part] if part < len(parts) else None


def piece(path: Path, text: str, span: tuple[int, int] | None = None) -> Tape:
    tape = Tape(chars4)
    tape.add(Piece("user", text, Where(str(path), 4, 300, 1, span)))
    return tape


def written(path: Path, text: str) -> None:
    path.write_bytes(b"abc\n" + f"x|{text}|".encode().ljust(300, b" ") + b"\nrest")


def test_a_long_text_is_read_from_its_bytes_and_kept(tmp_path: Path) -> None:
    path, text = tmp_path / "a.jsonl", "ü" * 140
    written(path, text)
    reader = Lines()
    texts = Texts(reader)
    tape = piece(path, text)
    assert texts.text(tape, 0) == text and texts.text(tape, 0) == text
    assert reader.asked == 1


def test_a_span_of_a_part_is_cut_out_in_code_points(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, "ü" * 5 + "y" * 130)
    assert Texts(Lines()).text(piece(path, "y" * 130, (5, 135)), 0) == "y" * 130


def test_a_file_that_changed_gives_nothing(tmp_path: Path) -> None:
    path, text = tmp_path / "a.jsonl", "z" * 140
    written(path, text)
    tape = piece(path, text)
    written(path, "w" * 140)
    assert Texts(Lines()).text(tape, 0) is None
    path.write_bytes(b"short")
    assert Texts(Lines()).text(tape, 0) is None
    path.unlink()
    assert Texts(Lines()).text(tape, 0) is None


def test_a_short_text_is_its_head_and_needs_no_file(tmp_path: Path) -> None:
    reader = Lines()
    assert Texts(reader).text(piece(tmp_path / "none", "short"), 0) == "short"
    assert reader.asked == 0


def test_an_unknown_text_and_one_without_a_place_are_none() -> None:
    tape = Tape(chars4)
    tape.add(Piece("system", None))
    tape.add(Piece("user", "v" * 200))
    texts = Texts(Lines())
    assert texts.text(tape, 0) is None and texts.text(tape, 1) is None


def test_rows_of_a_database_are_read_by_who_knows_them() -> None:
    tape = Tape(chars4)
    text = "row " * 50
    tape.add(Piece("user", text, Where("sqlite:a.db?table=t", 7, 0, 1)))
    assert Texts(Lines()).text(tape, 0) is None
    assert Texts(Lines(), rows=lambda where: f"{where.offset}|{text}".encode()).text(tape, 0) == text


def test_the_least_recent_texts_are_let_go() -> None:
    texts = Texts(Lines())
    for key in range(20):
        texts.put(key, "k" * 1_000_000)
    assert texts._held <= 16_000_000 and 0 not in texts._texts and 19 in texts._texts
