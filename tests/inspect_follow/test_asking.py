"""What is asked of the chosen run from another thread is answered."""

from __future__ import annotations

from pathlib import Path

from agentmem.inspect.watch import LifelineReady, RawReady, TextReady
from agentmem.inspect.watch.answers import Ask, newest
from tests.inspect_follow.following import Following, checkpoint, dump, messages, put, request


def test_whole_texts_and_raw_records_come_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(request(1) + request(2))
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 2)
        assert seen.run is not None
        prompt = seen.run.main.steps[1].prompt
        goal, result = prompt[0], prompt[-1]
        seen.watch.ask_text("main", [goal.id, result.id])
        seen.watch.ask_raw("main", result.id)
        seen.until(lambda s: s.answers(RawReady))
        assert {answer.segment_id: answer.text for answer in seen.answers(TextReady)} == {
            goal.id: "Count the shelves.", result.id: "7 pieces on 1",
        }  # fmt: skip
        raw = seen.answers(RawReady)[0]
        assert raw.raw == request(2).decode().rstrip("\n") and (raw.path, raw.line) == (str(path), 2)


def test_a_text_that_is_gone_from_the_file_is_said_to_have_changed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    long = request(1).replace(b"Count the shelves.", b"Count them. " + b"x" * 400)
    path.write_bytes(long)
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 1)
        assert seen.run is not None
        goal = seen.run.main.steps[0].prompt[0]
        status = path.stat()
        path.write_bytes(long.replace(b"x" * 400, b"y" * 400))
        seen.until(lambda s: (s.run is not None and s.run.notice) or path.stat() != status)
        seen.watch.ask_text("main", [goal.id, 999_999])
        seen.until(lambda s: s.answers(TextReady))
        answer = seen.answers(TextReady)[0]
        assert answer.segment_id == goal.id
        assert answer.text is None and answer.note == "changed in the file" or answer.text.endswith("y")


def test_texts_of_an_overwritten_file_come_from_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    long = [{"role": "user", "content": "Begin. " + "z" * 300}, *messages(2)[1:]]
    dump(path, checkpoint(2, messages=long))
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 2)
        assert seen.run is not None
        goal = seen.run.main.steps[0].prompt[0]
        put(path, checkpoint(4, messages=messages(4)[1:]))
        seen.until(lambda s: s.steps == 4)
        seen.watch.ask_text("main", [goal.id])
        seen.until(lambda s: s.answers(TextReady))
        assert seen.answers(TextReady)[0].text == "Begin. " + "z" * 300


def test_the_lifeline_of_a_text_is_answered_for_a_lane_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dump(path, checkpoint(3))
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 3)
        seen.watch.ask_lifeline("no such lane", "pieces")
        seen.watch.ask_lifeline("main", "7 pieces on 1")
        seen.until(lambda s: s.answers(LifelineReady))
        answer = seen.answers(LifelineReady)[-1]
        assert answer.text == "7 pieces on 1" and answer.lifeline.present[0][0] == 2


def test_of_lifelines_asked_for_while_typing_only_the_last_is_computed() -> None:
    typed = [Ask("lifeline", "main", "p"), Ask("text", "main", (1,)), Ask("lifeline", "main", "po"), "another run"]
    assert newest(typed) == typed[1:]
