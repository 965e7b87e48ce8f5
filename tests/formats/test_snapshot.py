"""A stranger's checkpoint, overwritten each step, is followed with its history and its gaps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats import Options, recognise, source
from agentmem.formats.draft import LaneDraft
from agentmem.formats.messages import Message, split
from agentmem.formats.source import NotYet, Unreadable
from agentmem.formats.versions import Item, MessageList
from agentmem.tokens import chars4
from tests.formats.helpers import again, call, heads, opened, result, said, user


def loop(steps: int, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [user("fix the parser")]
    for number in range(1, steps + 1):
        messages += [call(f"c{number}", path=f"f{number}"), result(f"c{number}", f"text {number}")]
    return {"step": steps, "messages": messages, "notes": "", **more}


def test_one_version_already_gives_all_its_steps(tmp_path: Path) -> None:
    draft = opened(tmp_path / "a.json", loop(3)).draft
    assert [step.own for step in draft.main.steps] == [1, 2, 3]
    assert heads(draft.main, 2) == ["fix the parser", 'read {"path":"f1"}', "text 1"]
    assert (draft.format, draft.goal, draft.goal_declared) == ("checkpoint", "fix the parser", False)
    assert draft.main.open


def test_versions_seen_later_are_merged_into_the_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(1))
    for steps in (2, 3, 5):
        assert again(reader, path, loop(steps))
    assert [step.own for step in reader.draft.main.steps] == [1, 2, 3, 4, 5]
    assert not reader.draft.gaps


def test_a_trim_between_saves_shows_at_the_step_that_saw_it_first(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(4))
    full = loop(5)["messages"]
    again(reader, path, {"step": 5, "messages": [full[0], *full[5:]], "notes": ""})
    lane = reader.draft.main
    assert [step.own for step in lane.steps] == [1, 2, 3, 4, 5]
    gone = [lane.tape.segment(ident).head for ident in lane.tape.left(5)]
    assert gone == ['read {"path":"f1"}', "text 1", 'read {"path":"f2"}', "text 2"]
    assert heads(lane, 5)[0] == "fix the parser"


def test_versions_that_were_missed_are_a_gap_and_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(3))
    later = loop(9)["messages"]
    again(reader, path, {"step": 9, "messages": [later[0], *later[-4:]], "notes": ""})
    draft = reader.draft
    assert [step.own for step in draft.main.steps] == [1, 2, 3, 8, 9]
    assert [(gap.after, gap.before, gap.missing) for gap in draft.gaps] == [(3, 8, 4)]
    assert draft.main.steps[3].gap == 4


def test_the_same_list_under_a_number_that_is_far_on_is_a_gap_and_no_loss(tmp_path: Path) -> None:
    def version(step: int, facts: dict[str, str]) -> dict[str, Any]:
        messages = [user("go")]
        for n in range(step - 3, step):
            messages += [call("c", page=n % 7), result("c", f"p{n % 7}")]
        return {"step": step, "messages": messages, "notes": "", "state": {"facts": facts}}

    path = tmp_path / "a.json"
    both, one = {"token": "tok-889", "host": "db1.local"}, {"host": "db1.local"}
    reader = opened(path, version(26, both))
    again(reader, path, version(27, both))
    again(reader, path, version(97, one))
    lane = reader.draft.main
    assert {field.name for field in lane.steps[-1].fields} == {field.name for field in lane.fields} >= {"facts.token"}
    again(reader, path, version(98, one))
    assert [(gap.after, gap.before) for gap in reader.draft.gaps][-1] == (27, 98)
    assert lane.steps[-1].gap == 70


def test_a_list_whose_older_part_was_cut_before_it_was_seen_says_so(tmp_path: Path) -> None:
    body = loop(9)
    body["messages"] = body["messages"][2:]
    draft = opened(tmp_path / "a.json", body).draft
    assert (draft.goal, draft.goal_unknown) == (None, True)


@pytest.mark.parametrize("step", ["7", 7.0])
def test_a_step_given_as_a_text_is_a_number_where_it_is_one(tmp_path: Path, step: object) -> None:
    assert [s.own for s in opened(tmp_path / "a.json", {**loop(7), "step": step}).draft.main.steps][-1] == 7


def test_a_step_that_is_no_number_is_a_problem_and_the_list_is_shown_all_the_same(tmp_path: Path) -> None:
    draft = opened(tmp_path / "a.json", {**loop(2), "step": "two"}).draft
    assert [step.own for step in draft.main.steps] == [None, None]
    assert [problem.what for problem in draft.problems] == [
        "the file's own step numbers are not used: 'two' is no whole number"
    ]


def test_a_step_that_goes_backwards_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(5))
    again(reader, path, {**loop(6), "step": 3})
    assert any("goes backwards: 3 after 5" in problem.what for problem in reader.draft.problems)
    assert len(reader.draft.main.steps) == 6


def test_the_same_version_again_is_no_new_step(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(2))
    again(reader, path, loop(2))
    assert len(reader.draft.main.steps) == 2


def test_a_new_run_in_the_same_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(5, goal="first goal"))
    again(reader, path, loop(1, goal="another goal"))
    assert (reader.draft.goal, len(reader.draft.main.steps)) == ("another goal", 1)
    assert reader.draft.notice == "a new run in the same file"


def test_half_a_file_keeps_the_last_good_value_and_says_that_it_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(3))
    whole = json.dumps(loop(4))
    for cut in range(0, len(whole) - 1, 37):
        path.write_text(whole[:cut])
        reader.refresh()
        assert len(reader.draft.main.steps) == 3
        assert reader.draft.notice == "being written"
    again(reader, path, loop(4))
    assert (len(reader.draft.main.steps), reader.draft.notice) == (4, None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "empty"), (bytes(range(1, 256)) * 9, "not JSON at character 0"), (b"{", "half written")],
)
def test_a_file_that_stays_unreadable_says_why_and_names_its_last_good_step(
    tmp_path: Path, content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a: b.json"
    reader = opened(path, loop(3))
    path.write_bytes(content)
    assert reader.refresh() and reader.draft.notice == "being written"
    assert not reader.refresh()
    monkeypatch.setattr(source, "UNREADABLE_SECONDS", 0.0)
    assert reader.refresh()
    notice = reader.draft.notice
    assert notice is not None and notice.startswith(f"not readable: {reason}"), notice
    assert notice.endswith(", last good version step 3")
    assert not reader.refresh(), "it is said once"
    again(reader, path, loop(4))
    assert [reader.draft.notice, len(reader.draft.main.steps)] == [None, 4]


def test_a_whole_file_that_is_nested_too_deep_is_not_half_written(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    messages = json.dumps([user("go"), said("ok")])
    path = tmp_path / "a.json"
    path.write_text(f'{{"step": 1, "notes": "", "messages": {messages}, "extra": {deep}}}')
    draft = opened(path).draft
    assert [problem.what for problem in draft.problems] == ["nested too deep: the parts that are not were read"]
    assert [step.own for step in draft.main.steps] == [1]
    path.write_text(f'{{"step": 1, "notes": "", "messages": {deep}}}')
    with pytest.raises(Unreadable, match="no message in its list of 1"):
        opened(path)
    path.write_text(f'{{"step": 1, "notes": "", "messages": {deep[:-1]}')
    with pytest.raises(NotYet, match="half written"):
        opened(path)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (-5, "-5 is below zero"), ("-5", "'-5' is below zero"), (10**30, "too large for a count of steps"),
        (1_796_000_000, "too large for a count of steps"), ([1], "[1] is no whole number"),
        (2.5, "2.5 is no whole number"), (0, "0 with 2 model calls in the file"),
    ],
)  # fmt: skip
def test_a_step_that_counts_no_steps_is_not_used_and_the_reason_is_said(
    tmp_path: Path, step: object, reason: str
) -> None:
    draft = opened(tmp_path / "a.json", {**loop(2), "step": step}).draft
    assert [one.own for one in draft.main.steps] == [None, None] and not draft.gaps
    (problem,) = draft.problems
    assert problem.what.startswith("the file's own step numbers are not used: ") and reason in problem.what


def test_a_step_that_comes_again_ends_the_use_of_its_numbers_and_of_the_gaps_told_by_them(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(2))
    again(reader, path, {**loop(4), "step": 9})
    assert len(reader.draft.gaps) == 1
    again(reader, path, {**loop(5), "step": 9})
    again(reader, path, {**loop(6), "step": 9})
    assert [problem.what for problem in reader.draft.problems] == [
        "the file's own step numbers are not used: 9 came again with 1 model call more"
    ]
    assert not reader.draft.gaps and {step.gap for step in reader.draft.main.steps} == {0}


def test_a_file_that_is_gone_and_comes_back_keeps_its_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(3))
    path.unlink()
    reader.refresh()
    assert (reader.draft.notice, len(reader.draft.main.steps)) == ("no such file", 3)
    again(reader, path, loop(4))
    assert [reader.draft.notice, len(reader.draft.main.steps)] == [None, 4]


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b"", NotYet, "empty"),
        (b"\0\0\0\n", NotYet, "empty"),
        (b'{"messages": [{"role": "us', NotYet, "half written"),
        (b'{"messages": [}', NotYet, "not JSON at character"),
        (b"3", Unreadable, "no object and no list"),
        (b'"x"', Unreadable, "no object and no list"),
    ],
)
def test_what_is_no_checkpoint_gets_one_clear_line(
    tmp_path: Path, content: bytes, error: type[Exception], words: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    from agentmem.formats.plain.snapshot import SnapshotReader

    with pytest.raises(error, match=words) as caught:
        SnapshotReader(path, Options()).refresh()
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_trailing_junk_is_said_and_the_first_object_used(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps(loop(2)) + 'st":3}')
    draft = opened(path).draft
    assert (len(draft.main.steps), draft.problems[0].what) == (2, "trailing junk; the first object was used")


NO_LISTS = [
    ("text", "messages is a text"), (3, "messages is a number"), ({"a": 1}, "messages is an object"),
    ([None, 3, "x", ["y"], {"role": 5}, {"content": {}}], "no message in its list of 6"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "words"), NO_LISTS)
def test_what_is_no_list_of_messages_is_refused_where_nothing_else_can_be_shown(
    tmp_path: Path, messages: object, words: str
) -> None:
    with pytest.raises(Unreadable, match=words):
        opened(tmp_path / "a.json", {"step": 1, "messages": messages, "notes": ""})


@pytest.mark.parametrize(("messages", "words"), NO_LISTS[:3])
def test_what_is_no_list_of_messages_is_a_problem_where_a_state_stands_beside_it(
    tmp_path: Path, messages: object, words: str
) -> None:
    draft = opened(tmp_path / "a.json", {"step": 1, "messages": messages, "state": {"port": "8443"}}).draft
    assert [problem.what for problem in draft.problems] == [f"{words}, no list of messages"]
    assert heads(draft.main, 1) == ["port: 8443"]


@pytest.mark.parametrize(("messages", "words"), NO_LISTS)
def test_a_list_that_becomes_no_list_keeps_what_was_seen_and_says_so(
    tmp_path: Path, messages: object, words: str
) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(3))
    again(reader, path, {"step": 4, "messages": messages, "notes": ""})
    assert reader.draft.notice is not None and words in reader.draft.notice
    assert "last good version step 3" in reader.draft.notice and len(reader.draft.main.steps) == 3
    again(reader, path, loop(4))
    assert [reader.draft.notice, *(step.own for step in reader.draft.main.steps)] == [None, 1, 2, 3, 4]


def test_a_list_that_has_yet_to_begin_is_no_trouble(tmp_path: Path) -> None:
    assert opened(tmp_path / "a.json", {"step": 0, "messages": None, "notes": ""}).draft.main.steps == []
    assert opened(tmp_path / "b.json", {"step": 0, "messages": [], "notes": ""}).draft.problems == []


def test_nan_and_lone_surrogates_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"step": 1, "notes": "", "x": NaN, "messages": [{"role": "user", "content": "a \\ud800 b"}, '
                     b'{"role": "assistant", "content": "ok"}]}')  # fmt: skip
    assert len(opened(path).draft.main.steps) == 1


def test_states_without_a_model_call_are_one_step_a_saved_version(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, {"step": 1, "messages": [], "notes": "", "state": {"abone": "A001", "sonuc": 3}})
    again(reader, path, {"step": 2, "messages": [], "notes": "", "state": {"sonuc": 3}})
    draft = reader.draft
    assert (draft.synthetic, [step.own for step in draft.main.steps], draft.main.open) == (True, [1, 2], False)
    assert heads(draft.main, 1) == ["abone: A001", "sonuc: 3"]


def test_a_field_rendered_in_a_message_is_a_piece_of_its_own_and_counted_once(tmp_path: Path) -> None:
    text = 'Verified facts:\n{\n  "port": "8443",\n  "host": "db1.local"\n}\n\nGOAL (unchanged): move the db'
    body = {
        "step": 1, "notes": "", "goal": "move the db",
        "state": {"facts": {"port": "8443", "host": "db1.local", "user": "zoe9"}},
        "messages": [user(text), said("I will.")],
    }  # fmt: skip
    lane = opened(tmp_path / "a.json", body).draft.main
    kinds = [(segment.kind, segment.field) for segment in lane.tape.view(1, None, "exact")]
    assert ("fact", "facts.port") in kinds and ("goal", "goal") in kinds
    held = {field.name: field.segment for field in lane.steps[0].fields}
    assert held["facts.port"] is not None and held["facts.user"] is None
    assert lane.steps[0].tokens.prompt is not None and lane.steps[0].tokens.prompt <= chars4(text) + len(kinds)


def test_a_result_ties_to_its_call_and_a_later_stub_of_it_does_not_change_the_outcome(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    messages = [user("go"), call("c1"), result("c1", "Error: no such file"), call("c2"), result("c2", "fine")]
    reader = opened(path, {"step": 2, "messages": messages, "notes": ""})
    stubbed = [*messages[:2], result("c1", "…[trimmed]"), *messages[3:], call("c3"), result("c3", "fine too")]
    again(reader, path, {"step": 3, "messages": stubbed, "notes": ""})
    assert [c.outcome for step in reader.draft.main.steps for c in step.calls] == ["error", "ok", "ok"]


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), min_size=1, max_size=12))
def test_after_any_versions_the_prompt_is_the_last_version(versions: list[list[int]]) -> None:
    lane = LaneDraft("main", chars4)
    messages = MessageList(lane)
    for version in versions:
        items = [Item(json.dumps(made(number)).encode(), "x", 0, 0) for number in version]
        messages.update(items)
        shown = [lane.tape.segment(ident).head for ident in lane.tape.live]
        expected = [part.text for number in version for part in as_message(number).parts]
        assert shown == [None if text is None else text[:120] for text in expected]


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), min_size=1, max_size=8), st.data())
def test_a_version_given_as_a_cut_and_an_addition_is_the_same(versions: list[list[int]], data: st.DataObject) -> None:
    whole, cut = MessageList(LaneDraft("main", chars4)), MessageList(LaneDraft("main", chars4))
    before: list[int] = []
    for version in versions:
        same = 0
        while same < min(len(before), len(version)) and before[same] == version[same]:
            same += 1
        keep = data.draw(st.integers(0, same))
        items = [Item(json.dumps(made(number)).encode(), "x", 0, 0) for number in version]
        whole.update(items)
        cut.update(items[keep:], keep=keep)
        before = version
        assert whole.seen == cut.seen
        assert live_keys(whole) == live_keys(cut)
        assert len(whole.lane.steps) == len(cut.lane.steps)


def made(number: int) -> dict[str, Any]:
    asked = result(f"c{number - 1}", f"out {number}")
    return (user(f"text {number}"), said(f"answer {number}"), call(f"c{number}"), asked)[number % 4]


def live_keys(messages: MessageList) -> list[int]:
    tape = messages.lane.tape
    return [tape.keys[ident] for ident in tape.live]


def as_message(number: int) -> Message:
    return split(made(number))


def test_a_plain_list_and_one_under_messages_are_recognised_by_their_shape(tmp_path: Path) -> None:
    for name, value in (("a", [user("x")]), ("b", {"messages": [user("x")]}), ("c", {"step": 1, "state": {}})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value))
        known = recognise(path)
        assert known is not None and known.name == "messages"
    (tmp_path / "d.json").write_text('{"name": "package", "version": "1.0"}')
    assert recognise(tmp_path / "d.json") is None


def test_a_list_first_seen_behind_its_first_request_has_no_goal(tmp_path: Path) -> None:
    """A window that slid before the file was first seen begins with an answer; its first user text is a later one."""
    path = tmp_path / "late.json"
    window = [said("booked 30"), user("invoice 31"), said("booked 32"), user("invoice 33")]
    reader = opened(path, {"step": 36, "messages": window})
    assert reader.draft.goal is None and reader.draft.goal_unknown
    again(reader, path, {"step": 37, "messages": [*window[2:], said("booked 34"), user("invoice 35")]})
    assert reader.draft.goal is None and reader.draft.goal_unknown
    greeting = {"step": 1, "messages": [said("How can I help?"), user("water the garden")]}
    assert opened(tmp_path / "greeted.json", greeting).draft.goal == "water the garden"
