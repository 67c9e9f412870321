"""The critical path: its links follow each other and add up to the run exactly, whatever is run on whatever network."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3.cli.main import status_of
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.network.api import Limits
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.explanation.parts import COMPUTE, ENDPOINT, MESSAGE, OTHER, STOPPED, UPDATE
from astra_ns3.report.explanation.path import critical_path
from astra_ns3.report.explanation.run_tables import Tables
from astra_ns3.report.explanation.slowed import longer_ps
from astra_ns3.report.page.page import report_page
from astra_ns3.report.summary import run_text
from astra_ns3.studies.measures import measures_of
from astra_ns3.workload.files.astra_sim import parse_workload

US = 1_000_000
MS = 1_000_000_000
LAYER = "{name} -1 {time} {forward} {size} {time} ALLREDUCE {size} {time} ALLREDUCE {size} {update}"
SWITCH = {"buffer": "200KB", "pfc": {"priorities": [3]}, "ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.2}}
LINK = {"rate": "100Gbps", "delay": "500ns"}
TOPOLOGIES: dict[str, dict[str, Any]] = {
    "star": {"kind": "single-switch", "npus": 8, "link": LINK, "switch": SWITCH},
    "leaves": {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 2, "link": LINK, "switch": SWITCH},
    "nodes": {
        "kind": "hierarchical",
        "nodes": 4,
        "npus_per_node": 2,
        "scale_up": {"link": {"rate": "1Tbps", "delay": "25ns"}, "switch": SWITCH},
        "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
    },
}


def run(tmp_path: Path, seed: int, *, topology: str = "star", **options: Any) -> astra_ns3.Result:
    """A run of two layers, drawn by ``seed``."""
    draw = random.Random(seed)
    layers = [
        LAYER.format(
            name=name,
            time=draw.choice((0, 700, 20_000)),
            forward=draw.choice(("ALLGATHER", "ALLTOALL")),
            size=draw.choice((1, 4_000, 300_000)),
            update=draw.choice((0, 40)),
        )
        for name in ("first", "second")
    ]
    workload = parse_workload("\n".join([draw.choice(("DATA", "MODEL")), "2", *layers]), "two")
    dimensions = 2 if topology == "nodes" else 1
    keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    algorithms = {f"{key}-implementation": [draw.choice(("ring", "direct")) for _ in range(dimensions)] for key in keys}
    system = small_system(
        **algorithms,
        **{
            "endpoint-delay": draw.choice((0, 10, 300)),
            "scheduling-policy": draw.choice(("LIFO", "FIFO")),
            "preferred-dataset-splits": draw.choice((1, 5)),
            "active-chunks-per-dimension": draw.choice((1, 2)),
            "collective-optimization": draw.choice(("baseline", "localBWAware")),
            "start-jitter": draw.choice((0, 0, 90)),
            "num-queues-per-dim": draw.choice((1, 1, 2)),
        },
    )
    transport = draw.choice(
        (
            {"kind": "tcp"},
            {"kind": "roce", "congestion_control": "dcqcn"},
            {"kind": "roce", "congestion_control": "hpcc"},
        )
    )
    network = parse_network({"topology": TOPOLOGIES[topology], "transport": transport})
    arguments = {"passes": draw.choice((1, 3)), "record": ["timeline", "flows"], "output": tmp_path / "out", **options}
    return astra_ns3.run(workload=workload, system=system, network=network, seed=seed, **arguments)


def test_the_last_message_of_a_part_is_the_one_that_ends_at_the_moment_asked_for(tmp_path: Path) -> None:
    tables = Tables(run(tmp_path / "full", 1))
    assert tables.messages is not None
    message = int(np.argmin(tables.end))
    instance, npu = int(tables.message_instance[message]), int(tables.destination[message])
    ends_ps = int(tables.end[message])
    assert tables.last_received(instance, npu, ends_ps - 1) == -1
    assert tables.end[tables.last_received(instance, npu, ends_ps)] == ends_ps


def check(result: astra_ns3.Result) -> Explanation:
    """The chain has no hole and nothing unknown in it, and the explanation adds up to it."""
    tables = Tables(result)
    links = critical_path(tables)
    finishes = tables.operation_end.max()
    assert (links[0].start_ps, links[-1].end_ps) == (0, finishes)
    assert all(before.end_ps == after.start_ps for before, after in pairwise(links))
    assert OTHER not in {link.kind for link in links}
    found = explain(result)
    assert found.time_ps == finishes == sum(found.kinds.values()) + sum(each.time_ps for each in found.communications)
    assert all(sum(each.parts.values()) == each.time_ps for each in found.communications)
    for iteration in range(result.metadata["passes"]):
        one = explain(result, iteration=iteration)
        assert one.time_ps == sum(link.time_ps for link in one.segments)
        rows = result.operations[(result.operations["iteration"] == iteration) & (result.operations["kind"] != "issue")]
        assert one.time_ps == rows["end_ps"].max() - rows["start_ps"].min()
    return found


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("seed", range(1, 9))
def test_the_chain_adds_up_to_the_run_exactly(topology: str, seed: int, tmp_path: Path) -> None:
    check(run(tmp_path, seed, topology=topology))


@pytest.mark.parametrize("options", [{"compat": "astra-sim-1.0"}, {"backend": "analytical"}])
def test_also_by_the_rules_of_others_and_by_formula(options: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(1, 4):
        check(run(tmp_path / str(seed), seed, **options))


def test_every_delay_of_an_npu_on_the_chain_is_one_that_it_has(tmp_path: Path) -> None:
    # No link is a guess: a message is handled so long after it came, and a chunk sends so long after its start.
    for seed in range(1, 7):
        result = run(tmp_path / str(seed), seed, topology="nodes")
        if result.metadata["system"]["start-jitter"]:
            continue
        delay_ps = result.metadata["system"]["endpoint-delay"] * 1000
        links = critical_path(Tables(result))
        assert {link.time_ps for link in links if link.kind == ENDPOINT} <= {delay_ps}


def test_a_ring_by_hand(tmp_path: Path) -> None:
    # One chunk round a ring of 4: computing, then 6 steps of a message and its handling, nothing else.
    system = small_system(**{"preferred-dataset-splits": 1, "endpoint-delay": 10})
    workload = parse_workload("DATA\n1\none -1 0 NONE 0 0 NONE 0 5 ALLREDUCE 40000 0\n", "one")
    topology = {**TOPOLOGIES["star"], "npus": 4}
    network = parse_network({"topology": topology, "transport": {"kind": "roce"}})
    result = astra_ns3.run(
        workload=workload, system=system, network=network, record=["timeline", "flows"], output=tmp_path / "out"
    )
    links = critical_path(Tables(result))
    assert [link.kind for link in links] == [COMPUTE, ENDPOINT, *[MESSAGE, ENDPOINT] * 6]
    assert [link.time_ps for link in links if link.kind == ENDPOINT] == [10_000] * 7
    messages = [link for link in links if link.kind == MESSAGE]
    assert [link.npu for link in messages] == [(messages[0].npu + step) % 4 for step in range(6)]
    found = explain(result, collective=0)
    assert found.time_ps == sum(link.time_ps for link in links[1:])


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_slow_npu_whose_late_messages_fill_its_line_costs_at_most_what_is_said(backend: str, tmp_path: Path) -> None:
    """Late chunks of several steps go one behind the other, so the chain passes the waits and not what came before."""
    layer = "{0} -1 {1} NONE 0 {1} NONE 0 {1} ALLREDUCE {2} 0"
    workload = "\n".join(["DATA", "2", layer.format("a", 20_000, 150_000), layer.format("b", 50_000, 8_000_000)])
    splits = {"preferred-dataset-splits": 8, "active-chunks-per-dimension": 4}
    network = {"topology": TOPOLOGIES["leaves"], "transport": {"kind": "roce", "congestion_control": "dcqcn"}}

    def played(output: Path | None = None, factor: float = 2.0, **options: Any) -> astra_ns3.Result:
        return astra_ns3.run(
            workload=parse_workload(workload, "late"),
            system=small_system(**{"all-reduce-implementation": ["ring"]}, **splits),
            network=parse_network(network),
            compute_slowdown={"stragglers": [{"npus": [3], "factor": factor}]},
            output=output,
            **{"backend": backend, **options},
        )

    slow = played(tmp_path, record=["timeline", "accounts"])
    saved = {each.change: each.time_ps for each in explain(slow).what_ifs}
    for change, other in (
        ("with NPUs that compute twice as fast", played(compute_scale=0.5)),
        ("without slow NPUs", played(factor=1.0)),
    ):
        assert 0 < slow.finish_ps - other.finish_ps <= saved[change]


def test_a_collective_or_an_iteration_is_told_by_its_own_messages(tmp_path: Path) -> None:
    result = run(tmp_path, 1, passes=3, record=["timeline", "accounts"])
    accounts = result.accounts
    iterations = dict(zip(result.collectives["collective"], result.collectives["iteration"], strict=True))
    waited_ps = accounts["nic_queue_ps"] + accounts["nic_paused_ps"]

    def check_messages(found: Explanation, own: Any) -> None:
        assert {each.collective for each in found.slowest} <= set(accounts["collective"][own])
        assert sum(each.alike for each in found.slowest) == own.sum()
        in_nics = {port: ps for port, ps in found.ports if port.startswith("host")}
        of_source = waited_ps[own].groupby(accounts["source"][own]).sum()
        assert in_nics == {f"host{source}": ps for source, ps in of_source.items() if ps}
        assert found.congested is None  # ports count over the whole run
        assert "ports with" not in found.text()

    everything = 10**6
    for number in iterations:
        check_messages(explain(result, collective=number, top=everything), accounts["collective"] == number)
    for iteration in range(3):
        check_messages(
            explain(result, iteration=iteration, top=everything), accounts["collective"].map(iterations) == iteration
        )


def test_messages_that_differ_in_their_ends_and_start_alone_are_one_line(tmp_path: Path) -> None:
    result = run(tmp_path, 1, record=["timeline", "accounts"])
    found = explain(result, top=5)
    assert len(found.slowest) <= 5
    accounts = result.accounts
    took = accounts["end_ps"] - accounts["start_ps"]
    for message in found.slowest:
        same = accounts[(accounts["collective"] == message.collective) & (accounts["bytes"] == message.bytes)]
        same = same[took[same.index] == message.time_ps]
        same = same[(same[list(message.parts)].to_numpy() == np.array([*message.parts.values()])).all(axis=1)]
        assert message.alike == len(same)
    told = [(each.name, each.bytes, each.time_ps, each.parts) for each in found.slowest]
    assert all(each not in told[:place] for place, each in enumerate(told))
    assert ", and " in found.text() or all(each.alike == 1 for each in found.slowest)


def test_rows_that_are_the_same_are_one_with_their_count() -> None:
    """The NPUs of a ring do the same; so do the lines between its switches."""
    workload = parse_workload("MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 400000 0\n", "one")
    network = parse_network(
        {"topology": {"kind": "ring", "npus": 16, "link": LINK, "switch": SWITCH}, "transport": {"kind": "tcp"}}
    )
    system = small_system(**{"all-reduce-implementation": ["ring"]})
    found = explain(
        astra_ns3.run(workload=workload, system=system, network=network, record=["timeline", "accounts"]), top=3
    )
    sections = {each.splitlines()[0]: each.splitlines()[1:] for each in found.text().split("\n\n")}
    assert len(found.ports) >= 2 * 16
    waited = sections["where messages waited (sums over messages)"]
    assert len(waited) <= 3
    assert all(" and 15 more  " in line and line.endswith(" each") for line in waited)
    assert len([line for line in sections["messages that took longest"] if line.startswith("  NPU ")]) <= 3
    assert sum(int(line.split(" more")[0].split()[-1]) + 1 for line in waited) == len(found.ports)


def test_what_would_help_is_told_as_less_time(tmp_path: Path) -> None:
    found = explain(run(tmp_path, 1, record=["timeline", "accounts"]))
    assert found.what_ifs
    for each in found.what_ifs:
        (line, *_) = [line for line in found.text().splitlines() if line.strip().startswith(each.change)]
        assert f"{100 * each.time_ps / found.time_ps:.1f}% less time" in line


def said_of(result: astra_ns3.Result) -> dict[str, float]:
    """What each change would save, as a share of the run's time."""
    return {each.change: each.time_ps / result.finish_ps for each in explain(result).what_ifs}


def micro(kind: str, size: int, transport: dict[str, Any], **link: str | float) -> astra_ns3.Result:
    """A collective of four NPUs on one switch, with accounts."""
    switch = {"buffer": "64MB", "pfc": {}}
    topology = {"kind": "single-switch", "npus": 4, "link": LINK | link, "switch": switch}
    return astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {kind} {size} 0", "one"),
        system=small_system(**{"all-to-all-implementation": ["direct"], "preferred-dataset-splits": 2}),
        network=parse_network({"topology": topology, "transport": transport}),
        record=["timeline", "accounts"],
    )


_BDP = {"kind": "roce", "congestion_control": "dctcp"}
_LATE = {"kind": "selective-repeat", "timeout": "1ms", "reordering_packets": 64}


def test_a_tolerance_above_the_window_is_warned_of() -> None:
    (warning,) = micro("ALLREDUCE", 400, _BDP | {"reliability": _LATE}).metadata["warnings"]
    assert "is not below the" in warning


@pytest.mark.parametrize(
    ("transport", "size", "error_rate"),
    [(_BDP | {"reliability": _LATE}, 1_000_000, 0.001), ({"kind": "tcp", "min_rto": "10ms"}, 100_000, 0.01)],
)
def test_what_losses_cost_is_said_where_they_wait_for_timers(
    transport: dict[str, Any], size: int, error_rate: float
) -> None:
    """No packet of RoCE shows a loss before it, since the window holds fewer than are tolerated; TCP loses a SYN."""
    lossy, clean = (micro("ALLREDUCE", size, transport, error_rate=rate) for rate in (error_rate, 0.0))
    found = 1 - clean.finish_ps / lossy.finish_ps
    assert found > 0.8
    assert found <= said_of(lossy)["without losses"] < found + 0.1


@pytest.mark.parametrize("control", ["none", "hpcc", "dctcp"])
def test_no_advice_promises_more_than_the_floor_allows(control: str) -> None:
    transport = {"kind": "roce", "congestion_control": control}
    slow, fast = (micro("ALLTOALL", 2_000_000, transport, rate=rate) for rate in ("100Gbps", "200Gbps"))
    floor = slow.metadata["floor"]
    assert floor is not None
    said = said_of(slow)
    lines = said.pop("with lines twice as fast")
    assert all(share * slow.finish_ps < slow.finish_ps - floor["time_ps"] + 1 for share in said.values())
    assert 1 - fast.finish_ps / slow.finish_ps <= lines * 1.001
    assert "without waiting in the NIC for other collectives" not in said


def test_over_tcp_no_advice_is_about_the_nic() -> None:
    """Chunks of some bytes wait for a message that waits for the handshake."""
    said = said_of(micro("ALLREDUCE", 400, {"kind": "tcp", "congestion_control": "Dctcp"}, delay="5us"))
    assert not [change for change in said if "NIC" in change]


_CLOSED_WINDOW = {"kind": "roce", "congestion_control": "static-window", "window": "20KB"}
_ACKNOWLEDGED = {"kind": "roce", "congestion_control": "none", "completion": "acknowledged"}


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    ("transport", "delay", "size"),
    [
        (_CLOSED_WINDOW, "5us", 1_000_000),  # a round trip of propagation for each window
        (_ACKNOWLEDGED, "5us", 4_000),
        ({"kind": "tcp", "window": "0.5MB"}, "50us", 1_000_000),
        ({"kind": "roce", "congestion_control": "none"}, "500ns", 1_000_000),  # lines alone
        ({"kind": "tcp", "window": "64KB"}, "500ns", 200_000),  # held by segments of its own, in its NIC
    ],
)
@pytest.mark.parametrize("active", [1, 4])
def test_faster_lines_save_at_most_what_is_said(
    transport: dict[str, Any], delay: str, size: int, active: int, backend: str
) -> None:
    def played(rate: str) -> astra_ns3.Result:
        link = {"rate": rate, "delay": delay}
        topology = {"kind": "single-switch", "npus": 4, "link": link, "switch": {"buffer": "64MB"}}
        return astra_ns3.run(
            workload=parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0", "one"),
            system=small_system(**{"preferred-dataset-splits": 4, "active-chunks-per-dimension": active}),
            network=parse_network({"topology": topology, "transport": transport}),
            record=["timeline", "accounts"],
            backend=backend,
        )

    slow, fast = played("100Gbps"), played("200Gbps")
    assert 1 - fast.finish_ps / slow.finish_ps <= said_of(slow)["with lines twice as fast"] * 1.001


def test_waits_for_other_npus_are_no_messages_so_a_chain_needs_single_ones(tmp_path: Path) -> None:
    """Of a late NPU all others would seem to send for as long as they wait."""
    result = run(tmp_path, 1, record=["timeline"])
    found = explain(result)
    assert (found.segments, found.communications, found.what_ifs) == ((), (), ())
    assert "the chain, and single messages: run with --record flows" in found.text()
    for keys in ({"iteration": 0}, {"collective": 0}):
        with pytest.raises(InputError, match="needs single messages: run with --record timeline --record flows"):
            explain(result, **keys)


def test_without_records_it_says_what_would_tell_more(tmp_path: Path) -> None:
    found = explain(run(tmp_path, 1, record=[]))
    assert (found.segments, found.slowest) == ((), ())
    assert [word in found.text() for word in ("--record timeline", "--record flows", "--record accounts")] == [True] * 3
    with pytest.raises(InputError, match="run with --record timeline"):
        explain(run(tmp_path / "again", 1, record=[]), iteration=0)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    result = run(tmp_path, 2)
    with pytest.raises(InputError, match=r"there is no iteration 7, expected 0\.\."):
        explain(result, iteration=7)
    with pytest.raises(InputError, match="there is no collective 99"):
        explain(result, collective=99)


def stopped(tmp_path: Path, at_ps: int) -> astra_ns3.Result:
    """A run that a limit has stopped."""
    with pytest.raises(LimitReached) as caught:
        run(tmp_path, 2, limits=Limits(simulated_ps=at_ps))
    assert isinstance(caught.value.result, astra_ns3.Result)
    return caught.value.result


@pytest.mark.parametrize("share", [3, 2])
def test_a_stopped_run_is_explained_as_far_as_it_went_and_nothing_is_made_up(share: int, tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", 2)
    result = stopped(tmp_path, whole.finish_ps // share)
    found = explain(result)
    assert found.time_ps == result.finish_ps == sum(link.time_ps for link in found.segments)
    assert {link.kind for link in found.segments} & {STOPPED, COMPUTE}
    updates = sum(link.time_ps for link in found.segments if link.kind == UPDATE)
    assert updates <= 40_000 * len(result.collectives)
    assert "which was stopped before its end" in found.text().splitlines()[0]
    unended = result.collectives[result.collectives["end_us"].isna()]["collective"]
    for number in unended.tolist():
        with pytest.raises(InputError, match=r"had not ended|there is no collective"):
            explain(result, collective=int(number))


def test_a_collective_with_nothing_to_do_has_a_number_and_breaks_nothing(tmp_path: Path) -> None:
    layers = "a -1 0 NONE 0 0 NONE 0 900 ALLREDUCE {size} 0\n"
    text = layers.format(size=0) + layers.format(size=4000).replace("a", "b", 1)
    workload = parse_workload(f"DATA\n2\n{text}", "two")
    network = parse_network({"topology": TOPOLOGIES["star"], "transport": {"kind": "roce"}})
    out = tmp_path / "out"
    result = astra_ns3.run(
        workload=workload, system=small_system(), network=network, passes=2, record=["all"], output=out
    )
    numbers = result.collectives["collective"].tolist()
    assert numbers != list(range(len(numbers)))
    check(result)
    assert status_of(["timeline", str(out)]) == 0
    assert status_of(["plot", str(out), "accounts", "-o", str(tmp_path / "accounts.svg")]) == 0
    page = report_page([result], {})
    assert "other messages" not in page


def test_of_a_message_that_a_pass_cuts_only_its_time_counts_and_none_of_its_parts(tmp_path: Path) -> None:
    """Accounts tell of whole messages: of one that began in the pass before nobody knows which part came when."""
    cut = 0
    for seed in range(1, 9):
        result = run(tmp_path / str(seed), seed, record=["timeline", "accounts"], passes=3)
        for iteration in range(3):
            found = explain(result, iteration=iteration)
            assert all(sum(each.parts.values()) == each.time_ps for each in found.communications)
            cut += sum(not segment.whole and segment.message >= 0 for segment in found.segments)
    assert cut


def test_a_wait_in_a_nic_of_roce_is_at_its_host(tmp_path: Path) -> None:
    """Two messages leave a NIC in turns, each a frame behind the other."""
    system = small_system(**{"all-to-all-implementation": ["direct"], "preferred-dataset-splits": 1})
    workload = parse_workload("MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLTOALL 400000 0\n", "one")
    network = parse_network({"topology": {**TOPOLOGIES["star"], "npus": 4}, "transport": {"kind": "roce"}})
    result = astra_ns3.run(
        workload=workload, system=system, network=network, record=["timeline", "accounts"], output=tmp_path / "out"
    )
    found = explain(result, top=100)
    waited = dict(found.ports)
    for host in range(4):
        accounts = result.accounts[result.accounts["source"] == host]
        waited_ps = int((accounts["nic_queue_ps"] + accounts["nic_paused_ps"]).sum())
        assert waited_ps > 0
        assert waited[f"host{host}"] == waited_ps
    for message in found.slowest:
        in_nic_ps = sum(message.parts.get(part, 0) for part in ("nic_queue_ps", "nic_paused_ps"))
        assert message.path[0] == (f"host{message.source}", in_nic_ps)


def test_a_port_with_a_queue_of_few_frames_is_no_trouble() -> None:
    """No two messages of a ring meet below one switch; some of an all-to-all share an uplink of a leaf."""

    def explained(topology: str, kind: str) -> Explanation:
        without_marks = {**TOPOLOGIES[topology], "switch": {"buffer": "64MB"}}
        transport = {"kind": "roce", "congestion_control": "none", "reliability": {"kind": "selective-repeat"}}
        workload = parse_workload(f"MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 {kind} 400000 0\n", "one")
        system = small_system(**{"all-reduce-implementation": ["ring"], "all-to-all-implementation": ["direct"]})
        network = parse_network({"topology": without_marks, "transport": transport})
        return explain(astra_ns3.run(workload=workload, system=system, network=network))

    ring, crowd = explained("star", "ALLREDUCE"), explained("leaves", "ALLTOALL")
    assert ring.congested == ()
    assert "ports with most trouble: none" in ring.text()
    assert crowd.congested
    assert all(port["highest_queue_bytes"] > 10_000 for port in crowd.congested)


@pytest.mark.parametrize(
    ("switch", "words"),
    [({"pfc": {"alpha": 0.01}}, "paused"), ({"credits": {"bytes": "8KiB"}}, "a lane without further credit")],
)
def test_ports_with_trouble_say_what_stopped_them(switch: JsonObject, words: str) -> None:
    transport = {"kind": "roce", "congestion_control": "none"}
    topology = {**TOPOLOGIES["leaves"], "switch": {"buffer": "1MB", **switch}}
    workload = parse_workload("MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLTOALL 400000 0\n", "one")
    system = small_system(**{"all-to-all-implementation": ["direct"]})
    network = parse_network({"topology": topology, "transport": transport})
    found = explain(astra_ns3.run(workload=workload, system=system, network=network))
    assert found.congested
    assert f", {words} for " in found.text().partition("ports with most trouble")[2]


@pytest.mark.parametrize("backend", ["flow", "analytical", "analytical-queues"])
def test_without_packets_nobody_says_that_ports_had_no_trouble(backend: str) -> None:
    transport = {"kind": "roce", "congestion_control": "none", "reliability": {"kind": "selective-repeat"}}
    workload = parse_workload("MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLTOALL 400000 0\n", "one")
    network = parse_network({"topology": TOPOLOGIES["star"], "transport": transport})
    result = astra_ns3.run(workload=workload, system=small_system(), network=network, backend=backend)
    found = explain(result)
    assert found.congested is None
    assert found.document()["congested"] is None
    assert "ports with most trouble" not in found.text()
    assert "ports with losses, pauses, marks or long queues: run with a network of packets" in found.text()
    counted = {"packets", "dropped_frames", "marked_frames", "pauses", "cnps", "retransmissions"}
    assert counted.isdisjoint(result.metadata["statistics"])
    ports = result.rows("switch.csv")
    assert bool(ports) == (backend == "flow")
    assert all(int(row["sent_bytes"]) > 0 and row["highest_queue_bytes"] == "" for row in ports)
    measures = measures_of(result)
    assert all(measures[name] is None for name in ("drops", "ecn_marks", "pauses", "paused_us", "max_queue_bytes"))


def test_frames_lost_on_a_link_are_trouble_and_stand_in_the_table() -> None:
    lossy = {**TOPOLOGIES["star"], "link": {"rate": "100Gbps", "delay": "500ns", "error_rate": 0.02}}
    transport = {"kind": "roce", "congestion_control": "none", "reliability": {"kind": "selective-repeat"}}
    workload = parse_workload("MICRO\n1\none -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 400000 0\n", "one")
    network = parse_network({"topology": lossy, "transport": transport})
    result = astra_ns3.run(workload=workload, system=small_system(), network=network)
    found = explain(result)
    assert found.congested
    assert found.congested[0]["lost_frames"] > 0
    assert " lost on the link" in found.text()
    lost = result.metadata["statistics"]["lost_frames"]
    assert f"lost frames            {lost:,}\n" in run_text(result.metadata, None)


def test_a_chain_without_accounts_says_how_to_learn_what_the_network_would_save(tmp_path: Path) -> None:
    found = explain(run(tmp_path, 1, record=["timeline", "flows"]))
    assert found.text().count("with another network") == 1
    (line,) = [line for line in found.text().splitlines() if line.strip().startswith("with another network")]
    assert line.endswith("not told: run with --record accounts, or explain with --play")
    assert "with lines twice as fast" not in found.text()
    assert "with another network" not in explain(run(tmp_path / "all", 1, record=["timeline", "accounts"])).text()


def beside(size: int, communication: float = 0.5, rate: str = "100Gbps", **options: Any) -> astra_ns3.Result:
    """Four NPUs that compute for 1 ms while they add up gradients of a layer."""
    topology = {
        "kind": "single-switch",
        "npus": 4,
        "link": {"rate": rate, "delay": "1ns"},
        "switch": {"buffer": "64MB"},
    }
    layers = [f"a -1 0 NONE 0 0 NONE 0 {MS // 1000} NONE 0 0", f"b -1 0 NONE 0 0 NONE 0 1 ALLREDUCE {size} 0"]
    return astra_ns3.run(
        workload=parse_workload("\n".join(["DATA", "2", *layers]), "two"),
        system=small_system(**{"preferred-dataset-splits": 1, "endpoint-delay": 0}),
        network=parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}}),
        compute_slowdown={"communication": {"processors": communication}},
        backend="flow",
        **options,
    )


@pytest.mark.parametrize(("size", "factor"), [(4_000_000, 2), (8_000_000, 2), (4_000_000, 4)])
def test_faster_lines_slow_computing_beside_collectives_for_half_as_long(
    size: int, factor: int, tmp_path: Path
) -> None:
    """Beside a collective of C an NPU does C / factor of its work: faster lines save C / 2 (1 - 1 / factor)."""
    collective_ps = float(beside(size, 0.01).collectives["duration_us"].iloc[0]) * US
    result = beside(size, 1 - 1 / factor, record=["timeline", "accounts"], output=tmp_path)
    lost_ps = collective_ps * (1 - 1 / factor)
    assert result.finish_ps == pytest.approx(MS + lost_ps, rel=0.001)
    found = explain(result)
    told = {each.change: each.time_ps for each in found.what_ifs}
    assert found.beside == pytest.approx((collective_ps, factor), rel=0.03)
    longer = longer_ps(Tables(result), found.segments, Fraction(factor))
    assert longer == pytest.approx(lost_ps, rel=0.03)  # of what it computed beside the collective alone
    assert found.document()["beside"] == {"time_ps": found.beside[0], "factor": factor}
    assert f"of it, {factor} times as long as without: " in found.text()
    other = beside(size, 1 - 1 / factor, rate="200Gbps")
    assert result.finish_ps - other.finish_ps == pytest.approx(lost_ps / 2, rel=0.03)
    assert result.finish_ps - other.finish_ps <= told["with lines twice as fast"]


@pytest.mark.parametrize("policy", ["LIFO", "FIFO"])
@pytest.mark.parametrize("factor", [1.2, 2.0])
def test_without_a_slow_npu_messages_go_in_another_order(policy: str, factor: float, tmp_path: Path) -> None:
    """Its late gradients change the order of all, which a run without it doesn't have. With LIFO, that saves more."""
    layers = [f"l{number} -1 200000 NONE 0 200000 NONE 0 200000 ALLREDUCE 4000000 10" for number in range(4)]

    def played(compute: float = 1.0, slow: float = factor, **options: Any) -> astra_ns3.Result:
        return astra_ns3.run(
            workload=parse_workload("\n".join(["DATA", "4", *layers]), "four"),
            system=small_system(**{"scheduling-policy": policy, "preferred-dataset-splits": 4}),
            network=parse_network({"topology": TOPOLOGIES["star"], "transport": {"kind": "roce", "payload": 4096}}),
            compute_slowdown={"stragglers": [{"npus": [1], "factor": slow}]},
            compute_scale=compute,
            backend="flow",
            **options,
        )

    slow = played(record=["timeline", "accounts"], output=tmp_path)
    told = {each.change: each for each in explain(slow).what_ifs}
    for change, other in (
        ("without slow NPUs", played(slow=1.0)),
        ("with NPUs that compute twice as fast", played(0.5)),
    ):
        within = slow.finish_ps - other.finish_ps <= told[change].time_ps
        assert within or policy == "LIFO"
        assert told[change].caveats == ("if messages keep their order",)
    assert told["without NPUs' own delays"].caveats == ("if messages keep their order",)
