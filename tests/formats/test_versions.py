"""Messages of one record that are made when they are looked at are those that were made at once."""

from __future__ import annotations

import msgspec
import pytest

from agentmem.formats.versions import PARTS, Item, Listed

DATA = [b'{"role":"user","content":"a"}', b'{"role":"assistant","content":"b"}', b'{"role":"user","content":"c"}']


@pytest.fixture
def items() -> list[Item]:
    return [Item(data, "log.jsonl", 7, 99, 3, place * PARTS) for place, data in enumerate(DATA)]


@pytest.fixture
def listed() -> Listed:
    raws = msgspec.json.decode(b"[" + b", ".join(DATA) + b"]", type=list[msgspec.Raw])
    return Listed(raws, "log.jsonl", 7, 99, 3)


def test_they_are_alike(listed: Listed, items: list[Item]) -> None:
    assert len(listed) == len(items)
    assert list(listed) == items
    assert listed.keys == [item.key for item in items]
    assert listed[-1] == items[-1]


@pytest.mark.parametrize("part", [slice(0, 2), slice(1, None), slice(-1, None), slice(2, 9), slice(3, 3), slice(2, 0)])
def test_parts_of_them_are_alike(listed: Listed, items: list[Item], part: slice) -> None:
    assert listed[part] == items[part]
    assert all(isinstance(item.data, bytes) for item in listed[part])


def test_there_is_none_behind_the_last(listed: Listed) -> None:
    with pytest.raises(IndexError):
        listed[3]
