"""Synthetic runs for the tests of the screens: the story of a parser fix in 31 steps, and small ones.

The story: facts are gathered, a lint job is waited for (10-13), the window overflows and is compacted (16), a test and
a read turn in a circle (20-25), a result is shortened (26), the fact `order_id` leaves and nobody records it (29),
and a call fails for want of it (30). Step 31 is open.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.model import (
    Attempt,
    Boundary,
    Cycle,
    Drop,
    Field,
    Kind,
    Lane,
    Lost,
    Miss,
    Outcome,
    Run,
    Segment,
    Step,
    Survival,
    Waiting,
    Where,
)
from agentmem.tape import Piece, Tape
from agentmem.tokens import chars4

GOAL = "Make the order parser accept quoted commas; every test passes."
T0 = 1_790_000_000.0
# (tool, arguments, failed, first line of the result, tokens of the prompt)
CALLS: list[tuple[str, str, bool, str, int]] = [
    ("ls", "", False, "CHANGELOG.md docs src tests", 2300),
    ("read", "README.md", False, "# orders", 2700),
    ("get_order", "A-1041", False, '{"id": "A-1041", "rows": 3}', 3700),
    ("read", "src/parser.py", False, "def parse_row(row):", 4300),
    ("pytest", "-x tests/test_lexer.py", True, "1 failed: test_quoted_comma", 7100),
    ("edit", "src/parser.py", False, "1 file changed", 8300),
    ("grep", "TOKEN_RE src", False, "src/lexer.py:12: TOKEN_RE", 9900),
    ("read", "tests/test_lexer.py", False, "def test_quoted_comma():", 11200),
    ("pytest", "-x tests/test_lexer.py", True, "1 failed: test_quoted_comma", 13600),
    ("wait", "job 7 (lint)", False, "still running", 15900),
    ("wait", "job 7 (lint)", False, "still running", 16100),
    ("wait", "job 7 (lint)", False, "still running", 16400),
    ("wait", "job 7 (lint)", False, "done: clean", 16600),
    ("read", "CHANGELOG.md", False, "# Changelog", 17900),
    ("read", "docs/grammar.md", False, "# Grammar", 26900),
    ("read", "src/lexer.py", False, "TOKEN_RE = r'[^,\\n]+'", 8900),
    ("edit", "src/lexer.py", False, "1 file changed", 10800),
    ("pytest", "-x tests/test_lexer.py", True, "1 failed: test_quoted_comma", 11300),
    ("edit", "tests/fixtures/a.csv", False, "1 file changed", 12500),
    ("pytest", "-x tests/test_lexer.py", True, "1 failed: test_quoted_comma", 12900),
    ("read", "src/lexer.py:40-80", False, "TOKEN_RE = r'[^,\\n]+'", 14100),
    ("pytest", "-x tests/test_lexer.py", True, "1 failed: test_quoted_comma", 15200),
    ("read", "src/lexer.py:40-80", False, "TOKEN_RE = r'[^,\\n]+'", 16300),
    ("pytest", "-x tests/test_lexer.py", True, "1 failed: test_quoted_comma", 17400),
    ("read", "src/lexer.py:40-80", False, "TOKEN_RE = r'[^,\\n]+'", 18500),
    ("edit", "src/lexer.py", False, "1 file changed, 1 insertion, 1 deletion", 17800),
    ("pytest", "-x tests/test_lexer.py", False, "24 passed in 1.92 s", 18200),
    ("note", "quoted commas fixed; replay the sample order next", False, "noted", 18700),
    ("pytest", "-q", False, "61 passed, 2 warnings in 4.10 s", 18800),
    ("replay_order", "fixtures/a.csv", True, "missing field: order_id", 20500),
    ("", "", False, "", 20600),
]
PLAN = ("reproduce", "find the token rule", "fix it, with a test", "run the whole suite", "replay the sample order",
        "write the changelog line")  # fmt: skip
FACTS = {"parser": ("src/parser.py", 4, "read"), "order_id": ("A-1041", 3, "get_order"),
         "lexer": ("src/lexer.py", 7, "grep"), "failing": ("test_quoted_comma", 5, "pytest")}  # fmt: skip


def fact(name: str) -> Piece:
    return Piece("fact", f"{name} = {FACTS[name][0]}", field=f"facts.{name}", tokens={"order_id": 9}.get(name, 14))


def story(steps: int = 31, *, hostile: str = "", path: str = "/tmp/runs/fix-parser.json") -> Run:
    """The run as it stands with that many steps; `hostile` is mixed into every outside text."""
    tape = Tape(chars4)
    fixed = [Piece("system", f"You fix parsers. Small steps; run the tests after every edit.{hostile}", tokens=412),
             Piece("tools", f"9 tools: read ls grep edit pytest wait note{hostile}", tokens=1800)]
    trace: list[Piece] = []
    goal = Piece("goal", GOAL + hostile, tokens=24, field="goal")
    made: list[Step] = []
    order_id = -1
    for n in range(1, steps + 1):
        tool, arguments, failed, first, total = CALLS[n - 1]
        if n == 16:
            trace = [Piece("summary", f"Progress so far: the lexer splits quoted commas wrongly.{hostile}", tokens=604),
                     Piece("result", f"TOKEN_RE = r'[^,]+'{hostile}", tool="read", tokens=5)]
        names = [name for name, (_, at, _) in FACTS.items() if at < n]
        names = [name for name in names if not (name == "order_id" and n >= 29) and not (name == "failing" and n >= 19)]
        done = sum(n > at for at in (5, 9, 16, 27, 40, 41))
        plan = Piece("plan", f"done {done} of 6, next: {PLAN[done]}{hostile}", tokens=46 + done * 3, field="plan")
        state = [fact(name) for name in names] + [plan]
        if n >= 29:
            state.insert(-1, Piece("note", f"quoted commas fixed; replay the sample order next{hostile}", tokens=33))
        state.append(goal)
        known = sum(piece.tokens or 0 for piece in fixed + trace + state)
        if trace and (n == 16 or total > known):
            trace[-1].tokens = max(1, (trace[-1].tokens or 0) + total - known)
        elif trace:
            old = trace[3]
            trace[3] = Piece(old.kind, f"{old.text} … first 200 characters kept", tool=old.tool,
                             tokens=max(1, (old.tokens or 0) + total - known))  # fmt: skip
        tape.sync(fixed + trace + state)
        dropped = _drops(n, tape, steps)
        sums = tape.sums()
        tape.close()
        view = tape.view(n, 32_000, "exact")
        order_id = next((seg.id for seg in view if seg.field == "facts.order_id"), order_id)
        dropped = tuple(replace(d, segment=order_id) if d.name == "facts.order_id" else d for d in dropped)
        is_open = n == 31
        call = result = None
        if not is_open:
            call = Piece("call", f"{tool} {arguments}{hostile}", call_id=f"c{n}", tool=tool, tokens=14,
                         where=Where(path, n * 1000, 80, line=n))  # fmt: skip
            result = Piece("error" if failed else "result", f"{first}{hostile}", call_id=f"c{n}", tool=tool, tokens=18)
        replies: tuple[Segment, ...] = ()
        results: tuple[Segment, ...] = ()
        attempts: tuple[Attempt, ...] = ()
        if call is not None and result is not None:
            replies, results = (tape.segment(tape.add(call)),), (tape.segment(tape.add(result)),)
            outcome: Outcome = "error" if failed else "ok"
            attempts = (Attempt("main", n, n, 1, tool, arguments + hostile, f"c{n}", f"{tool}:{arguments}",
                                "waits" if tool == "wait" else "changes" if tool == "edit" else "reads", outcome,
                                first, first + hostile, first + hostile if failed else None,
                                T0 + n * 20, T0 + n * 20 + 3, total),)  # fmt: skip
            trace = [*trace, call, result]
        stands = {seg.field: seg.id for seg in view if seg.field is not None}
        fields = tuple(
            Field(f"facts.{k}", FACTS[k][0] + hostile, 14, FACTS[k][2], FACTS[k][1], stands[f"facts.{k}"])
            for k in names
        ) + tuple(Field(f"plan[{i}]", item + hostile, 6, done=i < done) for i, item in enumerate(PLAN))
        boundary = Boundary("compaction", True, 26_900, 8_900, "the window was full") if n == 16 else None
        held = Field("goal", GOAL + hostile, 24, segment=stands["goal"])
        made.append(Step("main", n, None, T0 + n * 20, is_open, ("main", n - 1) if n > 1 else None, view,
                         (held, *fields), replies, attempts, results, dropped, sums,
                         None, boundary, "last", 0))  # fmt: skip
    cycles: tuple[Cycle, ...] = ()
    if steps >= 24:
        turned = tuple(range(20, min(steps, 25) + 1))
        cycles = (Cycle("main", "cycle", 2, turned, len(turned) // 2, ("pytest", "read"), ("A", "B"), 94_400, 24,
                        26 if steps >= 26 else None, "the same results each time"),)  # fmt: skip
    waiting = (Waiting("main", (10, 11, 12, 13), "wait", 4, 65_000, 60.0),) if steps >= 13 else ()
    survivals: tuple[Survival, ...] = ()
    if steps >= 16:
        edge = made[15].boundary
        assert edge is not None
        survivals = (Survival("main", 16, 16, edge, {"goal": (1, 1), "paths": (5, 6), "numbers": (4, 7)},
                              (Lost("paths", "docs/grammar.md" + hostile, 4), Lost("numbers", "8443", 1)), ()),)
    return Run("fix-parser", path, "agentmem", "exact", GOAL + hostile, True, (Lane("main", "main", tuple(made)),), (),
               (), "live" if steps <= 31 else "ended", "chars4", 32_000, "declared", "some-model", cycles, waiting,
               survivals, changed_at=T0 + 640, pending=("model", T0 + 630))  # fmt: skip


def _drops(n: int, tape: Tape, steps: int) -> tuple[Drop, ...]:
    def drop(name: str, kind: Kind, **more: object) -> Drop:
        base = Drop("main", n, n, "segment", name, kind, name, 11, "removed", True, n - 1)
        return replace(base, **more)

    if n == 16:
        return (drop("31 segments of steps 1 to 15", "result", cause="compacted", tokens=19_200, count=31,
                     record="summary of 604 tokens"),)  # fmt: skip
    if n == 19:
        return (drop("facts.failing", "fact", what="field", head="test_quoted_comma",
                     record="by the agent: the test passes"),)  # fmt: skip
    if n == 26:
        return (drop("result of 16, read src/lexer.py", "result", cause="shortened", tokens=1700,
                     record="own rule: old results"),)  # fmt: skip
    if n == 29:
        missed = (Miss("main", 30, 30, "replay_order", "missing field: order_id"),) if steps >= 30 else ()
        return (drop("facts.order_id", "fact", what="field", cause="silent", recorded=False, head="A-1041", tokens=9,
                     text="A-1041", missed_by=missed),)  # fmt: skip
    return ()


def calm(steps: int = 5) -> Run:
    """Nothing lost, no loop."""
    run = story(steps)
    return replace(run, id="calm", path="/tmp/runs/calm.json")


def many(steps: int) -> Run:
    """A long run that only grows: one call a step."""
    tape = Tape(chars4)
    made = []
    tape.append(Piece("goal", GOAL, tokens=24, field="goal"))
    for n in range(1, steps + 1):
        sums = tape.sums()
        tape.close()
        view = tape.view(n, None, "reconstructed")
        call = tape.append(Piece("call", f"read file{n}.py", call_id=f"c{n}", tool="read", tokens=10 + n % 7))
        result = tape.append(Piece("result", f"content {n}", call_id=f"c{n}", tool="read", tokens=30 + n % 11))
        outcome: Outcome = "error" if n % 97 == 0 else "ok"
        attempt = Attempt("main", n, n, 1, "read", f"file{n}.py", f"c{n}", f"read:{n}", "reads", outcome, str(n),
                          f"content {n}", "no such file" if n % 97 == 0 else None)  # fmt: skip
        made.append(Step("main", n, None, None, False, ("main", n - 1) if n > 1 else None, view, (),
                         (tape.segment(call),), (attempt,), (tape.segment(result),), (), sums, None, None, "present",
                         n * 40))  # fmt: skip
    return Run("many", "/tmp/runs/many.jsonl", "claude-code", "reconstructed", GOAL, False,
               (Lane("main", "main", tuple(made)),), (), (), "ended", "chars4", 200_000, "model")  # fmt: skip
