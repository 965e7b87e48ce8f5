"""Message lists and checkpoints that somebody's loop writes with a plain `json.dump`, whole, again and again.

A list alone or under `messages`, with or without `step`, `notes` and a state beside it. One version already gives all
its steps; versions seen later are merged into them; what was missed is a gap.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode, encode
from agentmem.formats.plain.envelope import ENDED, GOAL_KEYS, NEW_RUN
from agentmem.formats.plain.feed import Feed, nothing_in
from agentmem.formats.plain.parse import LIST_KEYS, SPACE, Parsed, Parser
from agentmem.formats.reader import Format, Keeper, KeptHere, Options, Version
from agentmem.formats.shared import whole
from agentmem.formats.shared.peek import head_and_tail, members
from agentmem.formats.source import UNREADABLE_SECONDS, NotYet, Patience, SnapshotFile, Unreadable
from agentmem.formats.versions import Item, extract_message
from agentmem.model import Problem, RunInfo, Where
from agentmem.tokens import counter

_NEWS_SECONDS = 60.0
"""For so long it is said that a new run began."""


class SnapshotReader:
    """Follows one such file."""

    def __init__(self, path: Path, options: Options) -> None:
        self._file = SnapshotFile(path)
        self._path = str(path)
        self._options = options
        self._patience = Patience()
        self.keeper: Keeper = options.keeper or KeptHere()
        self._gone = self._unseen = False
        """Since the last version the file was away; nobody looked."""
        self._new_run_at: float | None = None
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        draft = RunDraft(
            self._path, "messages", Path(self._path).name.removesuffix(".json"), counter(self._options.counter),
            self._options.counter,
        )  # fmt: skip
        draft.notice = notice
        self.draft = draft
        self._odd: list[Problem] = []
        """What is wrong with a file of which only parts could be read."""
        self._known: set[int] = set()
        self._restored = False
        self._parser = Parser(self._path, draft.problem)
        self._feed = Feed(draft, self._stored, self._parser.may_hold)

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_message(raw, part)

    def refresh(self) -> bool:
        if not self._restored:
            self._restored = True
            self._restore()
        try:
            change = self._file.change()
            if change == "same":
                return False
            if change == "gone":
                self._gone = True
                raise Unreadable(f"{self._path}: no such file")
        except Unreadable as error:
            return self._unread(str(error).removeprefix(f"{self._path}: "), error)
        try:
            parsed = self._parse()
        except (NotYet, Unreadable) as error:
            return self._unread(self._patience.notice(error, self._path, self._feed.last), error)
        self._patience.readable()
        self.draft.notice = self._news()
        at = self._file.changed_at or time.time()
        anew = self._restarts(parsed.rest, parsed.fresh, parsed.stands)
        self._version(parsed.rest, parsed.fresh, at, parsed.stands, anew=anew, keep=not self._odd)
        return True

    def _parse(self) -> Parsed:
        """The version that stands in the file. Raises NotYet, Unreadable."""
        data = self._file.read()
        try:
            parsed = self._parser.parse(data)
        except NotYet:
            if self._feed.begun or time.time() - (self._file.changed_at or 0.0) < UNREADABLE_SECONDS:
                raise
            return self._salvaged(data)
        if self._odd:
            # What was read of the damaged file is no version of it.
            self._fresh(None)
            self._restored = True
            self._restore()
            parsed = self._parser.parse(data)
        if parsed.stands and (self._restarts(parsed.rest, parsed.fresh, parsed.stands)
                              or self._feed.short(parsed.rest, parsed.fresh)):
            parsed = self._parser.parse(data, all_of_it=True)
        if not parsed.stands and (why := _nothing_in(parsed)) is not None:
            self._parser.forget()
            raise Unreadable(f"{self._path}: {why}")
        return parsed

    def _salvaged(self, data: bytes) -> Parsed:
        """Of a file that nobody is writing any more what stands in it whole. Raises NotYet, Unreadable for nothing."""
        reading = whole.parse(data, self._path, LIST_KEYS)
        items = self._parser.items([item.data for item in reading.records(whole.BARE, *LIST_KEYS)])
        parsed = Parsed(reading.rest, 0, items)
        if not items or _nothing_in(parsed) is not None:
            raise NotYet(f"{self._path}: half written or cut")
        self._odd = [Problem(where, what) for where, what in reading.odd()]
        self._odd = self._odd or [Problem("file", f"damaged; {len(items)} records read")]
        self.draft.problems.extend(self._odd)
        return parsed

    def _unread(self, notice: str, error: NotYet | Unreadable) -> bool:
        """Keep what was seen and say what is wrong. True if that is new. Raises the error while nothing was seen."""
        if not self._patience.over:
            self._file.forget()
        if not self._feed.begun:
            self._file.forget()
            raise error
        changed = self.draft.notice != notice
        self.draft.notice = notice
        return changed

    # -- versions -------------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        items: list[Item] = []
        self.draft.earlier = self.keeper.earlier(self._path)
        for version in self.keeper.past(self._path):
            # After a version that could not be put together the next one is, from its beginning.
            stands = min(version.stands, len(items))
            del items[stands:]
            for key in version.messages[stands:]:
                data = self.keeper.message(self._path, key)
                if data is None:
                    break
                self._known.add(key)
                items.append(Item(data, f"history:{self._path}", key, len(data), key=key))
            if len(items) < len(version.messages):
                items = []
                continue
            rest = decode(version.rest)
            anew = self._restarts(rest, items, 0)
            stands = 0 if anew else stands
            self._version(rest, items[stands:], version.seen_at, stands, anew=anew, keep=False)
        self._new_run_at = None
        self._unseen = self._feed.begun

    def _version(
        self, rest: dict[str, Any], fresh: list[Item], at: float, stands: int, *, anew: bool, keep: bool
    ) -> None:  # fmt: skip
        """Take in a version: the first `stands` messages of the one before, then `fresh`. `anew`: a new run's first."""
        if anew:
            self._new_run_at = time.time()
            earlier = self.draft.earlier
            self._fresh(NEW_RUN)
            self.draft.earlier = earlier
            self._restored = True
            if keep:
                self.keeper.begin(self._path)
        self._gone = self._unseen = False
        self._feed.version(rest, fresh, at, stands)
        if keep:
            self._keep(rest, fresh, at)
        if anew and keep:
            # As many as the keeper can give: a full disk keeps none.
            self.draft.earlier = self.keeper.earlier(self._path)

    def _restarts(self, rest: dict[str, Any], fresh: list[Item], stands: int) -> bool:
        return self._feed.restarts(rest, fresh, stands, gone=self._gone, unseen=self._unseen)

    def _news(self) -> str | None:
        """What is said of a file that is in order."""
        new = self._new_run_at is not None and time.time() - self._new_run_at < _NEWS_SECONDS
        return NEW_RUN if new else None

    def _stored(self, where: Where) -> str | None:
        data = self.keeper.message(self._path, where.offset)
        return None if data is None else extract_message(data, where.part)

    def _keep(self, rest: dict[str, Any], fresh: list[Item], at: float) -> None:
        new = {item.key: item.data for item in fresh if item.key not in self._known}
        self._known.update(new)
        self.keeper.keep(self._path, Version(at, tuple(self._feed.keys), encode(rest)), new)


def _nothing_in(parsed: Parsed) -> str | None:
    return nothing_in(parsed.rest, parsed.fresh, parsed.instead, parsed.listed, parsed.not_json)


def recognise(path: Path, head: bytes) -> bool:
    """A JSON list of messages, or an object with one, or with `step` and a state or notes."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0" + SPACE)
    if text.startswith(b"["):
        first = text[1:].lstrip(SPACE)[:1]
        return first in (b"{", b"]") and (b'"role"' in text or b'"type"' in text or first == b"]")
    if not text.startswith(b"{") or _is_lines(path, text):
        return False
    return any(b'"' + key.encode() + b'"' in text for key in ("messages", "step", "notes")) or (
        b'"input"' in text and b'"role"' in text
    )


def _is_lines(path: Path, text: bytes) -> bool:
    first, newline, second = text.partition(b"\n")
    return bool(newline) and first.rstrip().endswith(b"}") and second.lstrip().startswith(b"{") and len(first) > 2


def peek(path: Path) -> RunInfo:
    """What stands beside the messages, where that is in the head or the tail. How many steps can be shown is not known:
    the file's own number counts those too that are gone from its list. Raises Unreadable for a file that is no run,
    where it is short enough to see that."""
    head, tail = head_and_tail(path)
    if not tail:
        _refuse(path, head)
    found = members(path, LIST_KEYS)
    ident, status, model = (found.get(name) for name in ("run_id", "status", "model"))
    goal = next((found[key] for key in GOAL_KEYS if isinstance(found.get(key), str)), None)
    return RunInfo(
        ident if isinstance(ident, str) and ident else path.name.removesuffix(".json"), str(path),
        "checkpoint" if "step" in found or "notes" in found or "state" in found else "messages",
        path.stat().st_mtime, "ended" if isinstance(status, str) and status.lower() in ENDED else "unknown",
        None, goal, None, model if isinstance(model, str) else None,
    )  # fmt: skip


def _refuse(path: Path, data: bytes) -> None:
    """Raises Unreadable where opening the file would."""
    try:
        why = _nothing_in(Parser(str(path), lambda where, what: None).parse(data))
    except NotYet:
        if _nothing_whole(path, data):
            raise Unreadable(f"{path}: half written or cut at byte {len(data)}") from None
        return  # opening it tells, and shows the records that stand in it whole
    if why is not None:
        raise Unreadable(f"{path}: {why}")


def _nothing_whole(path: Path, data: bytes) -> bool:
    """Whether a cut file holds no whole message."""
    try:
        reading = whole.parse(data, str(path), LIST_KEYS)
    except (NotYet, Unreadable):
        return True
    return reading.cut and not reading.records(whole.BARE, *LIST_KEYS)


FORMAT = Format(
    "messages", "message lists and plain checkpoints", recognise, SnapshotReader, peek=peek, overwritten=True
)  # fmt: skip
__all__ = ["FORMAT", "SnapshotReader"]
