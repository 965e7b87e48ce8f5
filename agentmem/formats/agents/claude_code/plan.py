"""The plan that an agent holds: todo lists, tasks and plans of plan mode, as fields with the pieces that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats.agents.claude_code.records import listed, mapping, string
from agentmem.formats.draft import LaneDraft
from agentmem.formats.fields import place
from agentmem.formats.loose import decode
from agentmem.formats.source import NotYet, SnapshotFile, Unreadable
from agentmem.model import Field, TokenCounter
from agentmem.pattern import pattern

PLAN_TOOLS = frozenset({"TodoWrite", "ExitPlanMode", "TaskCreate", "TaskUpdate"})
RESULT_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "Task", "Agent"})
"""Tools of whose results the structured copy is looked at."""
_DONE = frozenset({"completed", "done", "cancelled", "canceled"})
_CREATED = pattern(r"Task #?([\w-]{1,40}) created")


class Plan:
    """The plan of one lane. `lane.fields` is a new tuple whenever something in it changed."""

    def __init__(self, lane: LaneDraft, count: TokenCounter) -> None:
        self._lane, self._count = lane, count
        self._fields: dict[str, Field] = {}
        self._made: dict[str, tuple[str, int]] = {}
        """Call of a TaskCreate -> (subject, its piece), until its result names the task."""

    def copy(self, lane: LaneDraft, alias: Mapping[int, int]) -> Plan:
        """The same plan in a branch, whose pieces have other ids."""
        other = Plan(lane, self._count)
        for name, field in self._fields.items():
            carried = None if field.segment is None else alias.get(field.segment)
            other._fields[name] = _field(name, field.value, field.tokens, field.done, carried)
        other._publish()
        return other

    def called(self, tool: str, arguments: str, call_id: str | None, ident: int) -> None:
        """A call of a plan tool; `ident` is its piece."""
        try:
            body = mapping(msgspec.json.decode(arguments.encode("utf-8", "replace")))
        except (msgspec.DecodeError, RecursionError):
            return
        if tool == "TodoWrite" and isinstance(body.get("todos"), list):
            self._replace("plan[", self._items("plan", body["todos"], ident))
        elif tool == "ExitPlanMode" and string(body.get("plan")):
            self._put("plan", body["plan"], None, ident)
            self._publish()
        elif tool == "TaskCreate" and string(body.get("subject")) and call_id:
            self._made[call_id] = (body["subject"], ident)
        elif tool == "TaskUpdate":
            self._update(body, ident)

    def _items(self, name: str, items: Iterable[Any], ident: int | None) -> dict[str, Field]:
        out = {}
        for index, item in enumerate(items):
            text = string(item.get("content")) if isinstance(item, Mapping) else string(item)
            if text:
                done = str(item.get("status")) in _DONE if isinstance(item, Mapping) else False
                full = f"{name}[{index}]"
                out[full] = _field(full, text, self._count(text), done, ident)
        return out

    def _replace(self, prefix: str, fresh: Mapping[str, Field]) -> None:
        for name in [name for name in self._fields if name.startswith(prefix)]:
            del self._fields[name]
        self._fields.update(fresh)
        self._publish()

    def _put(self, name: str, text: str, done: bool | None, ident: int | None) -> None:
        self._fields[name] = _field(name, text, self._count(text), done, ident)

    def _update(self, body: Mapping[str, Any], ident: int) -> None:
        name = f"tasks[{body.get('taskId')}]"
        held = self._fields.get(name)
        if held is None:
            return
        status = body.get("status")
        if status == "deleted":
            del self._fields[name]
        else:
            subject = string(body.get("subject"))
            done = held.done if status is None else str(status) in _DONE
            self._put(name, subject or held.value, done, ident if subject else held.segment)
        self._publish()

    def answered(self, call_id: str | None, structured: Mapping[str, Any], text: str | None) -> None:
        """The result of a TaskCreate names the task."""
        made = self._made.pop(call_id or "", None)
        if made is None:
            return
        given = mapping(structured.get("task")).get("id")
        found = _CREATED.search(text or "")
        name = str(given) if isinstance(given, str | int) else found.group(1) if found else None
        if name is not None:
            self._put(f"tasks[{name}]", made[0], False, made[1])
            self._publish()

    def lost(self) -> None:
        """The prompt was cut: what is no longer carried is held outside it."""
        standing = set(self._lane.tape.live)
        changed = False
        for name, field in self._fields.items():
            if field.segment is not None and field.segment not in standing:
                self._fields[name] = _field(name, field.value, field.tokens, field.done, None)
                changed = True
        if changed:
            self._publish()

    def saw(self, ident: int, text: str) -> None:
        """A summary or reminder stands in the prompt: it may carry what nothing else does."""
        changed = False
        for name, field in self._fields.items():
            if field.segment is None and place(text, field) is not None:
                self._fields[name] = _field(name, field.value, field.tokens, field.done, ident)
                changed = True
        if changed:
            self._publish()

    def reminded(self, body: object, ident: int) -> None:
        """A reminder of the list (the attachment's content). An empty one says nothing, nor one of a list that is held:
        a reminder may leave out items that were never taken off."""
        if any(name.startswith("plan[") for name in self._fields):
            return
        items = [item for item in listed(body) if isinstance(item, Mapping) and string(item.get("content"))]
        if items and not any("id" in item for item in items):
            self._replace("plan[", self._items("plan", items, ident))

    def kept(self, todos: object, tasks: Iterable[Mapping[str, Any]]) -> bool:
        """What the agent keeps beside the session: a todo list that no line told of, tasks that none told of, and how
        far the others are. Returns whether that was news."""
        before = dict(self._fields)
        if not any(name.startswith("plan[") for name in self._fields):
            for name, field in self._items("plan", todos if isinstance(todos, list) else (), None).items():
                self._fields[name] = field
        for task in tasks:
            name, subject = f"tasks[{task.get('id')}]", string(task.get("subject"))
            held = self._fields.get(name)
            if subject and task.get("status") != "deleted":
                done = str(task.get("status")) in _DONE
                same = held is not None and held.value == subject
                if held is None or not same or held.done != done:
                    self._put(name, subject, done, held.segment if held is not None and same else None)
        if self._fields == before:
            return False
        self._publish()
        return True

    def _publish(self) -> None:
        self._lane.fields = tuple(self._fields.values())


class KeptBeside:
    """The files in which the agent keeps the plan of a session, below its own folder: `todos/ID-agent-ID.json`, a list,
    and `tasks/ID/N.json`, an object a task. They are written anew at every change."""

    def __init__(self, session: Path) -> None:
        base, name = session.parents[2] if len(session.parents) > 2 else session.parent, session.stem
        self._todos = SnapshotFile(base / "todos" / f"{name}-agent-{name}.json")
        self._folder = base / "tasks" / name
        self._tasks: dict[str, SnapshotFile] = {}

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where they stand, whether there are any or not."""
        return Path(self._todos.path).parent, self._folder

    def look(self, plan: Plan) -> bool:
        """Read what changed since the last look. Returns whether it was news to the plan."""
        for path in self._folder.glob("*.json"):
            self._tasks.setdefault(path.name, SnapshotFile(path))
        todos, tasks = _written(self._todos), [_written(file) for file in self._tasks.values()]
        fresh = [task for task in tasks if isinstance(task, Mapping)]
        return plan.kept(todos, fresh) if fresh or todos is not None else False


def _written(file: SnapshotFile) -> object:
    """What was written to a file since it was last read; None if nothing was, or it cannot be read yet."""
    try:
        if file.change() in ("same", "gone"):
            return None
        value: object = decode(file.read())
    except (NotYet, Unreadable, ValueError):
        return None  # half written: looked at again when the rest of it comes
    return value


def _field(name: str, value: str, tokens: int, done: bool | None, segment: int | None) -> Field:
    return Field(name, value, tokens, None, None, segment, done)
