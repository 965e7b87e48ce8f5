"""mini-swe-agent, v1 and v2: `*.traj.json`, the linear history of one run, written whole after every step.

Nothing ever leaves the prompt. The one loss is an output that was cut before it came in: v2 keeps it in
`extra.raw_output`, so that the characters that were cut are known exactly.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from agentmem.formats.draft import Call, Declared
from agentmem.formats.loose import decode
from agentmem.formats.messages import Message, Part, arguments_text, split
from agentmem.formats.reader import Format
from agentmem.formats.shared.rewriting import (
    WholeReader,
    call_of,
    changed_at,
    inner,
    mapping,
    newest,
    piece_of,
    where_of,
)
from agentmem.formats.shared.times import seconds
from agentmem.formats.shared.whole import BARE, Reading, parse
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.formats.usage import amount, usage_of
from agentmem.formats.versions import Item
from agentmem.model import Kind, Outcome, RunInfo
from agentmem.pattern import pattern
from agentmem.tape import Piece

_HEAD = 65536
_ELIDED = 4000
"""Ordinal of the characters that were cut out of an output."""
_BLOCK = pattern(r"```(?:bash|mswea_bash_command)[ \t]*\r?\n(.*?)\r?\n```", re.DOTALL)
_MARKER = pattern(r"<elided_chars>\s*(\d{1,12}) characters elided\s*</elided_chars>")
_TASK = pattern(r"\{\{-?\s*task\s*-?\}\}")
_DESCRIBED = pattern(
    r"<pr_description>\s*(?:Consider the following PR description:\s*)?(.+?)\s*</pr_description>", re.DOTALL
)
_ASKED = pattern(r"Please solve this issue:\s*(.+?)\s*\n\nYou can execute bash commands", re.DOTALL)
"""The first words of the default template, for files without one."""
_SUBMITTED = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_KILLED = pattern(r"The last command .{0,4000}?timed out and has been killed", re.DOTALL)
_LITERAL = 60


class MiniReader(WholeReader):
    """Follows one trajectory."""

    NAME: ClassVar[str] = "mini-swe-agent"
    LISTS: ClassVar[tuple[str, ...]] = ("messages", BARE)

    def _fresh(self) -> None:
        self._template = ""
        self._seen_goal = False
        self._exit: str | None = None
        self._schemas = False
        self.draft.agent = "mini-swe-agent"

    def extract(self, raw: bytes, part: int) -> str | None:
        value = decode(raw)
        if not isinstance(value, dict):
            return None
        if part == _ELIDED:
            span = elided(value)
            return None if span is None else str(value["extra"]["raw_output"])[span[0] : span[1]]
        parts = split_record(value).parts
        return parts[part].text if part < len(parts) else None

    # -- records --------------------------------------------------------------------------------------------------

    def _before(self, reading: Reading) -> None:
        info = reading.rest.get("info")
        config = inner(inner(info, "config"), "agent")
        template = config.get("instance_template")
        self._template = template if isinstance(template, str) else ""

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index)
        item.data = b""  # decoded: the bytes of a long trajectory go as its steps come
        if value is None:
            return
        role = value.get("role") or value.get("type") or value.get("object")
        extra = inner(value, "extra")
        at = seconds(extra.get("timestamp", value.get("timestamp")))
        if role == "exit":
            self._count("exit")
            self._ended(value, item, at)
            return
        message = split_record(value)
        if message.role == "assistant":
            self._count("assistant")
            self._answered(value, extra, message, item, at)
        elif message.role == "other":
            self._count(f"?{role}")
            self._came(value, extra, message, item, at)
        else:
            self._count(role)
            self._came(value, extra, message, item, at)

    def _answered(
        self, value: Mapping[str, Any], extra: Mapping[str, Any], message: Message, item: Item, at: float | None
    ) -> None:
        lane = self.draft.main
        response = inner(extra, "response")
        usage = usage_of(response.get("usage", value.get("usage")), f"message {len(self._keys) + 1}")
        model = response.get("model")
        lane.close(at=at, usage=usage, model=model if isinstance(model, str) else None)
        native = any(part.kind == "call" for part in message.parts)
        self._schemas |= native
        given = extra.get("actions")
        commands = given if isinstance(given, list) else None
        for number, part in enumerate(message.parts):
            if native or part.kind != "assistant" or not part.text:
                lane.reply(piece_of(item, number, part), call_of(part))
                continue
            self._text_actions(part.text, number, item, commands, at)
        for call in lane.steps[-1].calls:
            call.started = at

    def _text_actions(
        self, text: str, number: int, item: Item, commands: list[Any] | None, at: float | None
    ) -> None:
        """An answer in words: its command stands in a fenced block, which is the call."""
        lane, blocks = self.draft.main, list(_BLOCK.finditer(text))
        if commands is None and len(blocks) != 1:
            blocks = []  # Exactly one action is asked for; anything else is a format error and nothing is run.
        if commands is not None and len(blocks) != len(commands):
            blocks = blocks[: len(commands)]
        done = 0
        for place, block in enumerate(blocks):
            if text[done : block.start()].strip():
                lane.reply(_cut(item, number, text, done, block.start()))
            command = _command(commands[place]) if commands is not None else block.group(1)
            call = Call("bash", arguments_text({"command": command if command is not None else block.group(1)}))
            lane.reply(_cut(item, number, text, block.start(), block.end(), call.tool), call)
            done = block.end()
        if text[done:].strip() or not blocks:
            lane.reply(_cut(item, number, text, done, len(text)))
        if commands is not None:
            for action in commands[len(blocks) :]:
                command = _command(action)
                if command is not None:
                    call = Call("bash", arguments_text({"command": command}))
                    lane.steps[-1].calls.append(call)

    def _came(
        self, value: Mapping[str, Any], extra: Mapping[str, Any], message: Message, item: Item, at: float | None
    ) -> None:
        lane = self.draft.main
        failed = _failed(extra)
        answers = message.role == "result" or ("interrupt_type" not in extra and bool(lane.pending))
        for number, part in enumerate(message.parts):
            piece = piece_of(item, number, part)
            if answers and part.kind in ("user", "result"):
                told = failed if failed is not None else True if part.text and _KILLED.match(part.text) else part.failed
                piece.kind = "result"
                ident = lane.answer(
                    Piece("result", part.text, piece.where, part.call_id, None, part.tool), failed=told, at=at
                )
                self._elision(value, item, ident, part)
            elif part.kind == "user" and not self._seen_goal and part.text:
                self._goal(part.text, number, item)
            else:
                lane.append(piece)

    def _goal(self, text: str, number: int, item: Item) -> None:
        """The first user text: what stands in the place of `{{task}}` is the goal, the rest are instructions."""
        self._seen_goal = True
        start, end = task_span(text, self._template)
        self.draft.set_goal(text[start:end], declared=False)
        kinds: tuple[tuple[int, int, Kind], ...] = (0, start, "user"), (start, end, "goal"), (end, len(text), "user")
        for a, b, kind in kinds:
            if text[a:b].strip():
                span = None if b - a == len(text) else (a, b)
                self.draft.main.append(Piece(kind, text[a:b], where_of(item, number, span)))

    def _elision(self, value: Mapping[str, Any], item: Item, ident: int, part: Part) -> None:
        """Output that was cut before the model saw it."""
        marker = _MARKER.search(part.text or "")
        if marker is None:
            return
        lane, cut = self.draft.main, elided(value)
        name = f"output of bash, {int(marker.group(1)):,} characters"
        record = "elided_chars in the output"
        if cut is None:
            lane.declared.append(Declared(name, "shortened", kind="result", record=record, stub=ident))
            return
        text = str(value["extra"]["raw_output"])[cut[0] : cut[1]]
        if not text:
            return
        gone = lane.tape.add(Piece("result", text, where_of(item, _ELIDED), tool="bash", stub_of=None))
        lane.declared.append(
            Declared(
                f"output of bash, {len(text):,} characters", "shortened", segment=gone, kind="result",
                tokens=lane.tape.segment(gone).tokens, record=f"{record}, beside raw_output", stub=ident,
            )
        )  # fmt: skip

    def _ended(self, value: Mapping[str, Any], item: Item, at: float | None) -> None:
        """The last message, which no model sees: why the run is over."""
        extra = inner(value, "extra")
        status = extra.get("exit_status")
        self._exit = status if isinstance(status, str) else str(value.get("content") or "exit")
        lane, text = self.draft.main, value.get("content")
        if lane.pending and isinstance(text, str):
            outcome: Outcome = "ok" if self._exit == "Submitted" else "unknown"
            while lane.pending:
                call_id = next(call.call_id for call in lane.steps[-1].calls if not call.answered)
                lane.answer(Piece("result", text, where_of(item, 0), call_id, None, "bash"), at=at, outcome=outcome)

    # -- beside the records ---------------------------------------------------------------------------------------

    def _rest(self, reading: Reading) -> None:
        draft, info = self.draft, mapping(reading.rest.get("info"))
        model = inner(inner(info, "config"), "model").get("model_name")
        draft.model = model if isinstance(model, str) else draft.model
        status = info.get("exit_status")
        ended = self._exit or (status if isinstance(status, str) and status else None)
        if ended is None and BARE in reading.lists and self._submitted():
            ended = "Submitted"
        draft.finished, draft.ended_as = ended is not None, ended
        if ended and ended != "Submitted" and draft.notice is None:
            draft.notice = f"ended: {ended}"
        draft.unknown = ("tool schemas",) if self._schemas else ()


    def _submitted(self) -> bool:
        """Whether the last command is the one that ends a run: a bare list says it nowhere else."""
        steps = self.draft.main.steps
        calls = steps[-1].calls if steps else []
        return bool(calls) and calls[-1].answered and calls[-1].outcome == "ok" and _SUBMITTED in calls[-1].arguments


def split_record(value: Mapping[str, Any]) -> Message:
    """The pieces of one message, without what is only kept beside it (`extra`)."""
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        parts = [part for entry in value["output"] if isinstance(entry, Mapping) for part in split(entry).parts]
        return Message("assistant", parts)
    return split(value)


def elided(value: Mapping[str, Any]) -> tuple[int, int] | None:
    """Span of `extra.raw_output` that does not stand in the content; None where that cannot be told."""
    raw, content = inner(value, "extra").get("raw_output"), value.get("content", value.get("output"))
    if isinstance(content, list):
        content = "".join(str(block.get("text") or "") for block in content if isinstance(block, Mapping))
    if not isinstance(raw, str) or not isinstance(content, str):
        return None
    marker = _MARKER.search(content)
    if marker is None:
        return None
    before, after = content[: marker.start()], content[marker.end() :]
    head = _longest(len(raw), lambda size: raw[:size] in before)
    tail = _longest(len(raw), lambda size: raw[len(raw) - size :] in after)
    kept = len(raw) - int(marker.group(1))
    # A newline of the output at the cut looks like the one that the template puts there.
    if kept < 0 or head + tail < kept:
        return None
    half = kept // 2
    if not kept % 2 and half <= head and half <= tail:
        return half, len(raw) - half
    head = min(head, kept)
    return head, len(raw) - (kept - head)


def _longest(most: int, holds: Any) -> int:
    """The largest size for which `holds`, which holds for every smaller one."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def task_span(text: str, template: str) -> tuple[int, int]:
    """Where the task stands in the first user text: between the words around `{{task}}` in the template, or in
    `<pr_description>`; the whole text where neither is found."""
    place = _TASK.search(template)
    if place is not None:
        before = re.split(r"[}%]\}", template[: place.start()])[-1][-_LITERAL:].lstrip()
        after = re.split(r"\{[{%]", template[place.end() :])[0][:_LITERAL].rstrip()
        start = text.find(before) + len(before) if before in text else -1
        end = text.find(after, start) if after else len(text)
        if 0 <= start < end and text[start:end].strip():
            return start, end
    found = _DESCRIBED.search(text) or _ASKED.match(text)
    return found.span(1) if found else (0, len(text))


def _cut(item: Item, number: int, text: str, start: int, end: int, tool: str | None = None) -> Piece:
    span = None if end - start == len(text) else (start, end)
    kind: Kind = "assistant" if tool is None else "call"
    return Piece(kind, text[start:end], where_of(item, number, span), tool=tool)


def _command(action: object) -> str | None:
    command = action.get("command", action.get("action")) if isinstance(action, Mapping) else action
    return command if isinstance(command, str) else None


def _failed(extra: Mapping[str, Any]) -> bool | None:
    code = extra.get("returncode")
    if extra.get("exception_info"):
        return True
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    return None


# -- finding ------------------------------------------------------------------------------------------------------


def recognise(path: Path, head: bytes) -> bool:
    """The envelope by its version, or a bare list of messages with this agent's blocks or `extra`."""
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if text.startswith(b"["):
        return b'"role"' in text and (b"```mswea_bash_command" in text or _extras(text) or b"<returncode>" in text)
    if not re.match(rb'\{\s*"(?:info|messages|trajectory_format)"', text):
        return False
    if b'"mini_version"' in text or b"mini-swe-agent" in text or b'"minisweagent.' in text:
        return True
    try:
        size = os.stat(path).st_size
        return b'"mini-swe-agent' in read_at(path, max(0, size - 4096), 4096)
    except (OSError, Unreadable):
        return False


def _extras(text: bytes) -> bool:
    return b'"extra"' in text and (b'"raw_output"' in text or b'"actions"' in text)


def places(folder: Path) -> Iterable[Path]:
    """Trajectories in the folder, and the last run of the command line where it was made here. Newest first."""
    found = list(folder.glob("*.traj.json"))
    config = os.environ.get("MSWEA_GLOBAL_CONFIG_DIR")
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    last = (Path(config) if config else home / "mini-swe-agent") / "last_mini_run.traj.json"
    try:
        if last.is_file() and str(folder).encode() in read_at(last, 0, _HEAD):
            found.append(last)
    except (OSError, Unreadable):
        pass  # the last run of another folder, perhaps: what cannot be read is not offered
    return newest(found)


def peek(path: Path) -> RunInfo:
    """A row of the list from the head of the file."""
    ident, at = path.name.removesuffix(".json").removesuffix(".traj"), changed_at(path)
    try:
        reading = parse(read_at(path, 0, _HEAD), str(path), MiniReader.LISTS)
    except NotYet:
        return RunInfo(ident, str(path), MiniReader.NAME, at)
    info = mapping(reading.rest.get("info"))
    config = inner(info, "config")
    template, model = inner(config, "agent").get("instance_template"), inner(config, "model").get("model_name")
    calls, status = inner(info, "model_stats").get("api_calls"), info.get("exit_status")
    goal = None
    for item in reading.records(*MiniReader.LISTS)[:3]:
        try:
            value = decode(item.data)
        except ValueError:
            continue  # a glance: the reader says what is wrong with a record
        if isinstance(value, dict) and value.get("role") == "user":
            text = next((part.text for part in split_record(value).parts if part.text), "")
            start, end = task_span(text, template if isinstance(template, str) else "")
            goal = text[start:end] or None
            break
    return RunInfo(
        ident, str(path), MiniReader.NAME, at, "ended" if isinstance(status, str) and status else "unknown",
        amount(calls), goal, "mini-swe-agent", model if isinstance(model, str) else None,
    )  # fmt: skip


FORMAT = Format(
    "mini-swe-agent", "mini-swe-agent trajectories", recognise, MiniReader, places=places,
    everywhere=(
        "{MSWEA_GLOBAL_CONFIG_DIR|~/.config/mini-swe-agent}/last_mini_run.traj.json",
        "{XDG_CONFIG_HOME|~/.config}/mini-swe-agent/last_mini_run.traj.json",
    ), peek=peek,
)  # fmt: skip
