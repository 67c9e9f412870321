"""Reduction delays of a run by our rules and by ASTRA-sim's: one all-reduce on an analytical switch."""

from __future__ import annotations

from typing import Any

import pytest
from oracles import collective_times
from support.many_networks import system_for

import astra_ns3
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.workload.files.astra_sim import parse_workload

SIZE = 64 << 20
ENDPOINT_NS, LATENCY_NS, BYTES_PER_NS, ADDED_PER_NS = 10, 200, 400, 1600
PRESETS = ["none", "astra-sim-1.0", "astra-sim-2"]


def message_ps(bytes: int) -> int:
    """Over a switch, with both of its lines' latencies."""
    return bytes * 1000 // BYTES_PER_NS + 2 * LATENCY_NS * 1000


def finish_ps(algorithm: str, npus: int, compat: str, added_per_ns: int = ADDED_PER_NS) -> int:
    dimension = AnalyticalDimension(topology="switch", npus=npus, bytes_per_ns=BYTES_PER_NS, link_latency_ns=LATENCY_NS)
    keys: dict[str, Any] = {"endpoint-delay": ENDPOINT_NS, "reduction-bytes-per-ns": added_per_ns}
    keys |= {"all-reduce-implementation": [algorithm], "preferred-dataset-splits": 1}
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {SIZE} 0\n"),
        system=system_for(1, **keys),
        network=AnalyticalNetwork(grid=(dimension,)),
        backend="analytical",
        compat=compat,
    )
    return result.finish_ps


def added_ps(algorithm: str, npus: int, compat: str) -> int:
    """How much of a run its reductions take."""
    return finish_ps(algorithm, npus, compat) - finish_ps(algorithm, npus, compat, 10**9)


@pytest.mark.parametrize("npus", [2, 8])
def test_halving_adds_up_each_half_that_it_receives_unless_by_the_rules_of_astra_sim(npus: int) -> None:
    oracle = collective_times.halving_doubling_all_reduce(npus, SIZE, message_ps, ENDPOINT_NS * 1000, ADDED_PER_NS)
    assert finish_ps("halvingDoubling", npus, "none") == oracle
    halves = [3 * (SIZE // 2**level // ADDED_PER_NS) * 1000 for level in range(1, npus.bit_length())]
    told = {compat: added_ps("halvingDoubling", npus, compat) for compat in PRESETS}
    assert told == {"none": sum(halves), "astra-sim-1.0": sum(halves[1:]), "astra-sim-2": sum(halves[1:])}


@pytest.mark.parametrize("npus", [2, 8])
def test_trees_add_up_on_the_way_up_and_by_the_rules_of_astra_sim_downwards_too(npus: int) -> None:
    oracle = collective_times.double_binary_tree_all_reduce(npus, SIZE, message_ps, ENDPOINT_NS * 1000, ADDED_PER_NS)
    assert finish_ps("doubleBinaryTree", npus, "none") == oracle
    levels, once_ps = npus.bit_length() - 1, 3 * (SIZE // ADDED_PER_NS) * 1000
    told = {compat: added_ps("doubleBinaryTree", npus, compat) for compat in PRESETS}
    down = (levels - 1) * once_ps  # to the leaves nothing is charged
    assert told == {"none": levels * once_ps, **dict.fromkeys(PRESETS[1:], levels * once_ps + down)}


@pytest.mark.parametrize("given", [{}, {"reduction-bytes-per-ns": 800}])
def test_reductions_follow_a_change_of_the_memorys_bandwidth_unless_they_have_their_own(given: dict[str, int]) -> None:
    """64 MiB on a ring of 8: seven times 8 MiB are added up."""
    dimension = AnalyticalDimension(topology="switch", npus=8, bytes_per_ns=BYTES_PER_NS, link_latency_ns=LATENCY_NS)

    def added_ns(bandwidth: int, changes: dict[str, int]) -> float:
        result = astra_ns3.run(
            workload=parse_workload(f"MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {SIZE} 0\n"),
            system=system_for(1, **{"local-mem-bw": bandwidth, "preferred-dataset-splits": 1}, **given),
            network=AnalyticalNetwork(grid=(dimension,)),
            backend="analytical",
            changes=changes,
        )
        return result.finish_ns - collective_times.ring_all_reduce(8, SIZE, message_ps, ENDPOINT_NS * 1000) / 1000

    zero_ns = added_ns(10**9, {"system.reduction-bytes-per-ns": 10**9})
    for bandwidth in (50, 1600):
        rate = given.get("reduction-bytes-per-ns", bandwidth)
        of_file, changed = added_ns(bandwidth, {}), added_ns(400, {"system.local-mem-bw": bandwidth})
        assert of_file - zero_ns == changed - zero_ns == 7 * 3 * (SIZE // 8 // rate)
