"""Small files of an agent's memory (notes, artefacts, saved conversations): whole or not at all, private."""

from __future__ import annotations

from pathlib import Path

from agentmem.checkpoint import durable
from agentmem.checkpoint.store import CheckpointError


class FileError(Exception):
    """A file could not be kept or read; the message names the file and the reason."""


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` in the place of the file, durably. Raises FileError with what stood there untouched."""
    folder = path.parent.absolute()
    temporary = None
    try:
        durable.identity(path)  # refuses a link, a folder or a pipe in its place
        durable.make_folder(folder)
        temporary = durable.write_temporary(path, (data,))
        durable.replace(temporary, path)
        durable.sync_folder(folder)
    except CheckpointError as error:
        raise FileError(str(error)) from None
    except OSError as error:
        if temporary is not None:
            durable.remove(temporary)
        raise FileError(f"{path}: cannot be written: {error.strerror} (errno {error.errno})") from error


def read_whole(path: Path) -> bytes | None:
    """The bytes of the file; None if there is none. Raises FileError for what is no file or cannot be read."""
    try:
        return durable.read(path)[0]
    except FileNotFoundError:
        return None
    except CheckpointError as error:
        raise FileError(str(error)) from None
