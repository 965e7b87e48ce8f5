"""Wrong types for the public functions of the memory: one line that names the argument, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import history, load, record
from agentmem.memory.agent import Agent, MockClient
from agentmem.memory.artefacts import Artefacts, by_reference
from agentmem.memory.fence import decode_fence, fence, guard_headings, prompt
from agentmem.memory.handoff import handoff
from agentmem.memory.messages import goals, groups, orphans, pieces, protected, tokens
from agentmem.memory.notebook import Notebook
from agentmem.memory.notes import Notes
from agentmem.memory.policies import compose, drop_oldest, policy, shrink, summarise_middle, summarise_oldest
from agentmem.memory.recall.sqlite import SqliteMemory
from agentmem.memory.state import State

WRONG: list[Any] = [5, 1.5, b"x", object(), ValueError("x")]
"""None of them is a text, a path, a function, a list, a mapping or a message."""

MESSAGES: list[Any] = [{"role": "user", "content": "x"}]


def state() -> State:
    return State("find the leak", ["read", "report"])


CALLS: dict[str, Callable[[Any], Any]] = {
    "search: query": lambda wrong: SqliteMemory().search(wrong),
    "purge: key": lambda wrong: SqliteMemory().purge(key=wrong),
    "purge: source": lambda wrong: SqliteMemory().purge(source=wrong),
    "remember: value": lambda wrong: SqliteMemory().remember("k", wrong, "s", 0.5),
    "SqliteMemory: embed": lambda wrong: SqliteMemory(embed=wrong),
    "SqliteMemory: clock": lambda wrong: SqliteMemory(clock=wrong),
    "say: text": lambda wrong: Agent(MockClient()).say(wrong),
    "agent: client": lambda wrong: Agent(wrong),
    "agent: memory": lambda wrong: Agent(MockClient(), wrong),
    "agent: state": lambda wrong: Agent(MockClient(), state=wrong),
    "agent: system": lambda wrong: Agent(MockClient(), system=wrong),
    "agent: policy": lambda wrong: Agent(MockClient(), policy=wrong),
    "save_state: path": lambda wrong: Agent(MockClient()).save_state(wrong),
    "load_state: path": lambda wrong: Agent.load_state(wrong, MockClient()),
    "load_state: memory": lambda wrong: Agent.load_state("none", MockClient(), wrong),
    "state: facts": lambda wrong: State("g", facts=wrong),
    "state: verified": lambda wrong: State("g", verified=wrong),
    "verify: name": lambda wrong: state().verify(wrong, "b", "c"),
    "forget: name": lambda wrong: state().forget(wrong),
    "fields: count": lambda wrong: state().fields(wrong),
    "render: count": lambda wrong: state().render(count=wrong),
    "notebook: system": lambda wrong: Notebook(wrong),
    "notebook: facts[0]": lambda wrong: Notebook("s", [wrong]),
    "add: tool": lambda wrong: Notebook("s").add(wrong, {}, "x"),
    "trim: count": lambda wrong: Notebook("s").trim(5, wrong),
    "notes: path": lambda wrong: Notes(wrong),
    "notes: text": lambda wrong: Notes("none").append(wrong),
    "artefacts: folder": lambda wrong: Artefacts(wrong),
    "get: artefact": lambda wrong: Artefacts("none").get(wrong),
    "artefacts": lambda wrong: by_reference([], artefacts=wrong),
    "decode_fence: text": lambda wrong: decode_fence(wrong),
    "guard_headings: text": lambda wrong: guard_headings(wrong),
    "prompt: rendered": lambda wrong: prompt([], wrong),
    "fence: records[0]": lambda wrong: fence([wrong]),
    "handoff: ended": lambda wrong: handoff(wrong, "g", []),
    "compose: policies[1]": lambda wrong: compose(shrink, wrong),
    "policy: name": lambda wrong: policy(wrong),
    "count": lambda wrong: drop_oldest([], 0, count=wrong),
    "protect": lambda wrong: shrink([], protect=wrong),
    "summarise_middle: summarise": lambda wrong: summarise_middle(MESSAGES, 0, summarise=wrong),
    "summarise_oldest: summarise": lambda wrong: summarise_oldest(MESSAGES, 0, summarise=wrong),
    "messages": lambda wrong: drop_oldest(wrong, 0),
    "message": lambda wrong: pieces(wrong),
    "store": lambda wrong: record("r", store=wrong),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_refused_in_one_line_that_names_the_argument(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for wrong in WRONG:
        with pytest.raises(TypeError) as told:
            CALLS[name](wrong)
        assert str(told.value).startswith(f"{name} is "), told.value
        assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir()), "nothing is made before it is known what for"


def test_none_is_no_text() -> None:
    with pytest.raises(TypeError, match=r"^search: query is a text, not NoneType$"):
        SqliteMemory().search(None)  # type: ignore[arg-type]  # what an author may pass
    agent = Agent(MockClient())
    with pytest.raises(TypeError, match=r"^say: text is a text, not NoneType$"):
        agent.say(None)  # type: ignore[arg-type]  # likewise
    assert (agent.turn, len(agent.memory)) == (0, 0)


@pytest.mark.parametrize("of", [groups, orphans, protected, goals])
@pytest.mark.parametrize("wrong", [None, 5, "text", object()])
def test_what_is_no_list_of_messages_is_refused(of: Callable[[Any], Any], wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"^messages is a list, not {type(wrong).__name__}$"):
        of(wrong)


def test_a_text_is_not_taken_letter_by_letter_for_a_list() -> None:
    ended = state()
    ended.verify("a", "1", "probe")
    for call in (
        lambda: MockClient("no"), lambda: Notebook("s", "fact"), lambda: handoff(ended, "g", "a"),
        lambda: drop_oldest("ab", 5),  # type: ignore[arg-type]  # what is refused
    ):  # fmt: skip
        with pytest.raises(TypeError, match="is a"):
            call()


def test_the_numbers_of_a_call_are_numbers() -> None:
    for call in (
        lambda wrong: Notes("none", wrong), lambda wrong: handoff(state(), "g", [], most=wrong),
        lambda wrong: by_reference([], artefacts=Artefacts("none"), over=wrong),
        lambda wrong: state().render(5, at=wrong), lambda wrong: drop_oldest([], 5, at=wrong),
        lambda wrong: Notebook("s").trim(5, at=wrong),
    ):  # fmt: skip
        for wrong in ("x", [5], b"x"):
            with pytest.raises(ValueError, match=r"(most|over|at) is .*, not a whole number"):
                call(wrong)


def test_a_tokens_counter_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^count is a function, not int$"):
        tokens({"role": "user", "content": "x"}, 5)  # type: ignore[arg-type]  # what is refused


def test_the_notebook_takes_what_a_tool_raised() -> None:
    assert Notebook("s").add("read", {"b": 1, "a": 2}, ValueError("no such meter")) == (
        'read({"a":2,"b":1}) -> ValueError: no such meter'
    )
    with pytest.raises(TypeError, match=r"^add: observation is a text, a JSON value or an exception, not bytes$"):
        Notebook("s").add("read", {}, b"x")


@pytest.mark.parametrize("ask", [load, lambda run, store: list(history(run, store=store))])
def test_what_is_no_store_is_refused_by_whoever_asks(ask: Any) -> None:
    with pytest.raises(TypeError, match=r"^store is a store, an address or a folder, not int$"):
        ask("r", store=5)
