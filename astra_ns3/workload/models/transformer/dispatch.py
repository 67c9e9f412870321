"""Which rows go to whom in a layer with experts, as exchanges and as rows to compute."""

from __future__ import annotations

from collections.abc import Callable

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.config.model.dispatch import row_bytes
from astra_ns3.config.model.transformer import Experts
from astra_ns3.config.training_plan import Exchange, ExpertLoad, Group, Item, Operation, OperationKind, Uneven
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

    there: tuple[Item, ...]
    back: tuple[Item, ...]
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
    there, back = (
        _way(experts, share.exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, sent * size))
        for size in _row_bytes(share, experts)
    )
    return Dispatch(there, back, sent, (sent,))


def routed(share: Share, experts: Experts, found: Routed) -> Dispatch:
    """As a layer's tokens choose."""
    there: tuple[Item, ...] = ()
    back: tuple[Item, ...] = ()
    if share.degrees.expert > 1:
        out_bytes, home_bytes = _row_bytes(share, experts)
        home = tuple(zip(*found.sent, strict=True))
        out_relay, home_relay = (
            _relay(share, experts, found.crossing, size, gathers=gathers)
            for size, gathers in ((out_bytes, False), (home_bytes, True))
        )
        there = _way(experts, (_exchange(found.sent, out_bytes, out_relay),))
        back = _way(experts, (_exchange(home, home_bytes, home_relay),))
    return Dispatch(there, back, share.own_tokens * experts.active, found.place_rows, found.load)


def router_of(share: Share, experts: Experts) -> Router | None:
    """Return the router of a model's layers; None where all experts get as many rows. Raises InputError."""
    if experts.is_even:
        return None
    per_node = _places_per_node(share, experts)
    group = ExpertGroup(experts.count, experts.active, share.degrees.expert, share.own_tokens, per_node)
    return Router(experts, group)


def _places_per_node(share: Share, experts: Experts) -> int:
    if experts.npus_per_node is None:
        return 1
    per_node, rest = divmod(experts.npus_per_node, share.degrees.tensor)
    refuse(
        bool(rest or not per_node),
        f"model.experts.npus_per_node is {experts.npus_per_node}, expected a multiple of parallel.tensor, "
        f"{share.degrees.tensor}",
    )
    return per_node


def _operation(operation_of: Callable[[int], Operation], rows: int) -> Operation:
    """The operation on so many rows; nothing is computed for 0 rows, and no clock is asked."""
    return operation_of(rows) if rows else replace(operation_of(1), flops=0, bytes=0, time_ps=0)


def _row_bytes(share: Share, experts: Experts) -> tuple[int, int]:
    """Bytes of a token on the way to its experts, and on the way back."""
    ways = experts.dispatch.values, experts.dispatch.combine_values
    out, home = (row_bytes(values, share.shape.hidden, share.value_bytes) for values in ways)
    return out, home


def _way(experts: Experts, exchanges: tuple[Exchange, ...]) -> tuple[Item, ...]:
    """The exchanges, after what they take besides."""
    overhead_ps = experts.dispatch.overhead_ps
    if not overhead_ps or not exchanges:
        return exchanges
    return (Operation("dispatch overhead", OperationKind.GATHER, time_ps=overhead_ps), *exchanges)


def _exchange(rows: Table, size: int, relay: Relay | None) -> Exchange:
    counts = _in_bytes(rows, size)
    return Exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, max(map(sum, counts)), counts=counts, relay=relay)


def _relay(share: Share, experts: Experts, crossing: Table | None, size: int, *, gathers: bool) -> Relay | None:
    if crossing is None:
        return None
    node = min(_places_per_node(share, experts), share.degrees.expert)
    return Relay(node, _in_bytes(crossing, size), gathers, experts.dispatch.pieces)


def _in_bytes(rows: Table, size: int) -> Table:
    return tuple(tuple(count * size for count in row) for row in rows)
