"""Message lists and checkpoints that somebody's loop writes with a plain `json.dump`, whole, again and again.

A list alone or under `messages`, with or without `step`, `notes` and a state beside it. One version already gives all
its steps; versions seen later are merged into them; what was missed is a gap.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentmem.formats.draft import RunDraft, StepDraft
from agentmem.formats.fields import Finder
from agentmem.formats.loose import canonical, decode, encode
from agentmem.formats.messages import is_message
from agentmem.formats.plain.envelope import ENDED, apply_goal, integer, prefix_pieces, state_fields, unknown_parts
from agentmem.formats.plain.numbering import Numbering
from agentmem.formats.plain.parse import SPACE, Parser
from agentmem.formats.reader import Format, Keeper, Options, Version
from agentmem.formats.source import NotYet, SnapshotFile, Unreadable
from agentmem.formats.usage import usage_of
from agentmem.formats.versions import Item, MessageList, extract_message
from agentmem.model import Field, Where
from agentmem.tape import Piece
from agentmem.tokens import counter


class _Memory:
    """The keeper of a reader that was given none: versions of this process, in memory."""

    def __init__(self) -> None:
        self._messages: dict[int, bytes] = {}

    def past(self, path: str) -> Iterable[Version]:
        return ()

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        self._messages.update(new)

    def message(self, path: str, key: int) -> bytes | None:
        return self._messages.get(key)


class SnapshotReader:
    """Follows one such file."""

    def __init__(self, path: Path, options: Options) -> None:
        self._file = SnapshotFile(path)
        self._path = str(path)
        self._options = options
        self.keeper: Keeper = options.keeper or _Memory()
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        draft = RunDraft(
            self._path, "messages", Path(self._path).name.removesuffix(".json"), counter(self._options.counter),
            self._options.counter,
        )  # fmt: skip
        draft.notice = notice
        self.draft = draft
        self._list = MessageList(draft.main)
        self._finder = Finder(draft.main.tape)
        self._numbering = Numbering(draft)
        self._known: set[int] = set()
        self._restored = False
        self._last_rest: bytes | None = None
        self._system = False
        self._keys: list[int] = []
        """Of all messages of the last version."""
        self._parser = Parser(self._path, draft.problem)

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_message(raw, part)

    def refresh(self) -> bool:
        if not self._restored:
            self._restored = True
            self._restore()
        try:
            change = self._file.change()
            if change == "same":
                return False
            if change == "gone":
                raise Unreadable(f"{self._path}: no such file")
            data = self._file.read()
            parsed = self._parser.parse(data)
            if parsed.stands and self._restarts(parsed.rest):
                parsed = self._parser.parse(data, whole=True)
        except (NotYet, Unreadable) as error:
            self._file.forget()
            if not self._list.seen and not self.draft.main.steps:
                raise
            notice = "being written" if isinstance(error, NotYet) else str(error).partition(": ")[2]
            changed = self.draft.notice != notice
            self.draft.notice = notice
            return changed
        self.draft.notice = None
        at = self._file.changed_at or time.time()
        self._version(parsed.rest, parsed.fresh, at, parsed.stands, keep=True)
        return True

    # -- versions -------------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        items: list[Item] = []
        for version in self.keeper.past(self._path):
            # After a version that could not be put together the next one is, from its beginning.
            stands = min(version.stands, len(items))
            del items[stands:]
            for key in version.messages[stands:]:
                data = self.keeper.message(self._path, key)
                if data is None:
                    break
                self._known.add(key)
                items.append(Item(data, f"history:{self._path}", key, len(data), key=key))
            if len(items) < len(version.messages):
                items = []
                continue
            rest = decode(version.rest)
            if self._restarts(rest):
                stands = 0
            self._version(rest, items[stands:], version.seen_at, stands, keep=False)

    def _restarts(self, rest: Mapping[str, Any]) -> bool:
        """Whether it is a new run in the same file: another goal, and the count starts again."""
        draft = self.draft
        if not draft.goal_declared or not self._numbering.restarts(integer(rest.get("step"))):
            return False
        fields = state_fields(rest, draft.count)
        goal = next((field.value for field in fields if field.name in ("goal", "task")), None)
        return goal is not None and goal != draft.goal

    def _version(self, rest: dict[str, Any], fresh: list[Item], at: float, stands: int, *, keep: bool) -> None:
        """Take in a version: the first `stands` messages of the one before, then `fresh`."""
        if self._restarts(rest):
            self._fresh("a new run in the same file")
            self._restored = True
        draft = self.draft
        number = integer(rest.get("step"))
        fields = state_fields(rest, draft.count)
        if "step" in rest and number is None:
            draft.problem("step", f"step is no number: {rest['step']!r:.60}")
        draft.format = "checkpoint" if "step" in rest or "notes" in rest or "state" in rest else "messages"
        lane = draft.main
        prefix = prefix_pieces(rest, None)
        self._list.prefix(prefix)
        self._envelope(rest, at)
        before = len(lane.steps)
        if draft.synthetic or (not lane.steps and fields and not fresh and not stands):
            self._state_only(fields, number, at)
        else:
            self._list.update(
                fresh, keep=stands, fields=fields, on_step=lambda step, _: self._on_step(step, fields)
            )
        self._numbering.number(lane.steps[before:], number)
        if lane.steps and not draft.synthetic:
            last = lane.steps[-1]
            if len(lane.steps) > before:
                last.at, last.usage = at, usage_of(rest.get("usage"), "usage")
            else:
                last.fields = _with_places(fields, last.fields)
                lane.touch(last)
            last.notes = _notes(rest)
        lane.notes = _notes(rest)
        if not draft.synthetic:
            lane.fields = self._finder.assign(fields, self._text_of, self._parser.may_hold)
        apply_goal(draft, fields, self._list.goal_text, self._list.starts_orphaned)
        if not stands:
            self._system = any(b'"system"' in item.data[:60] for item in fresh)
        system = self._system or any(piece.kind == "system" for piece in prefix)
        draft.unknown = unknown_parts(system, any(piece.kind == "tools" for piece in prefix))
        self._keys[stands:] = [item.key for item in fresh]
        if keep:
            self._keep(rest, fresh, at)

    def _envelope(self, rest: dict[str, Any], at: float) -> None:
        draft = self.draft
        draft.changed_at = at
        if isinstance(rest.get("model"), str):
            draft.model = rest["model"]
        window = integer(rest.get("window", rest.get("context_window", rest.get("max_tokens"))))
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

    def _on_step(self, step: StepDraft, fields: tuple[Field, ...]) -> None:
        step.fields = self._finder.assign(fields, self._text_of, self._parser.may_hold)

    def _state_only(self, fields: tuple[Field, ...], number: int | None, at: float) -> None:
        """No model calls: a step is one saved version, its prompt one segment `name: value` a field."""
        from agentmem.formats.fields import field_kind

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
        return None if where is None else self._stored(where)

    def _stored(self, where: Where) -> str | None:
        data = self.keeper.message(self._path, where.offset)
        text = None if data is None else extract_message(data, where.part)
        return text[where.span[0] : where.span[1]] if text is not None and where.span else text

    def _keep(self, rest: dict[str, Any], fresh: list[Item], at: float) -> None:
        body = encode(rest)
        new = {item.key: item.data for item in fresh if item.key not in self._known}
        if not new and body == self._last_rest:
            return
        self._last_rest = body
        self._known.update(new)
        self.keeper.keep(self._path, Version(at, tuple(self._keys), body), new)


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


def recognise(path: Path, head: bytes) -> bool:
    """A JSON list of messages, or an object with one, or with `step` and a state or notes."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0" + SPACE)
    if text.startswith(b"["):
        first = text[1:].lstrip(SPACE)[:1]
        return first in (b"{", b"]") and (b'"role"' in text or b'"type"' in text or first == b"]")
    if not text.startswith(b"{") or _is_lines(path, text):
        return False
    return any(b'"' + key.encode() + b'"' in text for key in ("messages", "step", "notes")) or (
        b'"input"' in text and b'"role"' in text
    )


def _is_lines(path: Path, text: bytes) -> bool:
    first, newline, second = text.partition(b"\n")
    return bool(newline) and first.rstrip().endswith(b"}") and second.lstrip().startswith(b"{") and len(first) > 2


FORMAT = Format("messages", "message lists and plain checkpoints", recognise, SnapshotReader)
__all__ = ["FORMAT", "SnapshotReader", "is_message"]
