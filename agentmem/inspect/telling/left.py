"""What is said of losses in one sentence: none, unknown, or how many left; the screen and the commands say the same.

Pure. Sentences are ours and safe for a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentmem.model import Drop, Lane, Run, Step

NAMES = {"segment": ("piece", "pieces"), "field": ("field", "fields"), "plan": ("plan item", "plan items")}
"""What a drop is, in words: one, many."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def steps_of(lanes: Sequence[Lane]) -> str:
    """`12 steps`, of several lanes `12 steps of 3 lanes`; open ones are counted, as everywhere, and named: `13 steps, 1
    open`."""
    said = counted(sum(len(lane.steps) for lane in lanes), "step")
    said += f" of {counted(len(lanes), 'lane')}" if len(lanes) > 1 else ""
    opened = sum(step.open for lane in lanes for step in lane.steps[-1:])
    return f"{said}, {opened} open" if opened else said


def cannot_tell(run: Run) -> list[str]:
    """Why some drops cannot be known, in words; empty where all can."""
    why = []
    if run.provenance == "partial":
        why.append("what the model saw is not in this file")
    if run.past_unknown:
        why.append("what was left out before the file was written cannot be told from it")
    for gap in run.gaps:
        first, last = gap.after + 1, gap.before - 1
        why.append(f"step {first} was not seen" if first == last else f"steps {first} to {last} were not seen")
    return why


def cause_word(drop: Drop) -> str:
    """`silent`, `compacted`; with a `?` behind a cause that was found although nobody recorded it: `trimmed?`."""
    return drop.cause if drop.recorded or drop.cause == "silent" else f"{drop.cause}?"


def went(drop: Drop) -> str:
    """What became of it, in words: of a text of which a part still stands it was cut short."""
    return "was cut short" if drop.cause == "shortened" else "left"


def still_held(drop: Drop, step: Step) -> bool:
    """Whether what left the prompt stands in the state of that step all the same."""
    if drop.what == "segment" or drop.text is None:
        return False
    from agentmem.inspect.compare.words import is_item, root  # the first paint waits for no reader

    if is_item(drop.name):
        of = root(drop.name)
        return any(field.value == drop.text and root(field.name) == of for field in step.fields)
    return any(field.name == drop.name and field.value == drop.text for field in step.fields)


def nothing_lost(run: Run, lanes: Sequence[Lane]) -> str:
    """What is said where no drop is known: never "no drops" where the file cannot tell."""
    steps = [lane.steps for lane in lanes if lane.steps]
    if run.provenance == "partial":
        if not steps:
            return "Unknown: this format keeps no prompt."
        if any(len(one[-1].prompt) for one in steps):
            return "Unknown: what the model saw is not in this file. The prompts shown are only what the file suggests."
        if len(lanes) > 1:
            return "Unknown: this format keeps no prompt."
        return f"Unknown: this format keeps no prompt for steps {steps[0][0].number} to {steps[-1][-1].number}."
    if all(step.open for one in steps for step in one):
        return "No step has finished yet: nothing can have been lost."
    return f"No drops in {steps_of(lanes)}."


def left_of(drops: Iterable[Drop]) -> str:
    """`220 pieces left, nobody recorded it; 29 pieces and 7 fields left on record`; empty for none."""
    sums: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for drop in drops:
        sums[drop.recorded][drop.what] += drop.count
    parts = []
    for found, how in zip(sums, ("left, nobody recorded it", "left on record"), strict=True):
        each = [counted(found[what], *words) for what, words in NAMES.items() if found[what]]
        if each:
            parts.append(f"{' and '.join([', '.join(each[:-1]), each[-1]] if each[1:] else each)} {how}")
    return "; ".join(parts)
