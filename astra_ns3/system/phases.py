"""From a collective to the phases each of its chunks goes through.

``baseline`` runs an all-reduce on every dimension with all the data. ``localBWAware`` scatters the data over the lower
dimensions first, so that the last one carries only a part of them, and gathers them on the way back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from astra_ns3.collectives.lookup import played_kind
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.algorithm_names import is_flat
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.system.channels import Channel
from astra_ns3.system.groups import Grid
from astra_ns3.system.route import Route

_NAMES: Mapping[CollectiveKind, str] = MappingProxyType(
    {CollectiveKind.REDUCE_SCATTER: "reduce-scatter", CollectiveKind.ALL_GATHER: "all-gather"}
)
_HALVED = "an all-reduce by 'collective-optimization: localBWAware'"


@dataclass(frozen=True)
class Phase:
    """One algorithm on a group over ``dimensions``, more than one only for a flat algorithm or a channel.

    Each rank brings ``bytes`` and has ``left_bytes`` afterwards. ``kind`` is what really runs there. ``schedule``: what
    is played instead of the algorithm's. An all-to-all with counts has one, of whose blocks ``bytes`` are a multiple;
    so has a ``channel`` of a collective library. ``pool``: see :class:`CollectiveRequest`. ``queue``: its
    number in its dimension; ``turn``: which of the schedules that chunks alternate between.
    """

    dimensions: tuple[int, ...]
    kind: CollectiveKind
    algorithm: str
    bytes: int
    left_bytes: int
    schedule: Schedule | None = None
    channel: Channel | None = None
    pool: tuple[int, int] | None = None
    queue: int = 0
    turn: int = 0
    anticlockwise: bool = False


class PhasePlanner:
    """Phases on a grid of NPUs; pure, without memory."""

    def __init__(self, config: SystemConfig, grid: Grid, compatibility: Compatibility) -> None:
        self._config = config
        self._grid = grid
        self._compatibility = compatibility

    def flat_dimensions(self, kind: CollectiveKind, dimensions: Sequence[int] | None) -> tuple[int, ...] | None:
        """The dimensions that a flat algorithm spans, perhaps none; None if the algorithm isn't flat.

        ``dimensions`` are those that the collective asks for, None for all. Raises InputError.
        """
        if not is_flat(self.algorithms(kind)[0]):
            return None
        if self._compatibility.flat_over_all_npus:
            spans = bool(self._grid.wide) and (dimensions is None or 0 in dimensions)
            return tuple(range(len(self._grid.sizes))) if spans else ()
        return self.wide_dimensions(dimensions)

    def wide_dimensions(self, dimensions: Sequence[int] | None) -> tuple[int, ...]:
        """The dimensions among ``dimensions`` (None: all) that have more than one NPU, ascending."""
        return tuple(dimension for dimension in self._grid.wide if dimensions is None or dimension in dimensions)

    def flat(self, kind: CollectiveKind, bytes: int, dimensions: tuple[int, ...]) -> tuple[Phase, ...]:
        """The single phase of a flat algorithm over ``dimensions``."""
        return (self._phase(dimensions, kind, self.algorithms(kind)[0], bytes),)

    def phases(self, kind: CollectiveKind, bytes: int, route: Route) -> tuple[Phase, ...]:
        """The phases of a chunk of ``bytes`` per rank, dimension by dimension; raises InputError."""
        if kind is CollectiveKind.ALL_REDUCE and self._config.collective_optimization != "baseline":
            return self._there_and_back(bytes, route)
        phases: list[Phase] = []
        algorithms = self.algorithms(kind)
        for dimension in route.dimensions:
            phases.append(self._phase((dimension,), kind, algorithms[dimension], bytes))
            bytes = phases[-1].left_bytes
        return tuple(phases)

    def _there_and_back(self, bytes: int, route: Route) -> tuple[Phase, ...]:
        """An all-reduce as reduce-scatters, an all-reduce on the last dimension unless mirrored, and all-gathers."""
        halving = route.dimensions if route.mirrored else route.dimensions[:-1]
        down: list[Phase] = []
        for dimension in halving:
            down.append(self._half(dimension, CollectiveKind.REDUCE_SCATTER, bytes))
            bytes = down[-1].left_bytes
        turn: list[Phase] = []
        for dimension in route.dimensions[len(halving) :]:
            algorithm = self.algorithms(CollectiveKind.ALL_REDUCE)[dimension]
            turn.append(self._phase((dimension,), CollectiveKind.ALL_REDUCE, algorithm, bytes))
        back: list[Phase] = []
        for scatter in reversed(down):
            if not self._compatibility.truncate_messages:
                bytes = scatter.left_bytes
            back.append(self._half(scatter.dimensions[0], CollectiveKind.ALL_GATHER, bytes))
            bytes = back[-1].left_bytes
        return (*down, *turn, *back)

    def _half(self, dimension: int, kind: CollectiveKind, bytes: int) -> Phase:
        """Return a phase of an all-reduce's first half (a reduce-scatter) or second half (an all-gather)."""
        own = self._compatibility.all_reduce_uses_own_algorithms
        algorithms = self.algorithms(CollectiveKind.ALL_REDUCE if own else kind, _HALVED)
        refuse(
            bool(is_flat(algorithms[0])),
            f"key '{_NAMES[kind]}-implementation': found '{algorithms[0]}', but an all-reduce by 'localBWAware' "
            "needs one algorithm for each dimension there",
        )
        return self._phase((dimension,), kind, algorithms[dimension], bytes)

    def _phase(self, dimensions: tuple[int, ...], kind: CollectiveKind, algorithm: str, bytes: int) -> Phase:
        ranks = self._grid.ranks_in(dimensions)
        played = played_kind(kind, algorithm, tree_for_every_collective=self._compatibility.tree_for_every_collective)
        left_bytes = bytes
        if played is CollectiveKind.REDUCE_SCATTER:
            left_bytes = bytes // ranks if self._compatibility.truncate_messages else -(-bytes // ranks)
        elif played is CollectiveKind.ALL_GATHER:
            left_bytes = bytes * ranks
        return Phase(dimensions, played, algorithm, bytes, left_bytes)

    def algorithms(self, kind: CollectiveKind, needed_by: str = "") -> tuple[str, ...]:
        """The system file's for a collective: of each dimension, or a flat one for all; raises InputError.

        ``needed_by``: in words, what asks for them; empty: a collective of the workload.
        """
        return self._config.algorithms(kind, len(self._grid.sizes), needed_by)
