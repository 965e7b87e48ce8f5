"""A tape again, in which what was cut before some prompts is cut right behind them, or the last one is open again."""

from __future__ import annotations

from collections.abc import Container

from agentmem.model import Tokens
from agentmem.tape.pieces import Edit
from agentmem.tape.roll import Tape


def cut_later(tape: Tape, late: Container[int]) -> tuple[Tape, dict[int, Tokens]]:
    """The same pieces and steps, only that what left the list or was rewritten in it before the prompts `late` (by n)
    did so behind them. With it the tokens of those prompts. The tape given stays as it is."""
    made = tape.unrolled()
    tokens: dict[int, Tokens] = {}
    for n in range(1, tape.steps + 1):
        cuts = _before(made, tape.edits(n)) if n in late else _all(made, tape.edits(n))
        if n in late:
            tokens[n] = made.sums()
        made.close()
        _all(made, cuts)
    _all(made, tape.edits(tape.steps + 1))
    return made, tokens


def reopened(tape: Tape) -> Tape:
    """The same pieces and steps, only that the last prompt is still open. The tape given stays as it is."""
    made = tape.unrolled()
    for n in range(1, tape.steps + 2):
        _all(made, tape.edits(n))
        if n < tape.steps:
            made.close()
    return made


def _all(made: Tape, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    for edit in edits:
        made.splice(edit.position, len(edit.gone), edit.new)
    return ()


def _before(made: Tape, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Put what these edits append on the tape; those that change what stands are given back."""
    cuts: list[Edit] = []
    length = len(made.live)
    for edit in edits:
        if edit.gone or edit.position < length:
            cuts.append(edit)
        else:
            made.splice(len(made.live), 0, edit.new)
        length += len(edit.new) - len(edit.gone)
    return tuple(cuts)
