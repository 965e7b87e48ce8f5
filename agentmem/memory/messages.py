"""Message lists in the shapes of OpenAI (chat, and Responses items) and Anthropic: pieces, tokens, what belongs
together, what must stay.

Policies (`agentmem.memory.policies`) work on groups: an assistant message with its calls and all messages up to the
last result of them, so that no policy can part a call from its result. Of Responses items, reasoning belongs to the
item behind it, as the API asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentmem.checkpoint.given import dump, number
from agentmem.ledger.given import only_function, only_kind, only_list
from agentmem.memory.notebook import canonical
from agentmem.model import HEAD_CHARACTERS, Cause, Drop, Kind, TokenCounter
from agentmem.pattern import pattern
from agentmem.tape import Piece

Message = dict[str, Any]
IMAGE_TOKENS = 765
"""A flat estimate of one picture: OpenAI's figure for 512 x 512 tiles, 85 + 4 * 170 (vision guide, 2024)."""
PROGRESS = "Progress so far:"
"""How the message begins that stands for what was summarised."""
_GOAL = pattern(r"^GOAL \(unchanged\): ", re.MULTILINE)
_PICTURES = frozenset({"image", "image_url", "input_image", "document", "input_file", "file"})
_ROLES: dict[object, Kind] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "result",
    "function": "result", "human": "user", "ai": "assistant",
}  # fmt: skip
_TYPED = frozenset({"human", "ai", "system", "tool"})
"""Types of messages that stand in the place of a role."""
_WITHIN = ("output", "outputs", "results", "result")
"""Where a call that the provider makes by itself holds what came back."""
_LABELS = frozenset({"type", "id", "status", *_WITHIN})
_FAILED = pattern(
    r"\s*(?:<tool_use_error>|\[?(?:fatal|error|exception)\b\]?\s*[:!]|traceback \(most recent call last\)"
    r"|[A-Za-z_][\w.]*(?:Error|Exception)\b\s*[:(]|command not found|permission denied|no such file or directory)",
    re.IGNORECASE,
)
_EXIT = pattern(
    r"(?:^|\n)\s*(?:<returncode>|exit code:?|exited with code|return code:?)\s*(-?\d{1,10})", re.IGNORECASE
)
_ERROR_KEYS = ("error", "hata", "errorMessage", "error_message", "exception")


def check(messages: Sequence[Any], budget: int, count: TokenCounter, protect: Protect, at: int) -> None:
    """Raises ValueError for a budget that is negative or no number, and for a message that is no mapping: what a policy
    cannot read it would lose without a record. Raises TypeError for what is no list, and for what is no function."""
    number(budget, "budget")
    number(at, "at", whole=True)
    only_function(count, "count")
    only_function(protect, "protect")
    for index, message in enumerate(only_list(messages, "messages")):
        if not isinstance(message, Mapping):
            raise ValueError(
                f"messages[{index}] is a {type(message).__name__}, not a mapping: hand over what its model_dump() gives"
            )


# -- pieces -----------------------------------------------------------------------------------------------------------


def pieces(message: Mapping[str, Any]) -> tuple[Piece, ...]:
    """The pieces of one message, in order: its text, its calls (`tool arguments`), its results, its pictures.

    Every part of the content is in a piece; what is not understood, a message of an unknown kind too, is an `other`
    piece of canonical JSON. A picture counts a flat estimate, never the length of its payload.
    """
    return tuple(_pieces(message))


def _pieces(message: Mapping[str, Any]) -> list[Piece]:
    """At least one piece: what leaves with the message is never without a record."""
    found = list(_parts(message))
    if found:
        return found
    if _kind(message) == "assistant" and not message.get("content"):
        return [Piece("assistant", "")]
    return [Piece("other", canonical(dict(message)))]


def _kind(message: Mapping[str, Any]) -> Kind:
    role, sort = message.get("role"), message.get("type")
    return _ROLES.get(sort if role is None and sort in _TYPED else role, "other")


def _is_item(message: Mapping[str, Any]) -> bool:
    """Whether it is a Responses item other than a message."""
    only_kind(message, Mapping, "message", "a mapping")
    sort = message.get("type")
    return message.get("role") is None and isinstance(sort, str) and sort != "message" and sort not in _TYPED


def is_output(message: Mapping[str, Any]) -> bool:
    """Whether it is a Responses item with the result of a call, in `output`."""
    return _is_item(message) and str(message["type"]).endswith("_call_output")


def is_result(message: Mapping[str, Any]) -> bool:
    """Whether it is a chat message with the result of a call, in `content`."""
    return not _is_item(message) and _kind(message) == "result"


def _item(item: Mapping[str, Any]) -> Iterator[Piece]:
    sort = str(item["type"])
    if is_output(item):
        yield Piece("result", _flat(item.get("output")), call_id=_name(item.get("call_id")) or _name(item.get("id")))
    elif sort.endswith("_call"):
        tool = str(item.get("name") or sort.removesuffix("_call"))
        given = item.get("arguments", item.get("input", item.get("action")))
        if given is None:
            given = {name: value for name, value in item.items() if name not in _LABELS and name != "call_id"}
        yield Piece("call", f"{tool} {_arguments(given)}", call_id=_name(item.get("call_id")), tool=tool)
        for name in _WITHIN:
            if item.get(name) is not None:
                picture = sort == "image_generation_call"
                yield _picture({**item, "type": "image"}) if picture else Piece("result", _flat(item[name]), tool=tool)
    elif sort == "reasoning":
        texts = [
            block["text"]
            for name in ("summary", "content")
            for block in (item.get(name) if isinstance(item.get(name), list) else None) or ()
            if isinstance(block, Mapping) and isinstance(block.get("text"), str)
        ]
        yield Piece("thinking", "\n".join(texts) if texts else None)
    elif sort in ("compaction", "context_compaction", "compaction_summary"):
        summary = item.get("content") or item.get("summary")
        yield Piece("summary", _flat(summary) if summary else None)


def _parts(message: Mapping[str, Any]) -> Iterator[Piece]:
    if _is_item(message):
        yield from _item(message)
        return
    kind = _kind(message)
    content = message.get("content")
    if kind == "result":
        yield Piece(
            "result", _flat(content), call_id=_name(message.get("tool_call_id")), tool=_name(message.get("name"))
        )
        return
    thought = message.get("reasoning_content") or message.get("reasoning")
    if kind == "assistant" and isinstance(thought, str) and thought:
        yield Piece("thinking", thought)
    for given in content if isinstance(content, list) else [] if content is None else [content]:
        block = given if isinstance(given, str | Mapping) else dump(given) or given
        if isinstance(block, str):
            if block or kind != "assistant":
                yield Piece(_told(block, kind), block)
        elif isinstance(block, Mapping):
            yield _block(block, kind)
        else:
            yield Piece("other", canonical(block))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        yield Piece(kind, refusal)
    for call in _calls(message):
        function = call.get("function")
        body = function if isinstance(function, Mapping) else call
        tool = str(body.get("name") or "?")
        yield Piece("call", f"{tool} {_arguments(body.get('arguments'))}", call_id=_name(call.get("id")), tool=tool)


def _block(block: Mapping[str, Any], kind: Kind) -> Piece:
    sort, text = block.get("type"), block.get("text")
    if isinstance(text, str) and sort in ("text", "input_text", "output_text", None):
        return Piece(_told(text, kind), text)
    if sort == "thinking" and isinstance(block.get("thinking"), str):
        return Piece("thinking", block["thinking"])
    if sort in ("tool_use", "server_tool_use"):
        tool = str(block.get("name") or "?")
        return Piece("call", f"{tool} {_arguments(block.get('input'))}", call_id=_name(block.get("id")), tool=tool)
    if isinstance(sort, str) and sort.endswith("tool_result"):
        return Piece("result", _flat(block.get("content")), call_id=_name(block.get("tool_use_id")))
    if sort in _PICTURES:
        return _picture(block)
    if sort == "refusal" and isinstance(block.get("refusal"), str):
        return Piece(kind, block["refusal"])
    return Piece("other", canonical(dict(block)))


def _picture(block: Mapping[str, Any]) -> Piece:
    size = _payload(block)
    label = "image" if "image" in str(block.get("type")) else "document"
    shown = f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"
    return Piece("image", f"{label}, {shown}" if size else label, tokens=IMAGE_TOKENS)


def _payload(value: object) -> int:
    if isinstance(value, str):
        return len(value) if len(value) > 200 else 0
    return sum(map(_payload, value.values())) if isinstance(value, Mapping) else 0


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    given = [call if isinstance(call, Mapping) else dump(call) for call in calls] if isinstance(calls, list) else []
    found = [call for call in given if call is not None]
    legacy = message.get("function_call")
    return [*found, legacy] if isinstance(legacy, Mapping) else found


def _told(text: str, kind: Kind) -> Kind:
    if kind == "user" and text.startswith(PROGRESS):
        return "summary"
    if kind in ("user", "system") and text.lstrip().startswith("<retrieved_memory"):
        return "recall"
    return kind


def _arguments(value: object) -> str:
    if isinstance(value, str):
        try:
            return canonical(json.loads(value))
        except (ValueError, RecursionError):
            return value
    return canonical({} if value is None else value)


def _flat(content: object) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    if not isinstance(content, list):
        return canonical(content)
    texts = []
    for block in content:
        if isinstance(block, Mapping):
            text = block.get("text")
            sort = block.get("type")
            texts.append(
                text
                if isinstance(text, str)
                else f"[{_picture(block).text}]"
                if sort in _PICTURES
                else canonical(dict(block))
            )
        else:
            texts.append(block if isinstance(block, str) else canonical(block))
    return "\n".join(texts)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def tokens(message: Mapping[str, Any], count: TokenCounter) -> int:
    """Tokens of the pieces of one message; roles and other wrapping are not counted."""
    only_function(count, "count")
    return sum(weigh(piece, count) for piece in _pieces(message))


def weigh(piece: Piece, count: TokenCounter) -> int:
    """Tokens of one piece."""
    return piece.tokens if piece.tokens is not None else count(piece.text or "")


# -- what belongs together --------------------------------------------------------------------------------------------


def groups(messages: Sequence[Mapping[str, Any]]) -> list[range]:
    """The list as groups that may only stay or leave whole, in order: ranges of indices.

    A result belongs to the nearest call before it with its id that has no result yet. What stands between a call and
    its result belongs to their group. A result without a call and a call without a result are groups of their own, and
    the reasoning in front of an item belongs to its group.
    """
    waiting: dict[str, list[int]] = {}
    spans: list[tuple[int, int]] = []
    for index, message in enumerate(only_list(messages, "messages")):
        start = index
        if message.get("role") == "function" and index and "function_call" in messages[index - 1]:
            start = index - 1
        if index and _is_item(messages[index - 1]) and messages[index - 1].get("type") == "reasoning":
            start = index - 1
        for piece in _pieces(message):
            if piece.kind == "call" and piece.call_id:
                waiting.setdefault(piece.call_id, []).append(index)
            elif piece.kind == "result" and piece.call_id and (open_calls := waiting.get(piece.call_id)):
                start = min(start, open_calls.pop())
        while spans and spans[-1][1] > start:
            start = min(start, spans.pop()[0])
        spans.append((start, index + 1))
    return [range(start, end) for start, end in spans]


def orphans(messages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Ids of results without a call before them and of calls without a result behind them, in order."""
    waiting: dict[str, int] = {}
    lost: list[str] = []
    for message in only_list(messages, "messages"):
        for piece in _pieces(message):
            if piece.call_id is None:
                continue
            if piece.kind == "call":
                waiting[piece.call_id] = waiting.get(piece.call_id, 0) + 1
            elif piece.kind == "result":
                if waiting.get(piece.call_id, 0):
                    waiting[piece.call_id] -= 1
                else:
                    lost.append(piece.call_id)
    return (*lost, *(call_id for call_id, number in waiting.items() if number))


# -- what must stay ---------------------------------------------------------------------------------------------------

Protect = Callable[[Sequence[Mapping[str, Any]]], frozenset[int]]
"""Messages -> indices of those that no policy may touch."""


def system_only(messages: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The system messages: for a conversation without a goal."""
    return frozenset(i for i, message in enumerate(only_list(messages, "messages")) if _kind(message) == "system")


def protected(messages: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The system messages, the goal and the group of the most recent failure."""
    kept = set(system_only(messages))
    kept.update(goals(messages))
    failure = last_failure(messages)
    if failure is not None:
        for group in groups(messages):
            if failure in group:
                kept.update(group)
    return frozenset(kept)


def goals(messages: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Where the goal stands: the first user text that is neither a result nor a summary, and the last message with a
    rendered state (a line `GOAL (unchanged): ...`)."""
    first = rendered = None
    for index, message in enumerate(only_list(messages, "messages")):
        for piece in _pieces(message):
            if first is None and piece.kind == "user":
                first = index
            if piece.kind in ("user", "system", "recall") and piece.text and _GOAL.search(piece.text):
                rendered = index
    return tuple(index for index in (first, rendered) if index is not None)


def last_failure(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Index of the newest message with a result that failed; None if none did."""
    return next((i for i in range(len(only_list(messages, "messages")) - 1, -1, -1) if failed(messages[i])), None)


def failed(message: Mapping[str, Any]) -> bool:
    """Whether the message holds a result that says it failed: by its flag, else by its error entry, first line or exit
    code."""
    if is_output(message):
        return _says_failed(_flat(message.get("output")), message.get("is_error"))
    if _is_item(message):
        return bool(message.get("error"))  # a call that the provider makes by itself
    if _kind(message) == "result":
        flag = True if message.get("status") == "error" else message.get("is_error")
        return _says_failed(_flat(message.get("content")), flag)
    content = message.get("content")
    return isinstance(content, list) and any(
        _says_failed(_flat(block.get("content")), block.get("is_error"))
        for block in content
        if isinstance(block, Mapping) and str(block.get("type")).endswith("tool_result")
    )


def _says_failed(text: str, flag: object) -> bool:
    if isinstance(flag, bool):
        return flag
    if text.lstrip().startswith("{") and len(text) <= 65536:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and any(value.get(key) not in (None, "", False, [], {}) for key in _ERROR_KEYS):
            return True
    exited = _EXIT.search(text[:4000])
    return int(exited.group(1)) != 0 if exited else _FAILED.match(text) is not None


# -- what left --------------------------------------------------------------------------------------------------------


def drops(
    messages: Sequence[Mapping[str, Any]], count: TokenCounter, cause: Cause, record: str, at: int = 0
) -> tuple[Drop, ...]:
    """One recorded Drop for each piece of these messages. `at` is the step whose prompt no longer has them."""
    return tuple(drop(piece, count, cause, record, at) for message in messages for piece in _pieces(message))


def drop(piece: Piece, count: TokenCounter, cause: Cause, record: str, at: int = 0) -> Drop:
    """The recorded Drop of one piece, with its whole text."""
    return Drop(
        lane="main", n=at, step=at, what="segment", name=piece.tool or piece.call_id or piece.kind, kind=piece.kind,
        head=None if piece.text is None else piece.text[:HEAD_CHARACTERS], tokens=weigh(piece, count), cause=cause,
        recorded=True, last_step=max(at - 1, 0), text=piece.text, record=record,
    )  # fmt: skip
