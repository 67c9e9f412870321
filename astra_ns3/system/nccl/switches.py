"""The switches that reduce for NCCL: those of servers for NVLS, and trees of those between servers for CollNet.

NCCL plays a forest inside a server: the heads of each server are roots. Switches are further players, behind
the ranks. The trees between servers are those of a system file's ``sharp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from astra_ns3.collectives.in_network import ONE_TREE, hung_from
from astra_ns3.config.core.reduction import NOBODY, ReductionTrees, Trees
from astra_ns3.frozen import dataclass, replace


@dataclass(frozen=True)
class Joined:
    """A tree of ranks and of the switches behind them.

    ``parents``: of each player, -1 of the root. ``reducers``: the switches of each group. ``beside``: for each switch
    the place in a group of an NPU in its server, -1 where it is in none. ``buffer_bytes``: room of a switch between
    servers for chunks of one channel; None where there are none.
    """

    parents: tuple[int, ...]
    reducers: tuple[tuple[int, ...], ...] = ()
    beside: tuple[int, ...] = ()
    buffer_bytes: int | None = None

    def hung_from(self, rank: int) -> Joined:
        """Return the tree whose root is another rank, with which rank 0 changes places."""
        turned, swap = list(hung_from(self.parents, rank)), {0: rank, rank: 0}
        turned[0], turned[rank] = turned[rank], turned[0]
        return replace(self, parents=tuple(swap.get(up, up) for up in turned))


class NcclSwitches:
    """The switches for groups that lie alike on their servers.

    ``places``: of ranks in their group, server after server; ``gpus``: of each server. ``trees``: of the network; None:
    no switch reduces.
    """

    def __init__(
        self, trees: ReductionTrees | None, groups: Sequence[Sequence[int]], places: Sequence[int], gpus: int
    ) -> None:
        self._trees = trees
        self._groups = groups
        self._places = places
        self._gpus = gpus
        self._known: dict[int, tuple[Trees, ...]] = {}

    @property
    def _servers(self) -> int:
        return len(self._places) // self._gpus

    @cached_property
    def in_servers(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The switches that reduce in each server of each group; none if some server has none."""
        if self._trees is None:
            return ()
        first = range(0, len(self._places), self._gpus)
        servers = [self._places[rank : rank + self._gpus] for rank in first]
        found = tuple(
            tuple(self._trees.shared([group[place] for place in server]) for server in servers)
            for group in self._groups
        )
        return found if all(map(all, found)) else ()

    @cached_property
    def join_servers(self) -> bool:
        """Whether trees of switches join the GPUs of each number over all servers, and alike in each group."""
        trees = self._trees
        if trees is None or self._servers == 1:
            return False
        gpus = range(self._gpus)
        can_join = all(trees.can_join(self._heads(group, gpu)) for gpu in gpus for group in self._groups)
        return can_join and all(map(self._is_alike, gpus))

    def over_servers(self, forest: Sequence[int], gpu: int) -> Joined:
        """Return the tree that joins the heads of a forest, GPU ``gpu`` of each server, by switches between servers."""
        return self._joined_servers(Joined(tuple(forest)), gpu)

    def over_both(self, parents: Sequence[int], gpu: int, head: int) -> Joined:
        """Return the tree in which a head, GPU ``gpu`` of each server, hears of the others by a switch of its server.

        ``parents``: stars around the heads, which are joined by themselves, or else by switches between servers. Heads
        of other numbers ``head`` go by other switches, where a server has several.
        """
        ranks, gpus, servers = len(parents), self._gpus, self._servers
        heads = [server * gpus + gpu for server in range(servers)]
        above = [up if rank in heads else ranks + rank // gpus for rank, up in enumerate(parents)]
        reducers = tuple(tuple(each[head % len(each)] for each in group) for group in self.in_servers)
        found = Joined((*above, *heads), reducers, tuple(self._places[::gpus]))
        return found if sum(up == NOBODY for up in above) == 1 else self._joined_servers(found, gpu)

    def _joined_servers(self, forest: Joined, gpu: int) -> Joined:
        """Return a forest with the trees that join its heads, by switches that are its last players."""
        trees, servers, players = self._joining(gpu), self._servers, len(forest.parents)
        parents = list(forest.parents)
        for server, up in enumerate(trees[0].parents[0][:servers]):
            parents[server * self._gpus + gpu] = players + up - servers
        for up in trees[0].parents[0][servers:]:
            parents.append(players + up - servers if up >= 0 else NOBODY)
        first = forest.reducers or ((),) * len(self._groups)
        assert self._trees is not None
        numbered = zip(first, self._groups, trees, strict=True)
        reducers = tuple(
            (*own, *self._trees.players(self._heads(group, gpu), each)[servers:]) for own, group, each in numbered
        )
        beside = (*forest.beside, *[NOBODY] * len(trees[0].reducers))
        return Joined(tuple(parents), reducers, beside, min(each.buffer_bytes for each in trees))

    def _heads(self, group: Sequence[int], gpu: int) -> list[int]:
        return [group[place] for place in self._places[gpu :: self._gpus]]

    def _numbered(self, gpu: int) -> list[tuple[int, Sequence[int]]]:
        """Return the groups, numbered so that GPUs of other numbers have other roots where there are several."""
        return [(number * self._gpus + gpu, group) for number, group in enumerate(self._groups)]

    def _joining(self, gpu: int) -> tuple[Trees, ...]:
        """Return for each group the tree that joins its GPUs of a number."""
        if gpu not in self._known:
            assert self._trees is not None
            self._known[gpu] = tuple(
                self._trees.joining(self._heads(group, gpu), number, algorithm=ONE_TREE)
                for number, group in self._numbered(gpu)
            )
        return self._known[gpu]

    def _is_alike(self, gpu: int) -> bool:
        return len({trees.parents for trees in self._joining(gpu)}) == 1
