"""Collectives on a binary tree, one of two whose inner nodes are the other's leaves.

Every edge carries the full chunk up and down, as in ASTRA-sim 1.0; chunks take turns between the two trees. Source of
the idea: Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan".

Shape: a balanced binary tree of n-1 nodes numbered in order, and a root above it. In the first tree the root is rank
n-1 and the others are ranks 0 to n-2; in the second the root is rank 0 and the others are 1 to n-1. For powers of two
these are ASTRA-sim's trees, and any other number of ranks works too. Broadcast and reduce need one root, rank 0, in
both trees. There the second tree is the min-rooted one with ranks 1 to n-1 moved on by one, which makes leaves of its
inner nodes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import assemble, signals
from astra_ns3.collectives.schedule import Schedule

#: Step of the messages towards the root, and of those away from it.
UP, DOWN = 0, 1


def max_rooted_tree(ranks: int) -> npt.NDArray[np.int32]:
    """Parent of each rank in the tree whose root is the last rank (-1 for the root); shape ``(ranks,)``."""
    return _tree(ranks, root=ranks - 1, first=0)


def min_rooted_tree(ranks: int) -> npt.NDArray[np.int32]:
    """Parent of each rank in the tree whose root is rank 0 (-1 for the root); shape ``(ranks,)``."""
    return _tree(ranks, root=0, first=1)


def max_tree_all_reduce(ranks: int) -> Schedule:
    """All-reduce on :func:`max_rooted_tree`: 2(n-1) full-size messages in total."""
    return _all_reduce("doubleBinaryTree all_reduce (max)", max_rooted_tree(ranks))


def min_tree_all_reduce(ranks: int) -> Schedule:
    """All-reduce on :func:`min_rooted_tree`: 2(n-1) full-size messages in total."""
    return _all_reduce("doubleBinaryTree all_reduce (min)", min_rooted_tree(ranks))


def shifted_min_rooted_tree(ranks: int) -> npt.NDArray[np.int32]:
    """:func:`min_rooted_tree` with ranks 1 to n-1 moved on by one, n-1 to 1; shape ``(ranks,)``."""
    moved = np.zeros(ranks, dtype=np.int32)
    moved[1:] = np.roll(np.arange(1, ranks, dtype=np.int32), -1)
    parents = np.full(ranks, -1, dtype=np.int32)
    parents[moved[1:]] = moved[min_rooted_tree(ranks)[1:]]
    return parents


def min_tree_broadcast(ranks: int) -> Schedule:
    """From rank 0 down :func:`min_rooted_tree`: n-1 full-size messages in total."""
    return _down("doubleBinaryTree broadcast (min)", min_rooted_tree(ranks))


def shifted_tree_broadcast(ranks: int) -> Schedule:
    """From rank 0 down :func:`shifted_min_rooted_tree`: n-1 full-size messages in total."""
    return _down("doubleBinaryTree broadcast (shifted)", shifted_min_rooted_tree(ranks))


def min_tree_reduce(ranks: int) -> Schedule:
    """Up :func:`min_rooted_tree` to rank 0: n-1 full-size messages in total."""
    return _up("doubleBinaryTree reduce (min)", min_rooted_tree(ranks))


def shifted_tree_reduce(ranks: int) -> Schedule:
    """Up :func:`shifted_min_rooted_tree` to rank 0: n-1 full-size messages in total."""
    return _up("doubleBinaryTree reduce (shifted)", shifted_min_rooted_tree(ranks))


def min_tree_barrier(ranks: int) -> Schedule:
    """Up :func:`min_rooted_tree` and down again, without data."""
    rows = min_tree_all_reduce(ranks)
    return signals(
        "doubleBinaryTree barrier",
        ranks,
        (rows.messages,),
        sender=rows.sender,
        receiver=rows.receiver,
        step=rows.step,
        wait_step=rows.wait_step,
        wait_count=rows.wait_count,
    )


def _tree(ranks: int, *, root: int, first: int) -> npt.NDArray[np.int32]:
    parents = np.full(ranks, -1, dtype=np.int32)
    spans = [(first, first + ranks - 1, root)]
    while spans:
        begin, end, parent = spans.pop()
        if begin < end:
            middle = (begin + end) // 2
            parents[middle] = parent
            spans += [(begin, middle, middle), (middle + 1, end, middle)]
    return parents


def _all_reduce(name: str, parents: npt.NDArray[np.int32]) -> Schedule:
    """Up: a rank sends once its children have sent. Down: it sends on what its parent sent, lower rank first."""
    children = np.flatnonzero(parents >= 0).astype(np.int32)
    above = parents[children]
    child_count = np.bincount(above, minlength=len(parents)).astype(np.int32)
    edges = len(children)
    is_inner = child_count > 0
    from_root = parents[above] < 0
    return assemble(
        name,
        len(parents),
        1,
        (2 * edges,),
        sender=np.concatenate([children, above]),
        receiver=np.concatenate([above, children]),
        step=np.repeat(np.array([UP, DOWN], dtype=np.int32), edges),
        first_block=0,
        reduces=np.repeat(np.array([True, False]), edges),
        wait_step=np.concatenate([np.where(is_inner[children], UP, -1), np.where(from_root, UP, DOWN)]),
        wait_count=np.concatenate([child_count[children], np.where(from_root, child_count[above], 1)]),
    )


def _up(name: str, parents: npt.NDArray[np.int32]) -> Schedule:
    children = np.flatnonzero(parents >= 0).astype(np.int32)
    child_count = np.bincount(parents[children], minlength=len(parents)).astype(np.int32)[children]
    return assemble(
        name,
        len(parents),
        1,
        (len(children),),
        sender=children,
        receiver=parents[children],
        step=UP,
        first_block=0,
        reduces=True,
        wait_step=np.where(child_count > 0, UP, -1),
        wait_count=child_count,
    )


def _down(name: str, parents: npt.NDArray[np.int32]) -> Schedule:
    children = np.flatnonzero(parents >= 0).astype(np.int32)
    from_root = parents[parents[children]] < 0
    return assemble(
        name,
        len(parents),
        1,
        (len(children),),
        sender=parents[children],
        receiver=children,
        step=DOWN,
        first_block=0,
        wait_step=np.where(from_root, -1, DOWN),
        wait_count=np.where(from_root, 0, 1),
    )
