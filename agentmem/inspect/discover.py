"""Which runs there are: files, folders, globs, or what known agents keep for this folder. Nothing is parsed whole."""

from __future__ import annotations

import errno
import glob
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from agentmem.checkpoint.names import file_name
from agentmem.formats import HEAD_BYTES, Format, formats, recognise
from agentmem.formats.reader import LIVE_SECONDS
from agentmem.formats.shared.peek import damage
from agentmem.formats.source import Unreadable, read_at
from agentmem.formats.stores.unknown import why_no_database
from agentmem.inspect.telling.pulse import CUT, NO_PERMISSION
from agentmem.model import RunInfo, RunStatus
from agentmem.pattern import pattern

EVERYWHERE = "~agents"
"""The target that stands for all transcripts of known agents (`--all`)."""
_SIDE_FILES = (".steps.jsonl", ".calls.jsonl", ".lock", ".tmp", ".meta.json")
_ENDINGS = (".json", ".jsonl", ".traj", ".db", ".sqlite", ".sqlite3", ".eval", ".md", ".zst", ".af")
WRITTEN_WHOLE = (".json", ".traj")
_ROTATED = pattern(r"\.jsonl\.\d{1,3}$")
"""A log that was moved away for a new one."""
_MOST_FILES = 20_000
_USER = pattern(r"(\w:/+[^\s/:@]*:)\S*@")
_GIVEN = pattern(r"(?i)(\b(?:ssl)?(?:password|passwd|pwd)=)(?:'[^']*'|[^\s&]+?(?=['\":;,]*(?:[\s&]|$)))")
"""A password in an address: behind the user, as a parameter."""


_WORTH_A_ROW = ("empty", NO_PERMISSION, CUT)
"""How problems begin of files that are, or were, or may be runs."""


class NoRuns(Exception):
    """Nothing to show; the message is one line that says what was looked for and where."""


def is_side_file(path: Path) -> bool:
    """Whether a file belongs to another run's files and is no run itself."""
    name = path.name
    if name.endswith(".steps.jsonl"):
        return path.with_name(name.removesuffix(".steps.jsonl") + ".json").exists()
    return name.startswith(".") or name.endswith(_SIDE_FILES)


def everywhere() -> list[Path]:
    """All transcripts that known agents keep, whatever folder they worked in, newest first."""
    found: dict[str, float] = {}
    for known in formats():
        for place_pattern in known.everywhere:
            for place in glob.iglob(_rooted(place_pattern)):
                for name in [place] if known.tree is None else map(str, known.tree(Path(place))):
                    try:
                        found[name] = os.stat(name).st_mtime
                    except OSError:
                        continue  # gone since it was listed
    return [Path(name) for name in sorted(found, key=lambda name: -found[name])[:_MOST_FILES]]


def _rooted(pattern: str) -> str:
    """The pattern below a home, or below what an environment variable names."""
    if pattern.startswith("{"):
        variable, _, rest = pattern[1:].partition("|")
        usual, _, below = rest.partition("}")
        pattern = glob.escape(os.environ.get(variable) or os.path.expanduser(usual)) + below
    return os.path.expanduser(pattern)


def expand(target: str) -> Iterator[Path]:
    """Files of a target: itself, those of a folder (and of `runs` in it), those that a glob names; for a bare name that
    is no path the run of that name in `runs` here. Links that lead out of a folder are not followed. Raises Unreadable
    naming the target."""
    if target == EVERYWHERE:
        yield from everywhere()
        return
    path = Path(target)
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if glob.has_magic(target):
            found = sorted(glob.glob(target, recursive=True))
            if not found:
                raise NoRuns(f"{told(target)}: no file matches") from None
            for name in found:
                if Path(name).is_file() and not is_side_file(Path(name)):
                    yield Path(name)
            return
        named = run_named(target)
        if named is not None:
            yield named
            return
        reasons = {errno.EACCES: "no permission", errno.ELOOP: "a loop of symbolic links"}
        reason = reasons.get(error.errno or 0, "no such file or folder")
        raise Unreadable(f"{told(target)}: {reason}") from None
    if stat.S_ISDIR(mode):
        try:
            one_run = any(known.recognise(path, b"") for known in formats())
        except OSError:
            one_run = False  # a folder that may not be entered: said below
        if one_run:
            yield path
            return
        try:
            laid_out = list(_trees(path))
        except PermissionError:
            laid_out = []  # said by `_folder`, of the folder that was named
        yield from laid_out or _folder(path)
    else:
        yield path


def _trees(folder: Path) -> Iterator[Path]:
    """Files that stand for the runs of a folder which an agent lays out as a tree."""
    for known in formats():
        if known.tree is not None:
            yield from known.tree(folder)


def run_named(name: str) -> Path | None:
    """The run of that name in `runs/` here, for a bare name that is no path."""
    if not name or Path(name).name != name:
        return None
    try:
        safe_name = file_name(name)
    except ValueError:
        return None  # no text that a file could be named by
    runs = _runs(Path())
    for base in dict.fromkeys((safe_name, name)):
        for ending in ("", *_ENDINGS):
            file = runs / f"{base}{ending}"
            if file.is_file() and not is_side_file(file):
                return file
    return None


def _runs(folder: Path) -> Path:
    """`runs/` in a folder; the folder itself if that is its name."""
    runs = folder / "runs"
    return folder if not runs.is_dir() and folder.absolute().name == "runs" else runs


def _folder(path: Path) -> Iterator[Path]:
    count = 0
    try:
        for entry in _entries(path):
            count += 1
            if count > _MOST_FILES:
                return
            yield entry
    except PermissionError:
        raise Unreadable(f"{path}: no permission") from None
    runs = path / "runs"
    if count == 0 and runs.is_dir():
        yield from _folder(runs)


def _entries(path: Path) -> Iterator[Path]:
    root = os.path.realpath(path)
    with os.scandir(path) as found:
        for entry in found:
            file = Path(entry.path)
            if not (entry.name.endswith(_ENDINGS) or _ROTATED.search(entry.name)) or is_side_file(file):
                continue
            if entry.is_symlink() and not os.path.realpath(entry.path).startswith(root + os.sep):
                continue
            try:
                plain = entry.is_file()
            except OSError:
                continue  # a link that leads round in a circle
            if plain:
                yield file


def describe(path: Path | str, known: Format | None = None) -> list[RunInfo]:
    """Rows of the list for one file: one, or several for a store of several runs. Trouble is a row's `problem`.
    A text is the address of a database on a server."""
    if isinstance(path, str):
        rows: list[RunInfo] = postgres().describe(path)
        return rows
    try:
        at = os.stat(path).st_mtime
    except OSError as error:
        return [RunInfo(path.name, str(path), "?", None, problem=(error.strerror or "unreadable").lower())]
    try:
        known = known or recognise(path)
    except Unreadable as error:
        return [RunInfo(path.name, str(path), "?", at, problem=str(error).rpartition(": ")[2])]
    if known is None:
        return [RunInfo(path.name, str(path), "?", at, problem=why_unknown(path))]
    try:
        if known.runs is not None:
            return list(known.runs(path))
        if known.peek is not None:
            info = known.peek(path)
            if path.name.endswith(WRITTEN_WHOLE) and path.is_file():
                info = replace(info, damage=damage(path))
            return [info if info.status != "unknown" else replace(info, status=_status(info.at or at))]
    except (Unreadable, OSError) as error:
        return [RunInfo(path.name, str(path), known.name, at, problem=str(error).rpartition(": ")[2])]
    name = path.name
    for ending in (".steps.jsonl", *_ENDINGS):
        name = name.removesuffix(ending)
    return [RunInfo(name or path.name, str(path), known.name, at, _status(at))]


def is_address(target: str) -> bool:
    """Whether a target is the address of a database on a server."""
    return target.startswith(("postgresql://", "postgres://"))


def told(target: str) -> str:
    """A target as a message may name it: an address without its password, the transcripts of all agents in words."""
    if target == EVERYWHERE:
        return "what known agents keep"
    if is_address(target):
        try:
            return str(postgres().place(target))
        except Unreadable:
            return target.partition("://")[0] + "://..."
    return without_secrets(target)


def without_secrets(text: str) -> str:
    """Text without the passwords of addresses in it, of whatever scheme."""
    return _GIVEN.sub(r"\1...", _USER.sub(r"\1...@", text))


def postgres() -> ModuleType:
    """What reads databases on servers: loaded only when one is asked for, since it is an extra."""
    return import_module("agentmem.formats.stores.postgres")


def why_unknown(path: Path) -> str:
    """Why no reader takes a file, in words."""
    if path.is_dir():
        return "a folder of no known format"
    head = read_at(path, 0, HEAD_BYTES)
    if not head.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        return "empty"
    if path.name.endswith((".db", ".sqlite", ".sqlite3")) or head.startswith(b"SQLite format 3\0"):
        return why_no_database(path, head)
    return "format not recognised"


def _status(at: float) -> RunStatus:
    return "live" if time.time() - at < LIVE_SECONDS else "stale"


def places(folder: Path) -> Iterator[Path]:
    """`runs/` here, and where known agents keep transcripts of work in this folder."""
    runs = _runs(folder)
    if runs.is_dir():
        yield from _folder(runs)
    for known in formats():
        if known.places is not None:
            yield from known.places(folder)


def find(targets: Sequence[str]) -> list[RunInfo]:
    """Runs of these targets, newest change first; of no target, what is found for this folder.

    `listed` says which files that are no runs are among them. Raises Unreadable, NoRuns.
    """
    rows: list[RunInfo] = []
    seen: set[str] = set()
    addresses = [target for target in targets if is_address(target)]
    rows += [row for address in addresses for row in describe(address)]
    files: Iterable[Path] = (f for target in targets if not is_address(target) for f in expand(target))
    for path in files if targets else places(Path.cwd()):
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            rows.extend(describe(path))
    if not rows:
        raise NoRuns(nothing(targets))
    return listed(rows, targets)


def listed(rows: Sequence[RunInfo], targets: Sequence[str]) -> list[RunInfo]:
    """The rows that are shown: runs, newest change first, and behind them the files that are no runs, as far as they
    were named, are empty as a full disk leaves them, cut, or may not be read; all of them where there is no run."""
    named = {os.path.abspath(target) for target in targets if not is_address(target)}
    runs = [row for row in rows if row.problem is None]
    rest = [row for row in rows if row.problem is not None]
    if runs:
        rest = [row for row in rest if (row.problem or "").startswith(_WORTH_A_ROW)
                or os.path.abspath(row.path) in named]  # fmt: skip
    return [row for part in (runs, rest) for row in sorted(part, key=lambda row: -(row.at or 0.0))]


def nothing(targets: Sequence[str]) -> str:
    """One line that says what was looked for and where."""
    if targets:
        return f"{', '.join(map(told, targets))}: no run of a known format in it"
    asked = [known.title for known in formats() if known.places is not None]
    return f"no runs in {_runs(Path.cwd())}" + (f", and none kept here by {', '.join(asked)}" if asked else "")
