"""Makes the samples of opencode: in `opencode/` a database with two sessions, and one of them as an export; in
`opencode-storage/` the same sessions as older versions kept them, a file a session, a message and a part.

    python sample_runs/make_opencode.py [FOLDER]

`Store` writes rows as opencode does: a message first, its parts behind it, updated in place. The header's version of
the SQLite library is written over, so that the file made again is the same to the byte.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = "4f1c9d20b7a8e3556c0d"
START = 1_777_000_000_000
"""24 April 2026, in milliseconds."""
MODEL = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
HIDDEN = 5_400
NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
TABLES = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
    version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER, time_compacting INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT);
CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT, position INTEGER, time_created INTEGER,
    time_updated INTEGER);
"""
SUMMARY = """## Goal
Sort the seed catalogue by the year of the harvest; packets.json stays as it is.

## Discoveries
- the years stand in field 7 of each line

## Next Steps
- write sort_seeds.py"""

Data = dict[str, Any]


class Store:
    """Rows of a database in the making."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.now = START
        self.count = 0

    def ident(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:08d}seeds"

    def tick(self) -> int:
        self.now += 700
        return self.now

    def session(self, title: str, parent: str | None = None) -> str:
        ident, at = self.ident("ses"), self.tick()
        self.connection.execute(
            "INSERT INTO session VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (ident, "prj", parent, "slug", "/srv/seeds", title, "1.4.0", None, at, at, None),
        )
        return ident

    def message(self, session: str, **data: Any) -> str:
        ident, at = self.ident("msg"), self.tick()
        data = {"time": {"created": at}, **data}
        self.connection.execute("INSERT INTO message VALUES (?,?,?,?,?)", (ident, session, at, at, json.dumps(data)))
        return ident

    def part(self, session: str, message: str, **data: Any) -> str:
        ident, at = self.ident("prt"), self.tick()
        row = (ident, message, session, at, at, json.dumps(data))
        self.connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", row)
        return ident

    def update(self, table: str, ident: str, **data: Any) -> None:
        """Change some members of a row's data in place."""
        (held,) = self.connection.execute(f"SELECT data FROM {table} WHERE id=?", (ident,)).fetchone()
        self.connection.execute(
            f"UPDATE {table} SET data=?, time_updated=? WHERE id=?",
            (json.dumps({**json.loads(held), **data}), self.tick(), ident),
        )

    def touch(self) -> None:
        """All sessions were changed now."""
        self.connection.execute("UPDATE session SET time_updated=?", (self.tick(),))

    # -- what a session is made of --------------------------------------------------------------------------------

    def user(self, session: str, text: str, **more: Any) -> str:
        message = self.message(session, role="user", agent="build", model=MODEL)
        self.part(session, message, type="text", text=text, **more)
        return message

    def begin(self, session: str, parent: str, **more: Any) -> str:
        tokens = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        more = {"parentID": parent, "mode": "build", "agent": "build", **MODEL, "cost": 0, "tokens": tokens, **more}
        return self.message(session, role="assistant", **more)

    def end(self, message: str, prompt: int, finish: str = "stop") -> None:
        cache = {"read": prompt - 12, "write": 10}
        self.update("message", message, finish=finish, cost=0.01,
                    tokens={"input": 2, "output": 50, "reasoning": 0, "cache": cache})  # fmt: skip

    def tool(
        self, session: str, message: str, tool: str, output: str, *, code: int | None = None, error: str | None = None,
        metadata: Data | None = None, **given: Any,
    ) -> str:  # fmt: skip
        ident = self.part(session, message, type="tool", tool=tool, callID=f"call_{self.count:05d}",
                          state={"status": "running", "input": given, "time": {"start": self.now}})  # fmt: skip
        held = dict(metadata or {}) | ({"exit": code} if code is not None else {})
        state: Data = {"status": "completed", "input": given, "output": output, "metadata": held,
                       "time": {"start": self.now, "end": self.now + 300}}  # fmt: skip
        if error is not None:
            state = {"status": "error", "input": given, "error": error, "time": {"start": self.now, "end": self.now}}
        self.update("part", ident, state=state)
        return ident

    def prune(self, part: str) -> None:
        (held,) = self.connection.execute("SELECT data FROM part WHERE id=?", (part,)).fetchone()
        state = json.loads(held)["state"]
        state["time"]["compacted"] = self.tick()
        self.update("part", part, state=state)

    def todo(self, session: str, items: list[Data]) -> None:
        self.connection.execute("DELETE FROM todo WHERE session_id=?", (session,))
        for position, item in enumerate(items):
            row = (session, item["content"], item["status"], "medium", position, self.now, self.now)
            self.connection.execute("INSERT INTO todo VALUES (?,?,?,?,?,?,?)", row)


class Files(Store):
    """Files of an older storage in the making: put in place of the one before, or (`in_place`) written over it, as
    still older versions did. Ids are given as `Store` gives them."""

    in_place = False

    def __init__(self, root: Path) -> None:
        super().__init__(sqlite3.connect(":memory:"))  # nothing is kept in it
        self.root = root
        self.places: dict[str, Path] = {}
        """Id -> its file."""

    def write(self, path: Path, value: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(value, indent=2)
        if self.in_place:
            path.write_text(text, encoding="utf-8")
            return
        beside = path.with_name(f".oc-{path.name}.1.tmp")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)

    def read(self, ident: str) -> Data:
        value: Data = json.loads(self.places[ident].read_text(encoding="utf-8"))
        return value

    def session(self, title: str, parent: str | None = None) -> str:
        ident, at = self.ident("ses"), self.tick()
        above = {} if parent is None else {"parentID": parent}
        self.places[ident] = self.root / "session" / PROJECT / f"{ident}.json"
        self.write(self.places[ident], {
            "id": ident, "version": "1.0.120", "projectID": PROJECT, "directory": "/srv/seeds", **above,
            "title": title, "time": {"created": at, "updated": at},
        })  # fmt: skip
        return ident

    def message(self, session: str, **data: Any) -> str:
        ident, at = self.ident("msg"), self.tick()
        self.places[ident] = self.root / "message" / session / f"{ident}.json"
        self.write(self.places[ident], {"id": ident, "sessionID": session, "time": {"created": at}, **data})
        return ident

    def part(self, session: str, message: str, **data: Any) -> str:
        ident = self.ident("prt")
        self.tick()
        self.places[ident] = self.root / "part" / message / f"{ident}.json"
        self.write(self.places[ident], {"id": ident, "sessionID": session, "messageID": message, **data})
        return ident

    def update(self, table: str, ident: str, **data: Any) -> None:
        self.write(self.places[ident], {**self.read(ident), **data})
        self.tick()

    def prune(self, part: str) -> None:
        state = self.read(part)["state"]
        state["time"]["compacted"] = self.tick()
        self.update("part", part, state=state)

    def todo(self, session: str, items: list[Data]) -> None:
        listed = [{"id": str(place), "priority": "medium", **item} for place, item in enumerate(items)]
        self.write(self.root / "todo" / f"{session}.json", listed)

    def touch(self) -> None:
        at = self.tick()
        for ident in [one for one in self.places if one.startswith("ses_")]:
            held = self.read(ident)
            self.write(self.places[ident], {**held, "time": {**held["time"], "updated": at}})

    def remove(self, ident: str) -> None:
        """A message or part is taken back."""
        self.places.pop(ident).unlink()
        if ident.startswith("msg_"):
            shutil.rmtree(self.root / "part" / ident, ignore_errors=True)


def fill(store: Store) -> str:
    """The two sessions. Returns the id of the first."""
    main = store.session("Sort the seed catalogue")
    asked = store.user(main, "Sort the seed catalogue by year of harvest. Never change packets.json.")
    items = [
        {"content": "Find the year", "status": "in_progress"},
        {"content": "Write sort_seeds.py", "status": "pending"},
    ]
    first = store.begin(main, asked)
    store.part(main, first, type="reasoning", text="Look first.")
    store.tool(main, first, "todowrite", json.dumps(items), todos=items)
    store.end(first, HIDDEN + 80, "tool-calls")
    store.todo(main, items)
    second = store.begin(main, asked)
    lines = "\n".join(f"seed {n};packet {n % 7};{1990 + n % 30}" for n in range(120))
    big = store.tool(main, second, "read", lines, filePath="catalogue.csv")
    store.end(second, HIDDEN + 220, "tool-calls")
    third = store.begin(main, asked)
    store.tool(main, third, "bash", "KeyError: 'year'", code=1, command="python sort_seeds.py")
    child = store.session("Find the year", main)
    store.tool(main, third, "task", "field 7", metadata={"sessionId": child}, description="Find the year")
    store.end(third, HIDDEN + 1200, "tool-calls")
    told = store.user(child, "Find the field that holds the year.")
    answer = store.begin(child, told)
    store.tool(child, answer, "grep", "7: year", pattern="year")
    store.part(child, answer, type="text", text="field 7")
    store.end(answer, HIDDEN + 40)
    fourth = store.begin(main, asked)
    store.part(main, fourth, type="text", text="The year is in field 7.")
    store.end(fourth, HIDDEN + 1300)
    store.prune(big)
    again = store.user(main, "Then write it.")
    fifth = store.begin(main, again)
    store.tool(main, fifth, "write", "", error="The user rejected permission to use this specific tool call.",
               filePath="packets.json", content="[]")  # fmt: skip
    store.end(fifth, HIDDEN + 420, "tool-calls")
    marker = store.message(main, role="user", agent="build", model=MODEL)
    store.part(main, marker, type="compaction", auto=True, tail_start_id=again)
    summary = store.begin(main, marker, summary=True)
    store.part(main, summary, type="text", text=SUMMARY)
    store.end(summary, HIDDEN + 500)
    on = store.user(main, "Continue if you have next steps.", synthetic=True)
    sixth = store.begin(main, on)
    store.tool(main, sixth, "write", "Wrote file.", filePath="sort_seeds.py", content="...")
    store.end(sixth, HIDDEN + 260, "tool-calls")
    seventh = store.begin(main, on, error={"name": "APIError", "data": {"message": "overloaded"}})
    store.part(main, seventh, type="retry", attempt=1, error={"message": "overloaded"})
    last = store.begin(main, on)
    store.part(main, last, type="text", text="Sorted by year.")
    store.end(last, HIDDEN + 300)
    store.touch()
    return main


def export(connection: sqlite3.Connection, session: str) -> Data:
    """What `opencode export` writes of a session."""
    messages = []
    for ident, data in connection.execute("SELECT id, data FROM message WHERE session_id=? ORDER BY id", (session,)):
        parts = connection.execute("SELECT id, data FROM part WHERE message_id=? ORDER BY id", (ident,)).fetchall()
        held = [{"id": one, "sessionID": session, "messageID": ident, **json.loads(body)} for one, body in parts]
        messages.append({"info": {"id": ident, "sessionID": session, **json.loads(data)}, "parts": held})
    (title,) = connection.execute("SELECT title FROM session WHERE id=?", (session,)).fetchone()
    return {"info": {"id": session, "directory": "/srv/seeds", "title": title}, "messages": messages}


def make(folder: Path) -> list[Path]:
    place = folder / "opencode"
    place.mkdir(parents=True, exist_ok=True)
    database, exported = place / "opencode.db", place / "export.json"
    database.unlink(missing_ok=True)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA page_size=4096")
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.executescript(TABLES)
    connection.execute("BEGIN")
    session = fill(Store(connection))
    connection.execute("COMMIT")
    exported.write_text(json.dumps(export(connection, session), indent=1), encoding="utf-8")
    connection.close()
    with database.open("r+b") as file:
        file.seek(96)
        file.write((3_040_001).to_bytes(4, "big"))
    storage = folder / "opencode-storage"
    shutil.rmtree(storage, ignore_errors=True)
    fill(Files(storage))
    return [database, exported, *sorted(path for path in storage.rglob("*") if path.is_file())]


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
