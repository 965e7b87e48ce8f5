"""A conversational agent with both memories: recall into the system prompt, a short-term window, the new message.

The model client is injected: any callable from messages to the reply's text. `MockClient` makes every part run offline;
`agentmem.memory.live` speaks to a real endpoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from msgspec.structs import replace

from agentmem.checkpoint.given import number
from agentmem.ledger.given import only_function, only_kind, only_text
from agentmem.memory.fence import decode_fence, prompt
from agentmem.memory.files import FileError, damage, place, read_whole, sealed, write_whole
from agentmem.memory.messages import Message, pieces, system_only
from agentmem.memory.policies import Policy, drop_oldest
from agentmem.memory.recall.memory import Memory, Recalled, check_search, content_words
from agentmem.memory.recall.sqlite import SqliteMemory
from agentmem.memory.state import State
from agentmem.model import Drop

Client = Callable[[list[Message]], str]
"""Messages -> the text of the reply. Whatever it raises reaches the caller, and the turn has not happened."""
SCHEMA = "agentmem.conversation/1"


class MockClient:
    """A model without a model: says what it is given to say, then answers from what was recalled.

    `requests` keeps the messages of every call.
    """

    def __init__(self, replies: Iterable[str] = ()) -> None:
        """Raises TypeError for replies that are no list of texts: one text would be said letter by letter."""
        only_kind(None if isinstance(replies, str) else replies, Iterable, "MockClient: replies", "a list of texts")
        self._replies = [only_text(reply, f"MockClient: replies[{at}]") for at, reply in enumerate(replies)]
        self.requests: list[list[Message]] = []

    def __call__(self, messages: list[Message]) -> str:
        self.requests.append([dict(message) for message in messages])
        if self._replies:
            return self._replies.pop(0)
        system = next((str(message["content"]) for message in messages if message["role"] == "system"), "")
        recalled = decode_fence(system)
        return f"I remember: {recalled[0].value}" if recalled else "I do not know."


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What one turn sends, before it is sent."""

    messages: list[Message]
    recalled: tuple[Recalled, ...]
    """With source, trust and score, in the order of the fence."""
    window: list[Message]
    """The short-term part, without the new message."""
    drops: tuple[Drop, ...]
    """What left the window to make it fit."""


class Agent:
    """Short-term window and long-term memory round one client."""

    def __init__(
        self,
        client: Client,
        memory: Memory | None = None,
        *,
        state: State | None = None,
        system: str = "",
        budget: int = 4000,
        policy: Policy | None = None,
        k: int = 4,
        min_trust: float = 0.5,
        user_trust: float = 0.8,
        reply_trust: float = 0.3,
    ) -> None:
        """`budget`: tokens of the window, for `policy` (default: drop the oldest, by the counter chars4).

        What the user says is remembered with `user_trust`; what the model says with `reply_trust`, below the default
        floor, since what it asserts is no fact. Raises ValueError for a budget, a k, a trust or a floor that cannot be,
        TypeError for a client, memory, state, system or policy that is none.
        """
        only_function(client, "agent: client")
        only_text(system, "agent: system")
        for part, kind, name, called in ((memory, Memory, "memory", "a Memory"), (state, State, "state", "a State")):
            if part is not None:
                only_kind(part, kind, f"agent: {name}", called)
        if policy is not None:
            only_function(policy, "agent: policy")
        number(budget, "agent: budget")
        check_search(k, min_trust)
        for name, trust in (("user_trust", user_trust), ("reply_trust", reply_trust)):
            if not 0 <= number(trust, f"agent: {name}") <= 1:
                raise ValueError(f"agent: {name} is {trust!r}, not from 0 to 1")
        self.client = client
        self.memory: Memory = SqliteMemory() if memory is None else memory
        self.state = state
        self.system = system
        self.budget = budget
        self.policy = policy or _oldest
        self.k, self.min_trust = k, min_trust
        self.user_trust, self.reply_trust = user_trust, reply_trust
        self.window: list[Message] = []
        """User and assistant messages that the next turn may still see, oldest first."""
        self.turn = 0
        """Turns that happened."""
        self.last: Turn | None = None
        """What the newest turn sent."""
        self.conversation = "" if memory is None else token_hex(4)
        """Stands in the source of what is remembered, so that conversations which share a memory do not overwrite each
        other's turns; empty where the memory is this agent's alone."""

    def prepare(self, text: str) -> Turn:
        """What saying `text` would send. Changes nothing. The window is made before the new message is added.
        Raises TypeError for what is no text."""
        only_text(text, "say: text")
        window, drops = self.policy(self.window, self.budget)
        number = self.turn + 1
        drops = tuple(replace(drop, n=number, step=number, last_step=self.turn) for drop in drops)
        recalled = tuple(self._recall(text, window))
        told = [part for part in (self.system, self.state.render() if self.state else "") if part]
        system = prompt((found.record for found in recalled), "\n\n".join(told))
        head: list[Message] = [{"role": "system", "content": system}] if system else []
        return Turn([*head, *window, {"role": "user", "content": text}], recalled, window, drops)

    def say(self, text: str) -> str:
        """One turn: recall, window, the new message, the reply; then the turn is stored in both memories."""
        turn = self.prepare(text)
        reply = self.client(turn.messages)
        if not isinstance(reply, str):
            raise TypeError(f"the client's reply is a {type(reply).__name__}, not a text")
        number = self.turn + 1
        told = f"conversation {self.conversation}, turn {number}" if self.conversation else f"turn {number}"
        self.memory.remember(f"u{number}", text, f"user, {told}", self.user_trust)
        self.memory.remember(f"a{number}", reply, f"assistant, {told}", self.reply_trust)
        self.window = [*turn.window, {"role": "user", "content": text}, {"role": "assistant", "content": reply}]
        self.turn, self.last = number, turn
        return reply

    def _recall(self, text: str, window: Sequence[Message]) -> list[Recalled]:
        """The best records that say something: neither in the window anyhow, nor only the question over again."""
        seen = {piece.text for message in window for piece in pieces(message)}
        asked = set(content_words(text))
        found = self.memory.search(text, k=4 * self.k + 8, min_trust=self.min_trust)
        new = [one for one in found if one.value not in seen and not asked.issuperset(content_words(one.value))]
        return new[: self.k]

    # -- keeping ------------------------------------------------------------------------------------------------------

    def save_state(self, path: str | Path) -> None:
        """Write both memories to a file, whole or not at all. Raises FileError.

        A long-term memory that lives on by itself (`address`) is named, not copied. Client and policy are not kept.
        """
        path = place(path, "save_state: path")
        address = self.memory.address
        body = {
            "schema": SCHEMA,
            "turn": self.turn,
            "conversation": self.conversation,
            "window": self.window,
            "state": None if self.state is None else self.state.to_dict(),
            "settings": {name: getattr(self, name) for name in _SETTINGS},
            "memory": {"rows": self.memory.dump()} if address is None else {"address": address},
        }
        data = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        write_whole(path, sealed(data))

    @classmethod
    def load_state(
        cls, path: str | Path, client: Client, memory: Memory | None = None, *, policy: Policy | None = None
    ) -> Agent:
        """The agent as it was saved. `memory`: where long-term records go that the file holds, or, for a file that
        names an address, the opened memory there (default: opened by that address).

        Raises FileError naming the file if it is missing, damaged or newer than this library.
        """
        only_function(client, "load_state: client")
        if memory is not None:
            only_kind(memory, Memory, "load_state: memory", "a Memory")
        data = read_whole(place(path, "load_state: path"))
        if data is None:
            raise FileError(f"{path}: there is no saved conversation")
        wrong = damage(data)
        if wrong is not None:
            raise FileError(f"{path}: damaged: {wrong}")
        body = json.loads(data)
        if body.get("schema") != SCHEMA:
            raise FileError(f"{path}: schema {body.get('schema')!r}, this library reads {SCHEMA!r}")
        state = None if body["state"] is None else State.from_dict(body["state"])
        agent = cls(client, _memory(body["memory"], memory), state=state, policy=policy, **body["settings"])
        agent.window, agent.turn = body["window"], body["turn"]
        agent.conversation = body.get("conversation", "")  # files of before it was kept have none
        return agent


_SETTINGS = ("system", "budget", "k", "min_trust", "user_trust", "reply_trust")


def _oldest(messages: Sequence[Message], budget: int) -> tuple[list[Message], tuple[Drop, ...]]:
    return drop_oldest(messages, budget, protect=system_only)


def _opened(address: str) -> Memory:
    if address.startswith("postgresql://"):
        from agentmem.memory.recall.postgres import PostgresMemory  # an extra

        return PostgresMemory(address)
    return SqliteMemory(address)


def _memory(kept: Mapping[str, Any], given: Memory | None) -> Memory:
    if "address" in kept:
        return _opened(kept["address"]) if given is None else given
    memory = SqliteMemory() if given is None else given
    memory.load(kept["rows"])
    return memory
