"""From money in each dimension to rates of NPUs, and what a cluster costs besides."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.prices import PricesFile
from astra_ns3.config.topology.kinds import TopologyConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.topology.graph import PCIE, Graph

Rates = tuple[int, ...]
"""Bits per second of all lines of an NPU together, one way, in each dimension."""
_GBPS = 10**9
_MOST_BPS = 10**15
"""More than any line has: what money buys beyond it gains nothing."""
_ROUNDING = 1e-3
"""A part of a bit per second, by which a sum of money may be short."""
# Classes of links between an NPU and its own router.
_INJECTIONS = ("injection", "scale-up-injection")
# Halvings of the interval in which the scale of all shares is looked for.
_HALVINGS = 200


@dataclass(frozen=True)
class Spending:
    """Money for bandwidth. ``prices``: of a bit per second of all NPUs in each dimension.

    ``least`` and ``most``: money that each dimension gets at the least and at most; ``fixed``: what NPUs, NICs and
    switches cost; ``budget``: of all together.
    """

    prices: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    fixed: float
    budget: float

    @property
    def money(self) -> float:
        """Return what is left for bandwidth."""
        return self.budget - self.fixed

    def rates(self, shares: Sequence[float], money: float) -> Rates:
        """Return the rates that ``money`` buys in proportion to ``shares`` of it, as far as the bounds allow."""
        spent = self._spent(shares, money)
        return tuple(max(1, int(amount / price + _ROUNDING)) for amount, price in zip(spent, self.prices, strict=True))

    def cost(self, rates: Rates) -> float:
        """Return the price of a cluster with these rates."""
        return self.fixed + sum(rate * price for rate, price in zip(rates, self.prices, strict=True))

    def _spent(self, shares: Sequence[float], money: float) -> list[float]:
        """Return the money of each dimension: all by one scale, but for those at a bound."""
        low, high = 0.0, money / min(shares)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if sum(self._at(shares, middle)) > money:
                high = middle
            else:
                low = middle
        return self._at(shares, low)

    def _at(self, shares: Sequence[float], scale: float) -> list[float]:
        bounds = zip(shares, self.least, self.most, strict=True)
        return [min(max(scale * share, least), most) for share, least, most in bounds]


def spending_of(file: PricesFile, topology: TopologyConfig, graph: Graph) -> Spending:
    """Return what the prices say of a network; raises InputError for prices that aren't those of its dimensions."""
    config, document = file.config, file.document
    sizes = topology.built_dimensions()
    shape = " x ".join(map(str, sizes))
    if len(config.dimensions) > len(sizes):
        raise wrong(
            f"key 'dimensions.{len(sizes)}': is of a dimension that isn't there: the network's are {shape}",
            document.where(("dimensions", len(sizes))),
        )
    refuse(
        len(config.dimensions) < len(sizes),
        f"key 'dimensions': found prices of {len(config.dimensions)}, expected {len(sizes)}: the network is {shape}",
        document.where(("dimensions",)),
    )
    npus = topology.npu_count()
    prices = tuple(each.gbps * npus / _GBPS for each in config.dimensions)
    pairs = list(zip(config.dimensions, prices, strict=True))
    spending = Spending(
        prices,
        tuple(each.least_bps * price for each, price in pairs),
        tuple((each.most_bps or _MOST_BPS) * price for each, price in pairs),
        config.npu * npus + config.nic * topology.nic_count() + config.switch * switch_count(graph),
        config.budget,
    )
    least = spending.fixed + sum(spending.least)
    refuse(
        spending.budget < least,
        f"key 'budget': {spending.budget:,.10g} buys nothing: NPUs, NICs and switches cost {spending.fixed:,.10g}, the "
        f"least rates {sum(spending.least):,.10g}; expected at least {least:,.10g}",
        document.where(("budget",)),
    )
    return spending


def switch_count(graph: Graph) -> int:
    """Return the number of switches; a router that belongs to one NPU is none, nor is a PCIe switch inside a server."""
    routers = {max(link.a, link.b) for link in graph.links if link.kind in _INJECTIONS}
    inside = {end for link in graph.links if link.kind == PCIE for end in (link.a, link.b) if end >= graph.hosts}
    return graph.switches - len(routers | inside)
