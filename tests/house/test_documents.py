"""The documents keep up with the code: every format, command, rule and key is there; links lead somewhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import lists
from tests.house.tree import ROOT, files, short

LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
RELEASE = re.compile(r"## \[(?:Unreleased|\d+\.\d+\.\d+)\](?: - (?:\d{4}-\d{2}-\d{2}|Unreleased))?")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, object]:
    held = tomllib.loads(text("pyproject.toml"))["project"]
    assert isinstance(held, dict)
    return held


def bare(requirement: str) -> str:
    """The name in a requirement."""
    match = re.match(r"[A-Za-z0-9-]+", requirement)
    assert match
    return match.group()


@pytest.mark.parametrize(
    ("page", "there"),
    [
        ("docs/formats.md", lists.formats),
        ("docs/commands.md", lists.commands),
        ("docs/rules.md", lists.rules),
        ("docs/keys.md", lists.keys),
    ],
    ids=["formats", "commands", "rules", "keys"],
)
def test_the_documents_name_everything_that_the_code_lists(page: str, there: Callable[[], list[str] | None]) -> None:
    listed = there()
    if listed is None:
        pytest.skip("the room stands empty")
    # A name counts where it stands as code, alone or first in it: `show PATH` names show.
    named = {word for span in re.findall(r"`+([^`\n]+)`+", text(page)) for word in (span, *span.split())}
    missing = [name for name in listed if name not in named]
    assert not missing, f"{page} does not mention {', '.join(missing)}"


def test_the_commands_table_of_the_readme_names_every_command() -> None:
    listed = lists.commands()
    if listed is None:
        pytest.skip("the room stands empty")
    missing = [name for name in listed if f"agentmem {name}" not in text("README.md")]
    assert not missing, f"README.md does not mention {', '.join(missing)}"


def test_every_page_is_reached_from_the_index() -> None:
    index = text("docs/index.md")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    lost = sorted(name for name in pages if f"({name})" not in index)
    assert not lost, f"docs/index.md does not lead to {', '.join(lost)}"


def test_links_inside_the_project_lead_somewhere() -> None:
    broken = [
        f"{short(page)}: {target}"
        for page in files()
        if page.suffix == ".md"
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target
        and not target.startswith("#")
        and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert not broken, "\n".join(broken)


def test_the_readme_says_why_each_dependency_is_there() -> None:
    held = project()
    wanted = held["dependencies"]
    extras = held["optional-dependencies"]
    assert isinstance(wanted, list) and isinstance(extras, dict)
    shipped = [one for name, needs in extras.items() if name not in ("test", "lint") for one in needs]
    section = text("README.md").partition("## Dependencies")[2].partition("\n## ")[0]
    missing = [name for name in map(bare, [*wanted, *shipped]) if f"`{name}`" not in section]
    assert not missing, f"README.md, Dependencies: {', '.join(missing)}"
    assert all(f"`{name}`" in section for name in extras if name not in ("test", "lint"))


def test_the_readme_opens_with_the_two_commands_each_one_line() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", text("README.md"), re.DOTALL)
    assert [block.count("\n") for block in blocks[:2]] == [1, 1]
    assert blocks[0].startswith("python3 -m venv ") and "agentmem demo" in blocks[0]
    assert blocks[1].startswith("python3 -m venv ") and "pytest" in blocks[1]
    assert "README.md" in text(".ci/run"), "the checks read the test command from the README"


def test_the_changelog_keeps_its_form() -> None:
    lines = text("CHANGELOG.md").splitlines()
    releases = [line for line in lines if line.startswith("## ")]
    assert releases and releases[0] == "## [Unreleased]"
    assert all(RELEASE.fullmatch(line) for line in releases), releases
    assert any(line.startswith(f"## [{project()['version']}]") for line in releases), "this version is not in it"
    assert {line.removeprefix("### ") for line in lines if line.startswith("### ")} <= KINDS


def test_the_licence_is_the_one_that_the_package_declares() -> None:
    assert project()["license"] == "MIT"
    assert text("LICENSE").startswith("MIT License\n") and "agentmem contributors" in text("LICENSE")


def test_every_picture_of_the_readme_is_not_too_heavy_to_load() -> None:
    heavy = [
        f"{short(path)}: {path.stat().st_size // 1000} kB"
        for path in sorted(Path(ROOT / "docs").rglob("*"))
        if path.suffix in (".svg", ".png") and path.stat().st_size > 400_000
    ]
    assert not heavy, "\n".join(heavy)
