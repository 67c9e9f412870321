"""NPUs that play one graph in step: what they do next is worked out once for all of them.

They part where some have ended a node and others not, and don't meet again: a graph has no place of which it could be
told cheaply that two are there.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from functools import partial

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.playing.graphs.npu_player import NpuPlayer
from astra_ns3.playing.slowdown.computations import Part, Resume, SlowedComputations
from astra_ns3.playing.slowdown.moments import Moments
from astra_ns3.system.launch_buffer import LaunchBuffer


class InStep:
    """``players``: of each NPU, kept up to date. ``turns``: each NPU's place in the order of the moment."""

    def __init__(
        self,
        launches: LaunchBuffer,
        players: MutableSequence[NpuPlayer],
        computations: SlowedComputations | None = None,
    ) -> None:
        self.moments = Moments(launches, self._go_on, computations)
        self.turns = list(range(len(players)))
        self._launches = launches
        self._players = players
        self._computations = computations
        self._heard: dict[NpuPlayer, dict[int, tuple[GraphNode, int, list[int]]]] = {}

    def start(self) -> None:
        """Put the start of all on the network's list of events."""
        self.moments.call_later(0, 0, self._start)

    def heard(self, npu: int, node: GraphNode, since_ps: int) -> None:
        """An NPU has done its part of a collective; it goes on when this moment's phases are told, or told to it."""
        of_player = self._heard.setdefault(self._players[npu], {})
        of_player.setdefault(node.number, (node, since_ps, []))[2].append(npu)
        self.turns[npu] = self._launches.place
        self.moments.waking.add(npu)

    def begin(self, player: NpuPlayer, node: GraphNode, took_ps: int) -> None:
        """A node goes on for so long."""
        self.moments.begin(player.npu, took_ps, partial(self._ended, player.npus, node, took_ps))

    def compute(self, player: NpuPlayer, node: GraphNode, took_ps: int, memory_ps: int, least_ps: int) -> None:
        """A node computes for so long, or longer if something slows that, but no less than ``least_ps``."""
        assert self._computations is not None
        resume, part = self._goes_on(node, least_ps, player.npus)
        self._computations.begin(player.npus, took_ps, resume, memory_ps=memory_ps, number=node.number, part=part)

    def _start(self, time_ps: int) -> None:
        for player in dict.fromkeys(self._players):
            player.start(time_ps)

    def _go_on(self, time_ps: int) -> None:
        if not self._heard:
            return
        heard, self._heard = self._heard, {}
        self.moments.waking.clear()
        for player, nodes in heard.items():
            ended = list(nodes.values())
            for (node, since_ps, _), part in zip(ended, self._parts(player, [npus for *_, npus in ended]), strict=True):
                part.ended(node, time_ps, since_ps=since_ps)

    def _goes_on(self, node: GraphNode, least_ps: int, npus: list[int]) -> tuple[Resume, Part | None]:
        """How NPUs go on that have computed, and how several of them part before."""

        def part(groups: Sequence[list[int]]) -> list[tuple[Resume, Part | None]]:
            return [self._goes_on(node, least_ps, group) for group in groups]

        return partial(self._ended, npus, node, least_ps), None if len(npus) == 1 else part

    def _ended(self, npus: Sequence[int], node: GraphNode, took_ps: int, time_ps: int) -> None:
        """A node has ended on NPUs that were in step when it began."""
        mine: dict[NpuPlayer, list[int]] = {}
        for npu in npus:
            mine.setdefault(self._players[npu], []).append(npu)
        for player, its in mine.items():
            self._parts(player, [its])[0].ended(node, time_ps, took_ps)

    def _parts(self, player: NpuPlayer, groups: list[list[int]]) -> list[NpuPlayer]:
        """The player of each of ``groups``, which a player's NPUs part into; the rest of them stay behind."""
        if len(groups) == 1 and len(groups[0]) == len(player.npus):
            player.npus = groups[0]
            return [player]
        leaving = {npu for group in groups for npu in group}
        rest = [npu for npu in player.npus if npu not in leaving]
        # Where one comes alone, the others mostly do, too.
        alone = len(leaving) == 1
        others = [[npu] for npu in rest] if alone else [rest] if rest else []
        parts = player.split([*groups, *others])
        for part in parts:
            for npu in part.npus:
                self._players[npu] = part
        return parts[: len(groups)]
