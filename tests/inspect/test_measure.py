"""Reported, counted and estimated tokens are told apart, and sections sum to what was reported."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentmem.inspect.measure import estimate, ratio, scaled, unaccounted
from agentmem.inspect.open import open_run
from agentmem.model import Run, Tokens
from tests.formats.helpers import call, result, said, user


def logged(path: Path, tokens: list[int | None], system: str | None = "You look.") -> Run:
    messages = [user("find the leak")]
    lines = []
    for number, reported in enumerate(tokens):
        request = {"model": "m", "messages": list(messages), "system": system}
        usage = {"prompt_tokens": reported} if reported is not None else None
        lines.append({"request": request, "response": {"choices": [{"message": call(f"c{number}")}], "usage": usage}})
        messages += [call(f"c{number}"), result(f"c{number}", "a page of text " * 20), said("I see")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return open_run(str(path)).run


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=4))
def test_scaled_sections_sum_to_what_was_reported(tokens: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run = logged(Path(folder) / "log.jsonl", list(tokens))
        for step, reported in zip(run.main.steps, tokens, strict=False):
            share = scaled(step)
            assert share is not None and share.prompt == reported


def test_a_step_that_was_not_reported_is_estimated_at_the_scale_of_the_last_report(tmp_path: Path) -> None:
    steps = logged(tmp_path / "log.jsonl", [200, 400, None]).main.steps
    scale = ratio(steps, 2)
    assert scale is not None
    assert estimate(steps, 1) == (400, "reported")
    assert estimate(steps, 2) == (round((steps[2].tokens.prompt or 0) * scale), "estimated")


def test_without_any_report_the_count_stands_as_counted(tmp_path: Path) -> None:
    steps = logged(tmp_path / "log.jsonl", [None, None]).main.steps
    assert estimate(steps, 1) == (steps[1].tokens.prompt, "counted")


def test_no_section_takes_the_share_of_a_part_that_is_not_in_the_file(tmp_path: Path) -> None:
    step = logged(tmp_path / "log.jsonl", [200]).main.steps[0]
    object.__setattr__(step, "tokens", Tokens(10, 20, None, 1))
    assert scaled(step) is None


def test_unaccounted_tokens_need_a_near_exact_counter(tmp_path: Path) -> None:
    step = logged(tmp_path / "log.jsonl", [200]).main.steps[0]
    assert unaccounted(step, "chars4") is None
    assert unaccounted(step, "o200k") == 200 - (step.tokens.prompt or 0)
