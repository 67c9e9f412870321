"""Placements: which NPUs a job gets of a network with servers, racks and rails, and which it can't have."""

from __future__ import annotations

from typing import Any

import pytest

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.config.scenario.traffic import TrafficConfig
from astra_ns3.errors import InputError
from astra_ns3.frozen import replace
from astra_ns3.scenario.placement import place, placed, places_of
from astra_ns3.scenario.tenant import Tenant
from astra_ns3.scenario.traffic import Traffic
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph

LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "1GB"}
FLAT = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}
RAILS = {"kind": "rail-optimised", "nodes": 4, "npus_per_node": 2, "nodes_per_leaf": 2, "spines": 2}
SERVERS = {
    "kind": "hierarchical",
    "nodes": 4,
    "npus_per_node": 2,
    "scale_out": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": LINK, "switch": SWITCH},
}
SHARED_NICS = {
    "nics_per_node": 1,
    **SERVERS,
    "scale_out": {**SERVERS["scale_out"], "hosts_per_leaf": 2},  # type: ignore[dict-item]
}
SHARED = {"kind": "single-switch", "npus": 8, "npus_per_host": 2}
TORUS = {"kind": "torus", "shape": [4, 2]}


def graph(topology: dict[str, Any]) -> Graph:
    inside = {"scale_up": {"link": LINK, "switch": SWITCH}} if "npus_per_node" in topology else {}
    outside = {} if "scale_out" in topology else {"link": LINK, "switch": SWITCH}
    found = parse_network({"topology": {**topology, **inside, **outside}, "transport": {"kind": "tcp"}})
    return build_graph(found.topology)


def rule(kind: str, count: int, **more: int) -> Placement:
    return Placement.model_validate({"place": kind, "count": count, **more})


def got(kind: str, count: int, topology: dict[str, Any], *, taken: set[int] | None = None, seed: int = 1) -> list[int]:
    places = places_of(graph(topology))
    return list(place(rule(kind, count), places, set(places.npus) - (taken or set()), seed))


@pytest.mark.parametrize(
    ("topology", "servers", "racks"),
    [
        (FLAT, [(npu,) for npu in range(8)], [(0, 1, 2, 3), (4, 5, 6, 7)]),
        (RAILS, [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 1), (2, 3)]),
        (SERVERS, [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 1), (2, 3)]),
        (SHARED_NICS, [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 1), (2, 3)]),
        ({**SHARED_NICS, "shared_nics": "pcie"}, [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 1), (2, 3)]),
        (SHARED, [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 1, 2, 3)]),
        (TORUS, [(npu,) for npu in range(8)], [(npu,) for npu in range(8)]),
    ],
)
def test_servers_and_racks_follow_from_the_topology(
    topology: dict[str, Any], servers: list[tuple[int, ...]], racks: list[tuple[int, ...]]
) -> None:
    found = places_of(graph(topology))
    assert (list(found.servers), list(found.racks)) == (servers, racks)


@pytest.mark.parametrize(
    ("kind", "count", "topology", "taken", "expected"),
    [
        ("packed", 4, SERVERS, {1}, [0, 2, 3, 4]),
        ("spread", 4, FLAT, set(), [0, 4, 1, 5]),
        ("spread", 6, SERVERS, {0}, [1, 4, 2, 6, 5, 3]),
        ("rack", 4, FLAT, {2}, [4, 5, 6, 7]),
        ("rack", 3, RAILS, set(), [0, 1, 2]),
        ("rack", 3, {**SHARED, "npus_per_host": 8}, set(), [0, 1, 2]),
        ("rail", 6, RAILS, set(), [0, 2, 4, 6, 1, 3]),
        ("rail", 3, SERVERS, {2}, [0, 4, 6]),
        ("packed", 8, TORUS, set(), [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_a_rule_gives_the_npus_that_it_says(
    kind: str, count: int, topology: dict[str, Any], taken: set[int], expected: list[int]
) -> None:
    assert got(kind, count, topology, taken=taken) == expected


@pytest.mark.parametrize("kind", ["random", "fragmented"])
def test_draws_are_equal_by_seed(kind: str) -> None:
    draws = {seed: got(kind, 4, SERVERS, seed=seed) for seed in range(1, 20)}
    assert draws == {seed: got(kind, 4, SERVERS, seed=seed) for seed in draws}
    assert len({tuple(each) for each in draws.values()}) > 4


def test_a_fragmented_job_has_whole_servers_in_order_and_a_random_one_has_not() -> None:
    for seed in range(1, 20):
        fragmented = got("fragmented", 4, SERVERS, seed=seed)
        assert fragmented == sorted(fragmented)
        assert {npu ^ 1 for npu in fragmented} == set(fragmented)
    drawn = [got("random", 4, SERVERS, seed=seed) for seed in range(1, 20)]
    assert any(each != sorted(each) for each in drawn)


@pytest.mark.parametrize(
    ("kind", "count", "topology", "taken", "message"),
    [
        ("packed", 9, FLAT, set(), "asks for 9 NPUs, but only 8 of the network's 8 are free; expected no more"),
        ("random", 5, FLAT, {0, 1, 2, 3}, "asks for 5 NPUs, but only 4 of the network's 8 are free; expected no more"),
        (
            "rack",
            5,
            FLAT,
            {0},
            "asks for 5 NPUs, but only 7 of the network's 8 are free, 4 of them in whole racks; expected",
        ),
        ("rack", 2, TORUS, set(), "place: rack means nothing here, for no two servers share a switch; expected packed"),
        (
            "rail",
            2,
            FLAT,
            set(),
            "place: rail means nothing here, for each server has one NPU; expected packed, spread",
        ),
    ],
)
def test_what_a_network_has_not_is_refused(
    kind: str, count: int, topology: dict[str, Any], taken: set[int], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        got(kind, count, topology, taken=taken)
    assert str(caught.value).startswith(message)


def _job(name: str, npus: Any, where: str = "") -> Tenant:
    return Tenant(name, npus, "w", "s", where=where)


def test_lists_go_before_rules_and_rules_in_their_order() -> None:
    jobs = [_job("a", rule("packed", 3)), _job("b", [1, 6]), _job("c", rule("packed", 2))]
    assert placed(jobs, 8, lambda: graph(FLAT), 1) == ((0, 2, 3), [1, 6], (4, 5))


def test_a_job_that_arrives_may_get_npus_that_other_traffic_has() -> None:
    """Other jobs keep theirs from the begin on."""
    config = TrafficConfig.model_validate({"name": "t", "kind": "poisson", "sizes": "1MB", "load": 0.1, "flows": 9})
    beside = Tenant("t", [0, 1, 2, 3], "w", "s", traffic=Traffic(config, ""))
    jobs = [beside, _job("a", [1]), replace(_job("b", rule("packed", 4)), arrives=True)]
    assert placed(jobs, 8, lambda: graph(FLAT), 1) == ([0, 1, 2, 3], [1], (0, 2, 3, 4))


def test_a_seed_of_its_own_goes_before_that_of_run_and_name() -> None:
    def drawn(run: int, name: str, **own: int) -> Any:
        return placed([_job(name, rule("random", 5, **own))], 8, lambda: graph(FLAT), run)

    assert drawn(1, "a", seed=7) == drawn(2, "b", seed=7)
    assert len({drawn(1, "a"), drawn(2, "a"), drawn(1, "b"), drawn(1, "a", seed=7)}) == 4
    assert drawn(1, "a") == drawn(1, "a")


def test_errors_name_the_place_in_the_file() -> None:
    with pytest.raises(InputError, match=r"^jobs\.yaml:3: NPU 8 is not one of the network's 8, 0 to 7$"):
        placed([_job("a", (3, 8), "jobs.yaml:3")], 8, lambda: graph(FLAT), 1)
    with pytest.raises(InputError, match=r"^jobs\.yaml:5: asks for 3 NPUs, but only 2 of the network's 8 are free"):
        placed([_job("b", range(6)), _job("a", rule("packed", 3), "jobs.yaml:5")], 8, lambda: graph(FLAT), 1)


def test_nobody_asks_for_a_graph_without_rules() -> None:
    assert placed([_job("a", [2])], 8, lambda: pytest.fail("asked"), 1) == ([2],)
