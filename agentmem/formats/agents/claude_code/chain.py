"""The tree that the lines of a session hang in: which of them stand on the way to its newest leaf, and which do not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Node(msgspec.Struct, eq=False):
    """One line of the chain, where it was put."""

    up: str | None
    """The line it follows: its parent, or where the chain is broken or cut the one that stood last before it."""
    lane: str
    mark: int
    """How many turns (requests and model calls) its lane had with it."""
    says: bool
    """It is a request or the first line of a model call: what may begin a branch."""
    group: tuple[str, ...] | None
    """The model call that it belongs to: as a line of the response, or as a result of a call in it."""
    first: str | None = None
    """What it followed before it was written again behind another line."""
    ids: tuple[int, ...] = ()
    """Its pieces on the tape of its lane."""


def left_behind(nodes: Mapping[str, Node], leaf: str, trunk: frozenset[str]) -> dict[str, int]:
    """Lines of the trunk's lanes that are not on the way to `leaf`, with the number of their branch, from 1.

    Lines of one response, and results of its calls, hang beside each other: they stay with their call. `nodes` are in
    the order of the file, so that a line comes after the one it follows.
    """
    way: set[str] = set()
    groups: set[tuple[str, ...]] = set()
    open_: list[str | None] = [leaf]
    while open_:
        at = open_.pop()
        node = nodes.get(at) if at is not None and at not in way else None
        if node is None or at is None:
            continue
        way.add(at)
        if node.group is not None:
            groups.add(node.group)
        open_ += [node.first, node.up]
    branch: dict[str, int] = {}
    count = 0
    for ident, node in nodes.items():
        if ident in way or node.lane not in trunk or node.group in groups:
            continue
        if not node.says and node.group is None and (node.up is None or node.up not in branch):
            continue
        number = branch.get(node.up) if node.up is not None else None
        if number is None:
            count += 1
            number = count
        branch[ident] = number
    return branch
