"""Long-term memory in Postgres: all that is promised of every kind, over pgvector; and what only it can do."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings

from agentmem.memory.agent import Agent, MockClient
from agentmem.memory.recall.embeddings import WordLlamaEmbedder
from agentmem.memory.recall.memory import Memory, RecallError
from agentmem.memory.recall.postgres import PostgresMemory
from agentmem.memory.recall.sqlite import SqliteMemory
from tests.memory import test_recall as shared
from tests.postgres import server

pytest.importorskip("psycopg", reason="needs the postgres extra")
SCHEMAS = itertools.count(1)


def fresh(embed: shared.Letters | None = None, *, clock: Callable[[], float] | None = None) -> PostgresMemory:
    """An empty memory in a schema of its own."""
    more = {} if clock is None else {"clock": clock}
    return PostgresMemory(server().address("postgres"), embed, schema=f"m_{next(SCHEMAS)}", **more)


KINDS: dict[str, Callable[[], Memory]] = {"words": fresh, "pgvector": lambda: fresh(shared.Letters())}


@pytest.fixture(params=KINDS)
def memory(request: pytest.FixtureRequest) -> Memory:
    return KINDS[request.param]()


# What is promised of every kind: the very tests of the default.
test_source_and_trust_come_back = shared.test_source_and_trust_come_back_and_the_best_is_first
test_the_trust_floor = shared.test_below_the_trust_floor_nothing_comes_back
test_sources_apart = shared.test_one_source_cannot_overwrite_what_another_said
test_order = shared.test_equally_similar_records_come_by_trust_then_newest
test_purge = shared.test_purge_deletes_what_meets_every_condition
test_purged_is_not_in_the_prompt = shared.test_a_purged_record_is_not_in_the_next_prompt_which_shows_the_source
test_refused = shared.test_a_trust_that_is_none_and_a_text_that_is_none_are_refused



def test_long_runs_come_back_as_from_the_default() -> None:
    here, there = fresh(clock=lambda: 7.25), SqliteMemory(clock=lambda: 7.25)
    for memory in (here, there):
        for key, run in shared.LONG.items():
            memory.remember(key, f"{run} open {run}", "tool", 0.9)
    assert here.dump() == there.dump() and len(here) == len(shared.LONG)
    for query in ("open", *shared.LONG.values(), shared.LONG["name"][:-1]):
        assert here.search(query, 9) == there.search(query, 9)


@settings(max_examples=20)
@given(shared.ROWS, shared.TEXT)
def test_it_finds_and_keeps_exactly_what_the_default_does(rows: list[tuple[str, str, str, float]], query: str) -> None:
    here, there = fresh(clock=lambda: 7.25), SqliteMemory(clock=lambda: 7.25)
    for row in rows:
        here.remember(*row)
        there.remember(*row)
    assert here.dump() == there.dump()
    assert here.search(query, 5, 0.2) == there.search(query, 5, 0.2)
    again = fresh()
    again.load(here.dump())
    assert again.dump() == there.dump() and len(again) == len(there)
    for memory in (here, again):
        memory.close()


def test_pgvector_ranks_as_the_default_does_with_the_same_embedder() -> None:
    here, there = fresh(shared.Letters()), SqliteMemory(embed=shared.Letters())
    texts = ["hello there", "hell", "zzz", "", "ole ole", "1234", "the quick brown fox", "\0 lone \ud800 nul"]
    for number, text in enumerate(texts):
        for memory in (here, there):
            memory.remember(f"k{number}", text, "s", 0.9)
    for query in ("hello", "fox", "zz", "1234"):
        one, two = here.search(query, 8), there.search(query, 8)
        assert [found.key for found in one] == [found.key for found in two]
        assert [found.score for found in one] == pytest.approx([found.score for found in two], abs=1e-6)
    assert here.search("") == []


def test_another_embedder_makes_the_vectors_anew() -> None:
    address, schema = server().address("postgres"), f"m_{next(SCHEMAS)}"
    memory = PostgresMemory(address, schema=schema)
    memory.remember("greeting", "hello there", "s", 0.9)
    embed = shared.Letters()
    memory = PostgresMemory(address, embed, schema=schema)
    assert [found.key for found in memory.search("hello")] == ["greeting"]
    memory.search("hello")
    assert embed.asked == ["greeting: hello there", "hello", "hello"], "a record is embedded once"
    other = shared.Letters()
    other.name = "letters, another model"
    PostgresMemory(address, other, schema=schema).search("hello")
    assert "greeting: hello there" in other.asked


def test_the_embeddings_of_the_extra_find_paraphrases() -> None:
    pytest.importorskip("wordllama", reason="needs the recall extra")
    memory = PostgresMemory(server().address("postgres"), WordLlamaEmbedder(), schema=f"m_{next(SCHEMAS)}")
    for number, fact in enumerate(["has a dog called Rex", "peanuts make him ill", "releases go out on Friday"]):
        memory.remember(f"f{number}", fact, "chat", 0.9)
    assert memory.search("which animal lives there")[0].value == "has a dog called Rex"


def test_agents_on_several_machines_share_it_and_it_is_read_with_plain_sql() -> None:
    address = server().database()
    wrong: list[BaseException] = []

    def work(name: str) -> None:
        try:
            memory = PostgresMemory(address)
            for number in range(15):
                memory.remember(f"{name}{number}", "the port is 8080", name, 1.0)
                memory.remember("shared", "port", "s", 1.0)
            memory.close()
        except BaseException as error:  # noqa: BLE001  # told in the test's thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "select source, count(*), min(value) from agentmem.memories group by source order by source"
        ).fetchall()
    assert rows == [("a", 15, "the port is 8080"), ("b", 15, "the port is 8080"), ("c", 15, "the port is 8080"),
                    ("s", 1, "port")]  # fmt: skip


def test_its_address_is_kept_without_a_password_and_opens_it_again() -> None:
    address = server().database()
    memory = PostgresMemory(address.replace("postgres@", "postgres:s3cret@"))
    memory.remember("port", "8080", "curl", 0.9)
    assert memory.address is not None and "s3cret" not in memory.address
    assert PostgresMemory(memory.address).dump() == memory.dump()


def test_what_is_no_memory_is_refused_and_left_alone() -> None:
    address = server().database()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("create schema agentmem")
        connection.execute("create table agentmem.memories(a int)")
        with pytest.raises(RecallError, match="a table of something else"):
            PostgresMemory(address)
        connection.execute("comment on table agentmem.memories is 'agentmem long-term memory, version 4'")
        with pytest.raises(RecallError, match="version 4 is newer"):
            PostgresMemory(address)
        assert connection.execute("select count(*) from pg_tables where schemaname = 'agentmem'").fetchone() == (1,)


def test_a_server_that_is_down_is_said_without_the_password() -> None:
    with pytest.raises(RecallError, match=r"^postgresql://u@127\.0\.0\.1:1/d: cannot be reached") as told:
        PostgresMemory("postgresql://u:s3cret@127.0.0.1:1/d")
    assert "s3cret" not in str(told.value)


def test_without_the_extra_it_says_how_to_install_it() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from agentmem.memory.recall.postgres import PostgresMemory\n"
        "try: PostgresMemory('postgresql://h/d')\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Postgres needs psycopg: pip install 'agentmem-inspector[postgres]'\n"


def test_an_agent_that_was_saved_goes_on_with_the_memory_at_its_address(tmp_path: Path) -> None:
    memory = PostgresMemory(server().database())
    memory.remember("name", "the user's name is Sam", "chat", 0.9)
    Agent(MockClient(), memory).save_state(tmp_path / "agent.json")
    assert [row["key"] for row in Agent.load_state(tmp_path / "agent.json", MockClient()).memory.dump()] == ["name"]
