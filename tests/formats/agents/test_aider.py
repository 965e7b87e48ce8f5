"""Histories of Aider: chats in one file, as far as it goes, labelled partial."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats import Options, recognise
from agentmem.formats.agents.aider import FORMAT, number
from tests.formats.agents.following import cuts, every_text_is_whole, heads, picture, read, run_of

START = "\n# aider chat started at 2026-05-04 08:12:31\n\n> Main model: m with diff edit format\n"
TURN = "\n#### go\n\nI will.\n\n> Tokens: 1.2k sent, 30 received. Cost: $0.01 message, $0.01 session.\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def sample(root: Path) -> Path:
    return root / "sample_runs" / "aider" / "loom.chat.history.md"


def test_a_turn_is_a_step_with_the_usage_that_was_printed(tmp_path: Path) -> None:
    draft = read(write(tmp_path / "a.md", START + TURN + "\n#### more\n\nDone.\n")).draft
    assert (draft.provenance, draft.model, draft.goal, draft.id) == ("partial", "m", "go", "1")
    assert heads(draft.main, 2) == ["go", "I will.", "more"]
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [1200, None]
    assert "summaries of old messages" in draft.unknown


def test_an_answer_sent_again_after_a_block_that_did_not_fit_is_a_step_of_its_own(root: Path) -> None:
    run = run_of(read(sample(root), "1"))
    assert len(run.main.steps) == 3
    assert [step.usage.prompt for step in run.main.steps if step.usage] == [4100, 5300, 6000]
    assert [reply.kind for reply in run.main.steps[1].replies] == ["assistant", "error"]
    assert any((one.head or "").startswith("E   AttributeError") for one in run.main.steps[1].prompt)


def test_quoted_lines_of_a_code_block_are_the_answer(tmp_path: Path) -> None:
    text = START + "\n#### go\n\nSee:\n```\n<<<<<<< SEARCH\n> a\n=======\n>>>>>>> REPLACE\n```\nthat.\n"
    lane = read(write(tmp_path / "a.md", text)).draft.main
    assert len(lane.steps[0].replies) == 1


def test_each_chat_of_a_file_is_a_run_and_the_newest_is_the_default(root: Path) -> None:
    assert FORMAT.runs is not None
    rows = list(FORMAT.runs(sample(root)))
    assert [(row.id, row.goal) for row in rows] == [
        ("1", "Let the loom stop when a thread breaks. Never touch pattern.csv."), ("2", "Say which thread broke."),
    ]  # fmt: skip
    assert read(sample(root)).draft.id == "2"
    assert read(sample(root)).draft.goal == "Say which thread broke.\nThe number is enough."


def test_a_file_without_a_header_begins_mid_way(tmp_path: Path) -> None:
    path = write(tmp_path / ".aider.chat.history.md", TURN)
    assert len(read(path).draft.main.steps) == 1


def test_read_as_it_grows_a_history_is_the_same_as_read_whole(root: Path, tmp_path: Path) -> None:
    lines = sample(root).read_bytes().splitlines(keepends=True)
    path = tmp_path / ".aider.chat.history.md"
    path.write_bytes(b"".join(lines[:3]))
    known = recognise(path)
    assert known is not None
    reader = known.open(path, Options())
    for line in lines[3:]:
        reader.refresh()
        with path.open("ab") as file:
            file.write(line)
    reader.refresh()
    assert picture(reader.draft) == picture(read(path).draft)


def test_cut_anywhere_a_history_opens(root: Path, tmp_path: Path) -> None:
    data = sample(root).read_bytes()
    opened = [draft for _, draft in cuts(tmp_path / ".aider.chat.history.md", data, 200) if not isinstance(draft, str)]
    assert len(opened) > 195


def test_whole_texts_come_back_from_the_file(root: Path) -> None:
    assert every_text_is_whole(sample(root), "1") > 6


@pytest.mark.parametrize("text", ["# Readme\n\n> quoted\n", "plain\n", "#### a heading\n"])
def test_other_markdown_is_no_history(tmp_path: Path, text: str) -> None:
    known = recognise(write(tmp_path / "README.md", text))
    assert known is None or known.name != "aider"


def test_the_history_of_a_folder_is_the_nearest_above_it(tmp_path: Path) -> None:
    path = write(tmp_path / ".aider.chat.history.md", START + TURN)
    (tmp_path / "src").mkdir()
    assert FORMAT.places is not None
    assert list(FORMAT.places(tmp_path / "src")) == [path]


@pytest.mark.parametrize(
    ("text", "value"), [("4.1k", 4100), ("756", 756), ("1,204", 1204), ("2M", 2_000_000), ("", None), ("x", None)]
)
def test_rounded_figures_are_read(text: str, value: int | None) -> None:
    assert number(text) == value


def test_figures_that_are_none_stop_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    many = "9" * 400
    told = [f"Tokens: {many}k sent, 1 received. Cost: $. message", "Tokens: 4.1k sent. Cost: $0.01 message."]
    path.write_text("".join(f"#### ask\n\nyes\n\n> {one}\n\n" for one in told))
    usage = [step.usage for step in read(path).draft.main.steps]
    assert [(one.prompt, one.cost) for one in usage if one] == [(None, None), (4100, 0.01)]
