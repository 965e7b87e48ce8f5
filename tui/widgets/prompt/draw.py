"""The rows of the prompt pane as lines. Pure: (entry, width, what is known of it) -> Line.

Columns: pad 1, edge 1, gap 1, kind 9, tokens 6 right, gap 2, first line flex, note right, pad 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.cells import cell_len

from agentmem.inspect.telling.marks import ERROR, FAILED, SILENT, goal_said
from agentmem.inspect.telling.marks import GLYPHS as MARKS
from agentmem.model import Attempt, Drop, Field, Segment, Step

from ...index import GLYPHS
from ...messages import ToStep
from ..line import Line, Span, fit, thousands
from ..panes.calls import call_text, head_text
from ..panes.columns import clean, edge_role, row, squeezed, text_role, word_of, wrap_words
from .layout import Layout
from .plan import Entry

KIND, TOKENS = 9, 6
TEXT_AT = 3 + KIND + TOKENS + 2
GOAL_ROWS = 3
_GLYPH_ROLES = {"+": "text-state", **dict(GLYPHS.values())}


class PieceTarget(msgspec.Struct, frozen=True):
    """Enter opens the piece whole, or folds it again."""

    ident: int


class FoldTarget(msgspec.Struct, frozen=True):
    """Enter opens the fold."""


def piece_line(
    width: int, word: str, tokens: str, text: str, *, edge: str | None = None, glyph: str = "",
    word_role: str = "label", role: str = "foreground", note: str = "", note_role: str = "label",
    fill: str | None = None, bold: bool = False, strike: bool = False, target: object = None, alarm: bool = False,
) -> Line:  # fmt: skip
    """One row in the columns of the prompt. `edge`: role of the bar left of it; a `glyph` takes its place.

    `text` and `note` are safe. On an alarm row the note gives way before the value.
    """
    flex = max(0, width - TEXT_AT - 1)
    if alarm and note and cell_len(text) + 1 + cell_len(note) > flex:
        note = note.removeprefix("silent ").removeprefix("silent: ")
        if cell_len(text) + 1 + cell_len(note) > flex:
            note = ""
    noted = min(cell_len(note) + 1, flex // 2) if note else 0
    first = Span("▎" if edge else " ", edge or "label")
    if glyph:
        first = Span(glyph, _GLYPH_ROLES.get(glyph, "label"), bold)
    text = fit(text, flex - noted)
    shown = text.rstrip()
    spans = (
        Span(" "), first, Span(" "), Span(fit(word, KIND), word_role, bold),
        Span(fit(tokens, TOKENS, right=True), role if alarm else "label", bold), Span("  "),
        Span(shown, role, bold, strike), Span(" " * (flex - noted - cell_len(shown))),
        Span(fit(note, noted, right=True), note_role, bold and alarm), Span(" "),
    )  # fmt: skip
    return row(spans, width, fill=fill, target=target)


def segment_line(segment: Segment, width: int, note: tuple[str, str] = ("", "label"), glyph: str = "",
                 opened: str | None = None, failure: str | None = None) -> Line:  # fmt: skip
    """A piece by kind, tokens and first line; `opened`: what stands there while it is open below; `failure`: the line
    of it that says what failed."""
    flex = width - TEXT_AT
    unknown = segment.head is None
    text = "unknown: not in this file" if segment.head is None else clean(segment.head, flex)
    if segment.kind == "call" and segment.head is not None:
        text = head_text(segment.tool, segment.head, flex)
    if failure:
        text = squeezed(failure, flex)
    failed = segment.kind == "error" and segment.field is None
    state = segment.field is not None or edge_role(segment.kind) == "state"
    word = "failure" if segment.kind == "error" and not failed else word_of(segment.kind)
    role = "label" if unknown or opened is not None else "text-error" if failed else "foreground"
    return piece_line(
        width, word, thousands(segment.tokens), opened if opened is not None else text,
        edge="state" if state else "trace", glyph=glyph or (MARKS[ERROR] if failed else ""),
        word_role="text-error" if failed else "text-state" if state else text_role(segment.kind), role=role,
        note=note[0], note_role=note[1], target=PieceTarget(segment.id),
    )  # fmt: skip


def ghost_line(entry: Entry, width: int) -> Line:
    drop = entry.drop
    assert drop is not None
    return piece_line(
        width, word_of(drop.kind), thousands(drop.tokens), ghost_text(drop, width), glyph=MARKS[SILENT],
        word_role="text-error", role="text-error",
        note=entry.note, note_role="text-error", fill="error-muted", bold=True, strike=True,
        target=ToStep(drop.lane, drop.n), alarm=True,
    )  # fmt: skip


def ghost_text(drop: Drop, cells: int) -> str:
    """What was lost: its rendered line, else name and value."""
    value = drop.text if drop.text is not None else drop.head
    if drop.what == "field" and value is not None:
        name = drop.name.rpartition(".")[2]
        return clean(value if name in value else f"{name} = {value}", cells)
    return clean(drop.name if value is None else value, cells)


def entry_line(entry: Entry, width: int) -> Line:
    """Any other row: fold, head of a part, unknown part, unchanged pieces, what was before, a consequence."""
    if entry.sort == "ghost":
        return ghost_line(entry, width)
    if entry.sort == "why":
        return row((Span(" " * TEXT_AT), Span(clean(entry.text, width), "text-error")), width, fill="error-muted")
    if entry.sort == "was":
        return piece_line(
            width, word_of(entry.word), thousands(entry.tokens), clean(entry.text, width), glyph=entry.glyph,
            role="label", note=entry.note, strike=True, word_role="text-warning" if entry.glyph else "label",
        )  # fmt: skip
    tokens = "" if entry.sort in ("part", "same") and entry.tokens is None else thousands(entry.tokens)
    if entry.sort == "plan":
        return piece_line(
            width, entry.word, tokens, clean(entry.text, width), edge="state", word_role="text-state",
            role="foreground", note=entry.note, target=FoldTarget(),
        )  # fmt: skip
    target = FoldTarget() if entry.sort == "fold" else None
    return piece_line(
        width, entry.word, tokens, clean(entry.text, width), edge="trace" if entry.sort == "fold" else None,
        role="label", note=entry.note, target=target, bold=entry.sort == "part",
    )  # fmt: skip


def text_line(layout: Layout, index: int, width: int, segment: Segment, alert: str | None = None) -> Line:
    edge = "state" if segment.field is not None or edge_role(segment.kind) == "state" else "trace"
    return row(
        (Span(" "), Span("▎", edge), Span(" "), Span(layout.row(index), alert or "foreground")), width,
        target=PieceTarget(segment.id),
    )  # fmt: skip


def plain_line(text: str, width: int, segment: Segment, role: str = "label") -> Line:
    return row((Span("   "), Span(clean(text, width), role)), width, target=PieceTarget(segment.id))


def rule(width: int) -> Line:
    return row((Span(" "), Span("╌" * max(0, width - 2), "faint")), width)


def goal_lines(
    goal: str | None, step: Step, tokens: int | None, width: int, since: int | None = None
) -> tuple[Line, ...]:
    """The goal whole, wrapped to three rows at most, with its state at the right of the first."""
    note, role = goal_note(step, since)
    if goal is None:
        words = "no goal is known for this run"
        return (piece_line(width, "GOAL", "?", words, role="label", note=note, note_role=role),)
    flex = max(10, width - TEXT_AT - 1)
    if cell_len(note) > flex // 3:
        note = note.partition(",")[0].partition(" since")[0]
    first = goal_rows(clean(goal, flex * (GOAL_ROWS + 1)), flex, cell_len(note) + 2)
    missing = step.goal == "missing"
    fill = "error-muted" if missing else "goal"
    lines = []
    for place, part in enumerate(first):
        lines.append(
            piece_line(
                width,
                "GOAL" if place == 0 else "",
                thousands(tokens) if place == 0 else "",
                part,
                edge="error" if missing else "state",
                word_role="text-error" if missing else "text-state",
                bold=True,
                note=note if place == 0 else "",
                note_role=role,
                fill=fill,
                strike=missing,
            )
        )
    return tuple(lines)


def goal_rows(goal: str, flex: int, noted: int) -> list[str]:
    """The goal in at most three rows of `flex` cells; the first leaves room for its note."""
    head, *rest = wrap_words(goal, max(8, flex - noted))
    return [head, *wrap_words(goal[len(head) :].lstrip(), flex, limit=GOAL_ROWS - 1)] if rest else [head]


def goal_note(step: Step, since: int | None = None) -> tuple[str, str]:
    """State of the goal in a few words, and their role."""
    after = step.tokens_after_goal
    behind = "" if not after else f", {thousands(after)} after it"
    more, role = {
        "last": ("", "text-state"),
        "present": (behind, "text-state"),
        "buried": (behind, "text-warning"),
        "missing": ("" if since is None else f" since {since}", "text-error"),
        "changed": ("", "text-warning"),
        "unknown": ("", "label"),
    }[step.goal]
    return " ".join(goal_said(step)) + more, role


def then_line(step: Step, width: int) -> Line:
    """One row under the goal: what the model then did."""
    if step.open:
        words = " not called yet: the next call sees this"
        return row((Span(" "), Span("→", "text-primary"), Span(words, "label")), width)
    if not step.attempts:
        said = next((reply.head for reply in step.replies if reply.head), None)
        text = "no call" if said is None else f"said  {said}"
        return row((Span(" "), Span("→", "label"), Span(f" {clean(text, width)}", "label")), width)
    first = step.attempts[0]
    outcome, role, bold = outcome_text(first, width)
    more = f"  +{len(step.attempts) - 1} more" if len(step.attempts) > 1 else ""
    room = max(8, width - 4 - len(more))
    outcome = outcome if cell_len(outcome) <= room // 2 else fit(outcome, room // 2).rstrip()
    call = call_text(first.tool, first.arguments, room - cell_len(outcome) - 2)
    said_so = (Span(outcome, role, bold), Span(more, "label"))
    return row((Span(" "), Span("→", "label"), Span(" " + call), Span("  "), *said_so), width)


def outcome_text(attempt: Attempt, cells: int) -> tuple[str, str, bool]:
    """(words, role, bold) of what came of a call."""
    if attempt.outcome in FAILED:
        said = squeezed(attempt.error or attempt.result_head or attempt.outcome, cells)
        return f"{MARKS[ERROR]} {said}", "text-error", True
    if attempt.outcome == "unknown":
        return "? no result", "label", False
    head = clean(attempt.result_head, cells)
    return f"ok, {head}" if head else "ok", "label", False


def field_note(held: Field | None) -> str:
    """`✓ read @4` for a verified field."""
    if held is None or held.verified_by is None:
        return ""
    at = "" if held.verified_at is None else f" @{held.verified_at}"
    return f"✓ {clean(held.verified_by, 20)}{at}"


def notes_of(fields: Sequence[Field]) -> dict[int, Field]:
    return {held.segment: held for held in fields if held.segment is not None}
