"""Files that survive a crash: whole or not at all, private, never a symbolic link, a folder or a pipe by surprise."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from agentmem.checkpoint.store import CheckpointError, ConflictError

_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
FILE_MODE = 0o600
FOLDER_MODE = 0o700
LOCK_SECONDS = 10.0
"""How long a save waits for another one of the same run to end."""

Identity = tuple[int, int, int, int]
"""(device, inode, size, time of change in ns) of a file."""


def identity(path: Path) -> Identity | None:
    """Which file stands there now; None if none. Raises CheckpointError if it is no regular file."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    must_be_file(found.st_mode, path)
    return of(found)


def of(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def must_be_file(mode: int, path: Path) -> None:
    """Raises CheckpointError saying what stands there instead."""
    if stat.S_ISREG(mode):
        return
    kinds = {
        stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    }  # fmt: skip
    raise CheckpointError(f"{path}: is {kinds.get(stat.S_IFMT(mode), 'something else')}, not a file")


def read(path: Path, start: int = 0) -> tuple[bytes, Identity]:
    """All bytes from `start` on, and which file they are of. Never waits for a pipe.

    Raises FileNotFoundError; CheckpointError for what is no file or cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | _NO_WAIT)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        found = os.fstat(handle)
        must_be_file(found.st_mode, path)
        with os.fdopen(handle, "rb", closefd=False) as file:
            file.seek(start)
            data = file.read()
        return data, (found.st_dev, found.st_ino, start + len(data), found.st_mtime_ns)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Makes the folder and those above it, private. Raises CheckpointError if something else stands there, OSError."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        if path.parent != path and not path.parent.is_dir():
            make_folder(path.parent)
        with suppress(FileExistsError):
            os.mkdir(path, FOLDER_MODE)
            sync_folder(path.parent)
        mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        raise CheckpointError(f"{path}: is a symbolic link; name the folder that it points to")
    if not stat.S_ISDIR(mode):
        raise CheckpointError(f"{path}: is not a folder")


def write_all(handle: int, parts: Sequence[bytes | bytearray]) -> None:
    """All bytes of all parts, without joining them where the system takes them as they are."""
    left = [memoryview(part) for part in parts if part]
    try:
        while left:
            count = os.writev(handle, left) if hasattr(os, "writev") else os.write(handle, left[0])
            while left and count >= len(left[0]):
                count -= len(left[0])
                left.pop(0).release()
            if left:
                with left[0] as written:
                    left[0] = written[count:]
    finally:
        # Who keeps the error keeps this frame: a view in it would hold the author's next save up.
        for view in left:
            view.release()


def write_temporary(target: Path, data: Sequence[bytes | bytearray]) -> tuple[Path, Identity]:
    """A new private file with these bytes beside `target`, on the disk. Raises OSError, leaving none."""
    path = target.with_name(f".{target.stem}.{os.getpid()}.{token_hex(4)}.tmp")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _NO_WAIT, FILE_MODE)
    try:
        try:
            write_all(handle, data)
            os.fsync(handle)
            found = of(os.fstat(handle))
        finally:
            os.close(handle)
    except BaseException:
        remove(path)
        raise
    return path, found


def append(path: Path, data: bytes) -> Identity:
    """Appends and waits for the disk. Raises OSError with the file as it was, or none where there was none."""
    there = os.path.lexists(path)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK | _NO_WAIT, FILE_MODE)
    try:
        before = os.fstat(handle)
        must_be_file(before.st_mode, path)
        try:
            write_all(handle, (data,))
            os.fsync(handle)
        except BaseException:
            os.ftruncate(handle, before.st_size)
            if not there:
                remove(path)
            raise
        return of(os.fstat(handle))
    finally:
        os.close(handle)


def cut(path: Path, size: int) -> None:
    """Takes back what was appended after `size`."""
    with suppress(OSError):
        os.truncate(path, size)


def replace(source: Path, target: Path) -> None:
    """Puts `source` in the place of `target`. On Windows a reader may be in the way for a moment."""
    for pause in (0.01, 0.05, 0.2, 0.5, None) if sys.platform == "win32" else (None,):
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if pause is None:
                raise
            time.sleep(pause)


def put(target: Path, data: Sequence[bytes | bytearray], name: Path | None = None) -> Identity:
    """Puts a new file with these bytes in the place of `target`; its temporary file is named as that of `name`. The
    folder is not waited for. Raises OSError with what stood there untouched."""
    temporary, found = write_temporary(name or target, data)
    try:
        replace(temporary, target)
    except BaseException:
        remove(temporary)
        raise
    return found


def sync_folder(path: Path) -> None:
    """Waits until the names in the folder are on the disk. Windows has no such thing."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY | _NO_WAIT)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Holds the lock file. The system frees it when the holder dies, so it is never cleaned up by hand.

    Raises ConflictError when another holds it for 10 seconds, OSError when it cannot be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK | _NO_WAIT, FILE_MODE)
    try:
        must_be_file(os.fstat(handle).st_mode, path)
        until = time.monotonic() + LOCK_SECONDS
        while not _take(handle):
            if time.monotonic() > until:
                raise ConflictError(f"{what}: another process has been saving it for {LOCK_SECONDS:.0f} s")
            time.sleep(0.002)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        try:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
