"""Bytes of the files that readers follow: append files record by record, snapshot files whole.

A signature (inode, size, mtime, a fingerprint of the bytes before the offset) tells grown from replaced. Lines are
split on the byte `\\n` only. Nothing here writes, locks or keeps a file open.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Literal

import msgspec
import xxhash

_CHUNK = 4 * 1024 * 1024
_FINGERPRINT = 256
_TICK_NS = 20_000_000
"""Two writes within a tick of the kernel's clock (1 to 10 ms) leave the same time."""
SNAPSHOT_LIMIT = 512 * 1024 * 1024


class Unreadable(Exception):
    """A file that cannot be read; the message is one line that names the file and the reason."""


class NotYet(Exception):
    """The file is empty or half written: look again, keep the last good value."""


UNREADABLE_SECONDS = 2.0
"""A file that was readable and has not been for so long is not being written."""


class Patience:
    """What is said of a file that was readable and is not: being written, and after a while what is wrong with it."""

    def __init__(self) -> None:
        self._since: float | None = None

    @property
    def over(self) -> bool:
        """Whether it has been unreadable for too long to be in the middle of a write."""
        return self._since is not None and time.monotonic() - self._since >= UNREADABLE_SECONDS

    def notice(self, error: NotYet | Unreadable, path: str, last: int | None) -> str:
        """In words, after another look failed. `last`: number of the last step that was read."""
        if self._since is None:
            self._since = time.monotonic()
        if isinstance(error, NotYet) and not self.over:
            return "being written"
        good = "" if last is None else f", last good version step {last}"
        return f"not readable: {str(error).removeprefix(f'{path}: ')}{good}"

    def readable(self) -> None:
        """It is again."""
        self._since = None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One line of an append file, without its newline."""

    data: bytes
    offset: int
    line: int
    """From 1."""


Change = Literal["same", "grown", "replaced", "gone"]

Signature = tuple[int, ...]
"""What tells that a file changed: inode, size, time of the last change in nanoseconds, who may read it."""


def signature_of(status: os.stat_result) -> Signature:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, status.st_uid, status.st_gid


NEARLY = 4_194_304
"""So many bytes before its end a file is nearly read (`Slice.more`)."""


class Slice(msgspec.Struct):
    """What one look at append files may read, and what it left for the next one."""

    until: float
    """Of `time.monotonic`."""
    more: float = 0.0
    """Seconds beyond it for a file that is nearly read."""
    behind: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """Path -> (bytes read, size) of files that were not read to their end."""

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until

    def over_before(self, left: int) -> bool:
        """Whether to stop with so many bytes left: what is nearly read is read, so that no short file is shown in
        parts."""
        return time.monotonic() >= self.until + (self.more if left <= NEARLY else 0.0)


_SLICE: ContextVar[Slice | None] = ContextVar("slice", default=None)


@contextmanager
def slice_of(seconds: float, more: float = 0.0) -> Iterator[Slice]:
    """Inside, append files stop after about so long, between two records, and those that are nearly read so many
    seconds later (`more`); the next look reads on from there."""
    given = Slice(time.monotonic() + seconds, more)
    token = _SLICE.set(given)
    try:
        yield given
    finally:
        _SLICE.reset(token)


def given_slice() -> Slice | None:
    """What this look may read; None: all there is."""
    return _SLICE.get()


def _absent(path: str, error: OSError) -> Change:
    """Gone; raises Unreadable where it is there and cannot be looked at."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "gone"
    raise Unreadable(f"{path}: {_reason(error)}") from None


def open_plain(path: str | Path) -> int:
    """A read-only descriptor of a regular file; never blocks on a FIFO or device. Raises Unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise Unreadable(f"{path}: {_reason(error)}") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise Unreadable(f"{path}: {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")
    return descriptor


def _reason(error: OSError) -> str:
    names = {
        errno.ENOENT: "no such file",
        errno.EACCES: "no permission",
        errno.EISDIR: "a folder",
        errno.ELOOP: "a loop of symbolic links",
        errno.ENOTDIR: "part of the path is not a folder",
        errno.ENAMETOOLONG: "the name is too long",
    }
    return names.get(error.errno or 0, (error.strerror or "cannot be read").lower())


def read_at(path: str | Path, offset: int, length: int) -> bytes:
    """Up to `length` bytes at `offset`. Raises Unreadable."""
    descriptor = open_plain(path)
    try:
        return os.pread(descriptor, length, offset)
    finally:
        os.close(descriptor)


class AppendFile:
    """A file that grows by whole lines. `changes` says what happened, `records` yields what is new, once."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.offset = 0
        self.line = 0
        self.size = 0
        self.torn = 0
        """Bytes after the last newline that are no whole record yet."""
        self.changed_at: float | None = None
        self._signature: Signature | None = None
        self._fingerprint = b""
        self._unended = False
        """The last record was taken before its newline came."""

    def change(self) -> Change:
        """What happened to the file since it was last read; reads at most a few hundred bytes."""
        try:
            status = os.stat(self.path)
        except OSError as error:
            return _absent(self.path, error)
        signature = signature_of(status)
        if signature == self._signature:
            return "same"
        self.changed_at = status.st_mtime
        if self._signature is None:
            return "grown"
        if status.st_size < self.offset + self.torn or not self._same_past():
            return "replaced"
        return "grown"

    def _same_past(self) -> bool:
        start = max(0, self.offset - _FINGERPRINT)
        return read_at(self.path, start, self.offset - start) == self._fingerprint

    def rewind(self) -> None:
        """Read again from the start: the file was replaced."""
        self.offset = self.line = self.torn = self.size = 0
        self._signature, self._fingerprint, self._unended = None, b"", False

    def records(self) -> Iterator[Record]:
        """Whole lines not yielded before. A last line without newline is yielded if it is a whole JSON value.

        Raises Unreadable. The place moves on with every record that is taken.
        """
        descriptor = open_plain(self.path)
        given = _SLICE.get()
        try:
            status = os.fstat(descriptor)
            self.changed_at = status.st_mtime
            position = read = self.offset
            parts: list[bytes] = []
            while chunk := os.pread(descriptor, _CHUNK, read):
                read += len(chunk)
                if b"\n" not in chunk:
                    # One long line: put together once it ends.
                    parts.append(chunk)
                    continue
                data, start = b"".join([*parts, chunk]) if parts else chunk, 0
                if self._unended:
                    self._unended = False
                    if data.startswith(b"\n"):
                        start = 1
                        self.offset = position + 1
                while (end := data.find(b"\n", start)) >= 0:
                    self.line += 1
                    self.offset = position + end + 1
                    record = Record(data[start:end], position + start, self.line)
                    start = end + 1
                    if record.data:
                        yield record
                        left = status.st_size - self.offset
                        if given is not None and left > 0 and given.over_before(left):
                            self._stop(descriptor, status, given)
                            return
                parts = [data[start:]]
                position += start
            rest = b"".join(parts)
            if rest and rest.rstrip().endswith((b"}", b"]")) and _whole(rest):
                self.line += 1
                self.offset = position + len(rest)
                self._unended = True
                self.torn = 0
                yield Record(rest, position, self.line)
            else:
                self.torn = len(rest)
            self.size = position + len(rest)
            self._sign(descriptor, signature_of(status))
        finally:
            os.close(descriptor)

    def _stop(self, descriptor: int, status: os.stat_result, given: Slice) -> None:
        """Stop in the middle: the next look finds the file grown."""
        self.torn = 0
        self.size = self.offset
        given.behind[self.path] = (self.offset, status.st_size)
        self._sign(descriptor, (status.st_ino, self.offset, status.st_mtime_ns))

    def _sign(self, descriptor: int, signature: Signature) -> None:
        self._signature = signature
        start = max(0, self.offset - _FINGERPRINT)
        self._fingerprint = os.pread(descriptor, self.offset - start, start)


def _whole(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class SnapshotFile:
    """A file that is written whole, again and again, atomically or not."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.changed_at: float | None = None
        self._signature: Signature | None = None
        self._racy: int | None = None
        """Hash of what was read, while the file's clock is too coarse to tell whether it was written again since."""

    def change(self) -> Change:
        try:
            status = os.stat(self.path)
        except OSError as error:
            return _absent(self.path, error)
        signature = signature_of(status)
        if signature == self._signature:
            return "grown" if self._written_again(status) else "same"
        return "replaced" if self._signature and status.st_ino != self._signature[0] else "grown"

    def _written_again(self, status: os.stat_result) -> bool:
        """A second write in the same tick of the file's clock, of the same size, is seen by its bytes only."""
        if self._racy is None or time.time_ns() - status.st_mtime_ns < _TICK_NS:
            return False
        held, self._racy = self._racy, None
        try:
            return xxhash.xxh3_64_intdigest(read_at(self.path, 0, status.st_size)) != held
        except Unreadable:
            return True

    def read(self) -> bytes:
        """The whole file. Raises Unreadable, and NotYet when it is empty or changed while it was read."""
        descriptor = open_plain(self.path)
        try:
            before = os.fstat(descriptor)
            if before.st_size > SNAPSHOT_LIMIT:
                raise Unreadable(f"{self.path}: {before.st_size:,} bytes, more than a snapshot may have")
            # At one go where the system gives all that is asked for.
            parts = [os.pread(descriptor, before.st_size, 0)]
            position = len(parts[0])
            while chunk := os.pread(descriptor, _CHUNK, position):
                parts.append(chunk)
                position += len(chunk)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns) or len(data) != after.st_size:
            raise NotYet(f"{self.path}: being written")
        self.changed_at = after.st_mtime
        self._signature = signature_of(after)
        fresh = time.time_ns() - after.st_mtime_ns < _TICK_NS
        self._racy = xxhash.xxh3_64_intdigest(data) if fresh else None
        if not data.strip(b"\0 \t\r\n"):
            raise NotYet(f"{self.path}: empty")
        return data

    def forget(self) -> None:
        """Read again at the next refresh (the last read was of a half-written file)."""
        self._signature = None
