"""Edits as values: which file, from what to what, and whether an edit takes an earlier one back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentmem.ledger.effect import command_of
from agentmem.ledger.given import only_text
from agentmem.ledger.group import Key, Place
from agentmem.ledger.shell import substitutions
from agentmem.ledger.signature import NEW, OLD, PATCHES, PATHS, WHOLE, digest, fold, parsed
from agentmem.pattern import pattern

_PATCHED = pattern(r"(?m)^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)([^\n\t]+)")
_SIGNS = ("sed", "perl", "@@", "File: ", "+++ ", *OLD, *WHOLE)
"""What stands in the arguments of any call that edits."""
_SAID = ("view", "read", "undo_edit")


class Edit(msgspec.Struct, frozen=True):
    """One edit of one file, as hashes."""

    path: str
    old: str | None
    """Hash of what stood there; None for a write of the whole file."""
    new: str
    """Hash of what stands there now; of the whole content if `old` is None."""


def _text(value: dict[str, object], names: tuple[str, ...]) -> str | None:
    for name in names:
        item = value.get(name)
        if isinstance(item, str):
            return item
    return None


def _patched(patch: str) -> Iterator[Edit]:
    heads = list(_PATCHED.finditer(patch))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(patch)
        lines = patch[head.end() : end].splitlines()
        old = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
        new = [line[1:] for line in lines if line.startswith("+")]
        if old or new:
            yield Edit(head.group(1).strip(), digest("\n".join(old)), digest("\n".join(new)))


def _of(value: dict[str, object], path: str | None) -> Iterator[Edit]:
    path = _text(value, PATHS) or path
    old, new = _text(value, OLD), _text(value, NEW)
    if old is not None and new is not None:
        if path is not None:
            yield Edit(path, digest(old), digest(new))
        return
    several = value.get("edits")
    if isinstance(several, list):
        for item in several:
            if isinstance(item, dict):
                yield from _of({key: entry for key, entry in item.items() if key != "edits"}, path)
        return
    whole = _text(value, WHOLE)
    if whole is not None and path is not None:
        yield Edit(path, None, digest(whole))


def find_edits(tool: str, arguments: str) -> tuple[Edit, ...]:
    """The edits that a call asks for: replacements, whole writes, patches, `sed -i s/a/b/ file`."""
    if not any(map(only_text(arguments, "find_edits: arguments").__contains__, _SIGNS)):
        return ()
    command = command_of(tool, arguments)
    if command is not None and "*** Begin Patch" not in command:
        return tuple(
            Edit(path, digest(fold(old)), digest(fold(new))) for path, old, new in substitutions(command)
        )  # fmt: skip
    value = command if command is not None else parsed(arguments)
    if isinstance(value, str):
        return tuple(_patched(value))
    if not isinstance(value, dict) or value.get("command") in _SAID:
        return ()
    found = tuple(_of(value, None))
    if not found:
        patch = _text(value, PATCHES)
        found = tuple(_patched(patch)) if patch is not None else ()
    return found


_UNDOS_NAMED = 20
Made = tuple[Place, Key, str]
"""(place, key, tool) of the attempt that made an edit."""


class File(msgspec.Struct, eq=False):
    """What is known of one file's edits."""

    pairs: dict[tuple[str, str], tuple[str, Made]] = msgspec.field(default_factory=dict)
    """The two texts of an edit in sorted order -> (what stands there now, who wrote it)."""
    contents: dict[str, Made] = msgspec.field(default_factory=dict)
    current: str | None = None
    """Hash of the whole content, if the last edit wrote it whole."""
    undos: list[Made] = msgspec.field(default_factory=list)
    """Attempts in reversals since the last new edit: the edit that was taken back, and the one that did it."""
    reversals: int = 0

    def see(self, edit: Edit, made: Made) -> bool:
        """Takes the edit in; whether it reversed another."""
        if edit.old is None:
            earlier = self.contents.get(edit.new)
            reversed_ = earlier is not None and self.current != edit.new
            self.contents[edit.new] = made
            self.current = edit.new
        else:
            self.current = None
            if edit.old == edit.new:
                return False
            pair = (min(edit.old, edit.new), max(edit.old, edit.new))
            stands, earlier = self.pairs.get(pair, ("", None))
            reversed_ = earlier is not None and stands == edit.old
            self.pairs[pair] = (edit.new, made)
        if reversed_ and earlier is not None:
            self.reversals += 1
            if len(self.undos) < _UNDOS_NAMED:
                self.undos.extend(part for part in (earlier, made) if part not in self.undos)
        return reversed_


class Files:
    """All files of a lane."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}

    def see(self, edits: Sequence[Edit], made: Made, new: bool) -> list[str]:
        """Takes the edits of a successful attempt in; the files on which it reversed one.

        A new edit of a file that reverses nothing is progress: the file's reversals are counted from there again.
        """
        undone: list[str] = []
        for edit in edits:
            file = self.files.pop(edit.path, None) or File()
            self.files[edit.path] = file
            if file.see(edit, made):
                undone.append(edit.path)
            elif new:
                file.undos.clear()
                file.reversals = 0
        return undone
