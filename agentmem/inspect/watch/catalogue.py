"""Which runs the targets hold, as time goes on: listed cheaply, described only where a file is new or changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agentmem.formats.reader import LIVE_SECONDS
from agentmem.formats.source import Unreadable, signature_of
from agentmem.inspect.discover import NoRuns, describe, expand, is_address, listed, nothing, places, postgres
from agentmem.inspect.telling.pulse import NO_PERMISSION, trouble
from agentmem.inspect.watch.servers import Servers
from agentmem.model import RunInfo, RunStatus

Stamp = tuple[int, ...]
"""(device, inode, size, time of the last change in nanoseconds, ...), behind them who may read it."""
_DATABASES = (".db", ".sqlite", ".sqlite3")


def name_of(info: RunInfo) -> str:
    """The name by which runs of the same id in several files are told apart."""
    return f"{os.path.abspath(info.path)}#{info.id}"


def _named_by_file(info: RunInfo) -> str:
    """The name of a run that calls itself otherwise than its file, by its file."""
    return f"{os.path.abspath(info.path)}#{Path(info.path).stem}"


class _File(msgspec.Struct):
    path: Path | str
    """A text is the address of a database on a server."""
    stamp: Stamp
    names: tuple[str, ...] | None = None
    """Of its runs; None: not described yet."""


class Catalogue:
    """The runs of some targets, by name. `look` lists the files, `work` describes those that are waiting."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = tuple(targets)
        self._files: dict[str, _File] = {}
        """By absolute path."""
        self._queue: list[str] = []
        """Absolute paths to describe, the next one last."""
        self._found: dict[str, RunInfo] = {}
        """As described, by name: what a run is opened by."""
        self._shown: dict[str, RunInfo] = {}
        """As known by now, by the same names."""
        self.problem = ""
        """What is wrong with a target, in one line."""
        self._stores = Servers()

    def close(self) -> None:
        self._stores.close()

    @property
    def waiting(self) -> bool:
        """Whether files wait to be described."""
        return bool(self._queue)

    @property
    def names(self) -> list[str]:
        return list(self._shown)

    def __len__(self) -> int:
        return len(self._shown)

    def __contains__(self, name: str) -> bool:
        """Whether a run of that name can be opened."""
        return name in self._found

    def origin(self, name: str) -> RunInfo:
        """What a run is opened by. Raises KeyError."""
        return self._found[name]

    def shown(self, name: str) -> RunInfo | None:
        return self._shown.get(name)

    def named(self, wish: str) -> str | None:
        """The name of a run that is asked for by its name or its id."""
        if wish in self._shown:
            return wish
        for match in (name_of, lambda info: info.id, _named_by_file, lambda info: Path(info.path).stem):
            for name, info in self._shown.items():
                if match(info) == wish:
                    return name
        return None

    def rows(self, opened: str | None = None) -> tuple[RunInfo, ...]:
        """All runs as `listed` orders them. `opened`: the name of the run whose status is told by itself."""
        now, at_work = time.time(), self._shown.get(opened or "")
        return tuple(
            replace(info, status="stale")
            if info.status == "live" and info is not at_work and now - (info.at or 0.0) > LIVE_SECONDS else info
            for info in listed(list(self._shown.values()), self._targets)
        )  # fmt: skip

    def first(self) -> str | None:
        """The newest live run; else the newest; None while there is none, or none was described yet."""
        names = [name for name, info in self._shown.items() if info.problem is None]
        if not names and not self._queue:
            names = list(self._shown)
        return min(names, default=None, key=lambda n: (self._shown[n].status != "live", -(self._shown[n].at or 0.0)))

    # -- looking --------------------------------------------------------------------------------------------------

    def look(self, keep: str | None = None) -> bool:
        """List the files of the targets. `keep` stays even if its file is gone. True if the rows changed."""
        listed = dict(self._list())
        changed = False
        for path in [path for path in self._files if path not in listed]:
            file = self._files.pop(path)
            for name in file.names or ():
                if name != keep:
                    changed |= self._shown.pop(name, None) is not None
                    self._found.pop(name, None)
        fresh = []
        for path, (place, stamp) in listed.items():
            known = self._files.get(path)
            if known is None:
                self._files[path] = _File(place, stamp)
                fresh.append(path)
            elif known.stamp != stamp:
                known.stamp = stamp
                changed |= self._moved(known, stamp[3] / 1e9)
                if path not in self._queue:
                    self._queue.insert(0, path)
        fresh.sort(key=lambda path: self._files[path].stamp[3])
        self._queue.extend(fresh)
        if not listed and not self.problem:
            self.problem = nothing(self._targets)
        return changed

    def _list(self) -> Iterator[tuple[str, tuple[Path | str, Stamp]]]:
        """(absolute path, (path, stamp)) of every file, each file once."""
        seen: set[tuple[int, int]] = set()
        problems = []
        for address in (target for target in self._targets if is_address(target)):
            try:
                yield postgres().place(address), (address, self._stores.stamp(address))
            except Unreadable as error:
                problems.append(str(error))
                yield from self._standing(address)
        files = [expand(target) for target in self._targets if not is_address(target)]
        for found in (files if self._targets else [places(Path.cwd())]):
            try:
                for path in found:
                    try:
                        status = os.stat(path)
                    except OSError:
                        continue  # gone since it was listed
                    if (status.st_dev, status.st_ino) not in seen:
                        seen.add((status.st_dev, status.st_ino))
                        stamp = _with_log(path, (status.st_dev, *signature_of(status)))
                        yield os.path.abspath(path), (path, stamp)
            except (NoRuns, Unreadable) as error:
                problems.append(str(error))
            except OSError as error:
                problems.append(f"{error.filename}: {(error.strerror or 'cannot be read').lower()}")
        self.problem = "; ".join(problems)

    def _standing(self, address: str) -> Iterator[tuple[str, tuple[Path | str, Stamp]]]:
        """A server that is away for a while: what was known of it stays."""
        for path, file in self._files.items():
            if file.path == address:
                yield path, (file.path, file.stamp)

    def _moved(self, file: _File, at: float) -> bool:
        """The file changed: known without reading it. Of several runs in one file only a look tells which one did."""
        if len(file.names or ()) != 1 or str(file.path).endswith(_DATABASES):
            return False
        status_of: RunStatus = "live" if time.time() - at < LIVE_SECONDS else "stale"
        for name in file.names or ():
            info = self._shown[name]
            status: RunStatus = "ended" if info.status == "ended" else status_of
            self._shown[name] = replace(info, at=at, status=status, damage=None)
        return bool(file.names)

    # -- describing -----------------------------------------------------------------------------------------------

    def work(self, seconds: float) -> bool:
        """Describe files that wait for about so long, at least one. True if the rows changed."""
        until = time.monotonic() + seconds
        changed = False
        while self._queue:
            path = self._queue.pop()
            file = self._files.get(path)
            if file is not None:
                self._describe(file)
                changed = True
            if time.monotonic() >= until:
                break
        return changed

    def _describe(self, file: _File) -> None:
        infos = {name_of(info): info for info in describe(file.path)}
        known = [name for name in file.names or () if self._shown[name].problem is None]
        if known and all(info.problem is not None for info in infos.values()):
            # Half written just now, or unreadable for a while: what was known stays.
            for info in infos.values():
                if info.problem == NO_PERMISSION:
                    for name in known:
                        self._shown[name] = replace(self._shown[name], status="stale", damage=trouble(info))
            return
        for name in file.names or ():
            if name not in infos:
                self._shown.pop(name, None)
                self._found.pop(name, None)
        for name, info in infos.items():
            self._shown[name] = _enriched(info, self._shown.get(name))
        self._found.update(infos)
        file.names = tuple(infos)

    # -- what others know -----------------------------------------------------------------------------------------

    def changed(self, paths: set[str]) -> tuple[bool, bool]:
        """(rows changed, something unknown is among them) for paths that changed just now."""
        changed = unknown = False
        for path in paths:
            base = path.removesuffix(".steps.jsonl") + ".json" if path.endswith(".steps.jsonl") else path
            file = self._files.get(os.path.abspath(base))
            if file is None or isinstance(file.path, str):
                unknown = True
                continue
            try:
                at = os.stat(path).st_mtime
            except OSError:
                unknown = True  # gone: the next look says so
                continue
            changed |= self._moved(file, at)
        return changed, unknown

    def learn(self, name: str, **known: object) -> None:
        """What an opened run tells of itself: id, status, steps, goal, model, at."""
        info = self._shown.get(name)
        if info is not None:
            self._shown[name] = replace(info, problem=None, **known)

    def counted(self, path: str, steps: int) -> bool:
        """So many steps are done in a file of one run, by its absolute path. True if its row changed."""
        file = self._files.get(path)
        names = () if file is None else file.names or ()
        if len(names) != 1 or self._shown[names[0]].steps == steps:
            return False
        self._shown[names[0]] = replace(self._shown[names[0]], steps=steps)
        return True

    def holds(self, path: str) -> bool:
        """Whether a file is one of the targets', by its absolute path."""
        return path in self._files

    def folders(self) -> set[Path]:
        """The folders whose changes tell of new runs, and those of the files that there are."""
        folders = {Path(path).parent for path, file in self._files.items() if isinstance(file.path, Path)}
        for target in self._targets or ("runs",):
            if is_address(target):
                continue
            path = Path(os.path.abspath(target))
            if not path.is_file():
                folders.update((path, path / "runs"))
            # Of a place that is not there yet the nearest folder above it tells when it comes.
            folders.add(next(above for above in path.parents if above.is_dir()))
        return folders

    def paths(self) -> list[str]:
        """The files, the newest change first."""
        return sorted(self._files, key=lambda path: -self._files[path].stamp[3])


def _with_log(path: Path, stamp: Stamp) -> Stamp:
    """A database that is written through a log changes there first."""
    if path.name.endswith(_DATABASES):
        try:
            log = os.stat(f"{path}-wal")
        except OSError:
            return stamp
        return (*stamp[:2], stamp[2] + log.st_size, max(stamp[3], log.st_mtime_ns), *stamp[4:])
    return stamp


def _enriched(info: RunInfo, before: RunInfo | None) -> RunInfo:
    """What is known of a run that was open once stays known."""
    if before is None or before.steps is None:
        return info
    return replace(
        info, id=before.id, steps=info.steps or before.steps, goal=info.goal or before.goal,
        model=info.model or before.model, at=max(info.at or 0.0, before.at or 0.0) or None,
    )  # fmt: skip
