"""Texts that name a process are masked as any other text: the quick way gives the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentmem.ledger import mask

WORDS = st.sampled_from((
    "took 12ms", "at 10:22:33", "May 3 2024", "on Mon, Jan. 5", "0x7fffaa", "2024-01-02T10:00:00Z", "1.5 s", "3h 20m",
    "jump", "upper", "12", "port 8080", "JUNE 7", "\n",
))  # fmt: skip


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_a_text_is_masked_alike_beside_a_process_and_without_one(words: list[str]) -> None:
    text = " ".join(words)
    assert mask(f"a job of {text}.").removeprefix("a job") == mask(f"a jab of {text}.").removeprefix("a jab")


def test_processes_are_masked_however_they_are_written() -> None:
    for name in ("pid", "PID", "Process ID", "job", "process"):
        assert mask(f"{name} 41 is up") == mask(f"{name} 42 is up"), name
