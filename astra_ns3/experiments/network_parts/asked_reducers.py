"""Switches that a run asks to reduce: each must have room for its groups, and be there at the start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from astra_ns3.errors import refuse
from astra_ns3.experiments.forecasting.expected import ExpectedPlay
from astra_ns3.experiments.inputs import Parts
from astra_ns3.topology.changes import SwitchTarget
from astra_ns3.topology.reducers import rooms


def check_reducers(parts: Parts) -> None:
    """Raise InputError for a switch with more groups than it serves, or one in a tree that is down from the start.

    *Limit*: the same members in another order of their dimensions are counted once here, and again by the run.
    """
    plan = parts[0][0].plan
    graph = plan.graph
    if not graph.reducers:
        return
    first = len(graph.npu_host)
    asking: dict[int, set[Hashable]] = defaultdict(set)
    for number, (inputs, passes) in enumerate(parts):
        for play in inputs.expected(passes).plays:
            for group, players in _groups(play, number):
                for player in players:
                    if first <= player < first + len(graph.reducers):
                        asking[player - first].add(group)
    room = rooms(graph)
    packets = plan.of_packets
    down = {
        change.target.switch: change.state.up is False
        for change in (() if packets is None else packets.changes)
        if change.time_ps == 0 and isinstance(change.target, SwitchTarget) and change.state.up is not None
    }
    for reducer, groups in sorted(asking.items()):
        switch = graph.reducers[reducer]
        refuse(down.get(switch, False), f"switch {switch} is to reduce, and is down from the start")
        refuse(
            len(groups) > room[reducer],
            f"switch {switch} has room for {room[reducer]} of the groups of a run, and this run has {len(groups)}; "
            "raise 'groups' of its 'reduction'",
        )


def _groups(play: ExpectedPlay, tenant: int) -> Iterator[tuple[Hashable, tuple[int, ...]]]:
    """Yield the groups of a play with helpers: what makes one another one for a switch, and its players."""
    if not play.schedule.helpers:
        return
    for each in play.groups:
        players = tuple(int(player) for player in each)
        # Channels among the same members share a part of a switch.
        yield (tenant, players) if play.channel is None else tuple(sorted(players)), players
