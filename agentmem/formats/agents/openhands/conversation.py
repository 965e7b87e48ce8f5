"""Conversations of the OpenHands SDK: a folder with one file an event, or the same events as lines of one file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentmem.formats.agents.openhands.events import parts_of, tasks_of, text_of
from agentmem.formats.agents.openhands.fold import Fold
from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode
from agentmem.formats.reader import Format, Options, Reader
from agentmem.formats.shared.lines import BEING_WRITTEN, QUIET_SECONDS, LineReader
from agentmem.formats.shared.peek import line_info
from agentmem.formats.shared.rewriting import changed_at
from agentmem.formats.shared.whole import read_small
from agentmem.formats.source import NotYet, Record, SnapshotFile, Unreadable
from agentmem.model import Problem, RunInfo, Where
from agentmem.pattern import pattern
from agentmem.tokens import counter

_FILE = pattern(r"event-(\d{1,9})-.+\.json\Z")
_KIND = pattern(rb'"kind"\s*:\s*"(?:[A-Z]\w*Event|Condensation\w*|\w*RejectObservation)"')
_LIMIT = 64 * 1024 * 1024
_PLACES = 400
_FIRST = 12
"""Lines in which an event is looked for: the first one may be damaged."""


def extract(raw: bytes, part: int) -> str | None:
    """Whole text of a piece of an event."""
    try:
        event = decode(raw)
    except ValueError:
        return None
    parts = parts_of(event) if isinstance(event, dict) else []
    return parts[part].text if part < len(parts) else None


class LinesReader(LineReader):
    """Events of a conversation, one a line."""

    name = "openhands"
    starts = (b'{"id":"', b'{"id": "')

    def begin(self) -> None:
        self._fold = Fold(self.draft)

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        return self._fold.take(
            value, lambda part: self.where(record, part), f"line {record.line}", damaged=self.damaged
        )

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract(raw, part)


class FolderReader:
    """Follows a conversation folder: new event files, the base state and the task list."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._events = path / "events"
        self._options = options
        self._restart(None)

    def _restart(self, notice: str | None) -> None:
        name = self._path.name
        self.draft = RunDraft(str(self._path), "openhands", name, counter(self._options.counter), self._options.counter)
        self.draft.notice = notice
        self._fold = Fold(self.draft)
        self._next = 0
        self._missing: set[int] = set()
        self._taken: dict[int, str] = {}
        """Names of the files that were taken in, by their numbers."""
        self._torn: str | None = None
        self._damage: Problem | None = None
        """What is wrong with the newest file, once nobody seems to write it any more."""
        self._unknown = self._total = 0
        self._base, self._tasks = SnapshotFile(self._path / "base_state.json"), SnapshotFile(self._path / "TASKS.json")

    def watched(self) -> Iterable[Path]:
        return (self._path, self._events)

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract(raw, part)

    def refresh(self) -> bool:
        """Read what is new. Raises Unreadable, NotYet while there is nothing to show."""
        files = self._listed()
        if files is None:
            if not self._total:
                raise Unreadable(f"{self._path}: no events folder")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        last = max(files, default=-1)
        rewritten = last < self._next - 1 or any(files.get(at, name) != name for at, name in self._taken.items())
        if rewritten or self._missing & files.keys():
            self._restart("history rewritten, read again" if rewritten else None)
        changed = self._read(files, last)
        changed |= self._side_files()
        if not self._total:
            raise NotYet(f"{self._path}: no whole event yet")
        return changed

    def _listed(self) -> dict[int, str] | None:
        try:
            with os.scandir(self._events) as entries:
                found = [(match, entry.name) for entry in entries if (match := _FILE.match(entry.name))]
        except OSError:
            return None
        return {int(match.group(1)): name for match, name in found}

    def _read(self, files: dict[int, str], last: int) -> bool:
        draft, changed = self.draft, False
        was, self._torn = self._torn, None
        wrong: Problem | None = None
        while self._next <= last:
            index = self._next
            label = f"event {index}"
            name = files.get(index)
            if name is None:
                self._missing.add(index)
                draft.problem(label, "is missing: a lost event")
            else:
                why = self._event(self._events / name, label, index - 1 in self._missing)
                if why is not None and index == last:
                    self._torn, wrong = name, Problem(name, why)
                    break
                if why is not None:
                    self._missing.add(index) if why == "empty" else None
                    draft.problem(name, why)
                self._taken[index] = name
            self._next += 1
            changed = True
        quiet = self._torn is not None and time.time() - changed_at(self._events / self._torn) > QUIET_SECONDS
        if draft.notice in (None, BEING_WRITTEN):
            draft.notice = BEING_WRITTEN if self._torn and not quiet else None
        told = self._tell(wrong if quiet else None)
        if changed:
            self._sum_up()
        return changed or told or was != self._torn

    def _tell(self, wrong: Problem | None) -> bool:
        """What is wrong with the newest file, in place of what was. Returns whether that is news."""
        held, problems = self._damage, self.draft.problems
        if held is not None and wrong is not None and (held.where, held.what) == (wrong.where, wrong.what):
            return False
        if held is not None:
            problems.remove(held)
        if wrong is not None:
            problems.append(wrong)
        self._damage = wrong
        return held is not wrong

    def _event(self, path: Path, label: str, damaged: bool) -> str | None:
        """Take in one event file. Returns what is wrong with it."""
        try:
            data = read_small(path, _LIMIT)
            at = path.stat().st_mtime
        except (Unreadable, OSError) as error:
            return str(error).rpartition(": ")[2]
        if not data.strip(b"\0 \t\r\n"):
            return "empty"
        try:
            value = decode(data.strip(b"\0 \t\r\n"))
        except ValueError as error:
            return f"not JSON: {error}"
        if not isinstance(value, dict):
            return "no object"
        source = str(path)
        self._total += 1
        unknown = self._fold.take(value, lambda part: Where(source, 0, len(data), part), label, damaged=damaged)
        if unknown is not None:
            self._unknown += 1
            self.draft.counts[f"?{unknown}"] = self.draft.counts.get(f"?{unknown}", 0) + 1
        self.draft.changed_at = max(at, self.draft.changed_at or 0.0)
        return None

    def _sum_up(self) -> None:
        if not self._unknown:
            return
        names = {name[1:]: n for name, n in self.draft.counts.items() if name.startswith("?")}
        listed = ", ".join(f"{name:.60} x{n}" for name, n in sorted(names.items()))
        if self._unknown == self._total:
            raise Unreadable(f"{self._path}: format not recognised: {self._total} events, none understood: {listed}")
        understood = self._total - self._unknown
        self.draft.problems[:] = [one for one in self.draft.problems if one.where != self._path.name]
        self.draft.problem(
            self._path.name, f"{self._total} events, {understood} understood, {self._unknown} unknown: {listed}"
        )

    def _side_files(self) -> bool:
        changed = False
        for file, take in ((self._base, self._base_state), (self._tasks, self._task_list)):
            if file.change() in ("same", "gone"):
                continue
            try:
                value = decode(file.read().strip(b"\0 \t\r\n"))
            except (NotYet, Unreadable, ValueError):
                file.forget()  # being written: looked at again
                continue
            take(value)
            changed = True
            self.draft.changed_at = max(file.changed_at or 0.0, self.draft.changed_at or 0.0)
        return changed

    def _base_state(self, value: object) -> None:
        if isinstance(value, dict):
            self._fold.base(value)

    def _task_list(self, value: object) -> None:
        items = value.get("task_list", value.get("tasks")) if isinstance(value, dict) else value
        if isinstance(items, list):
            self._fold.plan(tasks_of(items))


def open_conversation(path: Path, options: Options) -> Reader:
    """A reader of a folder or of a file of lines."""
    return FolderReader(path, options) if path.is_dir() else LinesReader(path, options)


def recognise(path: Path, head: bytes) -> bool:
    """A folder with event files, or lines one of the first of which is an event."""
    if not head:
        events = path / "events"
        if not events.is_dir():
            return False
        if (path / "base_state.json").exists():
            return True
        try:
            with os.scandir(events) as entries:
                return any(_FILE.match(entry.name) for entry in entries)
        except OSError:
            return False  # a folder that cannot be read is nobody's
    lines = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n").split(b"\n", _FIRST)[:_FIRST]
    return any(line.startswith(b'{"') and b'"source"' in line and _KIND.search(line) is not None for line in lines)


def places(folder: Path) -> Iterable[Path]:
    """Conversation folders whose workspace is this folder, newest first."""
    root = Path(os.environ.get("OPENHANDS_CONVERSATIONS_DIR") or Path.home() / ".openhands" / "conversations")
    try:
        with os.scandir(root) as entries:
            found = sorted(((entry.stat().st_mtime, entry.path) for entry in entries if entry.is_dir()), reverse=True)
    except OSError:
        return
    named = f'"working_dir":"{folder}"'.encode()
    for _, name in found[:_PLACES]:
        try:
            state = read_small(Path(name) / "base_state.json", _LIMIT)
        except (Unreadable, OSError):
            continue  # no conversation, or one that has not begun
        if named in state.replace(b'": "', b'":"'):
            yield Path(name)


def peek(path: Path) -> RunInfo:
    """A row of the list: from the base state and the first events."""
    if not path.is_dir():
        goal = next((text for event in line_info(path) if (text := _request(event))), None)
        return RunInfo(path.name.removesuffix(".jsonl"), str(path), "openhands", path.stat().st_mtime, goal=goal,
                       agent="OpenHands")  # fmt: skip
    state: dict[str, Any] = {}
    try:
        value = decode(read_small(path / "base_state.json", _LIMIT))
        state = value if isinstance(value, dict) else {}
    except (Unreadable, ValueError):
        pass  # the row is made without it
    goal, at = None, path.stat().st_mtime
    try:
        with os.scandir(path / "events") as entries:
            names = sorted(entry.name for entry in entries if _FILE.match(entry.name))
        at = (path / "events" / names[-1]).stat().st_mtime if names else at
        for name in names[:8]:
            goal = goal or _request(decode(read_small(path / "events" / name, _LIMIT)))
    except (OSError, ValueError, Unreadable):
        goal = goal or None  # the row is made with what was read
    agent = state.get("agent")
    llm = agent.get("llm") if isinstance(agent, dict) else None
    model = text_of(llm.get("model")) if isinstance(llm, dict) else None
    ended = state.get("execution_status") in ("finished", "error", "stuck")
    ident = text_of(state.get("id")) or path.name
    return RunInfo(ident, str(path), "openhands", at, "ended" if ended else "unknown", None, goal, "OpenHands", model)


def _request(event: object) -> str | None:
    if not isinstance(event, dict) or event.get("kind") != "MessageEvent" or event.get("source") != "user":
        return None
    return next((part.text for part in parts_of(event) if part.kind == "user" and part.text), None)


FORMAT = Format(
    "openhands", "conversations of the OpenHands SDK", recognise, open_conversation, places=places,
    everywhere=("{OPENHANDS_CONVERSATIONS_DIR|~/.openhands/conversations}/*",), peek=peek,
)  # fmt: skip
