"""The prompts of an SWE-agent run: given whole with each step, or told from its history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from agentmem.formats.draft import Call, LaneDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Part, arguments_text, split
from agentmem.formats.shared.rewriting import decoded, where_of
from agentmem.formats.shared.whole import items_of, member
from agentmem.formats.versions import Item
from agentmem.model import Provenance
from agentmem.pattern import pattern
from agentmem.tape import Piece

THOUGHT, ACTION, OBSERVATION = 0, 1, 2
"""Ordinals of what a step itself holds."""
_OWN_COMMANDS = frozenset({
    "create", "edit", "open", "goto", "scroll_up", "scroll_down", "search_dir", "search_file", "find_file", "insert",
    "submit", "str_replace_editor", "exit_cost", "exit_context", "exit_format", "exit_forfeit",
})  # fmt: skip
"""Commands of its own shell that are tools, not programs."""
_REFUSED = pattern(
    r"\s*(?:Your proposed edit has introduced new syntax error|Your bash command contained syntax errors|Usage: "
    r"|The command .{0,400}? was cancelled because it took more than|EXECUTION TIMED OUT"
    r"|Interactive operation .{0,200}? is not supported|Your edit was not applied)", re.DOTALL,
)  # fmt: skip
_LAST = 4
"""So many of the newest steps are looked at for their prompt: one may be damaged."""
_OF_A_STEP = frozenset({"action", "observation", "response", "thought", "query", "messages"})
Mode = Literal["query", "messages", "history", "steps"]


class Feeder:
    """Puts the steps of one trajectory on a lane."""

    def __init__(self, lane: LaneDraft, span: Callable[[str], tuple[int, int]], count: Callable[[str], None]) -> None:
        self._lane, self._span, self._count = lane, span, count
        self.goal: str | None = None
        self._known: dict[tuple[int, bool], list[Piece]] = {}
        self._next: list[Piece] | None = None
        self._answers = False
        """In a history: the model has said something, so that what a user says is a result."""

    def feed(self, value: Mapping[str, Any], item: Item, mode: Mode) -> None:
        """One step, or one message of the history."""
        if mode == "history":
            self._message(value, item)
            return
        if not _OF_A_STEP & value.keys():
            self._count("?step that says nothing")
            return
        if mode == "steps":
            self._lane.close()
        else:
            listed = member(item.data, item.offset, "query" if mode == "query" else "messages")
            messages = [] if listed is None else list(items_of(*listed, item.source))
            told = any("role" in decoded(message) for message in messages)  # else nothing says what was sent
            if mode == "query" and told:
                self._lane.sync(self._prompt(messages))
            elif self._next is None and told:
                self._lane.sync(self._prompt(_before_answer(messages)))
            elif self._next is not None:
                self._lane.sync(self._next)
            known: Provenance = "exact" if mode == "query" else "reconstructed"
            self._lane.close(provenance=known if told or self._next is not None else "partial")
            self._next = self._prompt(messages) if mode == "messages" and told else None
        self._step(value, item)
        if self._next is not None:
            self._lane.sync(self._next)
        self._count("step")

    def _step(self, value: Mapping[str, Any], item: Item) -> None:
        """What a step says of itself. It stands in the list until the next prompt, given whole, takes its place."""
        lane, thought, action = self._lane, thought_of(value), text_of(value.get("action"))
        if thought:
            lane.reply(Piece("assistant", thought, where_of(item, THOUGHT)))
        if action is not None and action.strip():
            tool, arguments = tool_of(action)
            piece = Piece("call", action, where_of(item, ACTION), tool=tool)
            lane.reply(piece, Call(tool, arguments))
        observation = text_of(value.get("observation"))
        if observation is not None and lane.pending:
            lane.answer(Piece("result", observation, where_of(item, OBSERVATION)), failed=failed(observation))

    # -- messages of a prompt -------------------------------------------------------------------------------------

    def _prompt(self, messages: list[Item]) -> list[Piece]:
        """The pieces of a whole prompt. Messages that stood in the one before are not decoded again."""
        known: dict[tuple[int, bool], list[Piece]] = {}
        pieces: list[Piece] = []
        answered = False
        for message in messages:
            key = (message.key, answered)
            found = self._known.get(key)
            if found is None:
                found = self._pieces(message, answered)
            known[key] = found
            for piece in found:
                where = piece.where
                assert where is not None
                place = where_of(message, where.part, where.span)
                pieces.append(
                    Piece(piece.kind, piece.text, place, piece.call_id, None, piece.tool, piece.tokens, None, piece.key)
                )
            answered = answered or any(piece.kind in ("assistant", "call") for piece in found)
        self._known = known
        return pieces

    def _pieces(self, item: Item, answered: bool) -> list[Piece]:
        value = decode(item.data)
        if not isinstance(value, dict):
            return []
        demo = bool(value.get("is_demo"))
        pieces: list[Piece] = []
        for number, part in enumerate(message_parts(value)):
            kind, text = part.kind, part.text
            if kind == "assistant" and text and not demo and not value.get("tool_calls"):
                pieces.extend(
                    Piece("call" if tool else "assistant", text[a:b], where_of(item, number, (a, b)), tool=tool)
                    for a, b, tool in action_spans(text, text_of(value.get("action")))
                )
            elif kind == "user" and text and not demo and not answered:
                start, end = self._span(text)
                self.goal = self.goal or text[start:end]
                for a, b in ((0, start), (start, end), (end, len(text))):
                    if text[a:b].strip():
                        span = None if b - a == len(text) else (a, b)
                        of_goal = (a, b) == (start, end)
                        pieces.append(Piece("goal" if of_goal else "user", text[a:b], where_of(item, number, span)))
            else:
                kind = "result" if kind == "user" and answered and not demo else kind
                pieces.append(Piece(kind, text, where_of(item, number), part.call_id, None, part.tool, part.tokens))
        return pieces

    def _message(self, value: Mapping[str, Any], item: Item) -> None:
        """One message of a history without prompts."""
        lane, role = self._lane, value.get("role")
        self._count(str(role) if role in ("system", "user", "assistant", "tool") else f"?{role}")
        pieces = self._pieces(item, self._answers)
        if role == "assistant" and not value.get("is_demo"):
            self._answers = True
            lane.close()
            action, calls = text_of(value.get("action")), [part for part in message_parts(value) if part.kind == "call"]
            for piece in pieces:
                call = None
                if piece.kind == "call" and calls:
                    native = calls.pop(0)
                    call = Call(native.tool or "?", native.arguments or "", native.call_id)
                elif piece.kind == "call":
                    call = Call(*tool_of(action or piece.text or ""))
                lane.reply(piece, call)
            if action and action.strip() and not lane.steps[-1].calls:
                lane.steps[-1].calls.append(Call(*tool_of(action)))
                lane.answered = False
            return
        for piece in pieces:
            if piece.kind == "result":
                lane.answer(piece, failed=failed(piece.text))
            else:
                lane.append(piece)


def failed(observation: str | None) -> bool | None:
    """What its shell says of a command that it refused or gave up; None where it says nothing."""
    return True if observation and _REFUSED.match(observation) else None


def mode_of(trajectory: list[Item], history: list[Item]) -> Mode:
    """Where the prompts of a trajectory stand: told by the newest step that says it."""
    for item in reversed(trajectory[-_LAST:]):
        step = decoded(item)
        if isinstance(step.get("query"), list):
            return "query"
        if isinstance(step.get("messages"), list):
            return "messages"
    return "history" if history else "steps"


def message_parts(value: Mapping[str, Any]) -> list[Part]:
    """The pieces of one message of a prompt or of the history."""
    ids = value.get("tool_call_ids")
    if value.get("role") == "tool" and isinstance(ids, list) and ids and not value.get("tool_call_id"):
        value = {**value, "tool_call_id": ids[0]}
    shown = {key: inner for key, inner in value.items() if key not in ("thought", "action")}
    return split(shown).parts


def action_spans(text: str, action: str | None) -> Iterable[tuple[int, int, str | None]]:
    """An answer in words, cut into what was said and the command in it: (start, end, tool of the command)."""
    command = (action or "").strip()
    start = text.rfind(command) if command else -1
    if start < 0:
        yield 0, len(text), None
        return
    end = start + len(command)
    fence = re.search(r"```[^\n`]*\n\s*$", text[:start])
    closing = re.match(r"\s*```", text[end:])
    if fence and closing:
        start, end = fence.start(), end + closing.end()
    if text[:start].strip():
        yield 0, start, None
    yield start, end, tool_of(command)[0]
    if text[end:].strip():
        yield end, len(text), None


def tool_of(action: str) -> tuple[str, str]:
    """(tool, arguments) of a command line of its shell."""
    command = action.strip()
    name = command.split(None, 1)[0] if command else ""
    return name if name in _OWN_COMMANDS else "bash", arguments_text({"command": command})


def _before_answer(messages: list[Item]) -> list[Item]:
    """The messages in front of the last answer."""
    for index in range(len(messages) - 1, -1, -1):
        if decoded(messages[index]).get("role") == "assistant":
            return messages[:index]
    return messages


def thought_of(value: Mapping[str, Any]) -> str | None:
    return text_of(value.get("thought")) or text_of(value.get("response"))


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) else None
