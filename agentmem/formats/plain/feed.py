"""Versions of one message list with what stands beside it -> a run in the making, whether they are found in a file that
is overwritten or line by line in a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentmem.formats.draft import RunDraft, StepDraft
from agentmem.formats.fields import Finder, field_kind
from agentmem.formats.loose import canonical, decode
from agentmem.formats.messages import is_message, split
from agentmem.formats.plain.envelope import (
    ENDED,
    GOAL_KEYS,
    STATE_KEYS,
    apply_goal,
    integer,
    prefix_pieces,
    state_fields,
    unknown_parts,
)
from agentmem.formats.plain.numbering import Numbering
from agentmem.formats.plain.restart import Before, begins_anew
from agentmem.formats.plain.trims import Trims
from agentmem.formats.usage import amount, usage_of
from agentmem.formats.versions import Item, MessageList
from agentmem.model import Field, Where
from agentmem.tape import Piece


def nothing_in(
    rest: Mapping[str, Any], items: Sequence[Item], instead: str | None, listed: bool = True,
    not_json: Sequence[str] = (),
) -> str | None:  # fmt: skip
    """Why a version shows nothing, in words; None if there is something to show, or a list that has yet to begin.
    `instead`: what stands in the place of its list; `listed` False: nothing does; `not_json`: see `Parsed`."""
    if not listed and not state_fields(rest, len):
        return "no list of messages and no state in it"
    if instead is None and (not items or any(is_message(_decoded(item.data)) for item in items)):
        if items and not_json and not any(_says(item) for item in items):
            return f"{' and '.join(not_json)} in place of what its messages say"
        return None
    if any(rest.get(name) for name in ("state", "memory", "agent_state", "facts", "plan")):
        return None
    if instead is not None:
        return f"{instead}, no list of messages"
    return f"no message in its list of {len(items)}"


def _says(item: Item) -> bool:
    """Whether anything of a message can be shown."""
    message = _decoded(item.data)
    return isinstance(message, Mapping) and bool(split(message).parts)


def _decoded(data: bytes) -> Any:
    try:
        return decode(data)
    except ValueError:
        return None


class Feed:
    """Feeds versions to the draft's main lane. `stored` reads the text of a piece again; `may_hold` is False of a text
    that stands in no message of the newest version."""

    def __init__(
        self, draft: RunDraft, stored: Callable[[Where], str | None], may_hold: Callable[[str], bool] | None = None
    ) -> None:
        self.draft = draft
        self.keys: list[int] = []
        """Of all messages of the last version."""
        self._stored = stored
        self._may_hold = may_hold
        self._list = MessageList(draft.main)
        self._finder = Finder(draft.main.tape)
        self._numbering = Numbering(draft)
        self._trims = Trims(draft.main, self._numbering)
        self._sent: int | None = None
        """So many messages stood before the first answer that came with the last version."""
        self._system = False
        self._versions = 0
        self._known: set[int] = set()
        """Hashes of all messages seen."""
        self._run_id: object = None
        self._folded: StepDraft | None = None
        """Step of the last version, if that was saved without what its call answered."""

    @property
    def begun(self) -> bool:
        """Whether there is something to show."""
        return bool(self._list.seen or self.draft.main.steps)

    @property
    def last(self) -> int | None:
        """Number of the last step."""
        steps = self.draft.main.steps
        return (steps[-1].own or steps[-1].n) if steps else None

    def short(self, rest: Mapping[str, Any], fresh: Sequence[Item]) -> bool:
        """Whether more model calls were made than the new messages can hold, by the file's own count."""
        return self._numbering.calls(rest.get("step")) > len(fresh)

    def restarts(
        self, rest: Mapping[str, Any], items: Sequence[Item], stands: int, *, gone: bool = False, unseen: bool = False
    ) -> bool:  # fmt: skip
        """Whether a version is a new run in the same file (`restart`); it is given as to `version`."""
        numbering = self._numbering
        before = Before(numbering.given, numbering.counts, self._known, self._list.answered, self._run_id, gone, unseen)
        if not self.begun or not before.may_end(rest):
            return False
        whole = 0 < len(self.keys) <= stands
        if not stands and self.keys and len(items) >= len(self.keys):
            whole = [item.key for item in items[: len(self.keys)]] == self.keys
        return begins_anew(before, rest, items, whole, self._other_goal(rest))

    def _other_goal(self, rest: Mapping[str, Any]) -> bool:
        draft = self.draft
        if not draft.goal_declared or not any(key in rest for key in (*GOAL_KEYS, *STATE_KEYS)):
            return False
        fields = state_fields(rest, draft.count)
        goal = next((field.value for field in fields if field.name in ("goal", "task")), None)
        return goal is not None and goal != draft.goal

    def version(self, rest: Mapping[str, Any], fresh: Sequence[Item], at: float | None, stands: int) -> None:
        """Take in a version: the first `stands` messages of the one before, then `fresh`."""
        draft = self.draft
        fields = state_fields(rest, draft.count)
        draft.format = "checkpoint" if "step" in rest or "notes" in rest or "state" in rest else "messages"
        lane = draft.main
        prefix = prefix_pieces(rest, None)
        self._list.prefix(prefix)
        self._envelope(rest, at)
        before, self._sent, self._folded = self._unfold(rest, fresh), None, None
        if not self._versions and _begins_late(rest.get("step"), fresh, self._list.answers(fresh)):
            self._list.starts_orphaned = True
        if draft.synthetic or (not lane.steps and fields and not fresh and not stands):
            self._state_only(fields, at)
        else:
            self._list.update(
                fresh, keep=stands, fields=fields, on_step=lambda step, place: self._on_step(step, place, fields),
                calls=(calls := self._numbering.calls(rest.get("step"))),
                late=self._trims.when == "after" and calls <= 1,
                on_folded=None if self._numbering.ahead else lambda step: self._fold(step, fields),
            )
        # The same list under a number that is far on: versions were missed, and its state is not that of the last step.
        missed = bool(lane.steps) and len(lane.steps) == before and self._numbering.calls(rest.get("step")) > 1
        stood = bool(self.keys) and not self._list.first_change
        self._numbering.number(lane.steps[before:], rest.get("step"), stood=stood, asks=_asks(fresh))
        if not draft.synthetic:
            self._look_for_cuts(lane.steps[before:], fresh, stands)
        if lane.steps and not draft.synthetic and not missed:
            last = lane.steps[-1]
            if len(lane.steps) > before:
                last.at, last.usage = at, usage_of(rest.get("usage"), "usage")
            else:
                last.fields = _with_places(fields, last.fields)
                lane.touch(last)
            last.notes = _notes(rest)
        lane.notes = _notes(rest)
        if not draft.synthetic and not missed:
            lane.fields = self._finder.assign(fields, self._text_of, self._may_hold)
        apply_goal(draft, fields, self._list.goal_text, self._list.starts_orphaned)
        if not stands:
            self._system = any(b'"system"' in item.data[:60] for item in fresh)
        system = self._system or any(piece.kind == "system" for piece in prefix)
        draft.unknown = unknown_parts(system, any(piece.kind == "tools" for piece in prefix))
        came = [item.key for item in fresh]
        if came != self.keys[stands:] or not self._versions:  # the same list again tells nothing of what was before it
            self._versions += 1
        draft.past_unknown = self._versions == 1 and not draft.synthetic
        self.keys[stands:] = came
        self._known.update(came)
        self._run_id = rest.get("run_id", self._run_id)

    def _envelope(self, rest: Mapping[str, Any], at: float | None) -> None:
        draft = self.draft
        draft.changed_at = at
        if isinstance(rest.get("model"), str):
            draft.model = rest["model"]
        window = amount(integer(rest.get("window", rest.get("context_window", rest.get("max_tokens")))))
        if window and "max_tokens" not in rest:
            draft.window, draft.window_source = window, "declared"
        status = rest.get("status")
        draft.finished = isinstance(status, str) and status.lower() in ENDED
        if draft.finished:
            draft.ended_as = str(status)
        for name in ("run_id", "id"):
            if isinstance(rest.get(name), str) and rest[name]:
                draft.id = rest[name]
                break

    def _look_for_cuts(self, new: Sequence[StepDraft], fresh: Sequence[Item], stands: int) -> None:
        """Which prompts of the steps so far are known, now that this version was seen."""
        if not self._versions:
            self._trims.first(new, bool(new) and _begins_inside(fresh), len(fresh))
        elif self._folded is not None:
            pass  # where the list is cut is told by what stands before an answer
        elif self._trims.version(new, self._list, self._sent, stands + len(fresh)):
            self._finder.follow(self.draft.main.tape)

    def _fold(self, step: StepDraft, fields: tuple[Field, ...]) -> None:
        """A call was made, and what it answered was cut, or went into a summary, before the version was saved."""
        self._folded, step.unsure = step, "folded"
        step.fields = self._finder.assign(fields, self._text_of)

    def _unfold(self, rest: Mapping[str, Any], fresh: Sequence[Item]) -> int:
        """How many steps there are before a version is taken in. One that has the number of the last one and an answer
        tells that the last one was saved before its call: its step is that of this answer."""
        lane = self.draft.main
        if self._folded is not None and self._numbering.calls(rest.get("step")) == 0 and any(
            item.key not in self._known and _role(_decoded(item.data)) == "assistant" for item in fresh
        ):  # fmt: skip
            self._numbering.saved_before()
            lane.reopen()
            self._finder.follow(lane.tape)
        return len(lane.steps)

    def _on_step(self, step: StepDraft, place: int, fields: tuple[Field, ...]) -> None:
        self._sent = place if self._sent is None else self._sent
        step.fields = self._finder.assign(fields, self._text_of, self._may_hold)

    def _state_only(self, fields: tuple[Field, ...], at: float | None) -> None:
        """No model calls: a step is one saved version, its prompt one segment `name: value` a field."""
        draft, lane = self.draft, self.draft.main
        draft.synthetic = True
        pieces = [
            Piece(field_kind(field.name), f"{field.name}: {field.value}", None, field=field.name) for field in fields
        ]
        if lane.steps and [piece.key for piece in pieces] == [lane.tape.keys[i] for i in lane.tape.live]:
            return
        lane.sync(pieces)
        carried = {lane.tape.field_of(ident): ident for ident in lane.tape.live}
        lane.fields = tuple(
            Field(f.name, f.value, f.tokens, f.verified_by, f.verified_at, carried.get(f.name), f.done) for f in fields
        )
        lane.close(at=at)
        lane.answered = True

    def _text_of(self, ident: int) -> str | None:
        recent = self._list.recent_text(ident)
        if recent is not None:
            return recent
        where = self.draft.main.tape.segment(ident).where
        if where is None:
            return None
        text = self._stored(where)
        return text[where.span[0] : where.span[1]] if text is not None and where.span else text


def _begins_late(step: object, items: Sequence[Item], answers: int) -> bool:
    """Whether what was asked first is not in a list with so many answers: a result stands before them, or it begins
    with an answer that calls a tool, or with any answer and it has fewer than its count of steps."""
    asked = False
    for item in items:
        if not isinstance(value := _decoded(item.data), Mapping):
            continue
        message = split(value)
        kinds = {part.kind for part in message.parts}
        if message.role == "assistant":
            far = isinstance(step, int) and not isinstance(step, bool) and step > answers + 1
            return not asked and (far or "call" in kinds)
        if kinds & {"result", "error"}:
            return True
        asked = asked or bool(kinds - {"system", "tools"})
    return False


def _asks(items: Sequence[Item]) -> bool:
    """Whether the list ends in a question or a result, which no call has answered yet."""
    return bool(items) and _role(_decoded(items[-1].data)) != "assistant"


def _begins_inside(items: Sequence[Item]) -> bool:
    """Whether a list begins with what nobody begins with: an answer that calls a tool, or the result of a call."""
    for item in items:
        parts = split(message).parts if isinstance(message := _decoded(item.data), Mapping) else []
        if any(part.kind not in ("system", "tools") for part in parts):
            return any(part.kind in ("call", "result", "error") for part in parts)
    return False


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None


def _notes(rest: Mapping[str, Any]) -> str | None:
    notes = rest.get("notes")
    if notes is None or notes in ("", [], {}):
        return None
    return notes if isinstance(notes, str) else canonical(notes)


def _with_places(fields: tuple[Field, ...], before: tuple[Field, ...]) -> tuple[Field, ...]:
    places = {(field.name, field.value): field.segment for field in before}
    return tuple(
        Field(f.name, f.value, f.tokens, f.verified_by, f.verified_at, places.get((f.name, f.value)), f.done)
        for f in fields
    )
