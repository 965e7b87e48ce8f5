"""A file holds one idea and at most 400 lines, a folder about ten files; the app and the run screen stay small."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.house.tree import CODE, PACKAGES, ROOT, short, sources

LINES = 400
SMALL = {"tui/app.py": 200, "tui/screens/run.py": 200}
FILES_IN_A_FOLDER = 12
"""About ten: `__init__` and one more than planned are let through, a heap is not."""
MORE = {"agentmem/cli": 20, "benchmarks": 20}
"""A file a command: as many as there are commands, and what they share."""
TOP = {"__init__", "model", "tape", "safe", "tokens", "pattern"}
ROOMS = {"ledger", "checkpoint", "memory", "formats", "inspect", "export", "experiments", "cli"}
APP = {"__init__", "__main__", "app", "keys", "safe", "messages", "theme", "context", "index", "follow", "terminal"}
APP_ROOMS = {"screens", "widgets"}


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def test_no_file_outgrows_its_room() -> None:
    grown = [
        f"{short(path)} has {lines(path)} lines, at most {limit}"
        for path in sources(*CODE)
        if lines(path) > (limit := SMALL.get(short(path), LINES))
    ]
    assert not grown, "divide by idea:\n" + "\n".join(grown)


def test_a_folder_holds_about_ten_files() -> None:
    folders = Counter(path.parent for path in sources(*PACKAGES, "benchmarks"))
    full = [
        f"{short(folder)} holds {count} files"
        for folder, count in folders.items()
        if count > MORE.get(short(folder), FILES_IN_A_FOLDER)
    ]
    assert not full, "divide by idea:\n" + "\n".join(full)


@pytest.mark.parametrize(
    ("package", "modules", "rooms"), [("agentmem", TOP, ROOMS), ("tui", APP, APP_ROOMS)], ids=["library", "app"]
)
def test_only_the_planned_names_stand_at_the_top(package: str, modules: set[str], rooms: set[str]) -> None:
    found = {path.relative_to(ROOT / package).parts[0].removesuffix(".py") for path in sources(package)}
    assert found <= modules | rooms, f"not in the plan of {package}/: {', '.join(sorted(found - modules - rooms))}"
    flat = {path.stem for path in sources(package) if path.parent == ROOT / package}
    assert flat <= modules, f"rooms are folders: {', '.join(sorted(flat - modules))}"


def test_every_folder_of_a_package_is_a_package() -> None:
    bare = {short(path.parent) for path in sources(*PACKAGES) if not (path.parent / "__init__.py").is_file()}
    assert not bare, f"no __init__.py in {', '.join(sorted(bare))}: the import contracts do not see it"
