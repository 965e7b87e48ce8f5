"""Aider's chat history, `.aider.chat.history.md`: several chats in one Markdown file, as far as it goes.

`# aider chat started at` begins a chat, `#### ` is what the person typed, `> ` what the tool said, the rest the answer.
What was sent is not in it: the repository map, files and the summarising of old messages leave no trace. So every
prompt is partial: what the file shows of the chat so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from agentmem.formats.draft import RunDraft
from agentmem.formats.outcome import judge
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.peek import status_of
from agentmem.formats.source import AppendFile, Record, Unreadable, given_slice, read_at
from agentmem.formats.usage import money_of
from agentmem.model import RunInfo, Usage, Where
from agentmem.pattern import pattern
from agentmem.tape import Piece
from agentmem.tokens import counter

_START = b"# aider chat started at "
_FENCE = b"```"
_TOKENS = pattern(r"Tokens: ([\d.,]+[kM]?) sent(?:, ([\d.,]+[kM]?) cache write)?(?:, ([\d.,]+[kM]?) cache hit)?"
                     r"(?:, ([\d.,]+[kM]?) received)?\.?(?: Cost: \$([\d.]+) message)?")  # fmt: skip
_MODEL = pattern(r"(?:Main model|Model|Models): (\S+)")
_FAILED = pattern(
    r"The LLM did not conform|Only \d+ reflections allowed|litellm\.\w*Error|has hit a token limit|Retrying in"
)
_ADDED = pattern(r"output to the chat\?.*: *y(?:es)?\s*\Z", re.MULTILINE | re.IGNORECASE)
_COMMAND = pattern(r"\s*/[a-z-]+(?:\s|\Z)")


class _Block(msgspec.Struct, eq=False):
    """Lines of one kind that stand together."""

    sort: str
    offset: int
    line: int
    end: int
    fenced: bool = False
    """A code block is open, in which a quoted line is the answer's."""


def number(text: str | None) -> int | None:
    """`4.1k` as 4100; None for nothing."""
    if not text:
        return None
    scale = {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)
    try:
        return round(float(text.rstrip("kM").replace(",", "")) * scale)
    except (ValueError, OverflowError):
        return None


def _money(text: str | None) -> float | None:
    """Dollars as they are printed, with all that stands behind them; None for what is no number."""
    try:
        return money_of(float((text or "").rstrip(".")))
    except ValueError:
        return None


def sort_of(line: bytes) -> str:
    """What a line is, where no code block is open."""
    if line.startswith(_START):
        return "start"
    if line.startswith(b"#### "):
        return "user"
    return "tool" if line.startswith(b"> ") or line == b">" else "blank" if not line.strip() else "assistant"


def text_of(data: bytes) -> str:
    """The text of a block from its bytes, without the marks of its lines if all of them have one."""
    lines = data.decode("utf-8", "replace").split("\n")
    for mark in ("####", ">"):
        if all(line.startswith(mark) for line in lines if line.strip()):
            lines = [line.removeprefix(mark).removeprefix(" ") for line in lines]
            break
    return "\n".join(line.rstrip() for line in lines).strip("\n")


class AiderReader:
    """Follows one chat of a history: the chosen one, else the newest. When the file grows, that chat is read again from
    its header on, because its last answer may have gone on; not where the look before was stopped in the middle."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path, self._options = str(path), options
        self._file = AppendFile(self._path)
        self._start, self._line_before, self._chat_before = 0, 0, 0
        self._stopped = False
        """The last look read a part of the file only."""
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        self.draft = RunDraft(
            self._path, "aider", self._options.run_id or "1", counter(self._options.counter), self._options.counter
        )
        self.draft.notice = notice
        self.draft.provenance = "partial"
        self.draft.agent = "aider"
        self.draft.unknown = ("system prompt", "repository map", "files in the chat", "summaries of old messages")
        self._chat = self._chat_before
        self._block: _Block | None = None
        self._at: float | None = None
        self._turn = False
        self._read = False

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        return text_of(raw)

    def refresh(self) -> bool:
        """Read what is new. Raises Unreadable while there is nothing to show."""
        change = self._file.change()
        if change == "same":
            return False
        if change == "gone":
            if not self._read:
                raise Unreadable(f"{self._path}: no such file")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        if change == "replaced":
            self._start = self._line_before = self._chat_before = 0
        if change == "replaced" or not self._stopped:
            self._fresh("file replaced, read again" if change == "replaced" else None)
            self._file.offset, self._file.line = self._start, self._line_before
        for record in self._file.records():
            self._line(record)
        given = given_slice()
        self._stopped = given is not None and self._path in given.behind
        if not self._stopped:
            self._flush()
        self._read = True
        self.draft.changed_at = self._file.changed_at
        return True

    def _line(self, record: Record) -> None:
        sort = sort_of(record.data)
        if sort == "start":
            self._flush()
            self._begin(record)
            return
        if not self._chat and sort != "blank":
            self._chat = 1  # a file whose first chat has no header
        if self._options.run_id not in (None, str(self._chat)):
            return
        block = self._block
        if block is not None and block.sort == "assistant" and block.fenced and sort == "tool":
            sort = "tool" if record.data.startswith(b"> Tokens: ") else "assistant"
        if sort == "blank" or (block is not None and block.sort == sort):
            if block is not None and sort != "blank":
                block.end = record.offset + len(record.data)
                block.fenced ^= record.data.startswith(_FENCE)
            return
        self._flush()
        fenced = record.data.startswith(_FENCE)
        self._block = _Block(sort, record.offset, record.line, record.offset + len(record.data), fenced)

    def _begin(self, record: Record) -> None:
        chat = self._chat + 1
        if self._options.run_id in (None, str(chat)):
            self._start, self._line_before, self._chat_before = record.offset, record.line - 1, chat - 1
            self._fresh(self.draft.notice)
            self.draft.id = str(chat)
            self._at = _time(record.data)
        self._chat = chat

    def _flush(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        length = block.end - block.offset
        where = Where(self._path, block.offset, length, 0, None, block.line)
        text = text_of(read_at(self._path, block.offset, length))
        lane = self.draft.main
        if not text:
            return
        if block.sort == "user":
            self._turn = False
            first = self.draft.goal is None and not _COMMAND.match(text)
            if first:
                self.draft.set_goal(text, declared=False)
            lane.append(Piece("goal" if first else "user", text, where))
        elif block.sort == "assistant":
            if not self._turn:
                lane.close(at=self._at if not lane.steps else None, model=self.draft.model)
            self._turn = True
            lane.reply(Piece("assistant", text, where))
        else:
            self._told(text, where)

    def _told(self, text: str, where: Where) -> None:
        """What aider itself says: usage, errors, output of commands, lint and tests."""
        lane = self.draft.main
        model = _MODEL.search(text)
        self.draft.model = model.group(1) if model else self.draft.model
        usage = _TOKENS.search(text)
        if usage and lane.steps and self._turn:
            lane.steps[-1].usage = Usage(
                number(usage.group(1)), number(usage.group(3)), number(usage.group(2)), number(usage.group(4)), None,
                _money(usage.group(5)), "tokens sent, as printed (rounded)", "history",
            )  # fmt: skip
            lane.touch(lane.steps[-1])
            self._turn = False
        if lane.steps and _FAILED.search(text):
            ended = lane.answered
            lane.reply(Piece("error", text, where), stays=False)
            lane.answered = ended
        elif _ADDED.search(text):
            lane.append(Piece("error" if judge(text)[0] == "error" else "result", text, where))


def _time(line: bytes) -> float | None:
    try:
        return datetime.fromisoformat(line[len(_START) :].decode("ascii", "replace").strip()).timestamp()
    except (ValueError, OverflowError):
        return None


def recognise(path: Path, head: bytes) -> bool:
    """The history's own name, or a chat's header, with something typed in it."""
    if path.name == ".aider.chat.history.md":
        return bool(head.strip())
    marks = head.startswith(_START) or b"\n" + _START in head
    return marks and (b"\n#### " in head or b"\n> " in head)


def runs(path: Path) -> Iterable[RunInfo]:
    """The chats of a history, in order. Raises Unreadable."""
    file = AppendFile(path)
    at = path.stat().st_mtime
    found: list[tuple[float | None, str | None]] = []
    for record in file.records():
        sort = sort_of(record.data)
        if sort == "start":
            found.append((_time(record.data), None))
        elif sort != "blank" and not found:
            found.append((None, None))
        if sort == "user" and found[-1][1] is None:
            text = text_of(record.data)
            if not _COMMAND.match(text):
                found[-1] = (found[-1][0], text)
    for index, (began, goal) in enumerate(found):
        newest = index == len(found) - 1
        yield RunInfo(
            str(index + 1), str(path), "aider", at if newest else began, status_of(at) if newest else "ended", None,
            goal, "aider",
        )  # fmt: skip


def places(folder: Path) -> Iterable[Path]:
    """The history in this folder or the nearest one above that has it."""
    for place in (folder, *folder.parents):
        path = place / ".aider.chat.history.md"
        if path.is_file():
            return (path,)
    return ()


FORMAT = Format("aider", "Aider", recognise, AiderReader, runs=runs, places=places)
