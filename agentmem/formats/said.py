"""What assistant messages say, however they are written down: by it they are found again in a list written anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import xxhash

from agentmem.formats.messages import Message


def content_keys(message: Message) -> tuple[int, int]:
    """(hash of all that an assistant message says, hash of its calls with their ids and arguments); 0: there is none.
    How the message is written down (spaces, order of keys) does not matter."""
    if message.role != "assistant" or not message.parts:
        return 0, 0
    whole, calls = xxhash.xxh3_64(), xxhash.xxh3_64()
    made = False
    for part in message.parts:
        data = repr((part.kind, part.call_id, part.text)).encode()
        whole.update(data)
        if part.kind == "call":
            made = True
            calls.update(data)
    return whole.intdigest(), calls.intdigest() if made else 0


class Region:
    """What assistant messages said in a part of a list that was rewritten: each is found there again once."""

    def __init__(self, contents: Iterable[tuple[int, int]]) -> None:
        known = list(contents)
        self._wholes = Counter(whole for whole, _ in known if whole)
        self._calls = Counter(calls for _, calls in known if calls)

    def holds(self, content: tuple[int, int]) -> bool:
        """Whether a message was said there before: the same, or the same calls with the same arguments."""
        whole, calls = content
        if calls and self._calls[calls] > 0:
            self._calls[calls] -= 1
            return True
        if whole and not calls and self._wholes[whole] > 0:
            self._wholes[whole] -= 1
            return True
        return False


NOTHING = Region(())
