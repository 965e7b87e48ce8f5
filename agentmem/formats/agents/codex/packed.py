"""A rollout that was compressed (`.jsonl.zst`): unpacked once into a temporary file and read there like any other.

Needs `zstandard`, of the extra `stores`; it is imported when the first compressed file is opened.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentmem.formats.source import AppendFile, Change, Record, Unreadable, open_plain, read_at, slice_of

MAGIC = b"\x28\xb5\x2f\xfd"
SCHEME = "zst://"
_LARGEST = 4 * 1024**3
_CHUNK = 1024 * 1024


class PackedFile:
    """Looks like `AppendFile`. A change of the compressed file is a replacement: it is read again from the start."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.source = SCHEME + self.path
        self.trouble: str | None = None
        """What is wrong with the compressed file; what could be unpacked of it is read."""
        self._signature: tuple[int, int, int] | None = None
        self._file: AppendFile | None = None
        self._unpacked: tempfile._TemporaryFileWrapper[bytes] | None = None

    @property
    def torn(self) -> int:
        return self._file.torn if self._file else 0

    @property
    def changed_at(self) -> float | None:
        return self._changed

    _changed: float | None = None

    def change(self) -> Change:
        try:
            status = os.stat(self.path)
        except OSError:
            return "gone"
        signature = (status.st_ino, status.st_size, status.st_mtime_ns)
        if signature == self._signature:
            return "same"
        self._changed = status.st_mtime
        return "grown" if self._signature is None else "replaced"

    def rewind(self) -> None:
        self._signature = self._file = None

    def records(self) -> Iterator[Record]:
        """All records: it does not change, so that what one look leaves no other one reads. Raises Unreadable, also
        where the extra is missing."""
        self._unpack()
        assert self._file is not None
        with slice_of(math.inf):
            yield from self._file.records()

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the unpacked text. Raises Unreadable."""
        if self._file is None:
            self._unpack()
        assert self._file is not None
        return read_at(self._file.path, offset, length)

    def _unpack(self) -> None:
        status = os.stat(self.path)
        target = tempfile.NamedTemporaryFile(prefix="agentmem-", suffix=".jsonl")  # noqa: SIM115 (lives as long as this)
        self.trouble = None
        size = 0
        for chunk in unpacked(self.path):
            if isinstance(chunk, str):
                self.trouble = chunk
                break
            size += len(chunk)
            if size > _LARGEST:
                self.trouble = f"more than {_LARGEST:,} bytes unpacked; the rest is left out"
                break
            target.write(chunk)
        target.flush()
        self._unpacked = target
        self._file = AppendFile(target.name)
        self._signature = (status.st_ino, status.st_size, status.st_mtime_ns)
        self._changed = status.st_mtime


def unpacked(path: str | Path, most: int | None = None) -> Iterator[bytes | str]:
    """The unpacked bytes in chunks, at most about `most` of them; last a text if the file is damaged or cut short.
    Raises Unreadable where `zstandard` is missing."""
    try:
        import zstandard
    except ImportError:
        raise Unreadable(f"{path}: compressed; install agentmem-inspector[stores] to read it") from None
    size = 0
    with os.fdopen(open_plain(path), "rb") as packed:
        engine = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj(read_across_frames=True)
        try:
            while data := packed.read(_CHUNK):
                for start in range(0, len(data), 65536):
                    out = engine.decompress(data[start : start + 65536])
                    size += len(out)
                    if out:
                        yield out
                    if most is not None and size >= most:
                        return
        except zstandard.ZstdError as error:
            yield f"compressed data damaged: {error}"
            return
        if not engine.eof:
            yield "the compressed file ends in the middle"


__all__ = ["MAGIC", "SCHEME", "PackedFile", "unpacked"]
