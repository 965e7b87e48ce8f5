"""What importing and asking for little must not load, and what may not be imported at all."""

from __future__ import annotations

import ast
import importlib.util

import pytest

from tests.house.tree import PACKAGES, ROOT, dotted, imported, parsed, python, short, sources

TOOLKIT = {"textual", "rich"}
EXTRAS = {"psycopg", "openai", "wordllama", "numpy", "ormsgpack", "zstandard", "toktok", "ctok"}
LOADED = "import sys; print('\\n'.join(sys.modules))"
NETWORK = {"urllib.request", "http.client", "http.server", "socketserver", "xmlrpc.client"}


def loaded(code: str, *arguments: str) -> set[str]:
    """Names of the top-level modules that are loaded once `code` is done."""
    done = python(arguments, f"{code}\nimport sys; print('\\n--loaded--'); {LOADED}")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.partition("--loaded--")[2].split()}


def command(*arguments: str) -> set[str]:
    """The same for the command `agentmem`, whichever way it leaves."""
    if importlib.util.find_spec("tui.__main__") is None:
        pytest.skip("the command does not stand yet")
    code = "from tui.__main__ import main\ntry:\n    main()\nexcept SystemExit as left:\n    assert not left.code, left"
    return loaded(code, *arguments)


def test_the_library_loads_neither_the_toolkit_nor_an_extra() -> None:
    found = loaded("import agentmem")
    assert "agentmem" in found
    assert not found & (TOOLKIT | EXTRAS | {"tui"})


def test_every_room_of_the_library_but_the_commands_loads_without_the_toolkit() -> None:
    rooms = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sources("agentmem")
        if path.name not in ("__init__.py", "__main__.py") and "cli" not in path.relative_to(ROOT).parts
    ]
    assert rooms
    code = "import importlib, sys\nfor name in sys.argv[1:]:\n    try:\n        importlib.import_module(name)\n"
    # An extra that is not installed here is no reason to fail; a module of ours that is missing is.
    code += "    except ModuleNotFoundError as missing:\n"
    code += "        assert missing.name.partition('.')[0] not in ('agentmem', 'tui'), missing"
    assert not loaded(code, *rooms) & TOOLKIT


def test_asking_for_the_version_loads_neither_textual_nor_rich() -> None:
    assert not command("--version") & (TOOLKIT | EXTRAS | {"sqlite3", "asyncio"})


def test_a_command_on_a_run_does_not_load_the_toolkit() -> None:
    samples = sorted((ROOT / "sample_runs").rglob("*.json"))
    if not samples:
        pytest.skip("no samples stand yet")
    assert "textual" not in command("show", str(samples[0]), "--json")


def test_what_a_start_loads_makes_no_dataclass_and_compiles_no_expression() -> None:
    """Both are work at every start: 40 ms of them stood before the first content. The door compiles, it is used anyway.
    """
    code = "import tui.app\nfrom agentmem.inspect.watch import Watch\nfrom agentmem.formats import formats\nformats()"
    done = python((), f"{code}\n{LOADED}")
    assert done.returncode == 0, done.stderr
    names = set(done.stdout.split()) - {"agentmem.safe"}
    made = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
            for path in sources(*PACKAGES)}  # fmt: skip
    assert "agentmem.formats.plain.snapshot" in names & set(made)
    costly = [
        f"{short(path)}:{node.lineno}"
        for name, path in made.items()
        if name in names
        for node in parsed(path).body
        if (isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(one) for one in node.decorator_list))
        or (isinstance(node, ast.Assign | ast.AnnAssign) and "re.compile(" in ast.unparse(node))
    ]
    assert not costly, "a value is a msgspec.Struct, an expression a `pattern`:\n" + "\n".join(costly)


def test_inside_the_app_imports_are_relative() -> None:
    absolute = [
        f"{short(path)}:{line} imports {name}"
        for path in sources("tui")
        for line, name in imported(parsed(path))
        if name.partition(".")[0] == "tui"
    ]
    assert not absolute, "one rename must move the package: write `from . import ...`\n" + "\n".join(absolute)


def test_nothing_that_looks_at_a_run_can_reach_the_network() -> None:
    looking = [path for path in sources(*PACKAGES) if not short(path).startswith("agentmem/memory/")]
    reached = [
        f"{short(path)}:{line} imports {name}"
        for path in looking
        for line, name in imported(parsed(path))
        if name in NETWORK
    ]
    assert not reached, "\n".join(reached)


def test_dotted_reads_a_chain_of_names() -> None:
    import ast

    call = ast.parse("a.b.c(1)").body[0]
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    assert dotted(call.value.func) == "a.b.c"
