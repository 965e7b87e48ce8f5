"""Any outside text, at any width: lines of exactly that width, without anything that acts on a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from agentmem import safe
from agentmem.inspect.telling.explain import explain_drop, explain_piece, explain_prompt
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.inspect.telling.why import why
from agentmem.model import Boundary, Cycle, Field, Gap, Lane, Lifeline, Lost, Miss, Run, Survival, Waiting
from tui.widgets.bars import axis_for
from tui.widgets.line import Line
from tui.widgets.panes.calls import call_text, head_text
from tui.widgets.panes.columns import column, cut, wrap_words
from tui.widgets.panes.lifelines import details, lifeline_row
from tui.widgets.panes.loops import LoopsPane
from tui.widgets.panes.lost import LostPane
from tui.widgets.panes.state import StatePane
from tui.widgets.prompt.sheet import Opening

from .builders import Teller, attempt, drop, plain_run
from .shown import context_of, foot_lines, pane_lines, sheet_lines, sheet_of

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "[bold]markup[/bold] [@click=app.quit]",
    "\u202eevil\u202c",
    "漢字 wide",
    "a\u0301\u0301\u0301",
    "👨\u200d👩\u200d👧 ☎\ufe0f",
    "\ufe0f",
    "\u200b\u200b",
    "line\nline\r\nline",
    "\x00\x07\x9b31m",
    "\ud800",
    "x" * 5_000,
    "\u0301" * 300,
    "",
    " ",
    "\t\t",
    "\u2028\u2029",
    "￼\U000e0041",
]
OUTSIDE = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=60), st.text(st.sampled_from("a漢\u0301\ufe0f☎\x1b "), max_size=60)
)
WIDTHS = st.sampled_from([30, 46, 54, 60, 77, 80, 100, 120, 150, 211])


def check(lines: list[Line], width: int) -> None:
    for line in lines:
        assert sum(cell_len(span.text) for span in line.spans) == width, line
        harmless(line.plain)
        assert line.plain[:1] in ("", " "), "the first cell is the cursor's"


def harmless(shown: str) -> None:
    assert safe.hidden(shown) == 0 and "\n" not in shown and "\t" not in shown
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)


def hostile_run(text: str, other: str) -> Run:
    """A run with that text in every place that a pane draws."""
    t = Teller()
    t.place(t.piece("user", text))
    gone = t.place(t.piece("note", other, field=other))
    t.fields = {
        "goal": Field("goal", text, 1, segment=0),
        "facts.x": Field(f"facts.{text}", other, 1, other or None, 3),
        "notes": Field("notes", text, 1),
        "last_error": Field("last_error", other, 1),
        "o": Field(other, text, 2),
        "plan[0]": Field("plan[0]", text, 1, done=False),
        "attempts": Field("attempts", text, 1),
    }
    call = t.piece("call", text, call_id="c1.1", tool=text)
    result = t.piece("error", other, call_id="c1.1", tool=text)
    failed = attempt(1, text, other, "error", text, error=other)
    t.close((failed, attempt(1, text, '{"path": "a/b", "x": ["y"]}', index=2)), (call,), (result,))
    t.place(call)
    t.place(result)
    t.tape.splice(t.index(gone), 1)
    miss = Miss("main", 2, 2, text, other)
    silent = drop(
        2,
        f"facts.{text}",
        what="field",
        kind="fact",
        cause="silent",
        recorded=False,
        segment=gone,
        text=other,
        head=text,
        missed=(miss,),
    )
    recorded = drop(2, text, head=other, record=text, cause="shortened")
    t.close((failed,), (call,), (result,), (silent, recorded), boundary=Boundary("compaction", False, 5, 3, text))
    t.close(open=True)
    run = plain_run(1)
    boundary = t.steps[1].boundary
    assert boundary is not None
    return replace(
        run,
        goal=text,
        lanes=(Lane("main", "main", tuple(t.steps)),),
        unknown=(text,),
        gaps=(Gap("main", 1, 2, 1, other),),
        cycles=(Cycle("main", "cycle", 2, (1, 2), 2, (text, other), (text, other), None, 2, None, other),),
        waiting=(Waiting("main", (1,), text, 3, None, 2.0),),
        survivals=(
            Survival(
                "main",
                2,
                2,
                boundary,
                {"paths": (1, 2)},
                (Lost("paths", text, 1), Lost("prose", other, 1)),
                ((text, other),),
            ),
        ),
    )


@given(OUTSIDE, OUTSIDE, WIDTHS, st.booleans())
def test_the_prompt_pane_draws_any_text(text: str, other: str, width: int, changes: bool) -> None:
    run = hostile_run(text, other)
    for step in run.main.steps:
        context = context_of(run, width, None, changes=changes)
        opening = Opening(keys={segment.key for segment in step.prompt})
        for segment in step.prompt:
            context.texts.put("main", segment.id, text * 3)
        for one in (Opening(), opening):
            sheet = sheet_of(run, step.n, context, one)
            check(sheet_lines(sheet, width, 5), width)
            check(foot_lines(sheet, width), width)
            for side in sheet.heading():
                harmless("".join(span.text for span in side))


@given(OUTSIDE, OUTSIDE, WIDTHS, st.sampled_from([LostPane, LoopsPane, StatePane]))
def test_the_other_panes_draw_any_text(
    text: str, other: str, width: int, pane: type[LostPane | LoopsPane | StatePane]
) -> None:
    run = hostile_run(text, other)
    for n in (1, 2, 3):
        one = pane()
        one.show(run, ("main", n), context_of(run, width))
        check(pane_lines(one, width), width)
        harmless("".join(span.text for span in one.badge()))


@given(OUTSIDE, OUTSIDE, WIDTHS)
def test_lifelines_draw_any_text(text: str, other: str, width: int) -> None:
    line = Lifeline(text, "main", 1, "━▲✗", ((1, 1),), ((1, other),), (3,), (2,), (2,))
    lost = drop(2, text, what="field", text=other, missed=(Miss("main", 3, 3, text, other),))
    for pinned in (False, True):
        check([lifeline_row(line, axis_for(width, 3), width, 2, None, pinned)], width)
    harmless("".join(span.text for span in details(line, Field(text, other, 1, text, 2), (lost,))))


@given(OUTSIDE, OUTSIDE)
def test_sentences_and_explanations_are_safe(text: str, other: str) -> None:
    run = hostile_run(text, other)
    for link in why(run, ("main", 2)):
        harmless(link.sentence)
    step = run.main.steps[1]
    for said in (
        *explain_prompt(run, step),
        *explain_piece(run, step, step.prompt[0]),
        *explain_drop(run, step.drops[0]),
    ):
        harmless(said)
    block = lost_block(run)
    assert safe.hidden(block) == 0


@given(OUTSIDE, st.integers(1, 90))
def test_columns_and_wraps_keep_their_width(text: str, width: int) -> None:
    shown = column(text, width)
    assert cell_len(shown) == width
    assert cell_len(cut(safe.line(text), width)) <= max(width, 1)
    rows = wrap_words(safe.line(text), max(width, 2))
    assert all(cell_len(row) <= max(width, 2) for row in rows)
    assert "".join("".join(rows).split()) == "".join(safe.line(text).split())


@given(OUTSIDE, OUTSIDE, st.integers(4, 90))
def test_a_call_fits_its_cells(tool: str, arguments: str, width: int) -> None:
    for given_arguments in (arguments, '{"command": "pytest -x tests/a/b.py", "n": 3}', "[1, 2]", "{", "null"):
        shown = call_text(tool, given_arguments, width)
        assert cell_len(shown) <= width
        harmless(shown)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"path":"tests/fixtures/a.csv","lines":3}', "read  tests/fixtures/a.csv lines=3"),
        ("{}", "read"),
        ("-x tests/a.py", "read  -x tests/a.py"),
        ('["a", 1]', "read  a 1"),
        ("{broken", "read  {broken"),
        ('{"zeta":"1","command":"ls"}', "read  ls zeta=1"),
    ],
)
def test_arguments_are_read_as_one_reads_them(arguments: str, shown: str) -> None:
    assert call_text("read", arguments, 60) == shown


def test_paths_are_shortened_from_the_left_before_anything_is_cut() -> None:
    assert call_text("edit", "tests/fixtures/deeply/a.csv", 16) == "edit  …/a.csv"


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ('bash {"command":"sed -i s/a/b/ calc.py"}', "bash  sed -i s/a/b/ calc.py"),
        ('bash {"command":"python -c \\"import a\\"\\nls -l very lo', 'bash  python -c "import a"⏎ls -l very lo'),
        ('bash {"deep":"x', 'bash  {"deep":"x'),
        ("bash ls", "bash ls"),
        ('other {"command":"ls"}', 'other {"command":"ls"}'),
    ],
)
def test_the_head_of_a_call_is_read_as_a_call_even_where_it_is_cut(head: str, shown: str) -> None:
    assert head_text("bash", head, 60) == shown


@given(OUTSIDE, OUTSIDE, st.integers(4, 90))
def test_the_head_of_a_call_is_safe(tool: str, rest: str, width: int) -> None:
    for head in (f"{tool} {rest}", f'{tool} {{"command":"{rest}', f'{tool} {{"command":"{rest}\\'):
        harmless(head_text(tool, head[:120], width))
