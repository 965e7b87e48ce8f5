"""A lane's list made equal to pieces that the tape holds already: what readers with trees and filters need."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.formats.draft import LaneDraft


def stand(lane: LaneDraft, ids: Sequence[int]) -> bool:
    """Make the prompt of the lane these pieces, in this order. Returns whether it was another."""
    live = lane.tape.live
    shorter = min(len(live), len(ids))
    start = 0
    while start < shorter and live[start] == ids[start]:
        start += 1
    if start == len(live) == len(ids):
        return False
    end = 0
    while end < shorter - start and live[-1 - end] == ids[-1 - end]:
        end += 1
    gone = len(live) - start - end
    if gone:
        lane.splice(start, gone)
    if start < len(ids) - end:
        lane.splice(start, 0, ids[start : len(ids) - end])
    return True
