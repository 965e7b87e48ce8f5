"""Runs for the panes' tests, made of the values alone: no reader, no file.

`story()` is one run of 31 steps with everything in it: a compaction at 16 that loses a path and some numbers, honest
polling at 10 to 13, a cycle of period 2 over 20 to 25, a recorded removal at 19, a shortened result at 26, a fact that
leaves silently at 29 and the call that fails for it at 30. Step 31 is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from agentmem.model import (
    Attempt,
    Boundary,
    Cause,
    Cycle,
    Drop,
    Effect,
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
)
from agentmem.tape import Piece, Tape

GOAL = "Make the order parser accept quoted commas; every test passes."
LANE = "main"


def count(text: str) -> int:
    return -(-len(text) // 4)


@dataclass
class Teller:
    """Tells a run step by step; keeps every whole text, as a reader would fetch it."""

    tape: Tape = field(default_factory=lambda: Tape(count))
    steps: list[Step] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    fields: dict[str, Field] = field(default_factory=dict)
    limit: int | None = 32_000

    def piece(
        self, kind: Kind, text: str | None, tokens: int | None = None, *, call_id: str | None = None,
        field: str | None = None, tool: str | None = None, stub_of: int | None = None,
    ) -> int:  # fmt: skip
        ident = self.tape.add(Piece(kind, text, None, call_id, field, tool, tokens, stub_of))
        if text is not None:
            self.texts[ident] = text
        return ident

    def place(self, ident: int, at: int | None = None, gone: int = 0) -> int:
        self.tape.splice(len(self.tape.live) if at is None else at, gone, (ident,))
        return ident

    def index(self, ident: int) -> int:
        return self.tape.live.index(ident)

    def segment(self, ident: int) -> Segment:
        return self.tape.segment(ident)

    def set_field(
        self, name: str, kind: Kind, value: str, tokens: int, *, before: int | None, by: str | None = None,
        at: int | None = None, text: str | None = None, done: bool | None = None,
    ) -> int:  # fmt: skip
        """Put a field into the state and into the prompt, in place of its old line or before a piece."""
        ident = self.piece(kind, text or f"{name} = {value}", tokens, field=name)
        old = self.fields.get(name)
        if old is not None and old.segment is not None and old.segment in self.tape.live:
            self.place(ident, self.index(old.segment), 1)
        else:
            self.place(ident, None if before is None else self.index(before))
        self.fields[name] = Field(name, value, tokens, by, at, ident, done)
        return ident

    def leave(self, name: str) -> int | None:
        segment = self.fields.pop(name).segment
        if segment is not None:
            self.tape.splice(self.index(segment), 1)
        return segment

    def close(
        self, attempts: Sequence[Attempt] = (), replies: Iterable[int] = (), results: Iterable[int] = (),
        drops: Sequence[Drop] = (), *, open: bool = False, boundary: Boundary | None = None,
    ) -> Step:  # fmt: skip
        n = len(self.steps) + 1
        sums = self.tape.sums()
        self.tape.close()
        step = Step(
            LANE, n, None, 1_700_000_000.0 + 10 * n, open, (LANE, n - 1) if n > 1 else None,
            self.tape.view(n, self.limit, "exact"), tuple(self.fields.values()),
            tuple(map(self.segment, replies)), tuple(attempts), tuple(map(self.segment, results)), tuple(drops),
            sums, None, boundary, "last", 0,
        )  # fmt: skip
        self.steps.append(step)
        return step


def attempt(
    n: int, tool: str, arguments: str, outcome: Outcome = "ok", head: str = "", *, effect: Effect = "reads",
    tokens: int | None = None, error: str | None = None, key: str | None = None, index: int = 1, lane: str = LANE,
) -> Attempt:  # fmt: skip
    return Attempt(
        lane, n, n, index, tool, arguments, f"c{n}.{index}", f"{tool}|{arguments}", effect, outcome,
        key if key is not None else head or f"r{n}", head or None, error, None, None, tokens,
    )  # fmt: skip


def drop(
    n: int, name: str, *, what: str = "segment", kind: Kind = "result", head: str | None = None,
    tokens: int | None = 10, cause: Cause = "trimmed", recorded: bool = True, last: int | None = None,
    segment: int | None = None, missed: tuple[Miss, ...] = (), returned: int | None = None,
    text: str | None = None, record: str | None = None, stub: int | None = None, count: int = 1, lane: str = LANE,
) -> Drop:  # fmt: skip
    return Drop(
        lane, n, n, what, name, kind, head, tokens, cause, recorded, n - 1 if last is None else last, returned,  # type: ignore[arg-type]  # `what` is one of the three by the caller
        missed, segment, text, count, record, stub,
    )  # fmt: skip


LEXER = "import re\n\nTOKEN_RE = r'[^,\\n]+'\n" + "\n".join(f"def rule_{n}(row): return row" for n in range(60))
_ACTIONS: dict[int, tuple[str, str, Outcome, str, Effect]] = {
    1: ("ls", ".", "ok", "src tests docs", "reads"),
    2: ("read", "README.md", "ok", "An order parser.", "reads"),
    3: ("get_order", "sample", "ok", "order_id = A-1041", "reads"),
    4: ("read", "src/parser.py", "ok", "def parse(row): ...", "reads"),
    5: ("pytest", "-q", "error", "2 failed", "reads"),
    6: ("grep", "csv src", "ok", "src/lexer.py:3", "reads"),
    7: ("grep", "TOKEN_RE src", "ok", "src/lexer.py:40", "reads"),
    8: ("note", "look at the lexer", "ok", "noted", "changes"),
    9: ("pytest", "-x tests/test_lexer.py", "error", "1 failed: test_empty_row", "reads"),
    14: ("read", "CHANGELOG.md", "ok", "8443 512 0.25", "reads"),
    15: ("read", "docs/grammar.md", "ok", "row = cell *( comma cell )", "reads"),
    16: ("read", "src/lexer.py", "ok", LEXER, "reads"),
    17: ("edit", "src/lexer.py", "ok", "1 file changed", "changes"),
    18: ("pytest", "-x tests/test_lexer.py", "error", "1 failed: test_quoted_comma", "reads"),
    19: ("edit", "tests/fixtures/a.csv", "ok", "1 file changed, 2 insertions", "changes"),
    26: ("edit", "src/lexer.py TOKEN_RE", "ok", "1 file changed, 1 insertion, 1 deletion", "changes"),
    27: ("pytest", "-x tests/test_lexer.py", "ok", "24 passed in 1.92 s", "reads"),
    28: ("note", "quoted commas fixed; replay the sample order next", "ok", "noted", "changes"),
    29: ("pytest", "-q", "ok", "61 passed, 2 warnings in 4.10 s", "reads"),
    30: ("replay_order", "fixture=fixtures/a.csv", "error", "missing field: order_id", "changes"),
}


def _action(n: int) -> tuple[str, str, Outcome, str, Effect]:
    if 10 <= n <= 13:
        return "wait", "job 7 (lint)", "ok", "still running" if n < 13 else "done", "waits"
    if 20 <= n <= 25:
        if n % 2:
            return "read", "src/lexer.py:40-80", "ok", "TOKEN_RE = r'[^,\\n]+'", "reads"
        return "pytest", "-x tests/test_lexer.py", "error", "1 failed: test_quoted_comma", "reads"
    return _ACTIONS[n]


PYTEST_OUTPUT = "\n".join(
    ["." * 44 + "  [ 73%]", "." * 16 + "                              [100%]", "=== warnings summary ==="]
    + [f"tests/test_order.py:{line}" for line in range(88, 126)]
    + ["61 passed, 2 warnings in 4.10 s"]
)


def tell() -> tuple[Run, Teller]:
    """The story and its teller, whose `texts` are the whole texts by segment id."""
    t = Teller()
    t.place(t.piece("system", "You fix parsers. Small steps; run the tests after every edit.", 412))
    t.place(t.piece("tools", "9 tools: read ls grep edit pytest wait note get_order replay_order", 1_800))
    goal = t.place(t.piece("goal", GOAL, 24, field="goal"))
    t.fields["goal"] = Field("goal", GOAL, 24, segment=goal)
    first_state = plan = t.set_field(
        "plan", "plan", '["reproduce","find the rule","fix it","run the suite","replay the sample order","changelog"]',
        46, before=goal, text="done 0 of 6, next: reproduce",
    )  # fmt: skip
    order_id = plan
    result_of: dict[int, int] = {}
    for n in range(1, 31):
        drops: list[Drop] = []
        boundary = None
        if n == 4:
            first_state = t.set_field("facts.order_id", "fact", "A-1041", 9, before=plan, by="get_order", at=3)
            order_id = first_state
        if n == 5:
            first_state = t.set_field("facts.parser", "fact", "src/parser.py", 14, before=order_id, by="read", at=4)
        if n == 6:
            t.set_field("facts.failing", "fact", "test_empty_row", 11, before=plan, by="pytest", at=5)
        if n == 8:
            t.set_field("facts.lexer", "fact", "src/lexer.py", 15, before=plan, by="grep", at=7)
        if n == 16:
            start, end = 2, t.index(first_state)
            taken = list(t.tape.live[start:end])
            tokens = sum(t.segment(i).tokens or 0 for i in taken)
            summary = t.piece("summary", "Progress so far: the lexer splits quoted commas.", 604, stub_of=taken[0])
            t.tape.splice(start, end - start, (summary,))
            boundary = Boundary("compaction", True, 26_900, 8_900, "window at 84 %")
            drops = [
                drop(n, f"{t.segment(i).kind} of {k // 2 + 1}", kind=t.segment(i).kind, head=t.segment(i).head,
                     tokens=t.segment(i).tokens, cause="compacted", segment=i, stub=summary,
                     record=f"summary of 604 tokens, {tokens} before", returned=18 if k < 2 else None)
                for k, i in enumerate(taken)
            ]  # fmt: skip
        if n == 19:
            gone = t.leave("facts.failing")
            drops = [drop(n, "facts.failing", what="field", kind="fact", head="facts.failing = test_empty_row",
                          tokens=11, cause="removed", segment=gone, text="test_empty_row",
                          record="by the agent: the test passes")]  # fmt: skip
        if n == 26:
            old = result_of[16]
            short = LEXER[:200] + " …[trimmed, re-run the tool if needed]"
            stub = t.piece("result", short, 52, tool="read", stub_of=old)
            t.place(stub, t.index(old), 1)
            drops = [drop(n, "result of 16, read src/lexer.py", head=t.segment(old).head, tokens=1_700,
                          cause="shortened", segment=old, stub=stub,
                          record="own rule: old results, first 200 characters kept")]  # fmt: skip
        if n == 29:
            gone = t.leave("facts.order_id")
            drops = [drop(n, "facts.order_id", what="field", kind="fact", head="facts.order_id = A-1041", tokens=9,
                          cause="silent", recorded=False, segment=gone, text="A-1041",
                          missed=(Miss(LANE, 30, 30, "replay_order", "missing field: order_id"),))]  # fmt: skip
        if n in (10, 18, 27, 30):
            plan = t.set_field("plan", "plan", f"[{n}]", 54, before=goal, text=f"done {n // 7} of 6, next: step {n}")
        tool, arguments, outcome, head, effect = _action(n)
        call = t.piece("call", f"{tool}  {arguments}", 9 + n, call_id=f"c{n}.1", tool=tool)
        text = PYTEST_OUTPUT if n == 29 else head
        tokens = 9_000 if n == 15 else 1_700 if n in (16, 29) else 250 + 10 * n
        result = t.piece("error" if outcome == "error" else "result", text, tokens, call_id=f"c{n}.1", tool=tool)
        result_of[n] = result
        sums = t.tape.sums()
        error = head if outcome == "error" else None
        t.close((attempt(n, tool, arguments, outcome, head, effect=effect, error=error, tokens=sums.prompt),),
                (call,), (result,), drops, boundary=boundary)  # fmt: skip
        at = t.index(_front(t, plan))
        t.tape.splice(at, 0, (call, result))
    t.fields["last_error"] = Field(
        "last_error", "replay_order: missing field: order_id", 44,
        segment=t.place(t.piece("error", "Last failure: replay_order: missing field: order_id", 44, field="last_error"),
                        t.index(goal)),
    )  # fmt: skip
    t.fields["budget_steps"] = Field("budget_steps", "40", 1)
    t.fields["attempts"] = Field("attempts", "31", 1)
    t.close(open=True)
    return _run(t), t


def _front(t: Teller, plan: int) -> int:
    """The first piece of the rendered state: what the trace stands before."""
    carried = {held.segment for held in t.fields.values()}
    return next((ident for ident in t.tape.live if ident in carried and t.segment(ident).kind != "goal"), plan)


def _run(t: Teller) -> Run:
    at16 = t.steps[15]
    assert at16.boundary is not None
    cycle = Cycle(
        LANE, "cycle", 2, (20, 21, 22, 23, 24, 25), 3, ("pytest", "read"),
        ("pytest|-x tests/test_lexer.py", "read|src/lexer.py:40-80"), 94_400, 24, 26, "the same results each time",
    )  # fmt: skip
    survival = Survival(
        LANE, 16, 16, at16.boundary,
        {"goal": (1, 1), "constraints": (1, 2), "decisions": (3, 3), "paths": (5, 6), "commands": (2, 2),
         "numbers": (4, 7), "identifiers": (3, 3)},
        (Lost("paths", "docs/grammar.md", 4), Lost("numbers", "8443", 1), Lost("numbers", "512", 1),
         Lost("numbers", "0.25", 1), Lost("constraints", "never edit tests/golden", 6)),
        (("8814", "8841"),),
    )  # fmt: skip
    return Run(
        "fix-parser", "runs/fix-parser.json", "agentmem", "exact", GOAL, True,
        (Lane(LANE, "main", tuple(t.steps)),), (), (), "live", "chars4", 32_000, "declared",
        cycles=(cycle,), waiting=(Waiting(LANE, (10, 11, 12, 13), "wait", 4, 65_100, 40.0),), survivals=(survival,),
    )  # fmt: skip


def story() -> Run:
    return tell()[0]


def plain_run(steps: int = 3, *, results_known: bool = True, unknown: tuple[str, ...] = (), head: str = "hello") -> Run:
    """A short calm run without state: one user text, then calls of different files."""
    t = Teller(limit=None)
    if unknown:
        t.place(t.piece("system", None))
    t.place(t.piece("user", head))
    for n in range(1, steps + 1):
        call = t.piece("call", f"read file{n}.py", call_id=f"c{n}.1", tool="read")
        result = t.piece("result", f"text of file {n}: {head}", call_id=f"c{n}.1", tool="read")
        t.close((attempt(n, "read", f"file{n}.py", head=f"text {n}"),), (call,), (result,))
        t.place(call)
        t.place(result)
    lane = Lane(LANE, "main", tuple(replace(step, goal="unknown") for step in t.steps))
    return Run(
        "plain", "plain.json", "messages", "reconstructed", None, False, (lane,), (), (), "ended", "chars4", None,
        "unknown", results_known=results_known, unknown=unknown,
    )  # fmt: skip


def sliding_run(steps: int = 20, since: int = 6, *, alarm: int | None = None) -> Run:
    """A run whose prompt is the last messages only: from `since` on each step loses a call and its result, and nobody
    records it. `alarm`: the step at which a fact leaves silently beside them."""
    run = plain_run(steps)
    made = []
    for step in run.main.steps:
        lost = [drop(step.n, "2 pieces: 1 call, 1 result", kind="call", head=f"read file{step.n - since + 1}.py",
                     tokens=50, recorded=False, count=2)] if step.n >= since else []  # fmt: skip
        if step.n == alarm:
            lost.append(drop(step.n, "facts.port", what="field", kind="fact", recorded=False, cause="silent"))
        made.append(replace(step, drops=tuple(lost)))
    return replace(run, lanes=(Lane(LANE, "main", tuple(made)),))
