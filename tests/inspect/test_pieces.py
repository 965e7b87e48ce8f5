"""What stands in the place of what: stubs, summaries, copies, a window that slides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats.draft import Declared
from agentmem.inspect.compare.pair import cut_out
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Boundary

from .builders import Tale

LONG = "row 1: " + "value " * 200


def test_a_lost_copy_of_a_text_that_still_stands_is_no_drop() -> None:
    tale = Tale("look")
    first = tale.say("user", "please be careful")
    tale.say("user", "please be careful")
    tale.step()
    tale.take(first)
    tale.step()
    assert tale.drops() == []


def test_a_result_cut_to_its_beginning_is_shortened_on_record() -> None:
    tale = Tale("look")
    tale.step(("read", "{}", LONG))
    tale.step()
    (old,) = tale.lane().steps[0].results
    cut = tale.piece("result", LONG[:200] + " …[trimmed, re-run the tool if needed]", call_id="call-1")
    new = tale.swap(old.id, cut)
    tale.step()
    (drop,) = tale.drops()
    assert (drop.cause, drop.recorded, drop.stub, drop.name) == ("shortened", True, new[0], "result of read")
    assert drop.tokens is not None and old.tokens is not None and 0 < drop.tokens < old.tokens


def test_a_stub_that_names_nothing_is_paired_by_its_call() -> None:
    tale = Tale("look")
    tale.step(("read", "{}", LONG))
    tale.step()
    old = tale.lane().steps[0].results[0].id
    tale.swap(old, tale.piece("result", "[Old tool result content cleared]", call_id="call-1"))
    tale.step()
    assert [(drop.cause, drop.recorded) for drop in tale.drops()] == [("shortened", True)]


def test_a_blanked_result_is_nulled_and_not_recorded() -> None:
    tale = Tale("look")
    tale.step(("read", "{}", LONG))
    tale.step()
    old = tale.lane().steps[0].results[0].id
    tale.swap(old, tale.piece("result", "", call_id="call-1"))
    tale.step()
    assert [(drop.cause, drop.recorded) for drop in tale.drops()] == [("nulled", False)]


def test_another_longer_text_of_the_same_call_replaces_it() -> None:
    tale = Tale("look")
    tale.step(("read", "{}", "short"))
    tale.step()
    old = tale.lane().steps[0].results[0].id
    tale.swap(old, tale.piece("result", LONG, call_id="call-1"))
    tale.step()
    assert [(drop.cause, drop.recorded) for drop in tale.drops()] == [("replaced", False)]


ORDER = "The list was cleared. The order is ORD-9981, kept for Ann. More of it follows in these words."


@pytest.mark.parametrize(
    ("now", "cause", "recorded", "lost"),
    [
        ("The list was cleared.", "shortened", False, ORDER.removeprefix("The list was cleared. ")),
        ("The list was cleared. More of it follows in these words.", "shortened", False,
         "The order is ORD-9981, kept for Ann."),
        ("zzz qqq", "replaced", False, ORDER),
        ("The list was cleared. [truncated]", "shortened", True, None),
        ("The list was cleared. The order …", "shortened", True, None),
        ("[saved to out/7.txt]", "shortened", True, None),
        ("see artefact 7", "shortened", True, None),
    ],
)  # fmt: skip
def test_only_what_says_that_something_was_cut_is_a_record_of_it(
    now: str, cause: str, recorded: bool, lost: str | None
) -> None:
    tale = Tale("look")
    tale.step(("read", "{}", ORDER))
    tale.step()
    tale.swap(tale.lane().steps[0].results[0].id, tale.piece("result", now, call_id="call-1"))
    tale.step()
    (drop,) = tale.drops()
    assert (drop.cause, drop.recorded, drop.text) == (cause, recorded, lost)
    block = lost_block(tale.run())
    assert (f"result of read: {lost}" in block) if lost else not block


def test_a_system_prompt_that_is_cut_without_a_word_alarms_and_one_that_is_put_elsewhere_does_not() -> None:
    for moved in (False, True):
        tale = Tale("look")
        system = tale.say("system", "You are a shop bot. Never email before 9:00. Port is 8443.")
        tale.step()
        tale.swap(system, tale.piece("system", "You are a shop bot."))
        if moved:
            tale.say("user", "Mind: Never email before 9:00. Port is 8443.")
        tale.step()
        assert [(drop.cause, drop.recorded, drop.alarming, drop.text) for drop in tale.drops()] == (
            [] if moved else [("shortened", False, True, "Never email before 9:00. Port is 8443.")]
        )
        told = "system prompt was cut short at 2, nobody recorded it" in verdict(tale.run()).text
        assert told is not moved


@given(st.text("ab c.", max_size=30), st.text("ab c.", max_size=30))
def test_what_two_texts_share_at_both_ends_is_in_neither_part(was: str, now: str) -> None:
    gone, fresh = cut_out(was, now)
    start = was.find(gone) if gone else 0
    assert any(
        was[:at] + fresh + was[at + len(gone) :] == now and was[at : at + len(gone)] == gone
        for at in range(start, len(was) - len(gone) + 1)
    )


def test_a_summary_in_place_of_messages_is_a_recorded_compaction() -> None:
    tale = Tale("look")
    old = [tale.say("user", f"message number {i}") for i in range(5)]
    tale.say("user", "the newest")
    tale.step()
    place = tale.at.tape.live.index(old[0])
    (summary,) = tale.at.splice(place, 5, [tale.piece("summary", "Progress so far: five messages were read.")])
    tale.step()
    step = tale.lane().steps[1]
    assert step.boundary is not None and (step.boundary.kind, step.boundary.recorded) == ("compaction", True)
    assert len(step.drops) == 5
    assert {(drop.cause, drop.recorded, drop.stub) for drop in step.drops} == {("compacted", True, summary)}


def test_a_summary_without_text_makes_an_opaque_boundary() -> None:
    tale = Tale("look")
    old = [tale.say("user", f"message number {i}") for i in range(5)]
    tale.step()
    tale.at.splice(tale.at.tape.live.index(old[0]), 5, [tale.piece("summary", None)])
    tale.step()
    boundary = tale.lane().steps[1].boundary
    assert boundary is not None and boundary.opaque
    (survival,) = tale.run().survivals
    assert set(survival.kept) == {"goal"} and survival.lost == ()


def test_an_unrecorded_window_that_slides_is_one_row_a_step() -> None:
    tale = Tale("look")
    messages = [tale.say("user", f"message number {i}") for i in range(9)]
    tale.step()
    tale.take(*messages[:3])
    tale.step()
    tale.take(*messages[3:5])
    tale.step()
    drops = tale.drops()
    assert [(drop.n, drop.count, drop.cause, drop.recorded) for drop in drops] == [
        (2, 3, "trimmed", False), (3, 2, "trimmed", False),
    ]  # fmt: skip
    assert not any(drop.alarming for drop in drops)


def test_most_of_the_list_gone_at_once_is_still_one_row() -> None:
    tale = Tale("look")
    messages = [tale.say("user", f"message number {i}") for i in range(12)]
    fact = tale.say("fact", "the port is 8841")
    tale.step()
    tale.take(*messages[:10], fact)
    tale.step()
    assert sorted((drop.kind, drop.count, drop.cause) for drop in tale.drops()) == [
        ("fact", 1, "silent"), ("user", 10, "trimmed"),
    ]  # fmt: skip


def test_a_stale_writer_that_the_reader_found_is_the_cause_but_no_record() -> None:
    tale = Tale("look")
    messages = [tale.say("user", f"message number {i}") for i in range(4)]
    tale.step()
    tale.take(*messages[2:])
    tale.boundary(Boundary("rewrite", False, None, None, "an older version was written over"))
    tale.step()
    assert [(drop.cause, drop.recorded, drop.count) for drop in tale.drops()] == [("rewritten", False, 2)]


def test_a_fact_far_from_the_summary_is_not_recorded_by_it() -> None:
    tale = Tale("look")
    fact = tale.say("fact", "the port is 8841")
    old = [tale.say("user", f"message number {i}") for i in range(9)]
    tale.step()
    place = tale.at.tape.live.index(old[4])
    tale.at.splice(place, 3, [tale.piece("summary", "Progress so far: three messages were read.")])
    tale.take(fact)
    tale.step()
    assert sorted((drop.kind, drop.cause, drop.recorded) for drop in tale.drops()) == [
        ("fact", "silent", False), *[("user", "compacted", True)] * 3,
    ]  # fmt: skip


def test_a_message_gone_from_the_middle_is_silent() -> None:
    tale = Tale("look")
    messages = [tale.say("user", f"message number {i}") for i in range(9)]
    tale.step()
    tale.take(messages[6])
    tale.step()
    assert [(drop.cause, drop.recorded, drop.count) for drop in tale.drops()] == [("silent", False, 1)]


def test_the_goal_lost_in_a_sliding_window_has_a_row_of_its_own_and_alarms() -> None:
    tale = Tale("repair the billing export of march")
    messages = [tale.say("user", f"message number {i}") for i in range(4)]
    tale.step()
    tale.take(tale.at.tape.live[0], *messages[:2])
    tale.step()
    by_kind = {drop.kind: drop for drop in tale.drops()}
    assert by_kind["goal"].alarming and by_kind["goal"].count == 1
    assert by_kind["user"].count == 2
    assert tale.last().goal == "missing"


def test_a_lost_system_prompt_is_its_own_row() -> None:
    tale = Tale()
    system = tale.say("system", "You are careful.")
    tale.say("user", "hello")
    tale.step()
    tale.take(system)
    tale.step()
    assert [(drop.kind, drop.name, drop.cause) for drop in tale.drops()] == [("system", "system prompt", "silent")]


def test_a_recorded_boundary_gives_every_piece_a_row() -> None:
    tale = Tale("look")
    messages = [tale.say("user", f"message number {i}") for i in range(4)]
    tale.step()
    tale.take(*messages)
    tale.boundary(Boundary("condensation", True, None, None, "event 7"))
    tale.step()
    assert [(drop.cause, drop.recorded, drop.record) for drop in tale.drops()] == [("summarised", True, "event 7")] * 4
    boundary = tale.lane().steps[1].boundary
    assert boundary is not None and boundary.before is not None and boundary.after is not None
    assert boundary.before > boundary.after


def test_a_declared_piece_that_still_stands_is_no_drop() -> None:
    tale = Tale("look")
    ident = tale.say("user", "message")
    tale.step()
    tale.declare(Declared("message", "trimmed", segment=ident))
    tale.step()
    assert tale.drops() == []
    assert "still stands" in tale.spared(2)["message"]


def test_a_declared_piece_is_found_by_its_text() -> None:
    tale = Tale("look")
    ident = tale.say("user", "the third message")
    tale.step()
    tale.declare(Declared("oldest message", "trimmed", text="the third message", record="drop oldest"))
    tale.take(ident)
    tale.step()
    (drop,) = tale.drops()
    assert (drop.segment, drop.cause, drop.recorded, drop.record) == (ident, "trimmed", True, "drop oldest")


def test_a_declared_stub_knows_what_stands_in_its_place() -> None:
    tale = Tale("look")
    tale.step(("read", "{}", LONG))
    tale.step()
    old = tale.lane().steps[0].results[0].id
    (stub,) = tale.swap(old, tale.piece("result", LONG[:200] + " …[trimmed]", call_id="call-1"))
    tale.declare(Declared("read", "shortened", text=LONG, record="shrink old tool results"))
    tale.step()
    (drop,) = tale.drops()
    assert (drop.segment, drop.stub, drop.record) == (old, stub, "shrink old tool results")


def test_a_fact_that_the_render_leaves_out_again_and_again_is_one_drop() -> None:
    tale = Tale("look")
    tale.hold(shown=False, facts={"port": "8841"})
    tale.step()
    for _ in range(3):
        tale.declare(Declared("facts.port", "trimmed", "field", text="8841", record="render"))
        tale.step()
    assert [(drop.n, drop.name) for drop in tale.drops()] == [(2, "facts.port")]
    assert "earlier step" in tale.spared(3)["facts.port"]


def test_what_comes_back_says_when() -> None:
    tale = Tale("look")
    ident = tale.say("user", "the third message")
    tale.step()
    tale.take(ident)
    tale.step()
    assert tale.drops()[0].returned_at is None
    tale.step()
    tale.say("user", "the third message")
    tale.step()
    assert tale.drops()[0].returned_at == 4


def test_a_branch_loses_what_its_parent_saw_and_it_does_not() -> None:
    tale = Tale("look")
    ident = tale.say("user", "only in the parent")
    tale.say("user", "in both")
    tale.step()
    branch = tale.draft.lane("branch-1", "branch", spawned_by=("main", 1))
    branch.tape.adopt(tale.at.tape, tale.at.tape.ids(1))
    gone = [i for i in branch.tape.live if branch.tape.keys[i] == tale.at.tape.keys[ident]]
    branch.splice(branch.tape.live.index(gone[0]), 1)
    branch.close()
    lane = tale.run().lane("branch-1")
    assert [(drop.n, drop.segment, drop.head) for drop in lane.steps[0].drops] == [(1, gone[0], "only in the parent")]
    assert lane.steps[0].parent == ("main", 1)


EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(["user", "note", "system", "summary"]), st.integers(0, 6)),
        st.tuples(st.just("cut"), st.integers(0, 12), st.integers(1, 4)),
        st.tuples(st.just("swap"), st.integers(0, 12), st.integers(0, 6)),
        st.tuples(st.just("step"), st.integers(0, 1), st.integers(0, 3)),
        st.tuples(st.just("hold"), st.integers(0, 7), st.integers(0, 3)),
        st.tuples(st.just("declare"), st.integers(0, 12), st.just(0)),
        st.tuples(st.just("mark"), st.sampled_from(["compaction", "trim"]), st.booleans()),
    ),
    max_size=30,
)


def play(tale: Tale, edit: tuple[object, ...]) -> None:
    what, a, b = edit
    live = tale.at.tape.live
    if what == "say":
        tale.say(a, f"{a} text number {b} with a few words")  # type: ignore[arg-type]  # a kind, by construction
    elif what == "cut" and live:
        assert isinstance(a, int) and isinstance(b, int)
        tale.at.splice(a % len(live), b)
    elif what == "swap" and live:
        assert isinstance(a, int)
        old = tale.at.tape.segment(live[a % len(live)])
        tale.at.splice(a % len(live), 1, [tale.piece(old.kind, f"[trimmed {b}]", call_id=old.call_id)])
    elif what == "step":
        assert isinstance(b, int)
        tale.step(("look", f'{{"name":"f{b}"}}', "Error: missing f1" if b == 2 else "fine"), usage=100 * (b + 1))
    elif what == "hold":
        assert isinstance(a, int)
        tale.hold(facts={f"f{i}": f"value-{b if i == 1 else i}" for i in range(3) if a >> i & 1})
    elif what == "declare" and live:
        assert isinstance(a, int)
        tale.declare(Declared("said", "trimmed", segment=live[a % len(live)]))
    elif what == "mark":
        tale.boundary(Boundary(a, bool(b), None, None))  # type: ignore[arg-type]  # a kind, by construction


@given(EDITS)
def test_every_piece_that_left_is_in_one_row_or_spared_with_a_reason(edits: list[tuple[object, ...]]) -> None:
    tale = Tale("walk through all of it")
    for edit in edits:
        play(tale, edit)
    tale.step()
    run = tale.run()
    assembly = tale.assembler._lanes["main"]
    for index, step in enumerate(run.main.steps):
        left = list(tale.at.tape.left(step.n)) if step.n > 1 else []
        rows = assembly._rows[index] if index < len(assembly._rows) else []
        in_rows = [ident for row in rows for ident in row.ids]
        spared = [item.segment for item in tale.assembler.spared("main", step.n) if item.segment in left]
        assert sorted(set(left)) == sorted(left)
        assert len(in_rows) == len(set(in_rows))
        assert set(in_rows) | set(spared) == set(left)
        assert not set(in_rows) & set(spared)
        keys = {segment.key for segment in step.prompt}
        for drop, row in zip(step.drops, rows, strict=True):
            assert drop.count == max(1, len(row.ids))
            assert not keys & {tale.at.tape.keys[ident] for ident in row.ids}


def test_a_field_whose_piece_was_declared_dropped_is_told_once_and_is_recorded() -> None:
    tale = Tale("walk through all of it")
    tale.step()
    tale.hold(facts={"port": "8841", "host": "db1"})
    tale.step()
    (carried,) = [field.segment for field in tale.at.fields if field.name == "facts.port"]
    tale.declare(Declared("said", "trimmed", segment=carried))
    tale.hold(facts={"host": "db1"})
    tale.step()
    assert [(drop.name, drop.recorded, drop.segment) for drop in tale.drops()] == [("said", True, carried)]
