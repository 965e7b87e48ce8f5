"""An answer that says that something goes on is a wait; a text that only holds the word is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem.ledger import Ledger, make_attempt

from .build import call, feed

GOING = (
    "running", "queued", "in queue", "pending", "processing", "in progress", "building", "scheduled", "starting",
    "provisioning", "waiting", "not ready", "not finished", "initializing", "deploying", "submitted", "compiling",
)  # fmt: skip
OVER = (
    "completed",
    "done",
    "succeeded",
    "failed",
    "error",
    "cancelled",
    "timed out",
    "stopped",
    "ready",
    "not running",
)
CASES = (str.lower, str.upper, str.title, lambda word: word.replace(" ", "_").upper())
WORDS = st.builds(lambda word, case: case(word), st.sampled_from(GOING), st.sampled_from(CASES))
PLAIN_WORDS = WORDS.filter(lambda word: not word.lower().startswith("not"))
"""Without those that hardly anything but a process says: they count wherever they stand."""
ASKING = st.sampled_from(("job_status", "get_job", "getBuildStatus", "mcp__ci__pipeline_status", "check_deployment"))
ANY = st.one_of(ASKING, st.sampled_from(("lookup", "get_result", "fetch_order", "frobnicate")))


def waits(tool: str, result: str, /, **arguments: object) -> bool:
    return make_attempt(tool, json.dumps(arguments), result, n=1).effect == "waits"


def in_shell(command: str, result: str) -> bool:
    return waits("bash", result, command=command)


@given(ANY, st.sampled_from(("status", "state", "phase", "jobStatus", "build_state", "Status")), WORDS, st.booleans())
@example("job_status", "status", "running", False)
def test_any_word_of_unfinished_work_under_a_key_of_status_is_waiting(
    tool: str, key: str, word: str, inside: bool
) -> None:
    job = {"id": "j1", key: word, "error": None, "failed": 0}
    answer = json.dumps({"success": True, "job": job} if inside else job)
    assert feed([call(tool, answer, job="j1")] * 8)[1] is None
    assert waits(tool, answer, job="j1")


@given(ASKING, WORDS, st.sampled_from(("{}", "{}...", "Job j1 is {}", "Status: {}", "j1 {}", "The build is still {}.")))
@example("job_status", "running", "Job j1 is {}")
def test_any_word_of_unfinished_work_in_a_short_sentence_is_waiting(tool: str, word: str, sentence: str) -> None:
    assert feed([call(tool, sentence.format(word), job="j1")] * 8)[1] is None


@given(ANY, st.sampled_from(("status", "state", "phase")), st.sampled_from(OVER), st.sampled_from(CASES[:3]))
def test_an_end_under_a_key_of_status_is_none_whatever_its_parts_say(
    tool: str, key: str, word: str, case: object
) -> None:
    answer = json.dumps({key: case(word), "steps": [{"detail": "running"}]})  # type: ignore[operator]  # a method of str
    assert not waits(tool, answer, job="j1")
    assert feed([call(tool, answer, "ok", job="j1")] * 3)[1] == 3


@given(
    st.sampled_from(("read_file", "grep", "web_search", "open_page", "think", "git_log")), PLAIN_WORDS,
    st.sampled_from(("{}", "The server is {}", "status: {}", '{{"status": "{}"}}', "a.py:3: state = '{}'", "{}\n{}\n")),
)  # fmt: skip
def test_a_text_that_was_read_or_found_is_never_waiting(tool: str, word: str, text: str) -> None:
    answer = text.replace("{}", word).replace("{{", "{").replace("}}", "}")
    assert feed([call(tool, answer, "ok", path="notes.md")] * 3)[1] == 3


@given(
    st.sampled_from(("cargo test", "pytest -q", "npm test", "cat notes.md", "grep -rn x .", "python fix.py", "ls")),
    PLAIN_WORDS,
)
def test_neither_is_what_a_test_a_listing_or_a_program_prints(command: str, word: str) -> None:
    assert not in_shell(command, f"{word} 12 tests\n12 passed")
    assert not in_shell(command, word)


@given(st.sampled_from(("start_job", "run_build", "trigger_pipeline", "launch_instance")), PLAIN_WORDS)
def test_to_start_the_same_again_is_a_loop_whatever_it_answers(tool: str, word: str) -> None:
    assert feed([call(tool, json.dumps({"status": word}), "ok", name="a")] * 3)[1] == 3


@pytest.mark.parametrize(
    "answer",
    [
        '{"progress": 40}', '{"progress": 0.4}', '{"percent": "40%"}', '{"progress": "3/10"}', "40% complete", "40 %",
        '{"ready": false}', '{"done": false}', '{"status": "ok", "data": {"state": "queued"}}',
        '{"jobs": [{"status": "completed"}, {"status": "running"}]}', '{"status": "CREATE_IN_PROGRESS"}',
        "{'status': 'running'}", "<status>running</status>", "status: queued\nposition: 4", "Building (3/10)",
        "job j1 queued (position 4)", "Results not available yet, try again later", "running, 0 errors", '"running"',
        "Deployment is being built",
    ],
)  # fmt: skip
def test_a_tool_that_tells_how_something_stands_may_say_it_in_any_short_way(answer: str) -> None:
    assert waits("job_status", answer, job="j1")


@pytest.mark.parametrize(
    "answer",
    [
        '{"progress": 100}', "100% complete", "no jobs running", "0 running, 3 done", "Pending: 0, Running: 0",
        "not running",
        '{"status": "running", "error": "disk full"}', '{"status": "failed", "steps": [{"status": "pending"}]}',
        "failed while running", '{"state": "CA"}', '{"status": 200}', "{'status': ", "[" * 5000, "",
    ],
)  # fmt: skip
def test_what_it_says_of_an_end_of_nothing_or_of_a_failure_is_none(answer: str) -> None:
    assert not waits("job_status", answer, job="j1")


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("lookup", "Running shoes, size 42"), ("get_place", "Building: Empire State"),
        ("lookup", "the shop is running low"),
        ("lookup", "the water is running"), ("disk_info", "40% used"), ("service_status", "running"),
        ("service_status", '{"status": "running"}'), ("TodoWrite", '[{"content": "x", "status": "in_progress"}]'),
        ("get_issue", '{"status": "In Progress"}'),
    ],
)  # fmt: skip
def test_the_word_in_another_sense_is_none(tool: str, answer: str) -> None:
    assert not waits(tool, answer, q="x")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("curl -s http://x/jobs/1", '{"status": "running"}'), ("gh run view 3", '{"status": "queued"}'),
        ("cat status.json", '{"status": "running"}'), ("squeue -j 4", "JOBID ST\n 4 PENDING"),
        ("kubectl get pods", "NAME READY STATUS\nweb 0/1 Pending"), ("python check_job.py", "Job is pending"),
        ("./job_status.sh 4", "<returncode>0</returncode>\n<output>\nrunning\n</output>"),
    ],
)  # fmt: skip
def test_a_command_that_asks_how_something_stands_is_waiting(command: str, answer: str) -> None:
    assert in_shell(command, answer)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("cat src/job_status.py", "running"), ("systemctl status web", "active (running)"),
        ("docker ps", "Up 3 minutes"),
        ("docker inspect web", '{"State": {"Status": "running"}}'), ("pytest tests/test_job_status.py", "running"),
        ("git status", "rebase in progress; pending"),
    ],
)  # fmt: skip
def test_a_command_that_prints_a_text_or_how_a_service_stands_is_none(command: str, answer: str) -> None:
    assert not in_shell(command, answer)


POD = "NAME    READY   STATUS   RESTARTS   AGE\nweb-1   0/1     {}   0   5s\nweb-2   1/1     Running   0   9s"
JOB = "  JOBID PARTITION NAME USER ST  TIME NODES NODELIST(REASON)\n    123       gpu  fit   me {}     1 {}"


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        *(("kubectl get pods -n prod", POD.format(word)) for word in ("ContainerCreating", "PodInitializing",
                                                                       "Init:0/2", "Pending", "Terminating")),
        ("oc get pod/web-1 | tail -1", "web-1 0/1 ContainerCreating"),
        ("squeue -u me", JOB.format("PD 0:00", "(Priority)")),
        ("squeue -j 123", JOB.format("R 1-02:10:00", "node3")), ("sudo squeue", "123 gpu fit me PD 0:00 1 (Resources)"),
        ("aws ec2 describe-instance-status --instance-ids i-1", '"State": "initializing"'),
        ("pg_isready -h db", "db:5432 - rejecting connections"),
        ("docker ps", "abc web Up 3 seconds (health: starting)"),
    ],
)  # fmt: skip
def test_a_program_that_says_in_words_of_its_own_that_it_has_not_finished_is_waiting(command: str, answer: str) -> None:
    assert in_shell(command, answer)
    assert feed([call("bash", answer, command=command)] * 8)[1] is None


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        *(("kubectl get pods", POD.format(word)) for word in ("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull",
                                                              "Init:CrashLoopBackOff", "OOMKilled", "Error")),
        ("kubectl get pods", "web-0 0/1 ContainerCreating\nweb-1 0/1 CrashLoopBackOff"),
        ("kubectl get pods", POD.format("Running")), ("kubectl get pods", "No resources found in default namespace."),
        ("kubectl get events", "web-1 ContainerCreating"), ("cat notes.txt", POD.format("ContainerCreating")),
        ("squeue -u me", JOB.partition("\n")[0]), ("squeue", JOB.format("PD 0:00", "(DependencyNeverSatisfied)")),
        ("squeue", JOB.format("PD 0:00", "(JobHeldUser)")), ("grep -r PD .", "123 gpu fit me PD 0:00 1 (Priority)"),
        ("curl -s localhost:8080/health", "curl: (7) Failed to connect to localhost port 8080: Connection refused"),
        ("nc -z localhost 5432", "connect to localhost port 5432 (tcp) failed: Connection refused"),
        ("pg_isready", "localhost:5432 - no response"),
    ],
)  # fmt: skip
def test_what_will_not_finish_or_has_not_begun_is_none(command: str, answer: str) -> None:
    assert not in_shell(command, answer)


@pytest.mark.parametrize(
    ("tool", "answer", "is_wait"),
    [
        ("check_inbox", "no new messages", True), ("check_mail", "You have no new mail.", True),
        ("receive_message", "No messages available", True), ("mcp__mail__list_emails", "Your inbox is empty", True),
        ("get_notifications", "no unread notifications", True), ("search_messages", "no new messages", False),
        ("search", "no new results", False), ("list_messages", "no messages", False), ("check_inbox", "[]", False),
        ("check_inbox", "no new messages from Ann; the last one says that the build is over", False),
        ("check_stock", "no new messages", False),
    ],
)  # fmt: skip
def test_an_inbox_in_which_nothing_is_yet_is_waiting_and_a_search_that_finds_nothing_is_not(
    tool: str, answer: str, is_wait: bool
) -> None:
    assert waits(tool, answer, box="a") is is_wait
    assert (feed([call(tool, answer, box="a")] * 4)[1] is None) is is_wait


@given(st.text(max_size=300), st.text(max_size=40))
def test_no_answer_breaks_it(answer: str, command: str) -> None:
    for tool in ("job_status", "read_file", "lookup"):
        waits(tool, answer, x=command)
        waits(tool, json.dumps({"status": answer, answer: {"progress": command}}), x=command)
    in_shell(command, answer)


@pytest.mark.parametrize(
    ("tool", "going", "over", "arguments"),
    [
        ("wait", "job 7: still running", "job 7: done, 0 warnings", {"job": 7}),
        ("build_status", '{"state": "still running"}', '{"state": "done"}', {"job": 7}),
        ("get_job", '{"state": "queued"}', '{"state": "done"}', {"job": 7}),
        ("job_status", "running", "Error: the job failed", {"job": 7}),
        ("bash", '{"status": "running"}', '{"status": "completed"}', {"command": "curl -s http://x/jobs/7"}),
        ("bash", "still running", "exit code: 0", {"command": ""}),
    ],
)  # fmt: skip
def test_the_answer_that_ends_a_wait_is_its_last_poll_whatever_is_polled(
    tool: str, going: str, over: str, arguments: dict[str, object]
) -> None:
    between = call("read_file", "text", "ok", path="a.md")
    polls = [call(tool, going, None, **arguments) for _ in range(3)]
    detector, first = feed([*polls, between, call(tool, over, None, **arguments), between])
    (wait,) = detector.waiting
    assert (wait.count, wait.steps, wait.tokens, first) == (4, (1, 2, 3, 5), 400, None)


def test_what_is_asked_again_after_the_end_or_of_another_job_is_no_wait() -> None:
    polls = [call("job_status", "running", "ok", job="j1") for _ in range(3)]
    over, other = call("job_status", "done", "ok", job="j1"), call("job_status", "done", "ok", job="j2")
    detector, first = feed([*polls, over, over, over])
    assert [wait.count for wait in detector.waiting] == [4] and first == 6
    assert [wait.count for wait in feed([*polls, other])[0].waiting] == [3]
    assert not feed([polls[0]])[0].waiting


def test_the_ledger_of_an_agent_no_longer_says_waiting_when_the_answer_is_there() -> None:
    ledger = Ledger()
    said = [ledger.record("get_job", {"job": 7}, answer).reason for answer in ("running", "running", "done", "running")]
    assert [reason != "" for reason in said] == [False, True, False, True]
    assert ledger.record("get_job", {"job": 7}, "blocked", denied=True).reason == ""
