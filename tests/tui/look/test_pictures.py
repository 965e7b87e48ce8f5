"""What the main screens look like, cell by cell: a change of any of them is seen in a diff."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tui.demo import CYCLE_TOLD, FAILED, RUN, Beside
from tests.tui.look.snapshots import FOLDER, same_as
from tests.tui.seen import watching

WIDE, NARROW, LARGE = (120, 40), (80, 24), (150, 45)


@dataclass(frozen=True, slots=True)
class Shot:
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    steps: int = FAILED
    light: bool = False
    grey: bool = False


SHOTS = {
    "live-80x24": Shot(NARROW),
    "live-120x40": Shot(WIDE),
    "live-150x45": Shot(LARGE),
    "scrubbed-80x24": Shot(NARROW, ("b", "left", "2")),
    "scrubbed-120x40": Shot(WIDE, ("d", "equals_sign")),
    "drops-80x24": Shot(NARROW, ("b", "3")),
    "drops-120x40": Shot(WIDE, ("b", "3")),
    "cycle-80x24": Shot(NARROW, ("c", "4"), CYCLE_TOLD),
    "cycle-120x40": Shot(WIDE, ("c", "4"), CYCLE_TOLD),
    "state-120x40": Shot(WIDE, ("d", "5")),
    "lifelines-120x40": Shot(WIDE, ("6",)),
    "light-120x40": Shot(WIDE, ("x",), light=True),
    "no-colour-120x40": Shot(WIDE, ("x",), grey=True),
}


@pytest.mark.parametrize("name", SHOTS)
async def test_the_demo_looks_as_it_did(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refresh: bool
) -> None:
    shot = SHOTS[name]
    if shot.grey:
        monkeypatch.setenv("NO_COLOR", "1")
    else:
        monkeypatch.delenv("NO_COLOR", raising=False)
    Beside(tmp_path / "runs", clock=lambda: 1_760_000_000.0).run_to(shot.steps)
    async with watching([tmp_path / "runs"], shot.size, until=RUN, light=shot.light) as seen:
        await seen.read(shot.steps + 1)
        await seen.until("the next call")  # the newest row: where a key finds the rows decides what shows
        for key in shot.keys:
            await seen.press(key)
        await same_as(seen, name, refresh)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])
async def test_a_folder_without_runs_looks_as_it_did(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refresh: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    looked = [("runs/*.json", "no such folder"), ("~/.agent/sessions", "none for this folder")]
    async with watching([], size, looked=looked, until="No runs found") as seen:
        await same_as(seen, f"empty-{size[0]}x{size[1]}", refresh)


async def test_a_bad_file_looks_as_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refresh: bool) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text('{"step": 3, "messages": "none"}')
    async with watching([Path("bad.json")], NARROW, until="messages is a text") as seen:
        await same_as(seen, "bad-file-80x24", refresh)


def test_every_picture_belongs_to_a_test() -> None:
    others = {"empty-80x24", "empty-120x40", "bad-file-80x24"}
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(SHOTS) | others
