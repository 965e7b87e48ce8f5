"""What is cut or summed up in the very save that its step adds: the answer of that step stands in no version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.telling.left import cannot_tell
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import UNSIZED
from tests.cases.written import versions
from tests.formats.helpers import call, result, user
from tests.formats.trims.loops import Cut, Message, Round, last, run

ORDER = "the order is ORD-9981-A, it is in /srv/shop/refunds.csv"


def loop(steps: int, at: int, cut: Cut) -> list[dict[str, Any]]:
    """A loop that appends, cuts at that step, and saves."""
    messages: list[Message] = [{"role": "system", "content": "You run a shop."}, user("refund the customer")]
    saved = []
    for n in range(1, steps + 1):
        messages = [*messages, call(f"c{n}", page=n), result(f"c{n}", ORDER if n == 4 else f"page {n}: nothing")]
        if n == at:
            messages = cut(messages)
        saved.append({"step": n, "messages": messages, "notes": ""})
    return saved


def summed_up(messages: list[Message]) -> list[Message]:
    return [*messages[:2], user("Summary of the conversation so far: many pages were looked at.")]


@pytest.mark.parametrize(
    ("cut", "kind", "recorded"),
    [(summed_up, "compaction", True), (lambda messages: messages[:6], "rewind", False)],
    ids=["a summary", "a rewind"],
)  # fmt: skip
def test_the_step_was_made_and_what_left_is_told_behind_it(
    cut: Cut, kind: str, recorded: bool, tmp_path: Path
) -> None:
    value = versions(tmp_path / "run.json", *loop(12, 9, cut)).run
    steps = value.main.steps
    assert [step.number for step in steps if not step.open] == list(range(1, 13))
    assert not value.gaps and not cannot_tell(value)
    folded, after = steps[8], steps[9]
    assert (folded.unsure, folded.replies, folded.attempts, folded.boundary) == ("folded", (), (), None)
    assert len(folded.prompt) == 2 + 2 * 8, "what stood in the version before is what it saw"
    assert after.unsure is None and after.boundary is not None
    assert (after.boundary.kind, after.boundary.recorded) == (kind, recorded)
    assert (after.boundary.before, after.boundary.after) == (folded.tokens.prompt, after.tokens.prompt)
    assert sum(drop.count for drop in after.drops) == len(folded.prompt) - (2 if recorded else 6)
    told = f"the prompt fell from {folded.tokens.prompt} to {after.tokens.prompt} tokens at 10, nobody recorded why"
    assert (verdict(value).text == told) is not recorded
    assert "ORD-9981-A" in lost_block(value) and "/srv/shop/refunds.csv" in lost_block(value)


def test_a_number_that_is_saved_before_its_call_tells_no_answer(tmp_path: Path) -> None:
    saves = loop(8, 99, summed_up)
    before = {**saves[4], "messages": summed_up(saves[3]["messages"])}
    made = [*before["messages"], *saves[4]["messages"][-2:]]
    later = [{**save, "messages": [*made, *save["messages"][12:]]} for save in saves[4:]]
    value = versions(tmp_path / "run.json", *saves[:4], before, *later).run
    assert [step.own for step in value.main.steps if not step.open] == list(range(1, 9))
    assert "folded" not in {step.unsure for step in value.main.steps}
    assert [step.number for step in value.main.steps if step.boundary is not None] == [5]
    assert not value.gaps and not value.problems and all(step.replies for step in value.main.steps[:-1])


def test_where_the_same_was_said_before_it_is_not_known_whether_its_answer_was_cut(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "You wait."}, user("wait")]
    turn = [call("w", seconds=5), result("w", "not yet")]
    listed = [*messages, *turn, *turn, *turn]
    value = versions(
        tmp_path / "run.json", {"step": 3, "messages": listed}, {"step": 4, "messages": [*messages, *turn]}
    ).run
    assert "folded" not in {step.unsure for step in value.main.steps}


def test_a_cut_between_two_versions_is_not_said_to_be_from_before_the_first(tmp_path: Path) -> None:
    saves = list(run([Round()] * 40, last(6), at="save"))
    steps = versions(tmp_path / "run.json", *(save.version for save in (*saves[20:22], *saves[29:31]))).run.main.steps
    unsure = {step.number: step.unsure for step in steps}
    assert {number for number, why in unsure.items() if why == "unseen"} == {19, 20}
    assert {number for number, why in unsure.items() if why == "between"} == {28, 29}
    assert all(step.tokens.prompt is None for step in steps if step.unsure in UNSIZED)


@pytest.mark.parametrize("missing", [1, 2])
def test_steps_that_are_missing_before_the_first_shown_are_told_be_it_one_or_more(missing: int, tmp_path: Path) -> None:
    (saved,) = loop(12, 12, lambda messages: messages[:2] + messages[2 + 2 * missing :])[-1:]
    saved["messages"] = saved["messages"][:-1]  # the newest call stands there without its result
    value = versions(tmp_path / "run.json", saved).run
    steps = value.main.steps
    assert [(gap.after, gap.before, gap.missing) for gap in value.gaps] == [(0, missing + 1, missing)]
    assert steps[0].number == missing + 1
    assert {step.tokens.prompt for step in steps if step.number < 12} == {None}


def test_a_count_that_is_ahead_of_the_answers_misses_none(tmp_path: Path) -> None:
    saves = loop(4, 99, summed_up)
    ahead = [{**save, "step": save["step"] + 1} for save in saves]
    started = {"step": 1, "messages": saves[0]["messages"][:2]}
    for first in ([started, *ahead], [ahead[1], {**ahead[1], "step": 4, "notes": "on"}]):
        value = versions(tmp_path / f"{len(first)}.json", *first).run
        assert not value.gaps
        assert {step.unsure for step in value.main.steps} == {None}


def test_one_step_too_many_by_the_count_may_be_the_call_that_is_still_to_be_made(tmp_path: Path) -> None:
    """Who counts and saves before the call writes 5 beside four answers: nothing is missing of it."""
    saved = {"step": 5, "messages": loop(4, 99, summed_up)[-1]["messages"]}
    value = versions(tmp_path / "run.json", saved).run
    assert not value.gaps and all(step.tokens.prompt is not None for step in value.main.steps)
