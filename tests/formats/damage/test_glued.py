"""Records on one line, without a newline between them: each is read once, and the line is gone through once."""

from __future__ import annotations

from agentmem.formats.shared.lines import values
from agentmem.formats.source import Record
from tests.formats.damage.alarm import within

MANY = 150_000


def test_a_line_of_very_many_records_takes_time_in_proportion() -> None:
    one = b'{"id":"a","text":"\xc3\xa9"} '
    with within(10):
        told, *found = values(Record(one * MANY, 100, 7), ())
    assert told == f"{MANY} records on one line" and len(found) == MANY
    last = found[-1]
    assert not isinstance(last, str)
    value, record = last
    assert value == {"id": "a", "text": "\u00e9"}
    assert (record.offset, record.data, record.line) == (100 + len(one) * (MANY - 1), one.strip(), 7)
