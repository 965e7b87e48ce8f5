"""Where one thing stood, step by step: the goal, a field of the state, or any text.

Levels, one glyph a step: `━` in the prompt, `◆` changed, `╌` shortened, `─` held in the state but not in the prompt,
`·` gone, `▲` gone and nobody recorded it, `✗` needed while not in the prompt, space: not yet there or unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from agentmem.formats.fields import SHORTEST
from agentmem.inspect.compare.goal import goal_field, is_goal
from agentmem.inspect.compare.needed import NOTED
from agentmem.inspect.compare.survive import is_variant
from agentmem.inspect.compare.things import sort_of, tokens_in
from agentmem.inspect.compare.words import is_item, leaf, pairs_of, root, said_in, stands
from agentmem.inspect.held_text import Holder
from agentmem.model import Drop, Field, Lane, Lifeline, Run, Step
from agentmem.tape import PromptView, Tape

IN, CHANGED, SHORTENED, HELD, GONE, ALARM, NEEDED, NOT_YET = "━", "◆", "╌", "─", "·", "▲", "✗", " "
_PRESENT = frozenset({IN, CHANGED, SHORTENED})
_ABSENT = frozenset({GONE, ALARM, NEEDED, HELD})
_NULL = "null"
_READ_FOR_FORMS = 2_000_000
"""Characters that are looked through for near forms of a text."""
_MOST_FORMS = 4
Fetch = Callable[[int], str | None]
"""Whole text of a segment of the lane by its id; None if it cannot be had."""


def ranges(lane: Lane, levels: Sequence[str], glyphs: Iterable[str] = _PRESENT) -> tuple[tuple[int, int], ...]:
    """(first, last) step numbers of the runs of steps whose level is one of the glyphs."""
    line = levels if isinstance(levels, str) else "".join(levels)
    steps = lane.steps
    wanted = re.compile(f"[{re.escape(''.join(glyphs))}]+")
    return tuple((steps[run.start()].number, steps[run.end() - 1].number) for run in wanted.finditer(line))


def _line(
    name: str, lane: Lane, levels: list[str], changed: Sequence[tuple[int, str]] = (), said: Sequence[int] = (),
    held: Sequence[tuple[str, int, int]] = (), spared: Sequence[Drop] = (),
) -> Lifeline:  # fmt: skip
    """`spared`: losses of it that are told only because a call failed; the text itself may have stood on."""
    line = "".join(levels)
    needed = {*_numbers(lane, line, NEEDED), *(miss.step for drop in spared for miss in drop.needs)}
    return Lifeline(
        name, lane.id, 1, line, ranges(lane, line), tuple(changed), tuple(sorted(needed)), tuple(said),
        _numbers(lane, line, ALARM), tuple(held), tuple((drop.name, drop.step) for drop in spared),
    )  # fmt: skip


def _numbers(lane: Lane, line: str, glyph: str) -> tuple[int, ...]:
    """Numbers of the steps at that level."""
    if glyph not in line:
        return ()
    return tuple(lane.steps[at].number for at, level in enumerate(line) if level == glyph)


def _mark(levels: list[str], drops: Iterable[Drop]) -> None:
    """Alarms at the step of an alarming drop, and the failures that needed it, where the thing does not stand."""
    for drop in drops:
        if drop.alarming and drop.n - 1 < len(levels) and levels[drop.n - 1] in (GONE, HELD):
            levels[drop.n - 1] = ALARM
        for miss in drop.needs:
            if miss.n - 1 < len(levels) and levels[miss.n - 1] not in _PRESENT:
                levels[miss.n - 1] = NEEDED


def goal_lifeline(run: Run, lane_id: str) -> Lifeline:
    """The goal of the run in one lane. Raises KeyError as `Run.lane`."""
    lane = run.lane(lane_id)
    levels: list[str] = []
    changes: list[tuple[int, str]] = []
    drops: list[Drop] = []
    value: str | None = None
    for step in lane.steps:
        if step.drops:
            drops.extend(drop for drop in step.drops if drop.kind == "goal")
        if step.goal == "unknown" and not step.loses_goal:
            levels.append(NOT_YET)
            continue
        if step.goal == "missing" or step.loses_goal:
            levels.append(GONE)
            continue
        held = goal_field(step.fields)
        now = held.value if held is not None else None
        moved = now is not None and value is not None and now != value
        levels.append(CHANGED if moved else IN)
        if moved and now is not None:
            changes.append((step.number, now))
        value = now if now is not None else value
    _mark(levels, drops)
    return _line("goal", lane, levels, changes)


class _FieldLine:
    """One field while its lane is walked through: what is written down is where its level changes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.levels: list[str] = []
        self.changed: list[tuple[int, str]] = []
        self.value: str | None = None
        self.held = False
        self.drops: list[Drop] = []

    def fill(self, count: int) -> None:
        """Nothing changed in the steps before index `count`."""
        if len(self.levels) < count:
            last = self.levels[-1] if self.levels else NOT_YET
            self.levels.extend([IN if last == CHANGED else last] * (count - len(self.levels)))

    def put(self, step: Step, index: int, field: Field) -> None:
        """It is held from that step on, with that value and place."""
        self.fill(index)
        moved = self.value is not None and self.value != field.value
        if moved:
            self.changed.append((step.number, field.value))
        self.value, self.held = field.value, field.segment is None
        self.levels[index:] = [HELD if self.held else CHANGED if moved else IN]

    def gone(self, index: int) -> None:
        """It is held no longer from that step on."""
        self.fill(index)
        self.levels[index:] = [GONE if self.value is not None else NOT_YET]


def field_lifelines(run: Run, lane_id: str) -> tuple[Lifeline, ...]:
    """A lifeline for every field that the state ever held, the worst lost first: lost without a record and needed,
    lost without a record, needed, gone, then those that still stand. Items of a list go by their value."""
    lane = run.lane(lane_id)
    lines: dict[str, _FieldLine] = {}
    standing: dict[str, None] = {}
    before: tuple[Field, ...] | None = None
    for index, step in enumerate(lane.steps):
        if step.fields is before and not step.drops:
            continue
        if step.fields is not before:
            before = step.fields
            standing = _walk(lines, standing, step, index)
        for drop in step.drops:
            lost = lines.get(_drop_key(drop)) or lines.get(drop.name)
            if drop.what != "segment" and lost is None:
                lost = lines[drop.name] = _FieldLine(drop.name)
                lost.levels.extend([NOT_YET] * index + [GONE])
                lost.value = drop.text or ""
            if lost is not None:
                lost.drops.append(drop)
    ranked = []
    for line in lines.values():
        line.fill(len(lane.steps))
        _mark(line.levels, line.drops)
        ranked.append((_rank(line), _line(line.name, lane, line.levels, line.changed)))
    ranked.sort(key=lambda item: item[0])
    return tuple(line for _, line in ranked)


def named_lifeline(run: Run, lane_id: str, name: str) -> Lifeline | None:
    """The lifeline of the field of that name, the head of its path left out or not, as the first line of the screen
    names it: of several that end so that of a fact, else the one that was lost worst. None if the state never held one.
    Who gives the name of a field asks for the field, wherever else the name may stand as a text. Raises KeyError as
    `Run.lane`."""
    every = field_lifelines(run, lane_id)
    lines = {line.name: line for line in every}
    found = lines.get(name) or lines.get(f"facts.{name}")
    return found or next((line for line in every if "." in line.name and line.name.partition(".")[2] == name), None)


def _walk(lines: dict[str, _FieldLine], standing: dict[str, None], step: Step, index: int) -> dict[str, None]:
    """Write down what changed in the state of that step. Returns the keys of the fields that stand."""
    now: dict[str, None] = {}
    for field in step.fields:
        value, key = field.value, field.name
        if value == _NULL or not value:
            continue
        if key[-1:] == "]":
            key = _key(field)
        now[key] = None
        line = lines.get(key)
        if line is None:
            line = lines[key] = _FieldLine(field.name)
        elif key in standing and line.value == value and line.held == (field.segment is None):
            continue
        line.put(step, index, field)
    for key in standing.keys() - now.keys():
        lines[key].gone(index)
    return now


def _key(field: Field) -> str:
    return f"{root(field.name)}[]{field.value}" if is_item(field.name) else field.name


def _drop_key(drop: Drop) -> str:
    return f"{root(drop.name)}[]{drop.text}" if is_item(drop.name) else drop.name


def _rank(line: _FieldLine) -> tuple[int, int, int]:
    """Smaller is worse; among equals what was lost last comes first."""
    gone = [drop for drop in line.drops if drop.returned_at is None]
    silent = any(not drop.recorded for drop in gone)
    needed = any(drop.missed_by for drop in gone)
    last = max((drop.n for drop in line.drops), default=0)
    if silent and needed:
        order = 0
    elif silent:
        order = 1
    elif needed:
        order = 2
    elif gone:
        order = 3
    elif line.drops:
        order = 4
    elif line.levels and line.levels[-1] == GONE:
        order = 5
    elif is_goal(line.name):
        order = 8
    else:
        order = 6 if HELD in line.levels else 7
    return order, -last, 0 if leaf(line.name) else 1


def text_lifeline(run: Run, lane_id: str, text: str, fetch: Fetch) -> Lifeline:
    """Any text in the prompts and the held state of one lane. `fetch` gives whole texts; only pieces longer than their
    head need it.

    `said`: steps whose reply says it although it does not stand in the prompt. `changed`: where the text is an
    identifier, a path or a number that is gone, near forms that came only after it had left: (step, form).
    """
    lane = run.lane(lane_id)
    tape = _tape(lane)
    if not text or (tape is None and not any(step.fields or step.notes for step in lane.steps)):
        return _line(text, lane, [NOT_YET] * len(lane.steps))
    if tape is None:
        return hits_lifeline(lane, text, set())
    line = hits_lifeline(lane, text, find(tape, text, fetch))
    return replace(line, changed=_variants(lane, tape, line, fetch))


def _variants(lane: Lane, tape: Tape, line: Lifeline, fetch: Fetch) -> tuple[tuple[int, str], ...]:
    """Forms near to the text of a lifeline that came in the steps after it had left, and had not stood before."""
    text, kind = line.name, sort_of(line.name)
    left = next((at for at, level in enumerate(line.levels) if level in _ABSENT and IN in line.levels[:at]), None)
    if kind is None or left is None or len(text) < SHORTEST or any(map(str.isspace, text)):
        return ()
    found: dict[str, int] = {}
    seen: set[int] = set()
    budget = _READ_FOR_FORMS
    for ident in range(len(tape)):
        n = tape.born[ident]
        if n <= left or tape.keys[ident] in seen or budget <= 0:
            continue
        seen.add(tape.keys[ident])
        segment = tape.segment(ident)
        body = segment.head or ""
        if segment.characters is not None and segment.characters > len(body):
            body = fetch(ident) or ""
        budget -= len(body)
        if text[:2] not in body and text[-2:] not in body:
            continue
        for form in tokens_in(body):
            if form != text and is_variant(text, form, kind) and n < found.get(form, n + 1):
                found[form] = n
    out: list[tuple[int, str]] = []
    for form, n in sorted(found.items(), key=lambda item: (item[1], item[0]))[:_MOST_FORMS]:
        if all(not tape.born[ident] or tape.born[ident] > left for ident in find(tape, form, fetch)):
            out.append((lane.steps[n - 1].number, form))
    return tuple(out)


def find(tape: Tape, text: str, fetch: Fetch) -> set[int]:
    """Ids of the pieces of a lane, replies included, whose whole text holds `text`. Equal ones are looked at once."""
    known: dict[int, bool] = {}
    hits: set[int] = set()
    for ident in range(len(tape)):
        key = tape.keys[ident]
        found = known.get(key)
        if found is None:
            found = known[key] = _holds(tape, ident, text, fetch)
        if found:
            hits.add(ident)
    return hits


def _holds(tape: Tape, ident: int, text: str, fetch: Fetch) -> bool:
    segment = tape.segment(ident)
    if segment.head is None:
        return False
    if text in segment.head:
        return True
    if segment.characters is not None and segment.characters <= len(segment.head):
        return False
    return text in (fetch(ident) or "")


def hits_lifeline(lane: Lane, text: str, hits: set[int]) -> Lifeline:
    """The lifeline of a text whose pieces are known: walks the edits once."""
    tape = _tape(lane)
    holder = Holder(text)
    count = len(lane.steps)
    levels: list[str] = []
    drops: list[Drop] = []
    stubs: dict[int, int] = {}
    said: list[int] = []
    standing: dict[int, None] = {}
    seen = False
    for step in lane.steps:
        left = False
        if tape is not None:
            for edit in tape.edits(step.n):
                for ident in edit.gone:
                    if ident in hits:
                        standing.pop(ident, None)
                        left = True
                    elif ident in stubs:
                        del stubs[ident]
                for ident in edit.new:
                    if ident in hits:
                        standing[ident] = None
        if step.drops:
            for drop in step.drops:
                of_it = _of_text(drop, text, hits, left)
                if of_it and drop.cause == "shortened" and drop.stub is not None:
                    stubs[drop.stub] = step.n
                if of_it:
                    drops.append(_part_of_note(drop, text))
        held = holder.of(step)
        if standing:
            seen = True
            levels.append(IN)
            holder.break_()
        else:
            levels.append(HELD if held else SHORTENED if stubs else GONE if seen else NOT_YET)
            seen = seen or held is not None
            holder.go_on(step, held)
            if any(reply.id in hits for reply in step.replies):
                said.append(step.number)
            if seen:
                for attempt in step.attempts:
                    if attempt.outcome == "error" and attempt.error is not None and stands(text, attempt.error):
                        levels[-1] = NEEDED
    _mark(levels, drops)
    assert len(levels) == count
    return _line(text, lane, levels, (), said, holder.spans, [drop for drop in drops if drop.still is not None])


def _of_text(drop: Drop, text: str, hits: set[int], left: bool) -> bool:
    """Whether a drop lost that text. Of a row of several pieces only the first is known: it counts if a hit left."""
    if drop.what != "segment" and text in (drop.name, leaf(drop.name)):
        return True
    if drop.still is not None:
        return drop.text is not None and text in drop.text
    if drop.segment is not None and drop.segment in hits:
        return True
    if drop.count > 1:
        return left
    return drop.text is not None and text in drop.text


def _part_of_note(drop: Drop, text: str) -> Drop:
    """A note that was lost, with those failures only that name what the note said about that text."""
    if drop.text is None or drop.kind not in NOTED or drop.text == text or not drop.needs:
        return drop
    pairs = pairs_of(drop.text)
    own = [pair for pair in pairs if text in pair[0] or text in pair[1]]
    needs = [
        miss for miss in drop.needs
        if text in miss.error or any(said_in(pair, miss.error) for pair in own)
        or not any(said_in(pair, miss.error) for pair in pairs)
    ]  # fmt: skip
    return replace(drop, missed_by=tuple(needs[:1]), needed_by=tuple(needs[1:]))


def _tape(lane: Lane) -> Tape | None:
    if not lane.steps:
        return None
    prompt = lane.steps[-1].prompt
    return prompt.tape if isinstance(prompt, PromptView) else None
