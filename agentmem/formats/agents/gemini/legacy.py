"""The older single JSON file of a Gemini chat, which is written whole at every change."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import xxhash

from agentmem.formats.agents.gemini.chat import Chat, Place
from agentmem.formats.agents.gemini.parts import TYPES, bits_of
from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode, encode
from agentmem.formats.reader import Keeper, KeptHere, Options, Version
from agentmem.formats.shared.lines import BEING_WRITTEN
from agentmem.formats.shared.whole import WholeFile
from agentmem.formats.source import NotYet, Unreadable
from agentmem.model import Problem, Where
from agentmem.tokens import counter

_PARTS = 4096


def extract_bits(raw: bytes, part: int) -> str | None:
    """Whole text of a piece: of the record itself, or of message `part // 4096` of a checkpoint, from 1."""
    try:
        value = decode(raw)
    except ValueError:
        return None
    index, number = divmod(part, _PARTS)
    if index and isinstance(value, dict):
        held = value.get("$set", value)
        messages = held.get("messages") if isinstance(held, dict) else None
        value = messages[index - 1] if isinstance(messages, list) and index <= len(messages) else None
    bits = bits_of(value) if isinstance(value, dict) else []
    return bits[number].part.text if number < len(bits) else None


class LegacyReader:
    """Follows one file; versions seen are merged into its steps."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = str(path)
        self._file = WholeFile(str(path), ("messages",))
        self.keeper: Keeper = options.keeper or KeptHere()
        name = path.name.removesuffix(".json")
        self.draft = RunDraft(self._path, "gemini-cli", name, counter(options.counter), options.counter)
        self.draft.unknown = ("system prompt", "tool schemas")
        self.draft.agent = "Gemini CLI"
        self._chat = Chat(self.draft, self.draft.main)
        self._known: set[int] = set()
        self._keys: tuple[int, ...] = ()
        self._odd: list[Problem] = []
        """What is wrong with the file now."""
        self._restored = False

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_bits(raw, part)

    def refresh(self) -> bool:
        """Read the file if it changed. Raises Unreadable, NotYet while there is nothing to show."""
        change = self._file.change()
        if change == "same":
            return False
        if change == "gone":
            if not self._keys:
                raise Unreadable(f"{self._path}: no such file")
            return self._notice("file gone")
        try:
            reading = self._file.read(salvage=not self._keys)
        except (NotYet, Unreadable) as error:
            self._file.forget()
            if not self._keys:
                raise
            return self._notice(BEING_WRITTEN if isinstance(error, NotYet) else str(error).rpartition(": ")[2])
        self._notice(BEING_WRITTEN if reading.cut else None)
        if not self._restored:
            self._restored = True
            self._restore()
        ident = reading.rest.get("sessionId")
        self.draft.id = ident if isinstance(ident, str) and ident else self.draft.id
        self.draft.changed_at = self._file.changed_at
        found = [item.data for item in reading.records("messages")]
        wrong = self._version(found, self._file.changed_at or time.time(), keep=not reading.cut)
        problems = self.draft.problems
        problems[:] = [one for one in problems if one not in self._odd]
        self._odd = [*wrong, *(Problem(where, what) for where, what in reading.odd())]
        problems.extend(self._odd)
        return True

    def _notice(self, text: str | None) -> bool:
        changed = self.draft.notice != text
        self.draft.notice = text
        return changed

    def _restore(self) -> None:
        for version in self.keeper.past(self._path):
            messages = [self.keeper.message(self._path, key) for key in version.messages]
            whole = [data for data in messages if data is not None]
            if len(whole) == len(messages):
                self._version(whole, version.seen_at, keep=False)

    def _version(self, messages: list[bytes], at: float, *, keep: bool) -> list[Problem]:
        """Take in one version. Returns what is wrong with its messages."""
        wrong: list[Problem] = []
        keys = tuple(xxhash.xxh3_64_intdigest(data) for data in messages)
        listed: list[tuple[str, Mapping[str, Any], Place]] = []
        for place, (key, data) in enumerate(zip(keys, messages, strict=True)):
            self.draft.see(data, f"message {place + 1}", "messages")
            try:
                record = decode(data)
            except ValueError as error:
                wrong.append(Problem(f"message {place + 1}", f"not JSON: {error}"))
                continue
            if not isinstance(record, dict) or not isinstance(record.get("type"), str):
                wrong.append(Problem(f"message {place + 1}", "no record"))
                continue
            if record["type"] not in TYPES:
                wrong.append(Problem(f"message {place + 1}", f"of an unknown type, {record['type']:.60}"))
                continue
            source, offset, length = f"history:{self._path}", key, len(data)
            listed.append(
                (str(record.get("id") or place), record, lambda n, s=source, o=offset, k=length: Where(s, o, k, n))  # type: ignore[misc]  # bound defaults
            )
        new = {key: data for key, data in zip(keys, messages, strict=True) if key not in self._known}
        if keep and (new or keys != self._keys):
            self._known.update(new)
            self.keeper.keep(self._path, Version(at, keys, encode({"sessionId": self.draft.id})), new)
        self._known.update(keys)
        self._keys = keys
        self._chat.listed(listed, "this version", recorded=False)
        return wrong
