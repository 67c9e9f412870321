"""A budget for a terminal: what is spent, the splits side by side, and what can't be said."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.planning.budget.budget import Budget, Split
from astra_ns3.planning.budget.result import splits_of
from astra_ns3.planning.budget.saving import files_of
from astra_ns3.report.alignment import aligned, clock, number_text, percent, table
from astra_ns3.units import PS_PER_SECOND, counted, format_rate, format_time

_DIGITS = 10**6
UNDETERMINED = (
    "undetermined: no workload computes and nothing has a fixed price, so half the money takes twice as long, but for "
    "delays"
)
NOTHING_FIXED = (
    "nothing has a fixed price, so waiting costs nothing, and the best may be the least that 'least' allows; give "
    "prices of 'npu', 'nic' or 'switch'"
)


def budget_text(budget: Budget) -> str:
    """Return all of it."""
    return "\n\n".join([aligned(list(_head(budget))), _table(budget), aligned([("files", _files(budget))])])


def _head(budget: Budget) -> Iterator[tuple[str, str]]:
    request, spending = budget.request, budget.spending
    sizes = " x ".join(map(str, request.network_config.topology.built_dimensions()))
    npus = request.network_config.npus
    yield "network", f"{request.network_config.topology.kind} {sizes}, {counted(npus, 'NPU')}"
    money = f"{_amount(budget, spending.budget)}, of which {_amount(budget, spending.fixed)} is fixed"
    yield "budget", money
    named = zip(request.names, request.weight_of_each, strict=True)
    yield "workloads", ", ".join(f"{weight:g} x {name}" for name, weight in named)
    ending = "" if budget.complete else "; time was up before the search came to its end"
    yield "played", f"{counted(len(budget.played), 'split', 'splits')} in {clock(budget.run_seconds)}{ending}"
    yield "gain", f"equal rates take {percent(round(budget.gain * _DIGITS), _DIGITS)} longer than the best split"
    if budget.per_cost is None:
        yield "per cost", UNDETERMINED
    elif not spending.fixed:
        yield "per cost", NOTHING_FIXED
    elif budget.at_the_least:
        yield "per cost", "best at the least rates: more bandwidth costs more than it gains"


def _table(budget: Budget) -> str:
    sizes = budget.request.network_config.topology.built_dimensions()
    rates = [f"dimension {number} ({size})" for number, size in enumerate(sizes)]
    names = budget.request.names
    lines = [["", *rates, "cost", *names, *(["total"] if len(names) > 1 else []), "per cost"]]
    lines += [_line(budget, name, split) for name, split in splits_of(budget).items()]
    return table(lines, indent="  ")


def _line(budget: Budget, name: str, split: Split) -> list[str]:
    total = [format_time(round(split.seconds * PS_PER_SECOND))] if len(split.times_ps) > 1 else []
    return [
        name,
        *(format_rate(rate) for rate in split.rates),
        _amount(budget, split.cost),
        *(format_time(time_ps) for time_ps in split.times_ps),
        *total,
        number_text(split.per_cost / budget.equal.per_cost),
    ]


def _amount(budget: Budget, amount: float) -> str:
    return f"{amount:,.0f} {budget.request.config.currency}".rstrip()


def _files(budget: Budget) -> str:
    return f"{budget.request.folder}: {', '.join(files_of(budget))}"
