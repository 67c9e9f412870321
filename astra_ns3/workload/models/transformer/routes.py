"""What tokens' choices of experts come to on the NPUs of an expert group: rows sent, received and computed.

Where choices aren't alike, places differ. Exchanges among those who share experts have the counts of each pair, and
each place computes its own rows. What a tensor group does with the rows of its place, and what is kept of them, is that
of the busiest place on all, for the NPUs of a stage share one program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.transformer import Experts
from astra_ns3.config.training_plan import Exchange, ExpertLoad, Group, Item, Operation, Uneven
from astra_ns3.errors import InputError
from astra_ns3.workload.experts.group import ExpertGroup, Table
from astra_ns3.workload.experts.router import Router
from astra_ns3.workload.models.transformer.share import Share


@dataclass(frozen=True)
class Routes:
    """``there`` and ``back``: exchanges with the experts, of rows. ``sent_rows``, ``received_rows``: of the place that
    has most. ``rows``: that each place computes, or one number for all. ``load``: where choices aren't alike.
    """

    there: tuple[Exchange, ...]
    back: tuple[Exchange, ...]
    sent_rows: int
    received_rows: int
    rows: tuple[int, ...]
    load: ExpertLoad | None = None

    def items(self, times: int, make: Callable[[int], Operation]) -> tuple[Item, ...]:
        """What each place computes; ``make`` gives the operation for so many rows, which are ``times`` its own."""
        if len(self.rows) == 1:
            return (make(times * self.rows[0]),)
        return (Uneven(Group.EXPERT, tuple(_some(make, times * rows) for rows in self.rows)),)


def even_routes(share: Share, experts: Experts) -> Routes:
    """Every place sends each as many rows."""
    rows = share.own_tokens * experts.active
    size_bytes = rows * share.shape.hidden * share.value_bytes
    exchanges = share.exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, size_bytes)
    return Routes(exchanges, exchanges, rows, rows, (rows,))


def router_of(share: Share) -> Router | None:
    """What routes a model's layers, None if it has no experts or all are chosen alike. Raises InputError."""
    experts, degrees = share.shape.experts, share.degrees
    if experts is None or experts.is_even:
        return None
    if experts.npus_per_node is not None and max(experts.npus_per_node, degrees.tensor) % min(
        experts.npus_per_node, degrees.tensor
    ):
        raise InputError(
            f"npus_per_node is {experts.npus_per_node} and tensor {degrees.tensor}, expected one to divide the other"
        )
    on_node = max(1, (experts.npus_per_node or 1) // degrees.tensor)
    group = ExpertGroup(experts.count, experts.active, degrees.expert, share.own_tokens, on_node)
    return Router(experts, group)


def routes_of(share: Share, router: Router, layer: int) -> Routes:
    """Of a layer, by its number in the model; raises InputError."""
    routed = router.layer(layer)
    there = tuple(exchange for hop in routed.hops for exchange in _exchange(share, hop))
    back = tuple(exchange for hop in routed.back for exchange in _exchange(share, hop))
    received = max(map(sum, zip(*routed.hops[-1], strict=True)))
    sent = max(map(sum, routed.hops[0]))
    rows = routed.place_rows
    return Routes(there, back, sent, received, rows if len(set(rows)) > 1 else rows[:1], routed.load)


def _exchange(share: Share, table: Table) -> tuple[Exchange, ...]:
    row_bytes = share.shape.hidden * share.value_bytes
    counts = tuple(tuple(rows * row_bytes for rows in row) for row in table)
    found = share.exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, max(map(sum, counts)))
    return tuple(replace(exchange, counts=counts) for exchange in found)


def _some(make: Callable[[int], Operation], rows: int) -> Operation:
    """Of no rows nothing is computed."""
    return make(rows) if rows else replace(make(1), flops=0, bytes=0, time_ps=0)
