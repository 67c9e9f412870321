"""Which experts the tokens of a layer go to, as whole numbers of rows.

Without a node limit, or a form of dispatch that has nodes, nothing is drawn but which experts are popular. Every expert
gets its part of each place's tokens, rounded so that each token still has all its experts
(:mod:`astra_ns3.workload.experts.shares`). All micro-batches of a layer, and all groups that share its experts, are
routed alike. A capacity is that of a place's tokens at an expert, the even share times the factor, rounded up, and what
is above it is dropped. Source: D. Lepikhin et al., "GShard: Scaling Giant Models with Conditional Computation and
Automatic Sharding", 2020, whose groups of tokens are the places.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from astra_ns3.config.model.dispatch import NORMAL
from astra_ns3.config.model.routing import Routing
from astra_ns3.errors import wrong
from astra_ns3.workload.experts.counts_file import CountsFile
from astra_ns3.workload.experts.drawing import drawn
from astra_ns3.workload.experts.group import ExpertGroup, Routed
from astra_ns3.workload.experts.shares import Counts, Shares, chosen, whole, zipf_shares


class Router:
    """Routes every layer of a model; reads the routing's file once. Raises InputError."""

    def __init__(self, routing: Routing, group: ExpertGroup) -> None:
        self._routing, self._group = routing, group
        self._file = None if routing.file is None else CountsFile(routing.file, group.experts, group.places)

    def layer(self, number: int) -> Routed:
        """The tokens of the layer with this number; raises InputError for what the routing's file says of it."""
        group, routing = self._group, self._routing
        shares = self._shares(number)
        if routing.is_drawn:
            return drawn(group, shares, routing.node_limit, (routing.seed, number), once=routing.form == NORMAL)
        tokens = np.stack([self._counts(index, parts) for index, parts in enumerate(self._parts(shares))])
        kept = tokens if routing.capacity is None else np.minimum(tokens, self._capacity(routing.capacity))
        table = kept.reshape(group.places, group.places, group.own).sum(axis=2).tolist()
        dropped = int((tokens - kept).sum())
        return Routed(tuple(tuple(row) for row in table), tuple(kept.sum(axis=0).tolist()), dropped)

    def _shares(self, layer: int) -> list[Shares]:
        """Shares of the experts, for the tokens of each place."""
        group, routing = self._group, self._routing
        if self._file is not None:
            return [self._file.shares(layer, index) for index in range(group.places)]
        return [zipf_shares(group.experts, routing.exponent, routing.seed, layer)] * group.places

    def _parts(self, shares: list[Shares]) -> list[Shares]:
        """The parts of each place's tokens that go to each expert; raises InputError for too many."""
        group = self._group
        if self._file is None:
            return [chosen(shares[0], group.active)] * group.places
        for own in shares:
            if float(own.max()) * group.active > 1 + 1 / (group.tokens * group.active):
                raise wrong(
                    f"expert {int(own.argmax())} gets {own.max():.0%} of the choices, expected "
                    f"at most {1 / group.active:.0%}: each token goes to {group.active} different experts",
                    str(self._routing.file),
                )
        return [chosen(own, group.active) for own in shares]

    def _counts(self, place: int, parts: Shares) -> Counts:
        """How many of a place's tokens go to each expert."""
        group = self._group
        total = group.tokens * group.active
        return whole(parts, group.tokens, total, first=place * (total % group.experts))

    def _capacity(self, factor: float) -> int:
        group = self._group
        return ceil(Fraction(str(factor)) * group.tokens * group.active / group.experts)
