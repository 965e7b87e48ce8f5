"""How a figure was counted: rule, evidence, source; and why something that left is no drop."""

from __future__ import annotations

import pytest
from msgspec import structs
from msgspec.structs import replace

from agentmem.inspect.telling.explain import (
    explain_attempt,
    explain_cycle,
    explain_drop,
    explain_field,
    explain_header,
    explain_piece,
    explain_prompt,
    explain_waiting,
    not_drops,
    where_text,
)
from agentmem.inspect.telling.marks import GOALS
from agentmem.model import Usage, Where
from tests.tui.panes.builders import Teller, plain_run, story

from .builders import Tale


def said(lines: tuple[str, ...]) -> str:
    return "\n".join(lines)


def test_a_prompt_is_explained_by_origin_and_against_the_window() -> None:
    text = said(explain_prompt(story(), story().main.steps[18]))
    assert "counted 5,560 = state 720, trace 2,628, fixed 2,212; counted by chars4: characters divided by 4" in text
    assert "window 32,000 (declared), 17 % used" in text


def test_reported_and_counted_tokens_are_kept_apart_and_what_is_unaccounted_is_said() -> None:
    run = story()
    step = replace(run.main.steps[18], usage=Usage(6_000, rule="input + cache read", source="line 4"))
    text = said(explain_prompt(run, step))
    assert "reported 6,000 tokens; rule: input + cache read" in text and "source: line 4" in text
    assert "scaled to what was reported" in text and "19 % used" in text
    assert "unaccounted" not in text, "an estimate accounts for nothing"
    near = said(explain_prompt(replace(run, counter="o200k"), step))
    assert "unaccounted: +404 tokens" in near, "6,000 - 5,560 - 12 for each of three results"


def test_a_prompt_that_was_not_reported_is_explained_as_an_estimate_and_the_window_is_used_by_it() -> None:
    run = story()
    first, second = run.main.steps[:2]
    first = replace(first, usage=Usage(15_000), tokens=structs.replace(first.tokens, fixed=None))
    tokens = structs.replace(second.tokens, fixed=None)
    second = replace(second, tokens=tokens, usage=None)
    told = replace(run, lanes=(replace(run.main, steps=(first, second)),))
    more = (tokens.prompt or 0) - (first.tokens.prompt or 0)
    text = said(explain_prompt(told, second))
    said_so = f"estimated {round(15_000 + 1.2 * more):,} tokens; 15,000 reported at step 1, and {more:,} counted more"
    assert f"not reported: {said_so}" in text
    assert f"{100 * (15_000 + 1.2 * more) / 32_000:.0f} % used" in text


def test_what_is_unknown_is_said_and_never_a_zero() -> None:
    run = plain_run(2, unknown=("system prompt",))
    text = said(explain_prompt(run, run.main.steps[1]))
    assert "fixed unknown" in text and "not counted: 1 piece whose" in text
    assert "window: unknown" in text and "not in this file: system prompt" in text


def test_a_piece_says_its_count_its_birth_and_its_source() -> None:
    run = story()
    step = run.main.steps[30]
    summary = step.prompt[2]
    text = said(explain_piece(run, step, structs.replace(summary, where=Where("runs/a.jsonl", 10, 20, line=812))))
    assert "604 tokens for 48 characters" in text and "in the prompt since step 16" in text
    assert "stands for piece" in text and "source: runs/a.jsonl, line 812" in text
    unknown = plain_run(2, unknown=("system prompt",)).main.steps[0]
    assert "its text is not in this file" in said(explain_piece(run, unknown, unknown.prompt[0]))


def test_a_drop_says_why_it_is_silent_or_who_recorded_it() -> None:
    run = story()
    silent = said(explain_drop(run, run.main.steps[28].drops[0]))
    assert "stood at step 28, not at step 29" in silent and "silent: no other cause was found" in silent
    assert "missed at step 30: replay_order failed with missing field: order_id" in silent
    assert "recorded, cause removed: by the agent" in said(explain_drop(run, run.main.steps[18].drops[0]))


def after(before: dict[str, object], now: dict[str, object]) -> str:
    tale = Tale("listen on 8841")
    tale.hold(shown=True, **before)
    tale.step()
    tale.hold(shown=True, **now)
    tale.step()
    return said(not_drops(tale.run(), tale.lane().steps[1]))


def test_what_is_not_a_drop_says_because() -> None:
    port: dict[str, object] = {"facts": {"port": "8841"}}
    assert "last_error: not a drop, because the last error" in after({"last_error": "boom"}, {})
    assert "facts.port: not a drop, because the same name has another value" in after(port, {"facts": {"port": "9"}})
    assert after(port, {}) == "facts.port: not a drop, because its value stands elsewhere"
    assert "plan[0]: not a drop, because it was done" in after({"plan": [("x", True)]}, {})
    assert after(port, port) == ""


def test_a_field_that_was_nulled_is_a_drop_and_not_a_change() -> None:
    assert after({"phase": "query_ready"}, {"phase": None}) == ""


def test_a_second_copy_that_left_is_no_drop() -> None:
    t = Teller()
    for text in ("hello", "hello", "other"):
        t.place(t.piece("user", text))
    t.close()
    t.tape.splice(1, 2)
    step = t.close()
    run = replace(plain_run(1), lanes=(replace(plain_run(1).main, steps=tuple(t.steps)),))
    assert not_drops(run, step) == ("user hello: not a drop, because the same content still stands in the prompt",)


def test_fields_cycles_waiting_and_attempts_name_their_rule() -> None:
    run = story()
    step = run.main.steps[30]
    fact = next(held for held in step.fields if held.name == "facts.parser")
    assert "verified by read at step 4" in said(explain_field(run, step, fact))
    assert "held in the state, not in the prompt" in said(explain_field(run, step, replace(fact, segment=None)))
    hidden = replace(run, unknown=("system prompt", "tool schemas"))
    unseen = said(explain_field(hidden, step, replace(fact, segment=None)))
    assert "not in the prompt" not in unseen and "not in this file: system prompt, tool schemas" in unseen
    untold = said(explain_header(hidden, replace(step, goal="unknown")))
    assert "the goal stands in nothing that is known of this prompt, and not in this file: system prompt" in untold
    ended = replace(run, status="ended", pending=None, ended_as="given up\x1b[2J")
    assert "the run says that it is over, in its word: given up" in said(explain_header(ended, step))
    assert "\x1b" not in said(explain_header(ended, step))
    cycle = said(explain_cycle(run, run.cycles[0]))
    assert "named at attempt 5 of it" in cycle and "94,400 tokens" in cycle and "over at 26" in cycle
    assert "3 times round, from step 20 to 25; certain, and named, from step 24 on" in cycle
    assert "65,100 tokens" in said(explain_waiting(run, run.waiting[0]))
    assert "effect reads, outcome ok" in said(explain_attempt(run, run.main.steps[0].attempts[0]))


def test_a_long_cycle_has_a_letter_for_each_member_and_a_relapse_says_what_came_back() -> None:
    run = story()
    tools = tuple(f"tool{place}" for place in range(30))
    long = replace(run.cycles[0], period=30, tools=tools, signatures=tools)
    assert "AD: tool29" in said(explain_cycle(run, long))
    back = said(explain_cycle(run, replace(run.cycles[0], kind="relapse")))
    assert "named before came back" in back and "warned" not in back
    assert "5 calls that take turns" in said(explain_cycle(run, replace(run.cycles[0], kind="repeat", period=5)))


def test_every_word_of_the_header_has_a_line_that_says_what_it_means() -> None:
    run = story()
    text = said(explain_header(run, run.main.steps[18], "7.9k 4%"))
    newer = len(run.main.steps) - 19
    assert "LIVE:" in text and f"PAUSED +{newer}: you look at an earlier step, {newer} newer ones came" in text
    assert f"goal ✓ {GOALS[run.main.steps[18].goal][1]}: " in text and "EXACT: " in text and "7.9k 4%: " in text


def test_the_header_is_explained_with_the_figures_of_the_moment_and_with_no_others() -> None:
    run = replace(story(), status="live", changed_at=1000.0, pending=("pytest", 930.0))
    loud = said(explain_header(run, run.main.steps[-1], now=1001.0))
    assert "QUIET: live" in loud and "PAUSED: you" in loud and "pytest 1m: this call" in loud and "+0" not in loud
    quiet = said(explain_header(run, run.main.steps[-1], now=1119.0))
    assert "QUIET 1m: live" in quiet and "pytest 3m: this call" in quiet


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pending": ("model", 5.0)}, "model 14s: every call has its result"),
        ({"pending": ("pytest", -101.0)}, "pytest 2m: this call has no result yet"),
        ({"pending": ("pytest", None)}, "pytest: this call has no result yet"),
        ({"pending": None, "status": "stale", "changed_at": -170.0}, "stale 3m: no call waits"),
        ({"pending": None, "status": "live"}, "your turn: "),
        ({"pending": None, "status": "ended"}, "ended: the run says"),
        ({"notice": "file gone"}, "! file gone: what happened to the file"),
    ],
)  # fmt: skip
def test_the_agents_state_is_explained_as_it_is(changes: dict[str, object], words: str) -> None:
    run = replace(story(), **changes)
    assert words in said(explain_header(run, run.main.steps[-1], now=19.0))


def test_a_piece_of_an_earlier_version_is_not_placed_in_the_file_as_it_is() -> None:
    """What is kept of a version has a hash where a place in a file has a byte."""
    assert where_text(Where("history:/runs/a.json", 7_499_196_787_752_852_125, 90)) == (
        "source: an earlier version of /runs/a.json, kept in the history"
    )
    assert where_text(Where("/runs/a.json", 12, 90)) == "source: /runs/a.json, byte 12"
