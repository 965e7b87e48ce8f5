"""Results and errors are compared without clocks, processes and addresses; plain numbers are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.ledger import error_line, error_prefix, failure, mask, result_key
from agentmem.ledger.answers.result import is_not_found


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("at 12:00:01 ok", "at 12:00:59.123 ok"),
        ("2024-01-02T03:04:05Z up", "2025-11-30T13:14:15.678+02:00 up"),
        ("Nov 29 21:11 calc.py", "Dec  1 09:05 calc.py"),
        ("Mon, Jan 5 2024", "Tue, Feb 6 2025"),
        ("=== 1 failed in 9.98s ====", "=== 1 failed in 10.02s ==="),
        ("took 12 ms", "took 3.5 seconds"),
        ("ran 1m 30s", "ran 2m5s"),
        ("pid 123 died", "pid 99 died"),
        ("PID: 17", "PID: 4242"),
        ("[1] 4711", "[2] 4712"),
        ("<Foo object at 0x7f00aa11>", "<Foo object at 0x55d0bb22>"),
        ("id 6fa459ea-ee8a-3ca4-894e-db77e160355e", "id 16fd2706-8baf-433b-82eb-8c7fada847da"),
    ],
)
def test_what_only_a_clock_or_a_process_changes_is_masked(one: str, two: str) -> None:
    assert result_key(one) == result_key(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [("10 %", "20 %"), ("3 failed", "2 failed"), ("port 8080", "port 8081"), ("line 12", "line 13"), ("", "x"),
     ("1.5 GB", "1.6 GB"), ("v1.2.3", "v1.2.4"), ("page 1 of 9", "page 2 of 9")],
)  # fmt: skip
def test_plain_numbers_are_kept(one: str, two: str) -> None:
    assert result_key(one) != result_key(two)


@given(st.text())
def test_any_text_with_a_clock_behind_it_has_one_key(text: str) -> None:
    assert result_key(f"{text} 12:00:01") == result_key(f"{text} 13:59:59")
    assert mask(text) == mask(f"  {text}\n")


def test_the_error_line_of_a_traceback_is_its_last() -> None:
    text = 'x\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: bad port\n</output>'
    assert error_line(text) == "ValueError: bad port"
    assert error_line("<returncode>1</returncode>\n<output>\nall\nfatal: no repo here\n") == "fatal: no repo here"
    assert error_line("") == ""


def test_an_error_prefix_masks_the_calls_own_values() -> None:
    one = error_prefix("cannot open '/etc/a.conf': permission denied", '{"path":"/etc/a.conf"}')
    two = error_prefix("cannot open '/etc/long/b.conf': permission denied", '{"path":"/etc/long/b.conf"}')
    assert one is not None and one == two
    assert error_prefix("cat: a.txt: Permission denied, sorry", '{"command":"cat a.txt"}') == error_prefix(
        "cat: b.txt: Permission denied, sorry", '{"command":"cat b.txt"}'
    )
    assert error_prefix("port 8080 is already used by another", '{"port":8080}') == error_prefix(
        "port 9 is already used by another", '{"port":9}'
    )


def test_a_short_error_has_no_prefix_and_a_long_one_is_cut() -> None:
    assert error_prefix("boom", "{}") is None
    assert error_prefix("'a very long value given here': bad", '{"q":"a very long value given here"}') is None
    prefix = error_prefix("E" * 500, "{}")
    assert prefix is not None and len(prefix) == 120


@given(st.text(), st.text())
def test_no_text_breaks_an_error_prefix(error: str, arguments: str) -> None:
    prefix = error_prefix(error, arguments)
    assert prefix is None or 20 <= len(prefix) <= 120


@pytest.mark.parametrize(
    "text",
    ["<returncode>1</returncode>\n<output>x</output>", "Error: bad", '{"error": "bad"}', "ERROR: connection refused",
             "Traceback (most recent call last):\n  x\nValueError: y", "fatal: not a repository", "exit code: 2"]
)  # fmt: skip
def test_a_plain_failure_is_told(text: str) -> None:
    assert failure(text) is not None


@pytest.mark.parametrize(
    "text", ["", "ok", "<returncode>0</returncode>", "no errors found", '{"error": null}', "0 errors", "exit code: 0"]
)
def test_what_is_no_failure_is_not(text: str) -> None:
    assert failure(text) is None


def test_the_text_of_a_log_is_no_failure_of_its_reader() -> None:
    log = "Error: one\nError: two\n"
    assert failure(log, reads=True) is None and failure(log) is not None


def test_a_listing_masks_the_day_and_not_the_size_before_it() -> None:
    assert mask("staff    96 Nov 21 02:31 .") == "staff    96 <~> <~> ."
    assert mask("on 12 Mar 2024 at 10:00") == "on <~> at <~>"


def test_a_text_is_given_the_same_key_when_it_comes_again() -> None:
    text = "took 12 ms, pid 4711, 88 rows"
    assert result_key(text) == result_key(text) == result_key("took 99 ms, pid 1, 88 rows") != result_key("89 rows")


def test_the_word_of_an_error_is_looked_for_at_the_start_of_a_long_line() -> None:
    assert error_line("x" * 50 + "\n" + "it failed " + "y" * 100_000).startswith("it failed")


@pytest.mark.parametrize(
    "text",
    ["Not Found", "not_found: a", "No such file", "it doesn't exist", "it does not exist", "they do not exist",
     "no match", "No results", "no files", "ENOENT: a", "Cannot find a", "can't locate a", "could not find a",
     "couldn't find a", "unable to locate a", "Unknown path a", "status 404", "nothing found", "exit code: 1",
     "Command exited with code 1", "return code 1", "returncode=1", "nothıng found: ﬁle", "ENOENT – a"]
)  # fmt: skip
def test_what_was_not_found_is_told(text: str) -> None:
    assert is_not_found(text)


@pytest.mark.parametrize("text", ["", "denied", "exit code: 2", "4040", "x" * 2_000 + " not found", "an unknown error"])
def test_another_error_is_none_of_something_missing(text: str) -> None:
    assert not is_not_found(text)


@pytest.mark.parametrize("text", ["===", "----", "a ___ b", "*****", "####", "~~~~"])
def test_a_drawn_rule_has_one_length(text: str) -> None:
    assert mask(text) == mask(text.replace(text.strip("ab ")[0], 3 * text.strip("ab ")[0])) != mask(text[:-1] + "x")
