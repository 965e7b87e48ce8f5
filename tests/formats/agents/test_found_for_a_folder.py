"""Asked for nothing, in a folder where agents worked: the runs of every one of them are found, and no others."""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmem.formats import formats
from agentmem.inspect.discover import EVERYWHERE, NoRuns, find
from tests.conftest import ROOT

SAMPLES = ROOT / "sample_runs"
VARIABLES = ("CLINE_DATA_DIR", "OPENHANDS_CONVERSATIONS_DIR", "PI_CODING_AGENT_DIR", "MSWEA_GLOBAL_CONFIG_DIR",
             "QWEN_RUNTIME_DIR")  # fmt: skip
Put = Callable[[Path, Path], Path]


def _copied(sample: str, target: Path, *replaced: tuple[str, Path]) -> Path:
    """The sample at its place, with the folder that it names replaced by this one."""
    source = SAMPLES / sample
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    for path in [target] if target.is_file() else [one for one in target.rglob("*") if one.is_file()]:
        data = path.read_bytes()
        for was, now in replaced:
            data = data.replace(was.encode(), str(now).encode())
        path.write_bytes(data)
    return target


def _claude(home: Path, folder: Path) -> Path:
    name = "".join(one if one.isalnum() and one.isascii() else "-" for one in str(folder))
    session = "5b1c7f0e-2d64-4a39-8c11-90de3a7f4c02.jsonl"
    return _copied(f"claude-code/{session}", home / ".claude" / "projects" / name / session)


def _codex(home: Path, folder: Path) -> Path:
    name = "rollout-2026-03-02T09-00-00-019cadc6-9a80-7269-8ef2-a74de452e6b4.jsonl"
    place = home / ".codex" / "sessions" / "2026" / "03" / "02" / name
    return _copied(f"codex/{name}", place, ("/home/mira/ferry", folder), ("/home/mira/kiln", folder))


def _pi(home: Path, folder: Path) -> Path:
    name = "2026-03-20T09-46-40-000Z_tides.jsonl"
    named = f"--{str(folder).strip('/').replace('/', '-')}--"
    return _copied(f"pi/{name}", home / ".pi" / "agent" / "sessions" / named / name)


def _openhands(home: Path, folder: Path) -> Path:
    name = "4f9a1d20c3b84e5f9a6b7c8d9e0f1a2b"
    return _copied(f"openhands/{name}", home / ".openhands" / "conversations" / name, ("/srv/kiln", folder))


def _gemini(home: Path, folder: Path) -> Path:
    name = "session-2026-04-13T17-06-7c1f0a52.jsonl"
    project = hashlib.sha256(str(folder).encode()).hexdigest()
    return _copied(f"gemini/{name}", home / ".gemini" / "tmp" / project / "chats" / name)


def _checkpoint(home: Path, folder: Path) -> Path:
    project = hashlib.sha256(str(folder).encode()).hexdigest()
    place = home / ".gemini" / "tmp" / project / "checkpoint-ducks.json"
    return _copied("gemini-saved/checkpoint-ducks.json", place)


def _qwen(home: Path, folder: Path) -> Path:
    name = "3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f.jsonl"
    named = "".join(one if one.isalnum() and one.isascii() else "-" for one in str(folder))
    return _copied(f"qwen/chats/{name}", home / ".qwen" / "projects" / named / "chats" / name, ("/srv/loft", folder))


def _opencode(home: Path, folder: Path) -> Path:
    path = _copied("opencode/opencode.db", home / "data" / "opencode" / "opencode.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE session SET directory=?", (str(folder),))
    connection.close()
    return path


def _opencode_storage(home: Path, folder: Path) -> Path:
    """Under other ids than those in the database, which would have taken them over."""
    storage, source = home / "data" / "opencode" / "storage", SAMPLES / "opencode-storage"
    for file in [one for one in source.rglob("*") if one.is_file()]:
        place = storage / str(file.relative_to(source)).replace("seeds", "grain")
        place.parent.mkdir(parents=True, exist_ok=True)
        data = file.read_bytes().replace(b'"/srv/seeds"', f'"{folder}"'.encode())
        place.write_bytes(data.replace(b"0seeds", b"0grain"))
    return next(storage.glob("session/*/ses_00000001grain.json"))


def _aider(home: Path, folder: Path) -> Path:
    return _copied("aider/loom.chat.history.md", folder / ".aider.chat.history.md")


def _mini(home: Path, folder: Path) -> Path:
    return _copied("mini-swe-agent/tides.traj.json", folder / "tides.traj.json")


def _swe(home: Path, folder: Path) -> Path:
    return _copied("swe-agent/depth.traj", folder / "trajectories" / "mira" / "first" / "depth" / "depth.traj")


def _atif(home: Path, folder: Path) -> Path:
    return _copied("harbor-job/berths__a1", folder / "jobs" / "today" / "berths__a1") / "agent" / "trajectory.json"


def _cline_sdk(home: Path, folder: Path) -> Path:
    sessions = home / ".cline" / "data" / "sessions"
    name = "1775100000000_k3vwq"
    return _copied(f"cline-session/{name}", sessions / name, ("/home/mira/gauges", folder)) / f"{name}.messages.json"


def _task(sample: str, extension: str, was: str) -> Put:
    def put(home: Path, folder: Path) -> Path:
        source = next(path for path in (SAMPLES / sample).iterdir() if path.is_dir())
        tasks = home / ".config" / "Code" / "User" / "globalStorage" / extension / "tasks"
        task = _copied(f"{sample}/{source.name}", tasks / source.name, (was, folder))
        return task / "api_conversation_history.json"

    return put


AGENTS: dict[str, Put] = {
    "claude-code": _claude,
    "codex": _codex,
    "pi": _pi,
    "openhands": _openhands,
    "gemini-cli": _gemini,
    "gemini-checkpoint": _checkpoint,
    "qwen-code": _qwen,
    "opencode": _opencode,
    "opencode-storage": _opencode_storage,
    "aider": _aider,
    "mini-swe-agent": _mini,
    "swe-agent": _swe,
    "atif": _atif,
    "cline-sdk": _cline_sdk,
    "roo": _task("roo-task", "rooveterinaryinc.roo-cline", "/home/mira/survey"),
    "cline": _task("cline-task", "saoudrizwan.claude-dev", "/home/mira/gauges"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and where we stand."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = (tmp_path / "the work.d").resolve()
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.mark.parametrize("name", AGENTS)
def test_the_run_of_an_agent_that_worked_here_is_found(home: Path, folder: Path, name: str) -> None:
    placed = AGENTS[name](home, folder)
    rows = [row for row in find([]) if row.format == name]
    assert rows and {row.path for row in rows} == {str(placed)}
    assert all(row.problem is None and row.at is not None and row.id for row in rows)


def test_the_runs_of_all_agents_are_listed_newest_first(home: Path, folder: Path) -> None:
    for put in AGENTS.values():
        put(home, folder)
    rows = find([])
    assert {row.format for row in rows} == set(AGENTS)
    times = [row.at or 0.0 for row in rows]
    assert times == sorted(times, reverse=True)


def test_what_was_done_in_another_folder_is_not_offered(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for put in AGENTS.values():
        put(home, folder)
    beside = folder.with_name("elsewhere")
    beside.mkdir()
    monkeypatch.chdir(beside)
    with pytest.raises(NoRuns, match="none kept here by"):
        find([])


def test_homes_that_hold_rubbish_do_not_stand_in_the_way(home: Path, folder: Path) -> None:
    placed = [put(home, folder) for name, put in AGENTS.items() if name != "pi"]
    for path in placed:
        for file in [path] if path.is_file() else path.rglob("*.json"):
            file.write_bytes(b"\0{" * 40)
    AGENTS["pi"](home, folder)
    assert [row.format for row in find([]) if row.problem is None] == ["pi"]


KEPT_AT_HOME = (
    "claude-code", "codex", "pi", "gemini-cli", "gemini-checkpoint", "qwen-code", "opencode", "opencode-storage",
    "openhands", "cline-sdk", "roo", "cline",
)  # fmt: skip


@pytest.mark.parametrize("name", KEPT_AT_HOME)
def test_all_runs_are_found_whatever_folder_they_were_made_in(
    home: Path, folder: Path, name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = AGENTS[name](home, folder)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert {row.path for row in find([EVERYWHERE]) if row.format == name} == {str(placed)}


@pytest.mark.parametrize(
    ("place", "sample"),
    [
        (".omp/agent/sessions/--work--", "pi/2026-03-20T09-46-40-000Z_tides.jsonl"),
        (".openclaw/agents/main/sessions", "pi/2026-03-20T09-46-40-000Z_tides.jsonl"),
        (".config/Cursor/User/globalStorage/kilocode.kilo-code/tasks", "roo-task/0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de"),
        (".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks", "cline-task/1775200000000"),
        ("Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
         "roo-task/0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de"),
        (".config/mini-swe-agent", "mini-swe-agent/tides.traj.json"),
    ],
)  # fmt: skip
def test_all_lists_the_relatives_of_an_agent_too(home: Path, folder: Path, place: str, sample: str) -> None:
    name = "last_mini_run.traj.json" if "mini" in place else sample.rpartition("/")[2]
    placed = _copied(sample, home / place / name)
    (row,) = find([EVERYWHERE])
    assert row.path.startswith(str(placed)) and row.problem is None


def _documented() -> list[str]:
    """Every place below a home in the table of the documents, without what stands for a name in it."""
    table = (ROOT / "docs" / "formats.md").read_text().partition("## Where transcripts are looked for")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`~/" in line]
    return [place for row in rows for place in re.findall(r"`(~/[^`]*)`", row)]


@pytest.mark.parametrize("place", _documented())
def test_every_place_that_the_documents_name_is_listed_by_all(place: str) -> None:
    patterns = [re.sub(r"\{[^|]*\|([^}]*)\}", r"\1", one) for known in formats() for one in known.everywhere]
    named = place.partition("/*")[0]
    assert any(one == named or one.startswith(f"{named}/") for one in patterns), f"{place} is promised"
