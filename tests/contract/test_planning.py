"""Bounds against runs: no run is faster than its bound, so no search loses the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.plans import SWITCH, Case, drawn_case, one_switch, rings, servers, small_llama

import astra_ns3
from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Choice, Space, is_as_in
from astra_ns3.planning.search import Played, Search
from astra_ns3.system.file import parse_system

MOST_CHOICES = 60
ITERATIONS, SHARE_OF_ITERATIONS = 3, 4
# Times are whole picoseconds, and so are bounds.
ROUNDING_PS = 1
_SHARDED = "data 8, zero 3, micro-batch 1"


def check_search(case: Case) -> None:
    """Play all choices, and see that none beats its bound and that a search finds the best of them."""
    space = case.space
    bounds = case.bounds(space)
    times = case.times_ps(space, [bound.choice for bound in bounds])
    for bound in bounds:
        assert bound.time_ps <= times[bound.choice] + ROUNDING_PS, bound.choice.name
    search = Search(space, bounds, None, 1)
    waiting = search.begin()
    while waiting:
        choice = waiting.pop(0)
        waiting += search.ended(choice, Played(times[choice], 1.0))
    found = search.found()
    assert found.best_ps == min(times.values())
    assert not found.open
    check_next_iterations(case, space, bounds)


def check_next_iterations(case: Case, space: Space, bounds: Sequence[Bound]) -> None:
    """Play three iterations of some choices, and see that they take no less than three times the bound on each."""
    some = [bound for number, bound in enumerate(bounds) if number % SHARE_OF_ITERATIONS == 0]
    times = case.times_ps(space, [bound.choice for bound in some], ITERATIONS)
    for bound in some:
        assert ITERATIONS * bound.next_ps <= times[bound.choice] + ROUNDING_PS, bound.choice.name
        assert 0.5 * bound.time_ps < bound.next_ps <= bound.time_ps, bound.choice.name


@pytest.mark.parametrize("seed", [0, 2, 5, 7])
def test_no_run_is_faster_than_its_bound_and_the_best_is_found(seed: int) -> None:
    check_search(drawn_case(seed, 30))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_the_best_is_lost_in_none_of_200_searches(seed: int) -> None:
    check_search(drawn_case(seed, MOST_CHOICES))


def test_bounds_hold_for_npus_that_compute_faster_than_usual() -> None:
    slowdown = ComputeSlowdown.model_validate({"stragglers": [{"factor": 0.5}]})
    case = Case(small_llama({"layers": 1}, samples=2), rings(), one_switch(2), slowdown)
    space = case.space
    bounds = case.bounds(space)
    times = case.times_ps(space, [bound.choice for bound in bounds])
    assert all(bound.time_ps <= times[bound.choice] + ROUNDING_PS for bound in bounds)


def test_bounds_hold_where_each_micro_batchs_gradients_are_waited_for() -> None:
    """Without overlap, ZeRO's stages 2 and 3 send gradients while a pipeline's stage would wait for others."""
    case = Case(small_llama(samples=4, parallel={"overlap": False}), rings(), one_switch(4, "50Gbps"))
    space = case.space
    bounds = [bound for bound in case.bounds(space) if bound.choice.zero >= 2 and "tensor" not in bound.choice.name]
    times = case.times_ps(space, [bound.choice for bound in bounds])
    assert all(bound.time_ps <= times[bound.choice] + ROUNDING_PS for bound in bounds)
    assert any("pipeline" in bound.choice.name for bound in bounds)
    assert bounds_near(bounds, times, "data 4, zero 2, micro-batch 1") > 0.8


def bounds_near(bounds: Sequence[Bound], times: dict[Choice, int], name: str) -> float:
    """Return the bound on a choice over what its run takes."""
    (bound,) = (bound for bound in bounds if bound.choice.name == name)
    return bound.time_ps / times[bound.choice]


def test_bounds_are_near_what_runs_take_where_little_is_hidden() -> None:
    """Tensor parallelism inside servers, whose every exchange is waited for: within a fifth."""
    case = Case(small_llama({"hidden": 1024}, samples=2), rings(2), servers(1, 4))
    space = case.space
    bounds = [each for each in case.bounds(space) if each.choice.name.startswith("tensor 4")]
    times = case.times_ps(space, [bound.choice for bound in bounds])
    assert len(bounds) >= 4
    assert all(times[bound.choice] <= 1.2 * bound.time_ps for bound in bounds)


def test_bounds_hold_where_switches_reduce() -> None:
    link, switch = {"rate": "400Gbps", "delay": "500ns"}, {**SWITCH, "reduction": {}}
    topology = {"kind": "single-switch", "npus": 2, "link": link, "switch": switch}
    network = parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})
    system = rings(1, **{"all-reduce-implementation": ["sharp"]})
    check_search(Case(small_llama({"layers": 1}, samples=1), system, network))


def test_bounds_hold_for_channels_that_leave_servers_at_several_npus() -> None:
    """Each of NCCL's channels goes from server to server at another NPU, so all NICs share what leaves."""
    system = parse_system({"collectives": "nccl", "nccl": {"version": "2.26"}})
    case = Case(small_llama({"layers": 2, "hidden": 2048, "heads": 2}, samples=8), system, servers(2, 4))
    space = case.space
    bounds = [each for each in case.bounds(space) if each.choice.name in ("data 8, micro-batch 1", _SHARDED)]
    times = case.times_ps(space, [bound.choice for bound in bounds])
    assert len(bounds) == 2
    assert all(0.7 * times[bound.choice] < bound.time_ps <= times[bound.choice] for bound in bounds)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (rings(2), ("data 8, micro-batch 1", "zero 3, micro-batch 1")),
        (parse_system({"collectives": "nccl"}), (_SHARDED,)),
    ],
    ids=["rings", "nccl"],
)
def test_bounds_count_what_all_npus_of_a_server_send_over_the_nic_that_they_share(
    rules: SystemConfig, names: tuple[str, ...]
) -> None:
    """One NIC for four NPUs is as if each had a quarter of it."""
    base = small_llama({"layers": 2, "hidden": 1024, "heads": 2}, samples=8)
    case = Case(base, rules, servers(2, 4, nics=1))
    space = case.space
    bounds = [each for each in case.bounds(space) if each.choice.name.endswith(names)]
    times = case.times_ps(space, [bound.choice for bound in bounds])
    assert all(bound.time_ps <= times[bound.choice] for bound in bounds)
    sharded = next(bound for bound in bounds if bound.choice.name == _SHARDED)
    assert sharded.time_ps > 0.7 * times[sharded.choice]


@pytest.mark.parametrize(
    ("cut", "layers"),
    [({}, [3, 1]), ({}, [0, 4]), ({"virtual_stages": 2, "schedule": "interleaved"}, [2, 1, 1, 0])],
)
def test_a_search_plays_the_files_own_layers_of_each_part_as_the_file_is_played(
    cut: dict[str, Any], layers: list[int]
) -> None:
    """The head of a large vocabulary takes as long as layers, so an uneven cut may be faster than an even one."""
    parallel = {"pipeline": 2, **cut, "layers_per_part": layers}
    case = Case(small_llama({"vocabulary": 16000}, samples=4, parallel=parallel), rings(), one_switch(2))
    check_search(case)
    result = astra_ns3.run(workload=case.workload, system=case.system, network=case.network, backend="flow")
    space = case.space
    own = [each for each in case.choices(space) if is_as_in(each, case.workload)]
    assert list(case.times_ps(space, own).values()) == [result.finish_ps]


FLAT = {f"{kind}-implementation": "oneDirect" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")}
EXPERTS = {"count": 8, "active": 4, "feed_forward": 64, "routing": "zipf", "skew": 0.1}


def test_bounds_hold_for_flat_algorithms_that_send_most_inside_servers() -> None:
    case = Case(small_llama({"layers": 2, "hidden": 2048, "heads": 2}, samples=8), rings(2, **FLAT), servers(2, 4))
    check_bounds(case, ["data 8, micro-batch 1", "data 8, zero 2, micro-batch 1", _SHARDED])


def test_bounds_hold_for_uneven_all_to_alls_over_servers() -> None:
    system = parse_system({"collectives": "nccl", "nccl": {"version": "2.26"}})
    case = Case(small_llama({"experts": EXPERTS}, samples=128), system, servers(2, 4))
    check_bounds(case, ["expert 8, data 8, micro-batch 1"])


def check_bounds(case: Case, names: list[str]) -> None:
    space = case.space
    bounds = [each for each in case.bounds(space) if each.choice.name in names]
    times = case.times_ps(space, [bound.choice for bound in bounds])
    assert len(bounds) == len(names)
    assert all(bound.time_ps <= times[bound.choice] for bound in bounds)
