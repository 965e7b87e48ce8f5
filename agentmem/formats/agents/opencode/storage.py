"""Sessions in opencode's older storage: a tree with a file a session, a message and a part. Only ever read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats.agents.opencode.parts import ROLE_BASE, extract_apart, role_of, text_of
from agentmem.formats.agents.opencode.session import PartRow, Session
from agentmem.formats.agents.opencode.tree import Entry, Tree, head, sessions
from agentmem.formats.draft import RunDraft
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.lines import BEING_WRITTEN
from agentmem.formats.shared.sqlite import Database
from agentmem.formats.source import NotYet, Unreadable
from agentmem.model import RunInfo
from agentmem.pattern import pattern
from agentmem.tokens import counter

_DEPTH = 4
_NEWEST = 16
_IN_TURN = 256
"""Messages whose parts are looked at each time: the newest ones, and so many of the others, one after the other."""
_ROOT = "{XDG_DATA_HOME|~/.local/share}/opencode/storage"
_SESSION = pattern(rb'\{\s*(?:"\w+"\s*:\s*"[^"]*"\s*,\s*){0,4}"id"\s*:\s*"ses_')
_FIRST = 8
"""Messages, and parts of one, in which a row of the list looks for the first request."""


class _Held(msgspec.Struct, eq=False):
    """What was read of one session."""

    session: Session
    order: list[str] = msgspec.field(default_factory=list)
    """Its messages as they were taken in."""
    infos: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    parts: dict[str, set[str]] = msgspec.field(default_factory=dict)
    turn: int = 0
    """The message whose parts are looked at next, of those that are not new."""


class StorageReader:
    """Follows one session, with the sessions of its subagents as lanes."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path, self._options = path, options
        self._restart()

    def _restart(self) -> None:
        self._tree = Tree(self._path)
        self._id = self._path.stem
        self.draft = RunDraft(
            str(self._path), FORMAT.name, self._id, counter(self._options.counter), self._options.counter
        )
        self.draft.agent = "opencode"
        self.draft.unknown = ("system prompt", "tool schemas")
        self._held = {self._id: _Held(Session(self.draft, self.draft.main))}
        self._wrong: dict[str, str] = {}
        """What is wrong with files, by their place below the root."""
        self._torn = self._late = False

    def watched(self) -> Iterable[Path]:
        root = self._tree.root
        for ident, held in self._held.items():
            yield root / "message" / ident
            yield from (root / "part" / message for message in held.order[-2:])
        yield from (self._path.parent, root / "message", root / "part", root / "todo")

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_apart(raw, part)

    def refresh(self) -> bool:
        """Read what was written. Raises Unreadable, NotYet while there is nothing to show."""
        before = self.draft.notice
        gone = not self._path.exists()
        main = self._held[self._id]
        if gone and not main.order:
            raise Unreadable(f"{self._path}: no such file")
        self._torn = self._late = False
        changed = False if gone else self._read()
        if self._late:
            # A message came that stands before some that were read: the order is made anew.
            self._restart()
            self._read()
            main, changed = self._held[self._id], True
        if not main.order:
            raise NotYet(f"{self._path}: session {self._id} has no message yet")
        self.draft.notice = "file gone" if gone else BEING_WRITTEN if self._torn else None
        return changed or before != self.draft.notice

    def _read(self) -> bool:
        changed = False
        waiting = [(self._id, 0)]
        while waiting and not self._late:
            ident, depth = waiting.pop(0)
            changed |= self._session(ident)
            if depth < _DEPTH:
                for child in self._tree.children(ident):
                    if child not in self._held:
                        owner = self._held[ident].session
                        n = owner.children.get(child, len(owner.lane.steps))
                        lane = self.draft.lane(child, "subagent", spawned_by=(owner.lane.id, n) if n else None)
                        self._held[child] = _Held(Session(self.draft, lane))
                    waiting.append((child, depth + 1))
        return changed

    def _session(self, ident: str) -> bool:
        held = self._held[ident]
        session, changed = held.session, False
        about = self._value(self._tree.entry("session", self._path.parent.name, f"{ident}.json"))
        if about is not None and isinstance(about[0], dict):
            session.revert(about[0].get("revert"))
            changed = True
        changed |= self._messages(ident, held)
        todo = self._value(self._tree.entry("todo", f"{ident}.json"))
        if todo is not None:
            session.todo(todo[0])
            changed = True
        return session.settle() or changed

    def _messages(self, ident: str, held: _Held) -> bool:
        entries = self._tree.entries("message", ident)
        there = {entry.ident for entry in entries}
        lost = [one for one in held.order if one not in there]
        if lost:
            held.session.gone(lost, ())
            held.order = [one for one in held.order if one in there]
            for one in lost:
                held.infos.pop(one, None)
                held.parts.pop(one, None)
        last = held.order[-1] if held.order else ""
        due = self._due(held)
        changed = bool(lost)
        for entry in entries:
            one = entry.ident
            try:
                found = self._one(entry)
            except NotYet:
                self._torn = True
                if one not in held.infos:
                    break  # those behind it wait: a prompt without it would be wrong
                continue
            fresh = found is not None and isinstance(found[0], dict)
            if fresh and found is not None:
                if one not in held.infos and one < last:
                    self._late = True
                    return True
                held.infos[one] = found[0]
            if one not in held.infos or not (fresh or one in due):
                continue
            rows, gone, whole = self._parts(held, one)
            if gone:
                held.session.gone((), [(one, part) for part in gone])
            if fresh or rows:
                held.session.message(one, held.infos[one], rows, one)
            if one not in held.parts:
                held.order.append(one)
                held.parts[one] = set()
            held.parts[one].update(row.id for row in rows)
            held.parts[one].difference_update(gone)
            changed |= fresh or bool(rows or gone)
            if not whole:
                break
        return changed

    def _due(self, held: _Held) -> set[str]:
        """The messages whose parts are looked at now: old ones change too, when their results are cleared."""
        old = held.order[:-_NEWEST]
        some = old
        if len(old) > _IN_TURN:
            held.turn %= len(old)
            some = (old + old)[held.turn : held.turn + _IN_TURN]
            held.turn += _IN_TURN
        return {*some, *held.order[-_NEWEST:]}

    def _parts(self, held: _Held, message: str) -> tuple[list[PartRow], list[str], bool]:
        """(parts that were written, parts that are gone, whether none of them is being written)."""
        rows: list[PartRow] = []
        base = ROLE_BASE[role_of(held.infos[message])]
        entries = self._tree.entries("part", message)
        there = {entry.ident for entry in entries}
        gone = [part for part in held.parts.get(message, ()) if part not in there]
        for entry in entries:
            try:
                found = self._one(entry)
            except NotYet:
                self._torn = True
                return rows, gone, False
            if found is not None and isinstance(found[0], dict):
                rows.append(PartRow(entry.ident, found[0], entry.path, 0, found[1], base))
        return rows, gone, True

    def _value(self, entry: Entry | None) -> tuple[Any, int] | None:
        """What was written to a file beside the messages; one that is being written is looked at again."""
        if entry is None:
            return None
        try:
            return self._one(entry)
        except NotYet:
            self._torn = True
            return None

    def _one(self, entry: Entry) -> tuple[Any, int] | None:
        """What was written to a file. Raises NotYet; what is wrong with one that nobody writes becomes a problem."""
        try:
            found = self._tree.value(entry)
        except Unreadable as error:
            self._tell(entry, str(error).removeprefix(f"{entry.path}: "))
            return None
        if found is None:
            return None
        self.draft.changed_at = max(entry.at, self.draft.changed_at or 0.0)
        place = self._place(entry)
        if self._wrong.pop(place, None) is not None:
            self.draft.problems[:] = [problem for problem in self.draft.problems if problem.where != place]
        if not isinstance(found[0], dict) and not isinstance(found[0], list):
            self._tell(entry, "no object")
        return found

    def _tell(self, entry: Entry, what: str) -> None:
        place = self._place(entry)
        if self._wrong.get(place) != what:
            self._wrong[place] = what
            self.draft.problem(place, what)

    def _place(self, entry: Entry) -> str:
        return Path(entry.path).relative_to(self._tree.root).as_posix()


def recognise(path: Path, head: bytes) -> bool:
    """The file of a session: an object with its id, its project or folder, and no messages."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    told = b'"projectID"' in text or b'"directory"' in text
    return told and _SESSION.match(text) is not None and b'"messages"' not in text


def tree(folder: Path) -> Iterable[Path]:
    """The sessions of a storage folder that stand for themselves: no subagent's, and none that the database beside it
    took over. Empty for any other folder."""
    if not (folder / "session").is_dir() or not (folder / "message").is_dir():
        return
    for entry in _listed(folder):
        yield Path(entry.path)


def _listed(root: Path) -> Iterator[Entry]:
    taken = _taken_over(root)
    for entry in sessions(root):
        about = head(entry)
        if entry.ident not in taken and (about is None or about.parent is None):
            yield entry


def _taken_over(root: Path) -> set[str]:
    """Sessions that stand in the databases beside a storage: newer versions copy them and leave the files behind."""
    found: set[str] = set()
    for path in sorted(root.parent.glob("opencode*.db")):
        try:
            found.update(str(ident) for (ident,) in Database(path).rows("SELECT id FROM session"))
        except (Unreadable, NotYet):
            continue  # a database of another kind, or one that is being made
    return found


def places(folder: Path) -> Iterable[Path]:
    """The sessions of this folder, newest first."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"
    found = []
    for entry in _listed(data / "storage"):
        about = head(entry)
        if about is not None and about.directory == str(folder):
            found.append(entry)
    return [Path(entry.path) for entry in sorted(found, key=lambda entry: -entry.at)]


def peek(path: Path) -> RunInfo:
    """A row of the list: from the session's file, its first messages and its last one. Raises Unreadable."""
    files = Tree(path)
    status = os.stat(path)
    entry = Entry(path.stem, str(path), (status.st_ino, status.st_size, status.st_mtime_ns))
    about = head(entry)
    if about is None:
        raise Unreadable(f"{path}: no whole session yet")
    messages = files.entries("message", path.stem)
    at = max([entry.at, *(one.at for one in messages[-2:])])
    if messages:
        at = max([at, *(one.at for one in files.entries("part", messages[-1].ident)[-_FIRST:])])
    goal = next((text for one in messages[:_FIRST] if (text := _request(files, one))), None)
    last = _peeked(files, messages[-1]) if messages else {}
    return RunInfo(
        path.stem, str(path), FORMAT.name, at, goal=goal or about.title, agent="opencode",
        model=text_of(last.get("modelID")),
    )  # fmt: skip


def _request(files: Tree, message: Entry) -> str | None:
    if role_of(_peeked(files, message)) != "user":
        return None
    parts: Sequence[Entry] = files.entries("part", message.ident)[:_FIRST]
    said = (_peeked(files, one) for one in parts)
    return next((text for one in said if not one.get("synthetic") and (text := text_of(one.get("text")))), None)


def _peeked(files: Tree, entry: Entry) -> dict[str, Any]:
    try:
        found = files.value(entry)
    except (NotYet, Unreadable):
        return {}  # the row is made without it
    return found[0] if found is not None and isinstance(found[0], dict) else {}


FORMAT = Format(
    "opencode-storage", "opencode's older storage", recognise, StorageReader, places=places, everywhere=(_ROOT,),
    tree=tree, peek=peek,
)  # fmt: skip
