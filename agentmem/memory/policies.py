"""Short-term memory as a message list: policies that make it fit, each telling all that it took out.

A policy is a function (messages, budget) -> (messages, drops). None changes what it is given, parts a call from its
result, or touches what `protect` names: the system messages, the goal, the most recent failure. Options are keyword
arguments, bound with `functools.partial` or through `policy(name, **options)`; `compose` puts policies in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agentmem import safe
from agentmem.checkpoint.given import number
from agentmem.ledger.given import only_function, only_text
from agentmem.memory.fence import guard_headings
from agentmem.memory.messages import (
    PROGRESS,
    Message,
    Protect,
    check,
    drop,
    drops,
    groups,
    is_output,
    is_result,
    pieces,
    protected,
    tokens,
)
from agentmem.model import Drop, TokenCounter
from agentmem.tokens import chars4

Result = tuple[list[Message], tuple[Drop, ...]]
Policy = Callable[[Sequence[Message], int], Result]
Summariser = Callable[[Sequence[Message]], str]
"""What was in the prompt -> the text that stands for it. It may call a model; an exception of it changes nothing."""

TRIMMED = " …[trimmed, re-run the tool if needed]"
THRESHOLD = 60_000
"""Tokens over which the middle is summarised."""
_SHARE = 4
"""Of a budget, one part in so many is kept free for the summary of the oldest."""


class UnknownPolicy(ValueError):
    """No policy has that name; the message says which there are."""


# -- shrink -----------------------------------------------------------------------------------------------------------


def shrink(
    messages: Sequence[Message],
    budget: int = 0,
    *,
    keep: int = 6,
    over: int = 500,
    head: int = 200,
    count: TokenCounter = chars4,
    protect: Protect = protected,
    at: int = 0,
) -> Result:
    """Tool results of more than `over` characters become their first `head` and a marker, but in the last `keep`.

    Whatever the budget, for an old result is worth its head. Pictures in a result stay. Doing it again changes nothing.
    """
    check(messages, budget, count, protect, at)
    _sizes(keep=keep, over=over, head=head)
    if head + len(TRIMMED) > over:
        raise ValueError(f"shrink: the first {head} characters and the marker are more than {over}")
    untouched = protect(messages)
    kept: list[Message] = []
    gone: list[Drop] = []
    for index, message in enumerate(messages):
        if index >= len(messages) - keep or index in untouched:
            kept.append(message)
            continue
        shorter = with_results(message, lambda content: _short(content, over, head))
        if shorter is not message:
            before, after = pieces(message), pieces(shorter)
            gone += [
                drop(old, count, "shortened", f"to its first {head} characters", at)
                for old, new in zip(before, after, strict=True)
                if old.key != new.key
            ]
        kept.append(shorter)
    return kept, tuple(gone)


def with_results(message: Message, change: Callable[[Any], Any]) -> Message:
    """The message with `change` made to what its tool results hold; the same object where that changes nothing."""
    if is_output(message) or is_result(message):
        changed: Message = _with(message, "output" if is_output(message) else "content", change)
        return changed
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [
        _with(block, "content", change)
        if isinstance(block, Mapping) and str(block.get("type")).endswith("tool_result")
        else block
        for block in content
    ]
    return {**message, "content": blocks} if any(a is not b for a, b in zip(content, blocks, strict=True)) else message


def _with(holder: Mapping[str, Any], key: str, change: Callable[[Any], Any]) -> Any:
    held = holder.get(key)
    changed = change(held)
    return holder if changed is held else {**holder, key: changed}


def _short(content: Any, over: int, head: int) -> Any:
    if isinstance(content, str):
        return _cut(content, over, head)
    if not isinstance(content, list):
        return content
    texts = [block["text"] for block in content if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    whole = "\n".join(texts)
    short = _cut(whole, over, head)
    if short is whole:
        return content
    first = next(block for block in content if isinstance(block, Mapping) and isinstance(block.get("text"), str))
    others = [block for block in content if not (isinstance(block, Mapping) and isinstance(block.get("text"), str))]
    return [{**first, "text": short}, *others]


def _cut(text: str, over: int, head: int) -> str:
    return text if len(text) <= over else text[:head] + TRIMMED


# -- drop oldest ------------------------------------------------------------------------------------------------------


def drop_oldest(
    messages: Sequence[Message],
    budget: int,
    *,
    count: TokenCounter = chars4,
    protect: Protect = protected,
    at: int = 0,
) -> Result:
    """Walk newest first and stop at the budget: at the first group that does not fit, all older ones leave.

    What is protected stays and is paid for first. Call it before the new turn is added: it is a window on the past.
    """
    check(messages, budget, count, protect, at)
    keep = _newest(messages, budget, count, protect(messages))
    left = [message for index, message in enumerate(messages) if index not in keep]
    kept = [message for index, message in enumerate(messages) if index in keep]
    return kept, drops(left, count, "trimmed", f"oldest dropped to fit {budget} tokens", at)


def _newest(messages: Sequence[Message], budget: int, count: TokenCounter, untouched: frozenset[int]) -> set[int]:
    cost = [tokens(message, count) for message in messages]
    bundles = groups(messages)
    keep = {i for bundle in bundles if not untouched.isdisjoint(bundle) for i in bundle}
    left = budget - sum(cost[i] for i in keep)
    for bundle in reversed(bundles):
        if bundle[0] in keep:
            continue
        price = sum(cost[i] for i in bundle)
        if price > left:
            break
        left -= price
        keep.update(bundle)
    return keep


# -- summaries --------------------------------------------------------------------------------------------------------


def summarise_middle(
    messages: Sequence[Message],
    budget: int = THRESHOLD,
    *,
    summarise: Summariser,
    tail: int = 8,
    count: TokenCounter = chars4,
    protect: Protect = protected,
    at: int = 0,
) -> Result:
    """Over the budget, keep the first message and the last `tail` word for word; one summary stands for the middle.

    Groups are kept whole, so a few more than `tail` may stay. The summary is cut to what the budget leaves; if what is
    kept is over the budget by itself, the summary stands whole.
    """
    check(messages, budget, count, protect, at)
    _sizes(tail=tail)
    only_function(summarise, "summarise_middle: summarise")
    if sum(tokens(message, count) for message in messages) <= budget:
        return list(messages), ()
    untouched = protect(messages)
    first_of_tail = len(messages) - tail
    keep = {
        i
        for bundle in groups(messages)
        if bundle[0] == 0 or bundle[-1] >= first_of_tail or not untouched.isdisjoint(bundle)
        for i in bundle
    }
    return _summarised(messages, keep, budget, summarise, count, at, whole_if_over=True)


def summarise_oldest(
    messages: Sequence[Message],
    budget: int,
    *,
    summarise: Summariser,
    count: TokenCounter = chars4,
    protect: Protect = protected,
    at: int = 0,
) -> Result:
    """`drop_oldest` with one summary in the place of what leaves, for which a quarter of the budget is kept free.

    Where what is protected leaves no room for a summary, the oldest are dropped without one, and the drops say so.
    """
    check(messages, budget, count, protect, at)
    only_function(summarise, "summarise_oldest: summarise")
    untouched = protect(messages)
    if len(_newest(messages, budget, count, untouched)) == len(messages):
        return list(messages), ()
    keep = _newest(messages, budget - budget // _SHARE, count, untouched)
    return _summarised(messages, keep, budget, summarise, count, at, whole_if_over=False)


def _summarised(
    messages: Sequence[Message],
    keep: set[int],
    budget: int,
    summarise: Summariser,
    count: TokenCounter,
    at: int,
    whole_if_over: bool,
) -> Result:
    left = [index for index in range(len(messages)) if index not in keep]
    gone = [messages[index] for index in left]
    room = budget - sum(tokens(messages[index], count) for index in keep)
    if not left or (whole_if_over and room < 0 and all(map(_is_summary, gone))):
        return list(messages), ()  # to summarise a summary again would lose words and gain nothing
    text, record = None, "no room for a summary"
    if room > count(PROGRESS) or (whole_if_over and room < 0):
        said = summarise(gone)
        if not isinstance(said, str) or not said.strip():
            raise ValueError("the summariser gave no text; nothing was taken out")
        whole = _told(said)
        text = whole if room < 0 else _fitted(whole, room, count)
        record = "a summary stands for it" if text == whole else f"a summary, cut to {room} tokens, stands for it"
    kept: list[Message] = []
    for index, message in enumerate(messages):
        if index in keep:
            kept.append(message)
        elif index == left[0] and text is not None:
            kept.append({"role": "user", "content": text})
    return kept, drops(gone, count, "trimmed" if text is None else "summarised", record, at)


def _told(said: str) -> str:
    body = safe.encodable(said.strip().removeprefix(PROGRESS).lstrip())
    return f"{PROGRESS}\n{guard_headings(body, (PROGRESS,))}"


def _fitted(text: str, room: int, count: TokenCounter) -> str:
    if count(text) <= room:
        return text
    low, high = len(PROGRESS), len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= room else (low, middle - 1)
    while count(text[:low]) > room:  # a counter that does not grow with the text
        low -= 1
    return text[:low]


def _is_summary(message: Message) -> bool:
    return all(piece.kind == "summary" for piece in pieces(message))


# -- in a row ---------------------------------------------------------------------------------------------------------


def compose(*policies: Policy) -> Policy:
    """One policy that applies these in order; its drops are theirs in order. Raises TypeError for what is no policy."""
    for index, one in enumerate(policies):
        only_function(one, f"compose: policies[{index}]")

    def composed(messages: Sequence[Message], budget: int) -> Result:
        kept: list[Message] = list(messages)
        gone: tuple[Drop, ...] = ()
        for step in policies:
            kept, more = step(kept, budget)
            gone = (*gone, *more)
        return kept, gone

    return composed


_NAMED: dict[str, Callable[..., Result]] = {
    "shrink": shrink,
    "drop-oldest": drop_oldest,
    "summarise-middle": summarise_middle,
    "summarise-oldest": summarise_oldest,
}
NAMES: tuple[str, ...] = tuple(_NAMED)


def policy(name: str, **options: Any) -> Policy:
    """The policy of that name with these keyword arguments. Raises UnknownPolicy with the names that there are."""
    if only_text(name, "policy: name") not in _NAMED:
        raise UnknownPolicy(f"unknown policy {name!r}; there are {', '.join(NAMES)}")
    return partial(_NAMED[name], **options)


def _sizes(**given: int) -> None:
    for name, value in given.items():
        number(value, name, whole=True)
