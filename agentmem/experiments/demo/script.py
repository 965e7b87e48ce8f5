"""What happens in the demo, beat by beat: an agent that makes an order parser accept quoted commas.

It gathers facts, waits honestly for a lint job, overflows its window and compacts, goes in a cycle of two calls, loses
a fact without a word, fails because of it, finds it again, and ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentmem.experiments.demo import texts

GOAL = "Make the order parser accept quoted commas; every test passes."
PLAN = (
    "read the sample order", "find where a line is cut", "fix the lexer, with a test", "run the lexer tests",
    "run the whole suite", "replay the sample order",
)  # fmt: skip
SYSTEM = (
    "You fix parsers. Work in small steps; run the tests after every edit. Look before you write, keep what you learn "
    "as facts, and never edit tests/golden. Say what you do in one sentence, then call one tool."
)
RULE = "Never edit anything in tests/golden: the nightly job compares it on port 8443."
TOOLS = [
    {"name": name, "description": what,
     "parameters": {"type": "object", "properties": {one: {"type": "string"} for one in args}}}
    for name, what, args in (
        ("ls", "List a folder of the repository.", ("path",)),
        ("read", "Read a file, or lines of it.", ("path", "lines")),
        ("grep", "Search the sources for a text.", ("text", "path")),
        ("edit", "Replace a text in a file by another.", ("path", "old_string", "new_string")),
        ("pytest", "Run tests and return the report.", ("target",)),
        ("wait", "Wait for a job and return its state.", ("job",)),
        ("note", "Write a note that survives compaction.", ("text",)),
        ("get_order", "Fetch a sample order.", ("which",)),
        ("replay_order", "Send a stored order through the parser.", ("order_id", "fixture")),
    )
]  # fmt: skip

READ_LEXER = ("read", {"path": "src/lexer.py", "lines": "40-80"})
TEST_LEXER = ("pytest", {"target": "tests/test_lexer.py"})


@dataclass(frozen=True, slots=True)
class Beat:
    """One step of the agent."""

    tool: str
    arguments: dict[str, Any]
    result: str
    says: str = ""
    verify: tuple[str, str] | None = None
    """A fact that this step's result verifies: (name, value)."""
    forget: str | None = None
    """A fact that the agent lets go on record."""
    lose: str | None = None
    """A fact that the agent's code loses without a word when it rebuilds its state."""
    advance: int = 0
    """Plan items finished by it."""
    compact: bool = False
    """The window is full: older messages are replaced by a summary before this call."""
    shrink: bool = False
    """Old tool results are shortened before this call."""
    note: str | None = None
    needs: str | None = None
    """A fact that the call takes from the state; without it the call fails."""
    rule: bool = False
    seconds: float = 1.6


def story() -> list[Beat]:
    """The whole run."""
    edit = "edit"
    cycle = [
        beat
        for turn in range(3)
        for beat in (
            Beat(*TEST_LEXER, texts.failing_tests(200 + turn), "Run the lexer tests."),
            Beat(*READ_LEXER, texts.LEXER, "Look at the lexer again."),
        )
    ]
    return [
        Beat("ls", {"path": "."}, "README.md  docs/  src/  tests/  fixtures/  CHANGELOG.md", "See what is here."),
        Beat("read", {"path": "README.md"}, texts.document("Order parser", 2, 9000), "Read the overview."),
        Beat("get_order", {"which": "sample"}, '{"order_id": "A-1041", "lines": 3, "fixture": "fixtures/a.csv"}',
             "Fetch the sample order.", ("order_id", "A-1041"), advance=1),
        Beat("read", {"path": "src/parser.py"}, texts.source("The parser of orders", 4, 70), "Read the parser.",
             ("parser", "src/parser.py")),
        Beat("pytest", {"target": "tests"}, texts.failing_tests(5), "Run the tests.", ("failing", "test_quoted_comma")),
        Beat("grep", {"text": "TOKEN_RE", "path": "src"}, "src/lexer.py:3:TOKEN_RE = r\"[^,\\n]+\"",
             "Find the token rule."),
        Beat("read", {"path": "src/lexer.py"}, texts.LEXER + texts.source("helpers", 7, 52), "Read the lexer.",
             ("lexer", "src/lexer.py"), advance=1, rule=True),
        Beat(edit, {"path": "src/lexer.py", "old_string": 'r"[^,\\n]+"', "new_string": 'r"[^,\\"]+"'},
             "1 file changed, 1 insertion, 1 deletion", "Let a token hold quotes."),
        Beat(*TEST_LEXER, texts.failing_tests(9), "Run the lexer tests."),
        *(Beat("wait", {"job": "7 (lint)"}, "job 7 (lint): still running", "Wait for the lint job.") for _ in range(3)),
        Beat("wait", {"job": "7 (lint)"}, "job 7 (lint): done, 0 warnings", "Wait for the lint job."),
        Beat("read", {"path": "CHANGELOG.md"}, texts.document("Changelog", 14, 16000), "Read the changelog."),
        Beat("read", {"path": "docs/grammar.md"}, texts.document("Grammar of order files", 15, 52000),
             "Read the grammar."),
        Beat("read", {"path": "src/lexer.py"}, texts.LEXER + texts.source("helpers", 16, 84), "Read the lexer whole.",
             compact=True),
        Beat(edit, {"path": "src/lexer.py", "old_string": 'if character == ",":',
                    "new_string": 'if character == "," and not quoted:'},
             "1 file changed, 1 insertion, 1 deletion", "Skip commas inside quotes."),
        Beat(*TEST_LEXER, texts.failing_tests(18), "Run the lexer tests."),
        Beat(edit, {"path": "tests/fixtures/a.csv", "old_string": "b;c", "new_string": '"b,c"'},
             "1 file changed, 1 insertion, 1 deletion", "Give the fixture a quoted comma.", forget="failing"),
        *cycle,
        Beat(edit, {"path": "src/lexer.py", "old_string": "quoted = False",
                    "new_string": "quoted = character == '\"' and not quoted"},
             "1 file changed, 1 insertion, 1 deletion", "Toggle on every quote.", shrink=True),
        Beat(*TEST_LEXER, texts.passing_tests(24, 27), "Run the lexer tests.", advance=2),
        Beat("note", {"text": "quoted commas fixed; replay the sample order next"}, "noted", "Keep that.",
             note="quoted commas fixed; replay the sample order next"),
        Beat("pytest", {"target": "-q"}, texts.passing_tests(61, 29), "Run the whole suite.", lose="order_id",
             advance=1),
        Beat("replay_order", {"fixture": "fixtures/a.csv"}, '{"order": "A-1041", "lines": 3, "total": "118.40"}',
             "Replay the sample order.", needs="order_id"),
        Beat("get_order", {"which": "sample"}, '{"order_id": "A-1041", "lines": 3, "fixture": "fixtures/a.csv"}',
             "The order id is gone: fetch it again.", ("order_id", "A-1041")),
        Beat("replay_order", {"fixture": "fixtures/a.csv"}, '{"order": "A-1041", "lines": 3, "total": "118.40"}',
             "Replay the sample order.", needs="order_id", advance=1),
    ]  # fmt: skip
