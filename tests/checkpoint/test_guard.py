"""Calls that cannot be undone: recorded before and after, replayed when done, asked about when in doubt."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.guard import NOT_DONE, Doubt, Guard, InDoubt, ResultNotKept, ResultNotRecorded
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.recorder import Recorder, record
from agentmem.checkpoint.sqlite import SqliteStore
from agentmem.checkpoint.store import CheckpointError, ConflictError, DamagedError, SaveError, Store
from tests.checkpoint.helpers import as_nobody, message, open_folder, posix

Made = Callable[[], Recorder]


@pytest.fixture(params=["files", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """Opens the run as a new process would."""

    def made() -> Recorder:
        store: Store = FileStore(tmp_path) if request.param == "files" else SqliteStore(tmp_path / "runs.db")
        return record("mailer", store=store)

    return made


class Mail:
    """The outside world: what was sent, and with which key."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.keys: list[str] = []

    def under(self, guard: Guard, **options: Any) -> Callable[..., str]:
        guarded: Callable[[Callable[..., str]], Callable[..., str]] = guard.irreversible(**options)

        @guarded
        def send(to: str, text: str = "hi", *, idempotency_key: str = "") -> str:
            """Sends a mail."""
            self.sent.append((to, text))
            self.keys.append(idempotency_key)
            return f"sent {len(self.sent)}"

        return send


def died(run: Recorder, to: str = "sam", text: str = "hi") -> str:
    """The call began, and its process died. Returns its key."""
    with pytest.raises(SystemExit), run.guard.call("send", {"to": to, "text": text}) as call:
        raise SystemExit
    return call.key


def test_a_call_that_was_done_gives_its_result_again_in_a_new_process(opened: Made) -> None:
    mail = Mail()
    assert mail.under(opened().guard)("sam") == "sent 1"
    assert mail.under(opened().guard)(to="sam", text="hi") == "sent 1"
    assert mail.sent == [("sam", "hi")]
    assert opened().guard.in_doubt == ()


def test_equal_calls_in_one_step_are_two_calls_and_each_is_replayed(opened: Made) -> None:
    mail = Mail()
    for _ in range(2):
        send = mail.under(opened().guard)
        assert [send("sam"), send("sam"), send("ann")] == ["sent 1", "sent 2", "sent 3"]
    assert len(mail.sent) == 3 and len(set(mail.keys)) == 3


def test_the_same_call_after_the_next_save_is_another_call(opened: Made) -> None:
    mail, run = Mail(), opened()
    send = mail.under(run.guard)
    send("sam")
    run.save([message(0)])
    assert send("sam") == "sent 2"
    again = opened()
    assert mail.under(again.guard)("sam") == "sent 2", "the one after the save is replayed, not the one before it"
    assert [call.result for call in again.guard.after_save] == ["sent 2"]


def test_a_call_in_doubt_is_asked_about_and_not_made(opened: Made) -> None:
    mail = Mail()
    key = died(opened())
    run = opened()
    (doubt,) = run.guard.in_doubt
    assert (doubt.tool, doubt.arguments, doubt.key, doubt.attempt) == ("send", {"to": "sam", "text": "hi"}, key, 1)
    assert doubt.question.startswith('send {"to":"sam","text":"hi"} was started at 20')
    assert key in doubt.question and "\n" not in doubt.question
    send = mail.under(run.guard)
    with pytest.raises(InDoubt, match="did it happen"):
        send("sam")
    with pytest.raises(InDoubt) as other:
        send("sam", "hi, in other words")
    assert other.value.doubt == doubt, "a model that puts it differently would do it twice"
    assert mail.sent == []


def test_the_answer_that_it_happened_gives_the_result(opened: Made) -> None:
    mail = Mail()
    key = died(opened())
    run = opened()
    run.guard.happened(key, "sent yesterday")
    assert mail.under(run.guard)("sam") == "sent yesterday"
    assert mail.under(opened().guard)("sam") == "sent yesterday"
    assert mail.sent == [] and opened().guard.in_doubt == ()
    with pytest.raises(KeyError, match=key):
        run.guard.happened(key)


def test_the_answer_that_it_did_not_happen_makes_the_next_attempt_with_the_same_key(opened: Made) -> None:
    mail = Mail()
    key = died(opened())
    run = opened()
    run.guard.did_not_happen(key)
    assert mail.under(run.guard)("sam") == "sent 1"
    assert mail.keys == [key]
    calls = run.store.calls("mailer")
    assert [(call.attempt, call.outcome, call.told) for call in calls] == [(1, "error", True), (2, "ok", False)]


def test_other_tools_are_not_held_up_by_a_doubt(opened: Made) -> None:
    died(opened())
    with opened().guard.call("pay", {"amount": 1}) as call:
        call.result = "paid"


def test_a_check_asks_the_other_side(opened: Made) -> None:
    mail = Mail()
    first = died(opened())
    asked: list[Doubt] = []

    def look(doubt: Doubt) -> object:
        asked.append(doubt)
        return "sent, says the server"

    assert mail.under(opened().guard, check=look)("sam") == "sent, says the server"
    assert [doubt.key for doubt in asked] == [first] and mail.sent == []
    run = opened()
    run.save([message(0)])
    died(run)
    assert mail.under(opened().guard, check=lambda doubt: NOT_DONE)("sam") == "sent 1"


def test_a_check_that_fails_leaves_the_doubt(opened: Made) -> None:
    died(opened())

    def look(doubt: Doubt) -> object:
        raise TimeoutError("no answer")

    mail = Mail()
    with pytest.raises(TimeoutError):
        mail.under(opened().guard, check=look)("sam")
    assert mail.sent == [] and len(opened().guard.in_doubt) == 1


def test_where_the_other_side_honours_the_key_a_doubt_is_sent_again_with_it(opened: Made) -> None:
    mail = Mail()
    key = died(opened())
    assert mail.under(opened().guard, honours_key=True)("sam") == "sent 1"
    assert mail.keys == [key]


def test_a_tool_that_raised_is_a_failed_attempt_and_a_retry_the_next_with_the_same_key(opened: Made) -> None:
    run = opened()
    keys = []
    for attempt in (1, 2):
        with pytest.raises(TimeoutError), run.guard.call("send", {"to": "sam"}) as call:
            keys.append(call.key)
            assert call.attempt == attempt
            raise TimeoutError("after 30 s\nof waiting")
    again = opened()
    with again.guard.call("send", {"to": "sam"}) as call:
        keys.append(call.key)
        call.result = "ok"
    assert len(set(keys)) == 1 and call.attempt == 3
    told = [(made.outcome, made.error) for made in again.store.calls("mailer")]
    assert told == [("error", "TimeoutError: after 30 s\nof waiting")] * 2 + [("ok", None)]


def test_the_models_id_of_the_call_alone_makes_the_key(opened: Made) -> None:
    mail = Mail()
    run = opened()
    send: Any = mail.under(run.guard)
    assert send.for_call("toolu_1")("sam") == "sent 1"
    run.save([message(0)])
    send = mail.under(opened().guard)
    assert send.for_call("toolu_1")("sam") == "sent 1"
    assert send.for_call("toolu_2")("sam") == "sent 2"


def test_a_key_of_the_callers_own_is_taken(opened: Made) -> None:
    mail, run = Mail(), opened()
    assert mail.under(run.guard)("sam", idempotency_key="order-7") == "sent 1"
    run.save([message(0)])
    assert mail.under(run.guard)("ann", idempotency_key="order-7") == "sent 1"
    assert mail.keys == ["order-7"]


async def test_a_coroutine_function_is_guarded_likewise(opened: Made) -> None:
    made = []

    def under(guard: Guard) -> Callable[[str], Any]:
        @guard.irreversible
        async def pay(who: str) -> dict[str, str]:
            await asyncio.sleep(0)
            made.append(who)
            return {"paid": who}

        return pay

    assert await under(opened().guard)("sam") == {"paid": "sam"}
    assert await under(opened().guard)("sam") == {"paid": "sam"}
    assert made == ["sam"]

    @opened().guard.irreversible
    async def hang() -> None:
        await asyncio.sleep(60)

    task = asyncio.ensure_future(hang())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [doubt.tool for doubt in opened().guard.in_doubt] == ["hang"]


def test_calls_at_the_same_time_are_no_doubt_to_each_other(opened: Made) -> None:
    guard = opened().guard
    with guard.call("send", {"to": "sam"}) as one, guard.call("send", {"to": "ann"}) as two:
        assert guard.in_doubt == ()
        one.result = two.result = "ok"
    again = guard.call("send", {"to": "bob"}, key="k")
    with guard.call("send", {"to": "bob"}, key="k"), pytest.raises(ConflictError, match="just now"), again:
        pytest.fail("it was made twice at once")


def test_arguments_that_are_no_json_values_are_refused_before_the_call(opened: Made) -> None:
    mail = Mail()
    send = mail.under(opened().guard)
    with pytest.raises(TypeError, match=r"arguments\.to"):
        send(b"sam")
    with pytest.raises(TypeError, match="missing a required argument"):
        send()
    assert mail.sent == [] and opened().store.calls("mailer") == []


def test_a_result_that_cannot_be_kept_is_given_once_and_then_said_to_be_done(opened: Made) -> None:
    made = []

    def under(guard: Guard) -> Callable[[], object]:
        @guard.irreversible
        def book() -> object:
            made.append(1)
            return {1, 2}

        return book

    assert under(opened().guard)() == {1, 2}
    with pytest.raises(ResultNotKept, match=r"book .* was done, .*set is not a JSON value"):
        under(opened().guard)()
    assert made == [1]


def test_a_generator_is_refused(opened: Made) -> None:
    with pytest.raises(TypeError, match="generator"):

        @opened().guard.irreversible
        def stream() -> Any:
            yield 1


def test_the_function_keeps_its_name_and_its_words(opened: Made) -> None:
    send = Mail().under(opened().guard)
    assert (send.__name__, send.__doc__) == ("send", "Sends a mail.")


class Full:
    """A store whose disk is full at the calls named."""

    def __init__(self, inner: Store, *broken: str) -> None:
        self._inner = inner
        self.broken = set(broken)

    def __getattr__(self, name: str) -> Any:
        if name in self.broken:
            raise SaveError(f"disk full at {name}", 28)
        return getattr(self._inner, name)


def test_where_the_intent_cannot_be_written_the_tool_is_not_called(tmp_path: Path) -> None:
    mail = Mail()
    send = mail.under(record("mailer", store=Full(FileStore(tmp_path), "begin")).guard)
    with pytest.raises(SaveError, match="disk full at begin"):
        send("sam")
    assert mail.sent == [] and FileStore(tmp_path).calls("mailer") == []


@posix
def test_in_a_folder_that_cannot_be_written_the_tool_is_not_called() -> None:
    with open_folder() as folder:
        record("mailer", folder=folder).save([message(0)])
        for path in folder.iterdir():
            path.chmod(0o644)
        folder.chmod(0o555)

        def work() -> None:
            mail = Mail()
            send = mail.under(record("mailer", folder=folder).guard)
            with pytest.raises(SaveError, match=r"not recorded: Permission denied"):
                send("sam")
            assert mail.sent == []

        as_nobody(work)
        folder.chmod(0o777)


def test_a_result_that_cannot_be_recorded_is_in_doubt_until_the_store_takes_it(tmp_path: Path) -> None:
    mail = Mail()
    store = Full(FileStore(tmp_path), "end")
    send = mail.under(record("mailer", store=store).guard)
    with pytest.raises(ResultNotRecorded, match="send was done, but this could not be recorded: disk full") as told:
        send("sam")
    assert told.value.result == "sent 1" and mail.sent == [("sam", "hi")]
    assert len(record("mailer", folder=tmp_path).guard.in_doubt) == 1, "as another process sees it"
    store.broken.clear()
    assert send("sam") == "sent 1", "to ask again is to ask for what was owed"
    assert mail.sent == [("sam", "hi")]
    assert record("mailer", folder=tmp_path).guard.in_doubt == ()


def test_half_a_line_of_a_call_was_never_acknowledged_and_is_cut_off(tmp_path: Path) -> None:
    mail = Mail()
    mail.under(record("mailer", folder=tmp_path).guard)("sam")
    path = tmp_path / "mailer.calls.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert mail.under(record("mailer", folder=tmp_path).guard)("ann") == "sent 2"
    assert path.read_bytes().startswith(whole) and path.read_bytes().count(b"\n") == 4
    assert len(FileStore(tmp_path).calls("mailer")) == 2


def test_a_flipped_bit_in_what_a_call_came_to_is_never_believed(tmp_path: Path) -> None:
    Mail().under(record("mailer", folder=tmp_path).guard)("sam")
    path = tmp_path / "mailer.calls.jsonl"
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        path.write_bytes(changed)
        try:
            calls = FileStore(tmp_path).calls("mailer")
        except DamagedError as error:
            assert "mailer.calls.jsonl: line" in str(error)
        else:
            assert [call.outcome for call in calls] in ([], ["started"]), "only a last line without its end is left out"
    record("other", folder=tmp_path)
    path.write_bytes(whole.replace(b'"v":1', b'"v":9'))
    with pytest.raises(CheckpointError, match=r"damaged|newer"):
        record("mailer", folder=tmp_path).guard.in_doubt  # noqa: B018  # it reads


def test_calls_are_private_and_no_run(tmp_path: Path) -> None:
    run = record("mailer", folder=tmp_path)
    run.save([message(0)])
    Mail().under(run.guard)("sam")
    assert (tmp_path / "mailer.calls.jsonl").stat().st_mode & 0o777 == 0o600 or os.name == "nt"
    assert FileStore(tmp_path).runs() == ["mailer"]
    line = json.loads((tmp_path / "mailer.calls.jsonl").read_bytes().split(b"\n")[0])
    assert (line["tool"], line["outcome"], line["arguments"]) == ("send", "started", {"to": "sam", "text": "hi"})


def test_another_process_that_began_the_call_first_leaves_it_in_doubt_here(opened: Made) -> None:
    one, two = opened(), opened()
    assert two.guard.in_doubt == ()
    mail = Mail()
    key = mail_key(opened)
    one.store.begin("mailer", Call(key=key, attempt=1, tool="send", arguments={}, started=1.0))
    with pytest.raises(InDoubt):
        mail.under(two.guard)("sam")
    assert mail.sent == []


def mail_key(opened: Made) -> str:
    """The key that `send("sam")` has in a run without a save."""
    return opened().guard._key("send", {"to": "sam", "text": "hi"}, None)
