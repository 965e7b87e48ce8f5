"""The JSON that `opencode export` writes: one session, its messages with their parts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentmem.formats.agents.opencode.parts import extract, role_of
from agentmem.formats.agents.opencode.session import PartRow, Session
from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.whole import WholeFile
from agentmem.formats.source import NotYet, Patience, Unreadable
from agentmem.tokens import counter

_PIECES = 16
"""More pieces than a part has; a piece's ordinal is its part's place times this, plus its own."""


class ExportReader:
    """Reads one export, again when it is written anew."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = str(path)
        self._options = options
        self._file = WholeFile(self._path, ("messages",))
        self._patience = Patience()
        self._seen = False
        self._fresh()

    def _fresh(self) -> None:
        name = Path(self._path).name.removesuffix(".json")
        self.draft = RunDraft(
            self._path, "opencode-export", name, counter(self._options.counter), self._options.counter
        )
        self.draft.agent = "opencode"
        self.draft.unknown = ("system prompt", "tool schemas")

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

    def refresh(self) -> bool:
        """Read the file if it changed. Raises Unreadable, NotYet while there is nothing to show."""
        change = self._file.change()
        if change == "same":
            return False
        try:
            if change == "gone":
                raise Unreadable(f"{self._path}: no such file")
            reading = self._file.read(salvage=not self._seen)
        except (NotYet, Unreadable) as error:
            if not self._seen or not self._patience.over:
                self._file.forget()
            if not self._seen:
                raise
            steps = self.draft.main.steps
            last = steps[-1].n if steps else None
            notice = "file gone" if change == "gone" else self._patience.notice(error, self._path, last)
            changed = self.draft.notice != notice
            self.draft.notice = notice
            return changed
        self._patience.readable()
        self._fresh()
        session = Session(self.draft, self.draft.main)
        for index, item in enumerate(reading.records("messages")):
            try:
                message = decode(item.data)
            except ValueError as error:
                self.draft.problem(f"message {index + 1}", f"not JSON: {error}")
                continue
            info = message.get("info") if isinstance(message, dict) else None
            if not isinstance(info, dict):
                self.draft.problem(f"message {index + 1}", "no message of opencode")
                continue
            parts = _parts(message)
            rows = [
                PartRow(str(part.get("id") or n), part, self._path, item.offset, item.length, n * _PIECES)
                for n, part in enumerate(parts)
            ]
            session.message(str(info.get("id") or index), info, rows, f"message {index + 1}")
        info = reading.rest.get("info")
        about: dict[str, Any] = info if isinstance(info, dict) else {}
        session.revert(about.get("revert"))
        session.settle()
        self.draft.id = str(about.get("id") or self.draft.id)
        self.draft.changed_at = self._file.changed_at
        for where, what in reading.odd():
            self.draft.problem(where, what)
        self._seen = True
        return True

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            message = decode(raw)
        except ValueError:
            return None
        place, number = divmod(part, _PIECES)
        info = message.get("info") if isinstance(message, dict) else None
        parts = _parts(message) if isinstance(info, dict) else []
        if not isinstance(info, dict) or place >= len(parts):
            return None
        return extract(parts[place], number, role_of(info))


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    found = message.get("parts")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def recognise(path: Path, head: bytes) -> bool:
    """An object with the session's `info` and `messages` of `info` and `parts`."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    start = text[:2048].translate(None, b" \t\r\n")
    return start.startswith(b'{"info":{') and b'"ses_' in start and (b'"messages"' in text or b'"projectID"' in start)


FORMAT = Format("opencode-export", "exports of opencode", recognise, ExportReader)
