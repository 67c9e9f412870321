"""A budget as rows and as plain data."""

from __future__ import annotations

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.planning.budget.budget import Budget, Split
from astra_ns3.units import PS_PER_US, without_numbers

EQUAL, FASTEST, PER_COST = "equal rates", "best performance", "best performance per cost"
_GBPS = 10**9


def splits_of(budget: Budget) -> dict[str, Split]:
    """Return the splits that a budget tells, by name."""
    found = {EQUAL: budget.equal, FASTEST: budget.fastest}
    return found if budget.per_cost is None else {**found, PER_COST: budget.per_cost}


def warnings_of(budget: Budget) -> list[str]:
    """Return each warning of the files, and of the runs of splits that a budget tells, once.

    The best splits come first; what another split warns of with other numbers is left out.
    """
    told = list(budget.request.expansion.warnings)
    for split in reversed(splits_of(budget).values()):
        known = {without_numbers(words) for words in told}
        told += [words for words in split.warnings if without_numbers(words) not in known]
    return told


def columns_of(budget: Budget) -> list[str]:
    """Return the columns of a table of splits, without their names."""
    rates = [f"dimension_{number}_gbps" for number in range(len(budget.spending.prices))]
    times = [f"{name}_us" for name in budget.request.names]
    return [*rates, "cost", *times, "total_us", "performance_per_cost"]


def cells_of(split: Split) -> list[float]:
    """Return the cells of a row of such a table."""
    rates = [rate / _GBPS for rate in split.rates]
    times = [time_ps / PS_PER_US for time_ps in split.times_ps]
    return [*rates, split.cost, *times, split.seconds * 1e6, split.per_cost]


def document(budget: Budget) -> JsonObject:
    """Return the budget as plain data."""
    request, spending = budget.request, budget.spending
    columns = columns_of(budget)
    splits: list[Json] = [
        {"split": name, **dict(zip(columns, cells_of(split), strict=True))} for name, split in splits_of(budget).items()
    ]
    return {
        "network": str(request.network),
        "workloads": [{"name": name, "weight": weight} for name, weight in _weights(budget)],
        "output": str(request.folder),
        "budget": spending.budget,
        "fixed": spending.fixed,
        "currency": request.config.currency,
        "splits": splits,
        "equal_rates_take_longer_by": round(budget.gain, 6),
        "performance_per_cost": "undetermined" if budget.per_cost is None else "found",
        "played": len(budget.played),
        "complete": budget.complete,
        "run_seconds": round(budget.run_seconds, 3),
        "warnings": [*warnings_of(budget)],
    }


def _weights(budget: Budget) -> list[tuple[str, float]]:
    return list(zip(budget.request.names, budget.request.weight_of_each, strict=True))
