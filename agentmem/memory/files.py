"""Small files of an agent's memory (notes, artefacts, saved conversations): whole or not at all, private."""

from __future__ import annotations

import os
from pathlib import Path

import xxhash

from agentmem.checkpoint import durable
from agentmem.checkpoint.store import CheckpointError


class FileError(Exception):
    """A file could not be kept or read; the message names the file and the reason."""


def place(path: object, name: str) -> Path:
    """The path. Raises TypeError naming the argument for what is none."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} is a path, not {type(path).__name__}")
    return Path(path)


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` in the place of the file, durably. Raises FileError with what stood there untouched, or saying that
    `data` stands, where only the disk has not confirmed it."""
    folder = path.parent.absolute()
    try:
        durable.identity(path)  # refuses a link, a folder or a pipe in its place
        durable.make_folder(folder)
        # Named by the whole name: a run of the same stem in this folder sweeps its own temporary files.
        durable.put(path.absolute(), [data], folder / f"{path.name}.new")
    except CheckpointError as error:
        raise FileError(str(error)) from None
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror} (errno {error.errno})") from error
    try:
        durable.sync_folder(folder)
    except OSError as error:
        raise FileError(
            f"{path}: written, but may not survive a power loss: {error.strerror} (errno {error.errno})"
        ) from error


def read_whole(path: Path) -> bytes | None:
    """The bytes of the file; None if there is none. Raises FileError for what is no file or cannot be read."""
    try:
        return durable.read(path)[0]
    except FileNotFoundError:
        return None
    except CheckpointError as error:
        raise FileError(str(error)) from None


def sealed(body: bytes) -> bytes:
    """A JSON object, compact and not empty, with the checksum of the bytes before it as its last key, and a newline."""
    return b'%s,"checksum":"%s"}\n' % (body[:-1], xxhash.xxh3_64_hexdigest(body[:-1]).encode())


def damage(data: bytes) -> str | None:
    """What is wrong with bytes that `sealed` made, in words; None if they are whole."""
    start, mark, end = data.rpartition(b',"checksum":"')
    if not mark or not end.endswith(b'"}\n'):
        return f"truncated at byte {len(data)}, or no saved object"
    found = xxhash.xxh3_64_hexdigest(start).encode()
    return None if end == found + b'"}\n' else f"checksum mismatch: {found.decode()} is found"
