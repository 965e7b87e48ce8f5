"""Answers to what is asked about the chosen run: whole texts, raw records, lifelines of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from agentmem.inspect.lifelines import text_lifeline
from agentmem.inspect.open import Opened
from agentmem.inspect.texts import HISTORY
from agentmem.inspect.watch.told import Emit, LifelineReady, RawReady, TextReady

RAW_CHARACTERS = 2_000_000


class Ask(msgspec.Struct, frozen=True):
    kind: Literal["text", "raw", "lifeline"]
    lane: str
    what: tuple[int, ...] | str
    """Ids of pieces, or the text of a lifeline."""


def newest(messages: Sequence[object]) -> list[object]:
    """Of several lifelines asked for while typing only the last is wanted."""
    last = max((i for i, m in enumerate(messages) if _is_lifeline(m)), default=-1)
    return [m for i, m in enumerate(messages) if i == last or not _is_lifeline(m)]


def _is_lifeline(message: object) -> bool:
    return isinstance(message, Ask) and message.kind == "lifeline"


def answer(opened: Opened, ask: Ask, emit: Emit) -> None:
    """Answers what can be answered; a lane or piece that is no longer there is passed over."""
    if isinstance(ask.what, str):
        _lifeline(opened, ask.lane, ask.what, emit)
        return
    for ident in ask.what:
        if ask.kind == "text":
            _text(opened, ask.lane, ident, emit)
        else:
            _raw(opened, ask.lane, ident, emit)


def _lifeline(opened: Opened, lane: str, text: str, emit: Emit) -> None:
    try:
        found = text_lifeline(opened.run, lane, text, lambda ident: opened.text(opened.segment(lane, ident)))
    except KeyError:
        return  # the lane went with a history that was rewritten
    emit(LifelineReady(opened.run.id, lane, text, found))


def _text(opened: Opened, lane: str, ident: int, emit: Emit) -> None:
    try:
        segment = opened.segment(lane, ident)
    except (KeyError, IndexError):
        return  # the piece went with a history that was rewritten
    text = opened.text(segment)
    note = "" if text is not None else "not in the file" if segment.head is None else "changed in the file"
    emit(TextReady(opened.run.id, lane, ident, text, note))


def _raw(opened: Opened, lane: str, ident: int, emit: Emit) -> None:
    try:
        segment = opened.segment(lane, ident)
    except (KeyError, IndexError):
        return  # as above
    raw = opened.raw(segment)
    shown = "" if raw is None else raw.decode("utf-8", "replace")
    if len(shown) > RAW_CHARACTERS:
        shown = f"{shown[:RAW_CHARACTERS]}\n… {len(shown) - RAW_CHARACTERS:,} characters more"
    where = segment.where
    path = opened.run.path if where is None else where.source.removeprefix(HISTORY)
    emit(RawReady(opened.run.id, lane, ident, shown, path, where.line if where else None))
