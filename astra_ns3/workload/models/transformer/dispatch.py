"""Which rows go to whom in a layer with experts, as exchanges and as rows to compute."""

from __future__ import annotations

from collections.abc import Callable

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.transformer import Experts
from astra_ns3.config.training_plan import Exchange, ExpertLoad, Group, Item, Operation, Uneven
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass, replace
from astra_ns3.workload.experts.group import ExpertGroup, Routed, Table
from astra_ns3.workload.experts.router import Router
from astra_ns3.workload.models.transformer.share import Share


@dataclass(frozen=True)
class Dispatch:
    """``there`` and ``back``: the ways to the experts and home. ``sent``: rows of an NPU's own tokens; ``rows``: that
    each place of the group has for its experts, or one number for all.
    """

    there: tuple[Exchange, ...]
    back: tuple[Exchange, ...]
    sent: int
    rows: tuple[int, ...]
    load: ExpertLoad | None = None

    @property
    def most(self) -> int:
        """Rows of the place that has most."""
        return max(self.rows)

    def on_each(self, operation_of: Callable[[int], Operation]) -> Item:
        """An operation of so many rows in each place."""
        operations = tuple(_operation(operation_of, rows) for rows in self.rows)
        return operations[0] if len(set(self.rows)) == 1 else Uneven(Group.EXPERT, operations)


def even(share: Share, experts: Experts) -> Dispatch:
    """All experts get as many rows."""
    sent = share.own_tokens * experts.active
    size = sent * share.shape.hidden * share.value_bytes
    way = share.exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, size)
    return Dispatch(way, way, sent, (sent,))


def routed(share: Share, experts: Experts, found: Routed) -> Dispatch:
    """As a layer's tokens choose."""
    there = tuple(_exchange(share, hop) for hop in found.hops)
    back = tuple(_exchange(share, hop) for hop in found.back)
    if share.degrees.expert == 1:
        there = back = ()
    return Dispatch(there, back, share.own_tokens * experts.active, found.place_rows, found.load)


def router_of(share: Share, experts: Experts) -> Router | None:
    """What routes the layers of a model; None where all experts get as many rows. Raises InputError."""
    if experts.is_even:
        return None
    per_node = 1
    if experts.npus_per_node is not None:
        per_node, rest = divmod(experts.npus_per_node, share.degrees.tensor)
        refuse(
            bool(rest or not per_node),
            f"model.experts.npus_per_node is {experts.npus_per_node}, expected a multiple of parallel.tensor, "
            f"{share.degrees.tensor}",
        )
    group = ExpertGroup(experts.count, experts.active, share.degrees.expert, share.own_tokens, per_node)
    return Router(experts, group)


def _operation(operation_of: Callable[[int], Operation], rows: int) -> Operation:
    """The operation on so many rows; nothing is computed for 0 rows, and no clock is asked."""
    return operation_of(rows) if rows else replace(operation_of(1), flops=0, bytes=0, time_ps=0)


def _exchange(share: Share, rows: Table) -> Exchange:
    row_bytes = share.shape.hidden * share.value_bytes
    counts = tuple(tuple(count * row_bytes for count in row) for row in rows)
    return Exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, max(map(sum, counts)), counts=counts)
