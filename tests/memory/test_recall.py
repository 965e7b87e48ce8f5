"""Long-term memory: the interface over every kind that runs here, the similarity as stated, the SQLite file."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.memory.agent import Agent, MockClient
from agentmem.memory.fence import decode_fence, prompt
from agentmem.memory.recall.embeddings import MissingExtra, WordLlamaEmbedder, pack, scorer
from agentmem.memory.recall.memory import Memory, RecallError, bag, content_words, similarity
from agentmem.memory.recall.sqlite import SqliteMemory

WORDS = st.sampled_from(["port ", "name ", "şehir ", "the ", "漢字 ", "x", "1 ", "_", "\n"])
TEXT = st.lists(WORDS, max_size=6).map("".join) | st.text(st.characters(codec=None), max_size=10)
ROWS = st.lists(st.tuples(TEXT, TEXT, st.sampled_from(["web", "user", "\ud800"]), st.floats(0, 1)), max_size=12)


class Letters:
    """An embedder for tests: counts of the letters a to z."""

    name, floor = "letters 26", 0.1

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(text.lower().count(chr(97 + i))) for i in range(26)] for text in texts]


KINDS: dict[str, Callable[[], Memory]] = {
    "words": SqliteMemory,
    "words without fts5": lambda: SqliteMemory(fts=False),
    "embeddings": lambda: SqliteMemory(embed=Letters()),
}


@pytest.fixture(params=KINDS)
def memory(request: pytest.FixtureRequest) -> Memory:
    return KINDS[request.param]()


def test_the_question_finds_the_fact_that_shares_its_content_word() -> None:
    memory = SqliteMemory()
    memory.remember("fact", "the user's name is Sam", "chat", 0.9)
    assert [found.value for found in memory.search("what is my name")] == ["the user's name is Sam"]
    assert memory.search("what do you know about me") == []


def test_source_and_trust_come_back_and_the_best_is_first(memory: Memory) -> None:
    memory.remember("port", "the port is 8080", "curl", 0.7)
    memory.remember("guess", "some port or other may be zzz open kkk", "web", 0.9)
    found = memory.search("port", min_trust=0.6)
    assert (found[0].key, found[0].source, found[0].trust) == ("port", "curl", 0.7)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(memory.search("port", k=1)) == 1 and memory.search("port", k=0) == []


def test_below_the_trust_floor_nothing_comes_back(memory: Memory) -> None:
    memory.remember("port", "port a", "web", 0.49)
    memory.remember("port", "port b", "curl", 0.5)
    assert [one.value for one in memory.search("port")] == ["port b"]
    assert len(memory.search("port", min_trust=0.0)) == 2
    assert memory.search("port", min_trust=1.0) == []


def test_one_source_cannot_overwrite_what_another_said(memory: Memory) -> None:
    memory.remember("name", "name Sam", "user", 0.9)
    memory.remember("name", "name Mallory", "web", 0.9)
    memory.remember("name", "name Samuel", "user", 0.9)
    assert {(row["source"], row["value"]) for row in memory.dump()} == {
        ("user", "name Samuel"),
        ("web", "name Mallory"),
    }


def test_equally_similar_records_come_by_trust_then_newest(memory: Memory) -> None:
    for key, trust in (("a", 0.6), ("b", 0.9), ("c", 0.9)):
        memory.remember(key, "port", key, trust)
    by_key = [found for found in memory.search("port", k=9) if found.score == memory.search("port", k=9)[0].score]
    assert [found.trust for found in by_key] == sorted((found.trust for found in by_key), reverse=True)
    memory.purge(key="a")
    memory.load([{"key": "b", "value": "port", "source": "z", "trust": 0.9, "at": 5.0}])
    best = [found.source for found in memory.search("port b", k=2)]
    assert best == ["z", "b"]


@pytest.mark.parametrize(
    ("condition", "left"),
    [({"key": "a"}, {"b", "c"}), ({"source": "web"}, {"c"}), ({"below_trust": 0.5}, {"b", "c"}),
     ({"source": "web", "below_trust": 0.5}, {"b", "c"}), ({"before": 2.0}, {"b", "c"}),
     ({"key": "none"}, {"a", "b", "c"})],
)  # fmt: skip
def test_purge_deletes_what_meets_every_condition(memory: Memory, condition: dict[str, str], left: set[str]) -> None:
    for at, (key, source, trust) in enumerate([("a", "web", 0.1), ("b", "web", 0.9), ("c", "user", 0.9)], start=1):
        memory.load([{"key": key, "value": f"word {key}", "source": source, "trust": trust, "at": float(at)}])
    assert memory.purge(**condition) == 3 - len(left)  # type: ignore[arg-type]  # drawn conditions
    assert {row["key"] for row in memory.dump()} == left
    assert {found.key for found in memory.search("word", min_trust=0)} == left


def test_a_purged_record_is_not_in_the_next_prompt_which_shows_the_source(memory: Memory) -> None:
    memory.remember("port", "port 8080", "curl", 0.9)
    text = prompt((found.record for found in memory.search("port")), "GOAL (unchanged): x")
    assert "- port = port 8080  (source: curl)" in text
    memory.purge(source="curl")
    assert prompt((found.record for found in memory.search("port")), "GOAL (unchanged): x") == "GOAL (unchanged): x"


@pytest.mark.parametrize("trust", [-0.1, 1.1, float("nan"), "1", True])
def test_a_trust_that_is_none_and_a_text_that_is_none_are_refused(memory: Memory, trust: object) -> None:
    with pytest.raises(ValueError, match="trust"):
        memory.remember("k", "v", "s", trust)  # type: ignore[arg-type]  # what an author may pass
    with pytest.raises(TypeError, match="value"):
        memory.remember("k", 3, "s", 0.5)  # type: ignore[arg-type]  # likewise
    with pytest.raises(ValueError, match="at least one"):
        memory.purge()
    with pytest.raises(ValueError, match="k is -1"):
        memory.search("x", k=-1)
    assert len(memory) == 0


@given(ROWS, TEXT, st.floats(0, 1), st.integers(0, 5))
def test_the_ranking_is_the_stated_similarity_with_and_without_fts5(
    rows: list[tuple[str, str, str, float]], query: str, floor: float, k: int
) -> None:
    indexed, plain = SqliteMemory(), SqliteMemory(fts=False)
    assert (indexed.indexed, plain.indexed) == (True, False)
    held: dict[tuple[str, str], tuple[str, float]] = {}
    for key, value, source, trust in rows:
        for memory in (indexed, plain):
            memory.remember(key, value, source, trust)
        held.pop((key, source), None)
        held[key, source] = (value, trust)
    expected = [
        (similarity(bag(query), bag(f"{key} {value}")), trust, at, key, value, source)
        for at, ((key, source), (value, trust)) in enumerate(held.items())
    ]
    expected = sorted(
        (row for row in expected if row[0] > 0 and row[1] >= floor), key=lambda row: row[:3], reverse=True
    )
    for memory in (indexed, plain):
        found = memory.search(query, k, floor)
        assert [(f.key, f.value, f.source, f.trust) for f in found] == [(r[3], r[4], r[5], r[1]) for r in expected[:k]]
        assert all(math.isclose(f.score, row[0]) for f, row in zip(found, expected, strict=False))


@given(ROWS)
def test_every_text_comes_back_exactly_from_dump_and_through_the_fence(rows: list[tuple[str, str, str, float]]) -> None:
    memory, other = SqliteMemory(clock=lambda: 7.25), SqliteMemory()
    for key, value, source, trust in rows:
        memory.remember(key, value, source, trust)
    other.load(memory.dump())
    assert other.dump() == memory.dump()
    last = {(key, source): (value, trust) for key, value, source, trust in rows}
    dumped = {(row["key"], row["source"]): (row["value"], row["trust"]) for row in memory.dump()}
    assert dumped == last
    records = [(row["key"], row["value"], row["source"]) for row in memory.dump()]
    assert decode_fence(prompt(records, "GOAL (unchanged): x")) == records


@given(TEXT, TEXT)
def test_similarity_is_a_cosine(one: str, other: str) -> None:
    a, b = bag(one), bag(other)
    assert similarity(a, b) == similarity(b, a)
    assert 0 <= similarity(a, b) <= 1
    assert math.isclose(similarity(a, a), 1.0 if a else 0.0)
    assert (similarity(a, b) > 0) == bool(a.keys() & b.keys())


def test_content_words_keep_letters_digits_and_marks_without_case() -> None:
    assert content_words("The user_name's ＰＯＲＴ is 8080, हिन्दी") == ["user", "name", "port", "8080", "हिन्दी"]


def unlike(letters: str, number: int) -> str:
    """Letters in no order, which no database can make shorter."""
    return "".join(Random(7).choices(letters, k=number))


LONG = {
    "chinese": unlike("".join(map(chr, range(0x4E00, 0x9000))), 2000), "base64": unlike(ascii_letters + digits, 4000),
    "name": "a" * 5000, "at the end of an index": "b" * 1001, "several scripts": "é" * 400 + "漢" * 900,
}  # fmt: skip
"""A key -> a run of letters without an end, longer than a database takes as one word."""


@pytest.mark.parametrize("kind", ["words", "words without fts5"])
def test_a_run_of_letters_without_an_end_is_kept_and_found_whole(kind: str) -> None:
    memory = KINDS[kind]()
    for key, run in LONG.items():
        memory.remember(key, f"port {run} open", "tool", 0.9)
    assert {row["key"]: row["value"] for row in memory.dump()} == {key: f"port {run} open" for key, run in LONG.items()}
    assert {found.key for found in memory.search("port", k=9)} == LONG.keys()
    for key, run in LONG.items():
        found = memory.search(f"unheard {run}", k=1)
        assert [one.key for one in found] == [key] and found[0].score > 0


def test_a_longer_run_is_another_word() -> None:
    memory = SqliteMemory()
    memory.remember("k", LONG["chinese"], "tool", 0.9)
    assert memory.search(LONG["chinese"] + "了") == [] == memory.search(LONG["chinese"][:-1])
    assert [found.score for found in memory.search(LONG["chinese"])] == [pytest.approx(1 / math.sqrt(2))]


def test_a_query_of_a_thousand_words_is_answered() -> None:
    memory = SqliteMemory()
    memory.remember("k", "word7 here", "s", 1.0)
    assert [found.key for found in memory.search(" ".join(f"word{i}" for i in range(1000)))] == ["k"]
    assert memory.search('" OR 1=1 -- *') == []


# -- the file ---------------------------------------------------------------------------------------------------------


def test_a_file_lives_on_is_private_and_can_be_read_with_plain_sql(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "memory.db"
    memory = SqliteMemory(path, clock=lambda: 12.5)
    memory.remember("port", "port 8080", "curl", 0.9)
    memory.close()
    assert path.stat().st_mode & 0o777 == 0o600
    again = SqliteMemory(path)
    assert again.address == str(path)
    assert [found.value for found in again.search("port")] == ["port 8080"]
    again.close()
    rows = sqlite3.connect(path).execute("select key, value, source, trust, at from memories").fetchall()
    assert rows == [("port", "port 8080", "curl", 0.9, 12.5)]


def test_what_is_purged_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memory = SqliteMemory(path)
    for number in range(50):
        memory.remember(f"k{number}", f"filler number{number}", "s", 0.9)
    memory.remember("secret", "xyzzyplugh", "web", 0.9)
    memory.close()
    assert b"xyzzyplugh" in path.read_bytes()
    memory = SqliteMemory(path)
    memory.purge(source="web")
    memory.close()
    assert b"xyzzyplugh" not in path.read_bytes()


def test_what_is_no_memory_is_refused_and_left_alone(tmp_path: Path) -> None:
    junk, other, newer = tmp_path / "junk.db", tmp_path / "other.db", tmp_path / "newer.db"
    junk.write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    with sqlite3.connect(other) as db:
        db.execute("create table t(a)")
    with sqlite3.connect(newer) as db:
        db.execute("create table t(a)")
        db.execute("pragma user_version = 9")
    before = [path.read_bytes() for path in (junk, other, newer)]
    for path, word in ((junk, "not a database"), (other, "no long-term memory"), (newer, "version 9 is newer")):
        with pytest.raises(RecallError, match=rf"{path.name}: .*{word}"):
            SqliteMemory(path)
    with pytest.raises(RecallError, match=r"unable to open|is a directory"):
        SqliteMemory(tmp_path)
    assert [path.read_bytes() for path in (junk, other, newer)] == before


def test_two_processes_can_remember_into_one_file(tmp_path: Path) -> None:
    code = (
        "import sys; from agentmem.memory.recall.sqlite import SqliteMemory; m = SqliteMemory(sys.argv[1])\n"
        "for i in range(40): m.remember(f'{sys.argv[2]}{i}', 'port', 's', 1.0)"
    )
    path = str(tmp_path / "m.db")
    running = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("a", "b")]
    assert [process.wait() for process in running] == [0, 0]
    assert len(SqliteMemory(path)) == 80


# -- embeddings -------------------------------------------------------------------------------------------------------


def test_another_embedder_makes_the_vectors_anew(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    memory = SqliteMemory(path)
    memory.remember("greeting", "hello there", "s", 0.9)
    memory.close()
    embed = Letters()
    memory = SqliteMemory(path, embed=embed)
    assert [found.key for found in memory.search("hello")] == ["greeting"]
    assert embed.asked == ["greeting: hello there", "hello"]
    memory.search("hello")
    assert embed.asked[2:] == ["hello"], "a record is embedded once"
    memory.close()
    other = Letters()
    other.name = "letters, another model"
    SqliteMemory(path, embed=other).search("hello")
    assert "greeting: hello there" in other.asked


def test_vectors_are_compared_alike_with_and_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [pack([1.0, 2.0, 3.0]), pack([-1.0, 0.5, 0.0]), pack([0.0, 0.0, 0.0])]
    wanted = pack([1.0, 1.0, 0.0])
    here = scorer(wanted)(rows)
    monkeypatch.setitem(sys.modules, "numpy", None)
    plain = scorer(wanted)(rows)
    assert here == pytest.approx(plain, abs=1e-6)
    assert plain == pytest.approx([3 / math.sqrt(28), -0.5 / math.sqrt(2.5), 0.0], abs=1e-6)
    assert scorer(wanted)([]) == []


def test_the_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(MissingExtra, match=r"pip install 'agentmem-inspector\[recall\]'"):
        WordLlamaEmbedder()


def test_the_embeddings_of_the_extra_find_paraphrases_without_a_network() -> None:
    pytest.importorskip("wordllama", reason="needs the recall extra")
    memory = SqliteMemory(embed=WordLlamaEmbedder())
    facts = ["has a dog called Rex", "peanuts make him ill", "releases go out on Friday", "", "\ud800 lone"]
    for number, fact in enumerate(facts):
        memory.remember(f"f{number}", fact, "chat", 0.9)
    assert memory.search("which animal lives there")[0].value == "has a dog called Rex"
    assert memory.search("when do we ship")[0].value == "releases go out on Friday"
    assert memory.search("") == []


def test_importing_the_library_loads_no_extra() -> None:
    code = "import sys, agentmem.memory.live, agentmem.memory.agent as a; a.Agent(a.MockClient()).say('x')\n"
    code += "print([n for n in ('numpy', 'wordllama', 'openai', 'textual', 'rich') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, "1", True])
def test_a_number_that_cannot_be_is_refused_and_nothing_is_stored(wrong: Any) -> None:
    memory = SqliteMemory(clock=lambda: wrong)
    for call in (
        lambda: memory.remember("a", "b", "c", 0.5), lambda: memory.remember("a", "b", "c", wrong),
        lambda: memory.search("a", k=wrong), lambda: memory.search("a", min_trust=wrong),
        lambda: memory.purge(before=wrong), lambda: memory.purge(below_trust=wrong),
        lambda: memory.load([{"key": "a", "value": "b", "source": "c", "trust": 0.5, "at": wrong}]),
        lambda: memory.load([{"key": "a"}]),  # type: ignore[typeddict-item]  # what is refused
        lambda: Agent(MockClient(), budget=wrong), lambda: Agent(MockClient(), k=wrong),
        lambda: Agent(MockClient(), min_trust=wrong),
    ):  # fmt: skip
        with pytest.raises(ValueError):  # each names another number
            call()
    assert len(memory) == 0


def test_a_memory_that_a_reader_was_in_the_way_of_takes_the_next_record(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "m.db")
    memory._db.execute("pragma busy_timeout = 20")
    memory.remember("a", "one", "s", 0.9)
    reader = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    reader.execute("begin")
    reader.execute("select * from memories").fetchall()
    with pytest.raises(RecallError, match="locked"):
        memory.remember("b", "two", "s", 0.9)
    reader.execute("commit")
    memory.remember("c", "three", "s", 0.9)
    assert [row["value"] for row in memory.dump()] == ["one", "three"]
    reader.close()
    memory.close()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_nothing_is_remembered_in_a_file_that_was_deleted_or_replaced(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "m.db")
    memory.remember("a", "one", "s", 0.9)
    SqliteMemory(tmp_path / "other.db").close()
    (tmp_path / "other.db").replace(tmp_path / "m.db")
    for _ in range(2):
        with pytest.raises(RecallError, match=r"m\.db: was deleted or replaced; nothing was written"):
            memory.remember("b", "two", "s", 0.9)
        (tmp_path / "m.db").unlink(missing_ok=True)
    memory.close()
