"""What the files of the project may hold: no path of a machine, no odd bytes; samples say what happens in them."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, files, short

SAMPLES = ROOT / "sample_runs"
TEXT = {".py", ".md", ".toml", ".json", ".jsonl", ".txt", ".svg", ".html", ".tcss", ".css", ".yaml", ".yml", ".sh", ""}


def homes() -> list[str]:
    """Folders of whoever runs this, which no file may name."""
    own = pwd.getpwuid(os.getuid()).pw_dir.rstrip("/")
    return [str(ROOT), *([own + "/"] if own.count("/") > 1 else [])]


def texts() -> list[tuple[Path, str]]:
    return [(path, path.read_text(encoding="utf-8", errors="replace")) for path in files() if path.suffix in TEXT]


def test_no_file_names_a_path_of_this_machine() -> None:
    # Put together here, or this file would name them.
    kept = re.compile("|".join([*map(re.escape, homes()), "/wo" + r"rk/(?:main|shared)\b"]))
    found = [
        f"{short(path)}:{number} {match.group()}"
        for path, held in texts()
        for number, line in enumerate(held.split("\n"), 1)
        if (match := kept.search(line))
    ]
    assert not found, "\n".join(found)


def test_sources_and_documents_are_plain_text() -> None:
    odd = [
        short(path)
        for path, held in texts()
        if path.suffix in (".py", ".md", ".toml") and ("\r" in held or "\t" in held or (held and held[-1] != "\n"))
    ]
    assert not odd, f"tabs, carriage returns or no last newline: {', '.join(odd)}"


def test_nothing_heavy_is_kept() -> None:
    heavy = [f"{short(path)}: {path.stat().st_size // 1000} kB" for path in files() if path.stat().st_size > 1_000_000]
    assert not heavy, "\n".join(heavy)


def test_every_sample_has_a_line_that_says_what_happens_in_it() -> None:
    samples = [path for path in files() if path.is_relative_to(SAMPLES) and path.suffix not in (".md", ".py")]
    if not samples:
        pytest.skip("no samples stand yet")
    page = (SAMPLES / "README.md").read_text(encoding="utf-8")
    # A sample is a file or a folder at the top; what lies beside it under the same first name belongs to it.
    names = {path.relative_to(SAMPLES).parts[0].split(".")[0] for path in samples}
    said = {
        match.group(1).strip("/").split(".")[0].split("/")[0]: len(match.group(2))
        for match in re.finditer(r"^\W*`([^`]+)`\W+(.+)$", page, re.MULTILINE)
    }
    mute = sorted(name for name in names if said.get(name, 0) < 20)
    assert not mute, f"sample_runs/README.md says nothing of {', '.join(mute)}"
