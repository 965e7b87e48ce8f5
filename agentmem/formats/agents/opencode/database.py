"""opencode's database: all sessions share it, parts are updated in place while they stream. Only ever read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats.agents.opencode.parts import ROLE_BASE, extract_apart, role_of
from agentmem.formats.agents.opencode.session import PartRow, Session
from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.peek import status_of
from agentmem.formats.shared.sqlite import Busy, Database, is_database, tables
from agentmem.formats.source import NotYet, Unreadable
from agentmem.model import RunInfo, Where
from agentmem.tokens import counter

_CHUNK = 400
_DEPTH = 4
_LISTED = """
    SELECT id, title, time_updated, (
        SELECT count(*) FROM message m WHERE m.session_id=session.id
            AND instr(replace(substr(m.data, 1, 2000), ' ', ''), '"role":"assistant"') > 0
    ) FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC
"""


class _Held(msgspec.Struct, eq=False):
    """What was read of one session."""

    session: Session
    messages: dict[str, object] = msgspec.field(default_factory=dict)
    """Message -> when it was last updated, as it stands there: another value tells of a change."""
    parts: dict[str, tuple[str, object]] = msgspec.field(default_factory=dict)
    """Part -> (its message, when it was last updated)."""
    infos: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)


class DatabaseReader:
    """Follows one session of a database, with the sessions of its subagents as lanes."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path, self._options = path, options
        self._database = Database(path)
        self._mark: object = None
        self._id = options.run_id or _only(self._database)
        self.draft = RunDraft(str(path), "opencode", self._id, counter(options.counter), options.counter)
        self.draft.agent = "opencode"
        self.draft.unknown = ("system prompt", "tool schemas")
        self._held = {self._id: _Held(Session(self.draft, self.draft.main))}
        self._tables = tables(path)

    def watched(self) -> Iterable[Path]:
        return (self._path.parent,)

    def refresh(self) -> bool:
        """Read what changed. Raises Unreadable, NotYet while there is nothing to show."""
        mark = self._database.mark()
        if mark == self._mark:
            return False
        before = self.draft.notice
        try:
            changed = self._read()
        except (NotYet, Unreadable) as error:
            if not self._held[self._id].messages:
                raise
            self.draft.notice = "busy" if isinstance(error, Busy) else str(error).rpartition(": ")[2]
            return self.draft.notice != before
        self._mark = mark
        self.draft.notice = None
        return changed or before is not None

    def _read(self) -> bool:
        changed = False
        waiting = [(self._id, 0)]
        while waiting:
            ident, depth = waiting.pop(0)
            changed |= self._session(ident)
            if depth < _DEPTH:
                children = self._database.rows("SELECT id FROM session WHERE parent_id=? ORDER BY id", (ident,))
                for (child,) in children:
                    self._lane(str(child), ident)
                    waiting.append((str(child), depth + 1))
        if not self._held[self._id].messages:
            raise NotYet(f"{self._path}: session {self._id} has no message yet")
        return changed

    def _lane(self, child: str, parent: str) -> None:
        if child in self._held:
            return
        owner = self._held[parent].session
        n = owner.children.get(child, len(owner.lane.steps))
        lane = self.draft.lane(child, "subagent", spawned_by=(owner.lane.id, n) if n else None)
        self._held[child] = _Held(Session(self.draft, lane))

    def _session(self, ident: str) -> bool:
        """Take in what is new of one session: first what changed, by its time, then only that."""
        held = self._held[ident]
        with self._database.read() as connection:
            head = connection.execute("SELECT * FROM session WHERE id=?", (ident,))
            names = [column[0] for column in head.description]
            row = head.fetchone()
            if row is None:
                raise Unreadable(f"{self._path}: no session {ident}")
            about = dict(zip(names, row, strict=True))
            messages = {
                str(one): at
                for one, at in connection.execute(
                    "SELECT id, time_updated FROM message WHERE session_id=? ORDER BY time_created, id", (ident,)
                )
            }
            parts = {
                str(one): (str(owner), at)
                for one, owner, at in connection.execute(
                    "SELECT id, message_id, time_updated FROM part WHERE session_id=? ORDER BY id", (ident,)
                )
            }
            fresh = [one for one, at in messages.items() if held.messages.get(one) != at]
            fresh_parts = [one for one, mark in parts.items() if held.parts.get(one) != mark]
            infos = self._data(connection, "message", fresh)
            bodies = self._data(connection, "part", fresh_parts)
            todo = self._todo(connection, ident)
        lost = [one for one in held.messages if one not in messages]
        lost_parts = [(owner, one) for one, (owner, _) in held.parts.items() if one not in parts and owner in messages]
        session = held.session
        if lost or lost_parts:
            session.gone(lost, lost_parts)
        self._about(ident, about, session)
        held.infos.update({one: info for one, (info, _) in infos.items()})
        by_message: dict[str, list[PartRow]] = {}
        for one in fresh_parts:
            owner = parts[one][0]
            body, length = bodies.get(one, ({}, 0))
            role = role_of(held.infos.get(owner, {}))
            source = f"sqlite:{self._path}?table=part&id={one}"
            row_of = PartRow(one, body, source, 0, length, ROLE_BASE[role])
            by_message.setdefault(owner, []).append(row_of)
        touched = set(fresh) | by_message.keys()
        for one in messages:
            if one in touched and one in held.infos:
                session.message(one, held.infos[one], by_message.get(one, ()), one)
        session.todo(todo)
        moved = session.settle()
        held.messages, held.parts = messages, parts
        return bool(moved or touched or lost or lost_parts)

    def _data(self, connection: Any, table: str, ids: list[str]) -> dict[str, tuple[dict[str, Any], int]]:
        """Decoded data of rows, with the length of their text in bytes."""
        out: dict[str, tuple[dict[str, Any], int]] = {}
        for start in range(0, len(ids), _CHUNK):
            some = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(some))
            found = connection.execute(f"SELECT id, CAST(data AS BLOB) FROM {table} WHERE id IN ({marks})", some)
            for ident, data in found.fetchall():
                try:
                    value = decode(bytes(data))
                except (ValueError, TypeError) as error:
                    self.draft.problem(f"{table} {ident}", f"not JSON: {error}")
                    continue
                if isinstance(value, dict):
                    out[str(ident)] = (value, len(data))
                else:
                    self.draft.problem(f"{table} {ident}", "no object")
        return out

    def _todo(self, connection: Any, ident: str) -> list[dict[str, Any]]:
        if not {"session_id", "content", "status"} <= self._tables.get("todo", frozenset()):
            return []
        order = "ORDER BY position" if "position" in self._tables["todo"] else ""
        found = connection.execute(f"SELECT content, status FROM todo WHERE session_id=? {order}", (ident,))
        return [{"content": content, "status": status} for content, status in found.fetchall()]

    def _about(self, ident: str, about: dict[str, Any], session: Session) -> None:
        revert = about.get("revert")
        try:
            session.revert(decode(revert.encode()) if isinstance(revert, str) and revert else None)
        except ValueError:
            session.revert(None)
        if ident != self._id:
            return
        goal = about.get("goal")
        if isinstance(goal, str) and goal:  # only forks have this column
            self.draft.set_goal(goal, declared=True)
        updated = about.get("time_updated")
        if isinstance(updated, int):
            self.draft.changed_at = updated / 1000

    def rows(self, where: Where) -> bytes | None:
        """Bytes of the row that holds a piece."""
        address = where.source.partition("?table=part&id=")
        if not address[1]:
            return None
        try:
            found = self._database.rows("SELECT CAST(data AS BLOB) FROM part WHERE id=?", (address[2],))
        except (Unreadable, NotYet):
            return None
        return bytes(found[0][0]) if found else None

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_apart(raw, part)


def _only(database: Database) -> str:
    found = database.rows("SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT 1")
    if not found:
        raise Unreadable(f"{database.path}: no sessions in it")
    return str(found[0][0])


def recognise(path: Path, head: bytes) -> bool:
    """A database with opencode's tables."""
    if not is_database(head):
        return False
    try:
        found = tables(path)
    except (Unreadable, NotYet):
        return False
    return (
        {"session_id", "data"} <= found.get("message", frozenset())
        and {"message_id", "data"} <= found.get("part", frozenset())
        and {"id", "parent_id"} <= found.get("session", frozenset())
    )


def runs(path: Path) -> Iterable[RunInfo]:
    """Sessions that are no subagent's, newest first. Raises Unreadable, Busy."""
    found = Database(path).rows(_LISTED)
    for ident, title, updated, steps in found:
        at = updated / 1000 if isinstance(updated, int) else None
        goal = title if isinstance(title, str) and title else None
        yield RunInfo(str(ident), str(path), "opencode", at, status_of(at), steps, goal=goal, agent="opencode")


def places(folder: Path) -> Iterable[Path]:
    """The databases that hold a session of this folder."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"
    for path in sorted(data.glob("opencode*.db")):
        try:
            if Database(path).rows("SELECT 1 FROM session WHERE directory=? LIMIT 1", (str(folder),)):
                yield path
        except (Unreadable, NotYet):
            continue  # a database of another kind, or one that is being made


FORMAT = Format(
    "opencode", "opencode", recognise, DatabaseReader, runs=runs, places=places,
    everywhere=("{XDG_DATA_HOME|~/.local/share}/opencode/opencode*.db",),
)  # fmt: skip
