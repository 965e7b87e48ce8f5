"""Records of a file that is written whole are found at the bytes where they stand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats.shared import whole

VALUES = st.recursive(
    st.one_of(st.none(), st.integers(-9, 9), st.text("ab[]{},:\\ ", max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abm"), inner, max_size=2)),
    max_leaves=6,
)


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
@given(st.lists(st.tuples(st.sampled_from(("a", "b", "messages")), VALUES), max_size=5), st.sampled_from((None, 1)))
def test_every_record_and_member_stands_where_it_is_said_to_stand(
    chunk: int, members: list[tuple[str, object]], indent: int | None
) -> None:
    body = ",".join(f"{json.dumps(name)}: {json.dumps(value, indent=indent)}" for name, value in members)
    data = b"\xef\xbb\xbf \n" + f"{{{body}}}\n".encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(whole, "_CHUNK", chunk)
        reading = whole.parse(data, "a.json", ("messages",))
    for name, (offset, length) in reading.places.items():
        assert json.loads(data[offset : offset + length]) == reading.rest[name] == dict(members)[name]
    items = reading.lists.get("messages", [])
    assert all(data[item.offset : item.offset + item.length] == item.data for item in items)
    held = dict(members).get("messages")
    assert [json.loads(item.data) for item in items] == (held if isinstance(held, list) else [])
