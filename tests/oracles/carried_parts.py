"""What each row of an all-to-all carries, told from the row's ends alone. Expected contents come from here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.relay import Relay
from astra_ns3.frozen import replace


def exchanged(schedule: Schedule, rounds: Sequence[tuple[int, int]], inner: int, server: int) -> Schedule:
    """A channel's exchange with all peers, with its content. ``rounds``: groups on and places on in a group.

    ``inner``: ranks of a group. ``server``: ranks of a server; what crosses is on the last part of its way, so it is
    told by its receiver, and all else by its sender.
    """
    groups, slices = schedule.ranks // inner, schedule.blocks // len(rounds)
    carried = []
    columns = (schedule.sender, schedule.receiver, schedule.first_block, schedule.block_count)
    for sender, receiver, first, count in zip(*(column.tolist() for column in columns), strict=True):
        far, near = rounds[first // slices]
        source, target = sender, receiver
        if sender // server != receiver // server:
            source = _on(receiver, -far, -near, inner, groups)
        else:
            target = _on(sender, far, near, inner, groups)
        carried.append([(source * schedule.ranks + target) * slices + first % slices] * count)
    return replace(schedule, blocks=schedule.ranks * slices, content=_content(carried))


def relayed(schedule: Schedule, parts: Parts, relay: Relay) -> Schedule:
    """A dispatch or combine by way of gates, in one piece for each node, with its content.

    A row between nodes has all that goes from one place to the node. A row of a gate inside its node is told by its
    lane: how many nodes before the gate's own the row's home is.
    """
    ranks, node = len(parts), min(relay.node, len(parts))
    step = schedule.step if relay.gathers else schedule.wait_step.clip(min=0)
    carried = []
    for sender, receiver, lane in zip(schedule.sender.tolist(), schedule.receiver.tolist(), step.tolist(), strict=True):
        near, far = (receiver, sender) if relay.gathers else (sender, receiver)
        if near // node == far // node:
            pairs = [((near - lane % (ranks // node) * node) % ranks, far)]
        else:
            there = range(far // node * node, far // node * node + node)
            pairs = [(near, other) for other in there if (parts[other][near] if relay.gathers else parts[near][other])]
        carried.append([b * ranks + a if relay.gathers else a * ranks + b for a, b in pairs])
    return replace(schedule, content=replace(_content(carried), weighs=False))


def _on(rank: int, far: int, near: int, inner: int, groups: int) -> int:
    return (rank // inner + far) % groups * inner + (rank % inner + near) % inner


def _content(carried: list[list[int]]) -> Content:
    offsets = np.cumsum([0, *map(len, carried)], dtype=np.int64)
    return Content(offsets, np.array([block for blocks in carried for block in blocks], dtype=np.int32))
