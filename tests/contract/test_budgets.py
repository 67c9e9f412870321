"""Budgets on the flow-level network against closed forms, and against brute force on a grid of splits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from oracles.bandwidth_splits import best_money, carried_bytes, one_chunk_rates, pipelined_rates
from support.plans import small_llama

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError
from astra_ns3.experiments.run import execute
from astra_ns3.frozen import replace
from astra_ns3.planning.budget.budget import Budget, find_budget, with_rates
from astra_ns3.planning.budget.request import BudgetRequest
from astra_ns3.units import format_bytes
from astra_ns3.workload.memory.peaks import memory_of

WITHIN = 0.01
"""The target of splits and of times. Frames' headers are on all lines alike."""
# Around the best performance per cost, 2% more or less money changes it by less than 0.01%.
OF_MONEY = 0.03
SWITCH = {"buffer": "32MiB", "pfc": {}}
MEBIBYTE = 1 << 20
# A frame of 4,096 bytes has headers of 62; another one of 66 acknowledges it; 20 follow each. Lines carry both.
ON_THE_WIRE = (4096 + 62 + 20 + 66 + 20) / 4096
SERVERS = {
    "kind": "hierarchical",
    "nodes": 2,
    "npus_per_node": 4,
    "scale_up": {"link": {"rate": "900Gbps", "delay": "1ns"}, "switch": SWITCH},
    "scale_out": {"kind": "single-switch", "link": {"rate": "100Gbps", "delay": "1ns"}, "switch": SWITCH},
}
TORUS = {"kind": "mesh", "shape": [2, 2, 2], "link": {"rate": "100Gbps", "delay": "1ns"}, "switch": SWITCH}
KINDS = ("all-reduce", "reduce-scatter", "all-gather")


def rings(dimensions: int, chunks: int, at_once: int = 1) -> dict[str, Json]:
    """A system whose chunks go through all dimensions, the innermost first."""
    return {
        **{f"{kind}-implementation": ["ring"] * dimensions for kind in KINDS},
        "all-to-all-implementation": ["direct"] * dimensions,
        "scheduling-policy": "LIFO",
        "preferred-dataset-splits": chunks,
        "active-chunks-per-dimension": at_once,
        "collective-optimization": "localBWAware",
    }


def asked(
    folder: Path, topology: dict[str, Any], prices: dict[str, Any], system: dict[str, Json], layers: Sequence[str]
) -> BudgetRequest:
    """A request for a budget of workloads, each of one layer."""
    network = {"topology": topology, "transport": {"kind": "roce", "payload": 4096}}
    for name, data in (("network", network), ("prices", prices), ("system", system)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    workloads = []
    for number, layer in enumerate(layers):
        workloads.append(folder / f"layer{number}.txt")
        workloads[-1].write_text(f"DATA\n1\nlayer -1 {layer}\n", encoding="utf-8")
    return BudgetRequest(
        folder / "prices.yaml",
        folder / "network.yaml",
        workloads,
        system=folder / "system.yaml",
        output=folder / "out",
        wall_seconds=None,
    )


def all_reduce(size_bytes: int, computed_ns: int = 0) -> str:
    """A layer that computes and then reduces gradients."""
    return f"0 NONE 0 0 NONE 0 {computed_ns} ALLREDUCE {size_bytes} 0"


def found(*given: Any) -> Budget:
    pytest.importorskip("scipy")
    return find_budget(asked(*given))


def test_of_one_chunk_rates_go_as_the_square_root_of_bytes_over_price(tmp_path: Path) -> None:
    prices = {"budget": 50000, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    budget = found(tmp_path, SERVERS, prices, rings(2, 1), [all_reduce(64 * MEBIBYTE)])
    expected = one_chunk_rates(carried_bytes((4, 2), 64 * MEBIBYTE), (8e-9, 40e-9), 50000)
    assert budget.fastest.rates == pytest.approx(expected, rel=WITHIN)
    assert budget.fastest.cost == pytest.approx(50000, rel=1e-6)
    assert budget.complete
    equal = 50000 / 48e-9
    assert budget.equal.rates == pytest.approx([equal, equal], rel=1e-6)
    times = [
        sum(each / rate for each, rate in zip(carried_bytes((4, 2), 64.0), rates, strict=True))
        for rates in ([equal, equal], expected)
    ]
    assert budget.gain == pytest.approx(times[0] / times[1] - 1, rel=0.03)
    assert budget.per_cost is None  # nothing is computed, and nothing has a fixed price


@pytest.mark.slow
def test_of_one_chunk_so_do_the_rates_of_three_dimensions(tmp_path: Path) -> None:
    prices = {"budget": 100000, "dimensions": [{"gbps": 1}, {"gbps": 2}, {"gbps": 4}]}
    budget = found(tmp_path, TORUS, prices, rings(3, 1), [all_reduce(64 * MEBIBYTE)])
    expected = one_chunk_rates(carried_bytes((2, 2, 2), 64 * MEBIBYTE), (8e-9, 16e-9, 32e-9), 100000)
    assert budget.fastest.rates == pytest.approx(expected, rel=WITHIN)


@pytest.mark.slow
def test_of_pipelined_chunks_all_dimensions_take_as_long(tmp_path: Path) -> None:
    """The first chunk fills the pipeline and the last one empties it: of 256 chunks, two at once."""
    prices = {"budget": 50000, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    budget = found(tmp_path, SERVERS, prices, rings(2, 256, 2), [all_reduce(1024 * MEBIBYTE)])
    carried = carried_bytes((4, 2), 1024 * MEBIBYTE)
    expected = pipelined_rates(carried, (8e-9, 40e-9), 50000)
    assert budget.fastest.rates == pytest.approx(expected, rel=WITHIN)
    inner, outer = (each / rate for each, rate in zip(carried, budget.fastest.rates, strict=True))
    assert inner == pytest.approx(outer, rel=WITHIN)


def test_iterations_of_workloads_count_by_their_weights(tmp_path: Path) -> None:
    """Of the first split alone."""
    pytest.importorskip("scipy")
    prices = {"budget": 50000, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    request = asked(tmp_path, SERVERS, prices, rings(2, 1), [all_reduce(MEBIBYTE), all_reduce(2 * MEBIBYTE)])
    split = find_budget(replace(request, weights=[3.0, 1.0], wall_seconds=1e-9)).fastest
    first_ps, second_ps = split.times_ps
    assert first_ps < second_ps
    assert split.seconds == pytest.approx((3 * first_ps + second_ps) / 1e12)


@pytest.mark.slow
def test_no_split_of_a_grid_is_better(tmp_path: Path) -> None:
    """Two workloads, of which one prefers inner bandwidth: brute force over shares of the money."""
    prices = {"budget": 50000, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    layers = [all_reduce(64 * MEBIBYTE), f"0 NONE 0 0 NONE 0 0 ALLTOALL {16 * MEBIBYTE} 0"]
    request = asked(tmp_path, SERVERS, prices, rings(2, 4), layers)
    request = replace(request, weights=[3.0, 1.0])
    pytest.importorskip("scipy")
    budget = find_budget(request)
    grid = []
    for share in range(5, 100, 5):
        rates = budget.spending.rates([share / 100, 1 - share / 100], budget.spending.money)
        times = [
            execute(replace(run, network=with_rates(request.network_config, rates), isolated=False)).result.finish_ps
            for run in request.runs
        ]
        grid.append(3 * times[0] + times[1])
    assert budget.fastest.seconds * 1e12 <= min(grid)
    assert min(grid) < 1.05 * budget.fastest.seconds * 1e12  # a grid of 5% is not far from it
    assert min(grid) < 0.9 * max(grid)


@pytest.mark.slow
@pytest.mark.parametrize("amount", [200000, 44000])
def test_performance_per_cost_balances_computing_fixed_prices_and_bandwidth(tmp_path: Path, amount: int) -> None:
    prices = {"budget": amount, "npu": 2500, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    computed_ns = 1_000_000
    budget = found(tmp_path, SERVERS, prices, rings(2, 1), [all_reduce(64 * MEBIBYTE, computed_ns)])
    carried, costs = carried_bytes((4, 2), 64 * MEBIBYTE), (8e-9, 40e-9)
    money_seconds = sum((8 * ON_THE_WIRE * each * cost) ** 0.5 for each, cost in zip(carried, costs, strict=True)) ** 2
    money = best_money(computed_ns / 1e9, money_seconds, 20000)
    assert budget.per_cost is not None
    assert 0.05 < money / (amount - 20000) < 0.95  # not at a bound
    assert budget.per_cost.cost - 20000 == pytest.approx(money, rel=OF_MONEY)
    best = 1 / ((20000 + money) * (computed_ns / 1e9 + money_seconds / money))
    assert budget.per_cost.per_cost == pytest.approx(best, rel=WITHIN)
    assert budget.fastest.cost == pytest.approx(amount, rel=1e-6)


@pytest.mark.slow
def test_without_fixed_prices_less_bandwidth_always_pays_where_computing_waits(tmp_path: Path) -> None:
    prices = {"budget": 50000, "dimensions": [{"gbps": 1, "least": "110Gbps"}, {"gbps": 5, "least": "20Gbps"}]}
    budget = found(tmp_path, SERVERS, prices, rings(2, 1), [all_reduce(16 * MEBIBYTE, 1_000_000)])
    assert budget.at_the_least
    assert budget.per_cost is not None
    assert budget.per_cost.rates == pytest.approx([110e9, 20e9], rel=0.02)


def test_with_fixed_prices_alone_all_the_money_pays(tmp_path: Path) -> None:
    prices = {"budget": 50000, "npu": 100, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    budget = found(tmp_path, SERVERS, prices, rings(2, 1), [all_reduce(64 * MEBIBYTE)])
    assert budget.per_cost == budget.fastest


def test_a_model_that_needs_more_memory_than_there_is_is_refused(tmp_path: Path) -> None:
    prices = {"budget": 50000, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    request = asked(tmp_path, SERVERS, prices, rings(2, 1), [])
    request = replace(request, workloads=["inputs/workload/models/gpt-3-175b.yaml"])
    with pytest.raises(InputError, match=r"gpt-3-175b\.yaml"):
        find_budget(request)
    request = replace(request, changes={"workload.parallel.pipeline": 1, "workload.parallel.tensor": 8})
    with pytest.raises(InputError, match=r"on an NPU of .*expected degrees that fit: astra-ns3 plan finds them"):
        find_budget(request)


def test_a_stage_that_needs_more_memory_than_there_is_is_refused_beside_one_that_fits(tmp_path: Path) -> None:
    workload = small_llama(parallel={"pipeline": 2, "tensor": 4})
    fits, too_large = sorted(stage.peak.usage.total_bytes for stage in memory_of(workload.plan(8)))
    model = {**workload.file.document(), "memory": (fits + too_large) // 2}
    (tmp_path / "model.yaml").write_text(yaml.safe_dump(model), encoding="utf-8")
    prices = {"budget": 50000, "dimensions": [{"gbps": 1}, {"gbps": 5}]}
    request = replace(asked(tmp_path, SERVERS, prices, rings(2, 1), []), workloads=[tmp_path / "model.yaml"])
    with pytest.raises(InputError, match=rf"needs {re.escape(format_bytes(too_large))} on an NPU of "):
        find_budget(request)
