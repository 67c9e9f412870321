"""Bounds against closed forms and against the model of a run's memory; that no run is faster is in tests/contract."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import pytest
from support.models import blocks
from support.plans import SWITCH, Case, one_switch, rings, servers, small_llama

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.training_plan import Item, Operation
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.least_times import rate_of_shared_nics
from astra_ns3.workload.memory.peaks import memory_of
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload

FAST = "100000Gbps"  # a line on which nothing takes time beside its delay


def bounds_by_name(case: Case) -> dict[str, Bound]:
    return {bound.choice.name: bound for bound in case.bounds(case.space)}


def pass_times_ps(workload: ModelWorkload, npus: int) -> tuple[int, int]:
    """What all blocks compute forward and backward for a micro-batch, and in the update, by the clock."""
    plan, clock = workload.plan(npus), workload.clock()

    def taken(items: Iterable[Item]) -> int:
        return sum(clock.time_ps(item) for item in items if isinstance(item, Operation))

    backward = ((*block.again, *block.input_gradient, *block.weight_gradient) for block in blocks(plan))
    return sum(taken(block.forward) for block in blocks(plan)), sum(map(taken, backward))


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_a_pipeline_of_equal_stages_idles_for_all_stages_but_one(schedule: str) -> None:
    """(m + p - 1) (f + b) of a stage: Huang et al. 2019, Narayanan et al. 2021, section 2.2."""
    case = Case(small_llama({"vocabulary": 1, "layers": 4}, samples=8), rings(), one_switch(4, FAST))
    found = bounds_by_name(case)[f"pipeline 4 {schedule}, micro-batch 2"]
    keys = found.choice.keys
    stage = changed(case.space.workload, {**keys, "parallel.pipeline": 1, "parallel.schedule": "1f1b"})
    forward, back = pass_times_ps(
        changed(stage, {"model.layers": 4, "parallel.data": 4, "training.global_batch": 8}), 4
    )
    layers_ps = (4 + 4 - 1) * (forward + back) / 4
    assert layers_ps * 0.95 <= found.time_ps <= 1.2 * layers_ps  # the ends of the model, hops and the update besides


def test_the_bound_grows_by_a_stage_with_each_micro_batch() -> None:
    """From m to m + 1 micro-batches of one size: the work of the busiest stage more."""
    times = {}
    for samples in (4, 8, 12):
        case = Case(small_llama(samples=samples), rings(), one_switch(2))
        times[samples] = bounds_by_name(case)["pipeline 2 1f1b, micro-batch 1"].time_ps
    assert times[12] - times[8] == times[8] - times[4]


def test_interleaving_shortens_what_stages_wait_at_both_ends() -> None:
    """The bubble of v parts on each stage is 1 / v of that of one: Narayanan et al. 2021, section 2.2."""
    case = Case(small_llama({"vocabulary": 1, "layers": 8}, samples=8), rings(), one_switch(2, FAST))
    found = bounds_by_name(case)
    whole, two, four = (
        found[f"pipeline 2 {name}, micro-batch 1"].time_ps for name in ("1f1b", "x 2 interleaved", "x 4 interleaved")
    )
    assert (whole - four) / (whole - two) == pytest.approx(1.5, rel=0.1)  # 1 - 1/4 over 1 - 1/2


def test_gradients_that_all_wait_for_the_end_take_what_a_ring_takes() -> None:
    """Without overlap an all-reduce of all gradients follows the last pass: 2 (n - 1) / n of their bytes each."""
    npus, bytes_per_ns = 4, 6.25
    base = small_llama({"vocabulary": 8000}, samples=4, parallel={"overlap": False})
    case = Case(base, rings(), one_switch(npus, "50Gbps"))
    found = bounds_by_name(case)["data 4, micro-batch 1"]
    workload = changed(case.space.workload, found.choice.keys)
    plan = workload.plan(npus)
    gradient_bytes = 2 * sum(block.parameters for block in blocks(plan))
    ring_ps = 2 * (npus - 1) / npus * gradient_bytes / bytes_per_ns * 1000
    computed_ps = sum(pass_times_ps(workload, npus))
    assert found.time_ps >= computed_ps + 0.999 * ring_ps
    assert found.time_ps <= 1.1 * (computed_ps + ring_ps) + 100e6  # and an update of less than 100 us


@pytest.mark.parametrize(("keeps", "gathers"), [(False, 2), (True, 1)])
def test_weights_that_are_gathered_for_each_use_cross_a_line_twice_a_micro_batch(keeps: bool, gathers: int) -> None:
    """Rajbhandari et al. 2020, section 7.2.2: for each pass the weights come in, and gradients go out after it.

    Weights that are kept come in once an iteration. A ring sends (n - 1) / n of them from each NPU.
    """
    npus, batches, bytes_per_ns = 4, 3, 0.125
    base = small_llama(samples=npus * batches, parallel={"keep_gathered": keeps})
    case = Case(base, rings(), one_switch(npus, "1Gbps"))
    found = bounds_by_name(case)["data 4, zero 3, micro-batch 1"]
    plan = changed(case.space.workload, found.choice.keys).plan(npus)
    weight_bytes = 2 * sum(block.parameters for block in blocks(plan))
    times = batches * (gathers + 1) if gathers > 1 else 1 + batches
    sent_ps = times * (npus - 1) / npus * weight_bytes / bytes_per_ns * 1000
    assert 0.999 * sent_ps <= found.time_ps <= 1.05 * sent_ps


@pytest.mark.parametrize("network", [one_switch(4), servers(2, 2)])
def test_no_choice_needs_less_memory_than_its_bound(network: NetworkConfig) -> None:
    case = Case(small_llama(samples=4, parallel={"bucket": "1MiB"}), rings(len(network.dimensions)), network)
    space = case.space
    shares = []
    for bound in case.bounds(space)[::3]:
        plan = changed(space.workload, bound.choice.keys).plan(space.npus)
        needed = max(stage.peak.usage.total_bytes for stage in memory_of(plan))
        assert bound.memory_bytes <= needed
        shares.append(bound.memory_bytes / needed)
    assert max(shares) == 1.0  # of those that gather nothing and send nothing in buckets


def test_recomputing_takes_the_forward_pass_once_more_and_less_memory() -> None:
    case = Case(small_llama(samples=4), rings(), one_switch(2, FAST))
    found = bounds_by_name(case)
    kept, again = found["data 2, micro-batch 2"], found["data 2, micro-batch 2, recompute full"]
    assert again.memory_bytes < kept.memory_bytes
    assert 1.1 < again.time_ps / kept.time_ps < 1.34


def torus_of_servers(nics: int) -> NetworkConfig:
    """Four servers of 2 NPUs, which share a NIC or have one each; every NIC has a line of 10 Gb/s along either axis."""
    inside = {"link": {"rate": "900Gbps", "delay": "25ns"}, "switch": SWITCH}
    link = {"rate": "10Gbps", "delay": "500ns"}
    outside = {"kind": "torus", "shape": [2, 2 * nics], "link": link, "switch": SWITCH}
    keys = {"nodes": 4, "npus_per_node": 2, "nics_per_node": nics, "scale_up": inside, "scale_out": outside}
    return parse_network({"topology": {"kind": "hierarchical", **keys}, "transport": {"kind": "roce", "payload": 4096}})


@pytest.mark.parametrize(
    ("network", "bytes_per_ns"),
    [
        (servers(2, 4, nics=1), 100 / 8 / 4),
        (servers(2, 4, nics=2), 2 * 100 / 8 / 4),
        (servers(2, 4), inf),
        (torus_of_servers(1), 2 * 10 / 8 / 2),
        (torus_of_servers(2), inf),
        (one_switch(4), inf),
    ],
)
def test_npus_share_all_lines_of_their_servers_nics_and_no_others(network: NetworkConfig, bytes_per_ns: float) -> None:
    case = Case(small_llama(samples=8), rings(len(network.dimensions)), network)
    assert rate_of_shared_nics(case.inputs(case.space)) == bytes_per_ns
