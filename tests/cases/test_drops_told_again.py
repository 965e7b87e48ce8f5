"""A loop that keeps its whole list, trims only what it sends, and hands over with each save all that was trimmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentmem.checkpoint.recorder import record
from agentmem.inspect.open import open_run
from agentmem.memory.policies import drop_oldest
from agentmem.model import Drop
from tests.formats.helpers import call, result, user


def kept_whole(folder: Path, steps: int, budget: int, *, trims_list: bool = False, text: str = "page {}") -> list[Drop]:
    run = record("a", goal="find the leak", folder=folder)
    messages: list[dict[str, Any]] = [user("find the leak")]
    for number in range(1, steps + 1):
        sent, drops = drop_oldest(messages, budget)
        if trims_list:
            messages = list(sent)
        found = text.format(number) + " lorem" * 30
        messages = [*messages, call(f"c{number}", page=number), result(f"c{number}", found)]
        run.save(messages, prompt=list(sent), drops=drops)
    run.finish()
    return [drop for step in open_run(str(folder / "a.json")).run.main.steps for drop in step.drops]


def test_a_piece_leaves_once_though_its_drop_is_declared_at_every_step_after(tmp_path: Path) -> None:
    whole = kept_whole(tmp_path / "whole", 12, 300)
    trimmed = kept_whole(tmp_path / "trimmed", 12, 300, trims_list=True)
    told = [(drop.step, drop.name, drop.text, drop.tokens, drop.last_step, drop.recorded) for drop in whole]
    assert told == [(d.step, d.name, d.text, d.tokens, d.last_step, d.recorded) for d in trimmed]
    assert len({drop.text for drop in whole}) == len(whole) == 12
    assert all(drop.last_step == drop.step - 1 for drop in whole)


def test_pieces_of_one_text_leave_each_once(tmp_path: Path) -> None:
    whole = kept_whole(tmp_path / "whole", 12, 300, text="page")
    trimmed = kept_whole(tmp_path / "trimmed", 12, 300, trims_list=True, text="page")
    assert len(whole) == len(trimmed) and [drop.step for drop in whole] == [drop.step for drop in trimmed]


def test_a_piece_that_came_back_may_leave_again(tmp_path: Path) -> None:
    run = record("a", goal="find the leak", folder=tmp_path)
    messages: list[dict[str, Any]] = [user("find the leak")]
    for number, budget in enumerate((300, 300, 60, 60, 300, 60, 60), 1):
        sent, drops = drop_oldest(messages, budget)
        messages = [*messages, call(f"c{number}", page=number), result(f"c{number}", f"page {number}" + " lorem" * 9)]
        run.save(messages, prompt=list(sent), drops=drops)
    steps = open_run(str(tmp_path / "a.json")).run.main.steps
    first = [(step.number, drop.returned_at) for step in steps for drop in step.drops
             if (drop.text or "").startswith("page 1 ")]  # fmt: skip
    assert first == [(4, 5), (6, None)]
