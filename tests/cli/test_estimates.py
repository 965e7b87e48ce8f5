"""The next call of a run whose system prompt and tool schemas are not in its file: what was reported, and what came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentmem.inspect.measure import estimate, reported
from agentmem.inspect.open import open_run
from tests.formats.agents.test_pi import result, said, user, write
from tests.formats.trims.loops import Round, last
from tests.formats.trims.loops import run as loop
from tui.index import build

from .test_commands import Command, command  # noqa: F401 - the fixture comes by its name


@pytest.fixture
def early(tmp_path: Path) -> Path:
    """One call of 2,775 reported tokens, of which the file holds a short goal; then a page of 100,000 characters."""
    page = "a line of the file that was read\n" * 3_000
    return write(tmp_path / "run.jsonl", [
        user("1", None, "read it " * 80), said("2", "1", "I look.", "c", prompt=2_775), result("3", "2", "c", page)
    ])  # fmt: skip


def test_the_next_call_is_what_was_reported_and_what_came_since(command: Command, early: Path) -> None:  # noqa: F811 - the fixture
    steps = open_run(str(early)).run.main.steps
    size, source = estimate(steps, 1)
    assert source == "estimated" and size is not None
    assert 25_000 < size < 35_000, "24,800 came; the ratio of totals would make it 400,000"
    shown = f"{size / 1000:.0f}k"
    assert command.text("line", early).startswith(f"≈{shown}/200k {round(size / 2000)}%")
    rows = command.text("show", early).splitlines()
    assert f"≈{size / 1000:.1f}k" in rows[-1]
    (rule,) = [row for row in rows if row.startswith("≈ is an estimate; step 2: 2,775 reported at step 1, and ")]
    assert rule.endswith(" counted more, times 1.20")
    assert [step["tokens"] for step in command.json("show", early)["steps"]] == [2_775, size]


def test_the_screen_shows_the_figures_of_the_commands(early: Path) -> None:
    run = open_run(str(early)).run
    index = build(run)[run.main.id]
    assert [index.size(1), index.size(2)] == [2_775, estimate(run.main.steps, 1)[0]]
    assert index.sign(1, "chars4") == "" and index.sign(2, "o200k") == "≈"
    again = build(open_run(str(early)).run, build(run))[run.main.id]
    assert again.sizes == index.sizes


EARLY = [
    ("pi/before-compaction.jsonl", 5, 33_638, 0.05), ("pi/large-session.jsonl", 8, 11_209, 0.15),
    ("gemini-cli/gen-chat-compress-rewind.jsonl", 5, 7_000, 0.5),
    ("claude-code/5c0375b4-sidechain.jsonl", 15, 20_350, 0.05),
]  # fmt: skip
"""(file, lines of it, what the next call reported, share that the estimate may be off)."""


@pytest.mark.parametrize(("file", "lines", "true", "within"), EARLY)
def test_real_runs_are_near_what_they_then_reported(
    file: str, lines: int, true: int, within: float, real: Path, tmp_path: Path
) -> None:
    if not (real / file).exists():
        pytest.skip("the real files are not here")
    cut = tmp_path / "run.jsonl"
    cut.write_bytes(b"".join((real / file).read_bytes().splitlines(keepends=True)[:lines]))
    steps = open_run(str(cut)).run.main.steps
    size, _ = estimate(steps, len(steps) - 1)
    assert reported(steps[-1]) is None and size is not None and abs(size - true) <= within * true


def test_a_prompt_that_was_never_seen_whole_has_no_size_and_one_cut_somewhere_says_so(
    command: Command, tmp_path: Path  # noqa: F811 - the fixture
) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(list(loop([Round()] * 31, last(6), at="save"))[-1].version))
    sizes = ("prompt_tokens", "state_tokens", "trace_tokens", "fixed_tokens", "segments", "tokens")
    steps = command.json("show", path)["steps"]
    assert [step["own"] for step in steps] == [29, 30, 31, 32]
    assert [step["unsure"] for step in steps] == ["unseen", "unseen", "cut", None]
    assert {step[size] for step in steps[:2] for size in sizes} == {None}
    assert steps[2]["prompt_tokens"] > 0 and steps[2]["segments"] == 4
    rows = {row.split()[0]: row.split() for row in command.text("show", path).splitlines() if row.strip()}
    assert rows["30"][-4:-1] == ["?"] * 3 and rows["31"][-2].startswith("≈")
    assert "? older messages stood in it" in command.text("show", path, "--step", "29")
    assert "left before its call or right after it" in command.text("show", path, "--step", "31")
