"""Random cases: the same for the same seed, of everything there is, and each way to end is told apart."""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NoReturn

import pytest
from soak import child
from soak.case import Case, case_of
from soak.cases import ROUTING_KINDS, SCENARIOS, random_case
from soak.models import MODELS, WORD
from soak.play import DEADLOCK, FINISHED, GAVE_UP, Outcome
from soak.topologies import KINDS
from soak.traits import Traits, has_circle, traits_of
from soak.verdict import faults

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.topology.routing import VALIANT
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.roce_control import KINDS as CONTROLS
from astra_ns3.network.credit_lanes import check_lanes
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.builders import BUILDERS, build_graph
from astra_ns3.workload.loops.loop_kinds import TEXT_LOOPS

pytestmark = pytest.mark.xdist_group("random cases")  # they share what was drawn
MANY = 350
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "1MB"}
SAFE = Traits("ring", "roce", "none", "ecmp", "go-back-n", True, True, True, True, True)
NACKED = {"nacks": 1}
OVERTAKEN = {"out_of_order_packets": 1}


@pytest.fixture(scope="module")
def many() -> list[Case]:
    return [random_case(seed, SCENARIOS) for seed in range(1, MANY + 1)]


def test_a_seed_gives_one_case_which_survives_being_written_down() -> None:
    assert random_case(5) == random_case(5) != random_case(6)
    assert case_of(random_case(5).document()).document() == random_case(5).document()


def test_networks_with_drawn_switches_on_the_way_have_lanes_enough(many: list[Case]) -> None:
    """Also where switches that reduce have routes of their own: the network of seed 90021 would need more than 5."""
    cases = [*many, *(random_case(seed, SCENARIOS) for seed in (90021, *range(20_000, 20_060)))]
    networks = [parse_network(dict(case.network)) for case in cases if _has_detours(case)]
    assert networks
    for network in networks:
        assert list(check_lanes(plan_network(network))) == []
    assert not _has_detours(random_case(90021, SCENARIOS))


def _has_detours(case: Case) -> bool:
    topology = case.network.get("topology", {})
    return topology.get("routing", {}).get("kind") == VALIANT and "path" not in topology


def several_queue_pairs(cases: list[Case]) -> Iterator[RoceTransport]:
    """RoCE of the cases that have several queue pairs between two NPUs."""
    for case in cases:
        made = [case.network.get("transport"), *case.network.get("transports", [])]
        for each in made:
            if isinstance(each, dict) and each.get("queue_pairs_per_pair", 1) > 1:
                yield RoceTransport.model_validate(each)


def test_loops_are_played_as_traces_too_and_flows_as_lists(many: list[Case]) -> None:
    written = [case.job for case in many if case.job.get("written")]
    assert {job["kind"] for job in written} == {"workload", "flows"}
    assert any(job["kind"] == "workload" and "model_parallel_NPU_group" in job["text"] for job in written)
    assert len(written) < len(many) / 2


def test_some_collectives_are_nccl_s(many: list[Case]) -> None:
    """With every key of its table, on networks of several kinds."""
    drawn = [case for case in many if case.job.get("system", {}).get("collectives") == "nccl"]
    assert 8 <= len(drawn) < len(many) / 8
    assert len({traits_of(case).topology for case in drawn}) > 3
    keys = {key for case in drawn for key in case.job["system"].get("nccl", {})}
    assert {"version", "server", "channels", "nic-efficiency", "NCCL_ALGO", "NCCL_PROTO"} <= keys


def cuts_through(case: Case) -> bool:
    """Whether some switch of the case does."""
    return "cut_through" in str(case.network)


def test_everything_there_is_is_drawn(many: list[Case]) -> None:
    traits = [traits_of(case) for case in many]
    assert set(KINDS) == set(BUILDERS)
    assert {each.topology for each in traits} == set(BUILDERS)
    assert {each.routing for each in traits} == set(ROUTING_KINDS)
    assert {each.transport for each in traits} == {"roce", "tcp", "both"}
    assert {each.reliability for each in traits} == {"go-back-n", "go-back-0", "selective-repeat", "tcp's"}
    own = {"additive.hpp:AdditiveControl", "additive.py:AdditiveControl"}
    assert {each.control for each in traits} == {*CONTROLS, *own, "tcp's"}
    assert {config.queue_pair_use for config in several_queue_pairs(many)} == {"turns", "split"}
    through = [case for case in many if cuts_through(case)]
    assert {traits_of(case).transport for case in through} == {"roce", "tcp", "both"}
    assert any("forwarding" in case.network["topology"] for case in through)
    jobs = [case.job for case in many]
    assert {job["collective"] for job in jobs if job["kind"] == "collective"} == {kind.name for kind in CollectiveKind}
    assert {job["text"].split()[0] for job in jobs if job["kind"] == "workload"} == {*TEXT_LOOPS, WORD}
    texts = [job["text"] for job in jobs if job["kind"] == "workload" and job["text"].startswith(WORD)]
    assert {text.split()[1] for text in texts} == set(MODELS)
    assert any(not case.network for case in many), "no config.txt of HPCC's simulator"


@pytest.mark.parametrize(
    ("topology", "circle"),
    [
        ({"kind": "ring", "npus": 3}, False),
        ({"kind": "ring", "npus": 5}, True),
        ({"kind": "torus", "shape": [5]}, True),
        ({"kind": "torus", "shape": [4, 4]}, True),
        ({"kind": "mesh", "shape": [5]}, False),
        ({"kind": "mesh", "shape": [3, 3]}, True),
        ({"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2}, False),
        ({"kind": "fat-tree", "k": 4}, False),
        ({"kind": "dumbbell", "left": 3, "right": 3}, False),
        ({"kind": "dragonfly", "a": 2, "p": 1, "h": 1}, True),
    ],
)
def test_circles_of_paths_are_where_pfc_can_deadlock(topology: dict[str, object], circle: bool) -> None:
    config = parse_network({"topology": {**topology, "link": LINK, "switch": SWITCH}})
    assert has_circle(build_graph(config.topology)) is circle


def test_ends_are_judged_by_what_a_network_may_do() -> None:
    assert faults(SAFE, Outcome(FINISHED)) == []
    assert faults(SAFE, Outcome(DEADLOCK)) == []
    assert faults(replace(SAFE, has_circle=False), Outcome(DEADLOCK))
    assert faults(replace(SAFE, has_pfc=False), Outcome(DEADLOCK))
    assert faults(SAFE, Outcome(GAVE_UP))
    assert faults(replace(SAFE, data_safe=False), Outcome(GAVE_UP)) == []
    assert faults(replace(SAFE, answers_wait=True), Outcome(GAVE_UP)) == []
    assert faults(SAFE, Outcome("stalled"))
    assert faults(SAFE, Outcome("refused"))
    assert faults(SAFE, Outcome(FINISHED, dropped=1))
    assert faults(replace(SAFE, all_safe=False), Outcome(FINISHED, dropped=1)) == []
    assert faults(SAFE, Outcome(FINISHED, numbers=NACKED))
    assert faults(replace(SAFE, in_order=False), Outcome(FINISHED, numbers=NACKED)) == []
    assert faults(replace(SAFE, data_safe=False), Outcome(FINISHED, numbers=OVERTAKEN))
    assert faults(replace(SAFE, in_order=False), Outcome(FINISHED, numbers=OVERTAKEN)) == []
    assert faults(SAFE, Outcome(FINISHED, problems=("1 frames are out; 0 wait or travel",)))


def _abort(_: Case) -> NoReturn:
    faulthandler.disable()  # pytest's would fill the screen
    os.abort()


def _hang(_: Case) -> NoReturn:
    while True:
        time.sleep(1)


def _raise(_: Case) -> NoReturn:
    raise KeyError("no such thing")


def _leave(_: Case) -> NoReturn:
    os._exit(7)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("play", "end", "message"),
    [
        (_abort, child.CRASHED, "signal 6"),
        (_hang, child.TIME_OUT, "after"),
        (_raise, child.BROKEN, "KeyError: 'no such thing'"),
        (_leave, child.CRASHED, "exit status 7"),
    ],
)
def test_whatever_ends_a_child_is_an_outcome(
    play: Callable[[Case], Outcome], end: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "play", play)
    budget_seconds = 1.0 if play is _hang else 60.0  # a busy machine may take a second to do nothing
    outcome = child.play_in_child(Case("x", {}, {}, budget_seconds=budget_seconds))
    assert outcome.end == end
    assert outcome.message.startswith(message)
    assert faults(SAFE, outcome)
