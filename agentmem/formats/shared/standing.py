"""A lane's list made equal to pieces that the tape holds already: what readers with trees and filters need."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.formats.draft import LaneDraft


def stand(lane: LaneDraft, ids: Sequence[int], start: int = 0) -> bool:
    """Make the prompt of the lane, from position `start` on, these pieces in this order. Returns whether it was
    another."""
    live = lane.tape.live
    held = len(live) - start
    shorter = min(held, len(ids))
    same = 0
    while same < shorter and live[start + same] == ids[same]:
        same += 1
    if same == held == len(ids):
        return False
    end = 0
    while end < shorter - same and live[-1 - end] == ids[-1 - end]:
        end += 1
    gone = held - same - end
    if gone:
        lane.splice(start + same, gone)
    if same < len(ids) - end:
        lane.splice(start + same, 0, ids[same : len(ids) - end])
    return True
