"""Kinds of damage: (bytes, chance, whether a record is a line) -> the bytes with one of it."""

from __future__ import annotations

import random
from collections.abc import Callable

FOREIGN = (
    b"npm WARN deprecated", b"{}", b"[]", b"null", b"3", b'"x"', b'{"type":"alien","v":1}', b'{"message":null}',
    b'{"type":null}', b'{"type":{"a":1},"payload":7,"uuid":3,"message":"x"}', b'{"type":["a"],"role":[1]}',
    b"<<<<<<< HEAD", b"\xff\xfe\x00", b"[" * 3000,
)  # fmt: skip
Lines = list[bytes]


def nul_block(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    size = min(len(data) - start, chance.choice((1, 64, 4096, 9000)))
    return data[:start] + b"\0" * size + data[start + size :]


def flipped_bit(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def half_a_character(data: bytes, chance: random.Random) -> bytes:
    places = [place for place, byte in enumerate(data) if byte >= 0xC3]
    if places:
        place = chance.choice(places)
        return data[: place + 1] + data[place + 2 :]
    place = chance.randrange(len(data))
    return data[:place] + b"\xe6\xbc" + data[place:]


def byte_order_mark(data: bytes, chance: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def carriage_returns(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


ANY: dict[str, Callable[[bytes, random.Random], bytes]] = {
    one.__name__: one for one in (nul_block, flipped_bit, half_a_character, byte_order_mark, carriage_returns)
}


def glued(lines: Lines, at: int, chance: random.Random) -> Lines:
    return [*lines[:at], lines[at] + lines[at + 1], *lines[at + 2 :]]


def half_then_whole(lines: Lines, at: int, chance: random.Random) -> Lines:
    return [*lines[:at], lines[at][: len(lines[at]) // 2] + lines[at + 1], *lines[at + 2 :]]


def foreign(lines: Lines, at: int, chance: random.Random) -> Lines:
    return [*lines[:at], chance.choice(FOREIGN), *lines[at:]]


def twice(lines: Lines, at: int, chance: random.Random) -> Lines:
    return [*lines[: at + 1], *lines[at:]]


def swapped(lines: Lines, at: int, chance: random.Random) -> Lines:
    return [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]


OF_LINES: dict[str, Callable[[Lines, int, random.Random], Lines]] = {
    one.__name__: one for one in (glued, half_then_whole, foreign, twice, swapped)
}


def in_lines(name: str, data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    tail = [lines.pop()] if not lines[-1] else []
    return b"\n".join([*OF_LINES[name](lines, chance.randrange(1, len(lines) - 1), chance), *tail])
