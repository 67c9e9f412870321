"""Finds the bandwidth of each dimension that is best under a cost: splits are played as flows until none is better."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import exp, inf, log

import numpy as np

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import refuse
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.servers.session import served
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.planning.budget.law import Law, fitted
from astra_ns3.planning.budget.request import BudgetRequest
from astra_ns3.planning.budget.spending import Rates, Spending, spending_of
from astra_ns3.planning.budget.splitting import (
    NEARBY,
    Point,
    TimeIsUp,
    least_at,
    least_of_law,
    point_of,
    require_optimiser,
    shares_of,
)
from astra_ns3.topology.builders import build_graph
from astra_ns3.units import PS_PER_SECOND

# Of what may be spent: so near the least money, less isn't worth looking for.
_AT_THE_LEAST = 1.02
# A logarithm of money: so much below all of it is looked for a better split, before all is taken for the best.
_SHORT = 0.03
# Steps of a logarithm of a share, and parts of the money, from which a law is fitted first.
_AROUND, _LESS = 0.7, (0.3, 0.1)
# So many amounts of money are asked of a law for the best performance per cost.
_AMOUNTS = 30
# So many laws are fitted at most, until a logarithm of a share moves by less.
_MOST_LAWS, _SETTLED = 8, 5e-3
Heard = Callable[[int, "Split"], None]
"""Hears how many splits were played, and the last one."""


@dataclass(frozen=True)
class Split:
    """Rates of dimensions that were played. ``times_ps``: of an iteration of each workload.

    ``seconds``: of all iterations that count together; ``warnings``: of the runs, each once.
    """

    rates: Rates
    cost: float
    times_ps: tuple[int, ...]
    seconds: float
    warnings: tuple[str, ...] = field(default=(), repr=False)

    @property
    def per_cost(self) -> float:
        """Return the performance per cost: how often all iterations are done in a second, for one unit of money."""
        return 1 / (self.seconds * self.cost)


@dataclass(frozen=True)
class Budget:
    """A budget that was found. ``equal``: equal rates in all dimensions; ``fastest``: the best performance.

    ``per_cost``: the best performance per cost; None: undetermined. ``played``: all splits, in their order;
    ``complete``: whether the search came to its end; ``run_seconds``: what all runs took.
    """

    request: BudgetRequest
    spending: Spending
    equal: Split
    fastest: Split
    per_cost: Split | None
    played: tuple[Split, ...] = field(repr=False)
    complete: bool = True
    run_seconds: float = 0.0

    @property
    def gain(self) -> float:
        """Return by which share equal rates take longer than the best."""
        return self.equal.seconds / self.fastest.seconds - 1

    @property
    def at_the_least(self) -> bool:
        """Whether the best performance per cost buys no more bandwidth than it must."""
        least = sum(self.spending.least)
        return self.per_cost is not None and self.per_cost.cost - self.spending.fixed <= _AT_THE_LEAST * least


def find_budget(request: BudgetRequest, heard: Heard | None = None) -> Budget:
    """Find the best split of a budget; nothing is written.

    Raises InputError for what can't be played or paid.
    """
    weights, topology = request.weight_of_each, request.network_config.topology
    spending = spending_of(request.prices_file, topology, build_graph(topology))
    require_optimiser()
    runs = Runs(request.runs, weights, spending, request.wall_seconds, heard)
    equal = runs.of(spending.rates(spending.prices, spending.money))
    runs.limited = True
    complete = search(runs, spending, equal)
    fastest = min(runs.played, key=lambda each: each.seconds)
    per_cost = None
    if runs.computes or spending.fixed:
        complete &= search_per_cost(runs, spending, fastest)
        per_cost = max(runs.played, key=lambda each: each.per_cost)
    fastest = min(runs.played, key=lambda each: each.seconds)
    return Budget(request, spending, equal, fastest, per_cost, tuple(runs.played), complete, runs.seconds)


def with_rates(network: NetworkConfig, rates: Rates) -> NetworkConfig:
    """Return the network with these rates of its dimensions."""
    return network.model_copy(update={"topology": network.topology.with_line_rates(rates)})


def search(runs: Runs, spending: Spending, equal: Split) -> bool:
    """Play splits of all the money, from equal rates and equal money on; whether time sufficed."""

    def rates(point: Point) -> Rates:
        return spending.rates(shares_of(point), spending.money)

    try:
        even = runs.of(spending.rates([1.0] * len(spending.prices), spending.money))
        begin = np.array(point_of(_money(spending, min((equal, even), key=lambda each: each.seconds).rates)))
        for step in _AROUND * np.eye(len(begin)):
            runs.of(rates(begin + step))
        _follow_law(runs, spending, rates, lambda law, split: law.seconds(_money(spending, split)), [begin])
    except TimeIsUp:
        return False
    best = min(runs.played, key=lambda each: each.seconds)
    least_at(point_of(_money(spending, best.rates)), lambda point: runs.of(rates(point)).seconds, NEARBY)
    return not runs.is_up


def search_per_cost(runs: Runs, spending: Spending, fastest: Split) -> bool:
    """Play splits of less money as well, from the fastest on; whether time sufficed."""
    most = log(min(spending.money, sum(spending.most)))
    least = min(log(sum(spending.least)), most)

    def rates(point: Point) -> Rates:
        return spending.rates(shares_of(point[1:]), exp(min(max(float(point[0]), least), most)))

    def played(money: float) -> Split:
        return runs.of(rates(np.array([max(least, money), *shares])))

    def asked(point: Point) -> float:
        return 1 / runs.of(rates(point)).per_cost

    def by_law(law: Law, split: Rates) -> float:
        return law.seconds(_money(spending, split)) * spending.cost(split)

    shares = point_of(_money(spending, fastest.rates))
    begins = [np.array([money, *shares]) for money in np.linspace(least, most, _AMOUNTS)]
    try:
        for less in _LESS:
            played(most + log(less))
        _follow_law(runs, spending, rates, by_law, begins, [(least, most), *[(-inf, inf)] * len(shares)])
    except TimeIsUp:
        return False
    best = max(runs.played, key=lambda each: each.per_cost)
    money = min(log(best.cost - spending.fixed), most - _SHORT)
    least_at([money, *point_of(_money(spending, best.rates))], asked, NEARBY)
    return not runs.is_up


def _follow_law(
    runs: Runs,
    spending: Spending,
    rates: Callable[[Point], Rates],
    asked: Callable[[Law, Rates], float],
    begins: Sequence[Point],
    bounds: Sequence[tuple[float, float]] | None = None,
) -> None:
    """Play where a law, fitted to all that was played, says that it is best, until that is where it was before.

    ``asked``: what is to be least, by the law; ``begins``: where it is looked for. Raises TimeIsUp.
    """
    found = begins[0]
    for _ in range(_MOST_LAWS):
        known = runs.played
        law = fitted([_money(spending, each.rates) for each in known], [each.seconds for each in known])
        starts = [found, *begins]
        before, found = found, least_of_law(starts, lambda point, law=law: asked(law, rates(point)), bounds)  # type: ignore[misc]
        runs.of(rates(found))
        if np.abs(found - before).max(initial=0.0) < _SETTLED:
            return


def _money(spending: Spending, rates: Rates) -> list[float]:
    return [rate * price for rate, price in zip(rates, spending.prices, strict=True)]


class Runs:
    """The splits that were played, each once."""

    def __init__(
        self,
        requests: Sequence[RunRequest],
        weights: Sequence[float],
        spending: Spending,
        limit_seconds: float | None,
        heard: Heard | None,
    ) -> None:
        self._requests, self._weights, self._spending, self._heard = requests, weights, spending, heard
        self._limit = limit_seconds
        self._known: dict[Rates, Split] = {}
        self.limited = False
        self.is_up = False
        self.seconds = 0.0
        self.computes = False

    @property
    def played(self) -> list[Split]:
        """Return all splits, in the order in which they were played."""
        return list(self._known.values())

    def of(self, rates: Rates) -> Split:
        """Return how a split does. Raises TimeIsUp, and what ends a run early."""
        if rates not in self._known:
            if self.limited and self._limit is not None and self.seconds >= self._limit:
                self.is_up = True
                raise TimeIsUp
            self._known[rates] = self._played(rates)
            if self._heard is not None:
                self._heard(len(self._known), self._known[rates])
        return self._known[rates]

    def _played(self, rates: Rates) -> Split:
        results = [self._result(request, rates) for request in self._requests]
        times = tuple(result.finish_ps for result in results)
        seconds = sum(weight * time_ps for weight, time_ps in zip(self._weights, times, strict=True)) / PS_PER_SECOND
        refuse(seconds == 0, "the workloads take no time, expected some that computes or sends")
        warnings = dict.fromkeys(words for result in results for words in result.metadata.get("warnings", ()))
        return Split(rates, self._spending.cost(rates), times, seconds, tuple(warnings))

    def _result(self, request: RunRequest, rates: Rates) -> Result:
        network = request.network
        assert isinstance(network, NetworkConfig)
        begun = time.perf_counter()
        outcome = execute(replace(request, network=with_rates(network, rates)), launcher=served, aloud=False)
        self.seconds += time.perf_counter() - begun
        if outcome.error is not None:
            raise outcome.error
        self.computes |= outcome.result.metadata.get("compute_ps", 0) > 0
        return outcome.result
