"""Switches played in windows give what one list of events gives, to the picosecond, on any number of cores.

A switch whose port is observed is not played in windows, nor is any other of its network.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from soak.cases import random_case
from soak.play import play
from support.lengths import some_slow
from support.small_run import small_system

import astra_ns3
from astra_ns3 import Result
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.workload.files.astra_sim import parse_workload

CASES = 24
CASES_BY_CREDIT = 12
TABLES = ("flows", "accounts", "account_hops")
SAME = (
    "events",
    "cnps",
    "marked_frames",
    "retransmissions",
    "timeouts",
    "dropped_frames",
    "lost_frames",
    "pause_storms",
)


def _drawn_topology(draw: random.Random) -> dict[str, Any]:
    """Six switches or more, so that windows pay; links between them longer than those of hosts, or as long."""
    link = {
        "rate": draw.choice(["100Gbps", "25Gbps", "37Gbps"]),
        "delay": draw.choice(["500ns", "1us", "133ns"]),
        **draw.choice([{}, {}, {"error_rate": 1e-3}]),
    }
    switch: dict[str, Any] = {"buffer": draw.choice(["1GB", "200KB"])}
    if draw.random() < 0.6:
        switch |= {"buffer": "2MB", "pfc": {"priorities": [3], "alpha": 0.03}, "ecn": {"kmin": "20KB", "kmax": "80KB"}}
    if draw.random() < 0.3:
        switch["cut_through"] = "64B"
    routing = {"routing": {"kind": draw.choice(["ecmp", "ecmp", "spray", "adaptive", "flowlet"])}}
    return draw.choice(
        [
            {"kind": "fat-tree", "k": 4, "link": link, "switch": switch, **routing},
            {
                "kind": "leaf-spine",
                "leaves": 4,
                "hosts_per_leaf": 4,
                "spines": 3,
                "link": link,
                "uplink": {**link, "delay": draw.choice(["500ns", "2us", "90ns"])},
                "switch": switch,
                **routing,
            },
        ]
    )


def _by_credit(topology: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """The same with links by credit; some are tori, which need lanes."""
    given = {"bytes": draw.choice(["3KB", "9KB", "64KB"]), "update": draw.choice(["1ns", "70ns"]), "lanes": 1}
    switch = {"buffer": "64MB", "credits": given}
    if draw.random() < 0.4:
        torus = {"kind": "torus", "shape": [4, 4], "routing": topology["routing"]}
        topology = {**torus, "link": topology["link"]}
        given["lanes"] = 4
    return {**topology, "switch": switch}


def _drawn_transport(draw: random.Random) -> dict[str, Any]:
    if draw.random() < 0.3:
        return {"kind": "tcp"}
    pint = {"kind": "hpcc-pint", "sampling": 0.5}
    return {
        "kind": "roce",
        "congestion_control": draw.choice(["none", "dcqcn", "timely", "dctcp", "hpcc", "swift", pint]),
    }


def _drawn_flows(draw: random.Random, path: Path) -> Path:
    """Some many to one, many at the same moment."""
    rows = ["source,destination,bytes,start"]
    for _ in range(60):
        source, destination = draw.sample(range(16), 2)
        destination = 3 if source != 3 and draw.random() < 0.4 else destination
        size = draw.choice([1, 999, 20_000, 150_000])
        rows.append(f"{source},{destination},{size},{draw.choice([0, 0, 1000, draw.randrange(30_000)])}ns")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def _play(network: dict[str, Any], flows: Path, output: Path, seed: int, cores: int = 1) -> Result:
    return astra_ns3.run(
        network=parse_network(network),
        workload=flows,
        system=small_system(),
        output=output,
        record=("flows", "accounts"),
        seed=seed,
        cores=cores,
    )


@pytest.mark.parametrize("seed", some_slow(range(CASES + CASES_BY_CREDIT), range(0, CASES + CASES_BY_CREDIT, 4)))
def test_windows_and_cores_change_nothing(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    network = {"topology": _drawn_topology(draw), "transport": _drawn_transport(draw)}
    if seed >= CASES:
        network["topology"] = _by_credit(network["topology"], draw)
        if network["transport"]["kind"] == "roce":
            network["transport"]["cnp_priority"] = 4  # below those from which four lanes reach beyond 7
    flows = _drawn_flows(draw, tmp_path / "flows.csv")
    observed = {**network, "observe": {"queues": ["switch0:0"]}}
    results = {
        "windows": _play(network, flows, tmp_path / "windows", seed + 1),
        "cores": _play(network, flows, tmp_path / "cores", seed + 1, cores=2 + seed % 2),
        "list": _play(observed, flows, tmp_path / "list", seed + 1),
    }
    for way in ("cores", "list"):
        for table in TABLES:
            one, other = (pd.read_parquet(tmp_path / each / f"{table}.parquet") for each in ("windows", way))
            pd.testing.assert_frame_equal(one, other)
        one_ports, other_ports = ((tmp_path / each / "switch.csv").read_bytes() for each in ("windows", way))
        assert one_ports == other_ports
        one_run, other_run = (
            {name: dict(results[each].metadata["statistics"]).get(name) for name in SAME} for each in ("windows", way)
        )
        assert one_run == other_run
        assert results["windows"].finish_ps == results[way].finish_ps


_LINK = {"rate": "100Gbps", "delay": "500ns"}
_SWITCH = {"buffer": "2MB", "pfc": {"priorities": [3], "alpha": 0.03}, "ecn": {"kmin": "20KB", "kmax": "80KB"}}
_TOPOLOGIES = {
    "fat tree": {"kind": "fat-tree", "k": 4, "link": _LINK, "switch": _SWITCH},
    "one switch": {"kind": "single-switch", "npus": 16, "link": _LINK, "switch": _SWITCH},
    "losses": {"kind": "fat-tree", "k": 4, "link": {**_LINK, "error_rate": 1e-4}, "switch": _SWITCH},
}
_COLLECTIVES = {
    "ring": ("ALLREDUCE", "dcqcn"),
    "halvingDoubling": ("ALLREDUCE", "timely"),
    "direct": ("ALLTOALL", "hpcc"),
}
"""By algorithm; under a congestion control."""


@pytest.mark.parametrize("algorithm", _COLLECTIVES)
@pytest.mark.parametrize("topology", _TOPOLOGIES)
def test_hosts_by_themselves_change_nothing(topology: str, algorithm: str, tmp_path: Path) -> None:
    """On one core hosts are played by themselves while no phase may end; on two they aren't, nor from one list."""
    kind, control = _COLLECTIVES[algorithm]
    network = {"topology": _TOPOLOGIES[topology], "transport": {"kind": "roce", "congestion_control": control}}
    workload = parse_workload(
        f"DATA\n2\na -1 10 NONE 0 10 NONE 0 3000 {kind} 1600000 10\nb -1 10 NONE 0 10 NONE 0 70 {kind} 40000 10\n",
        "two.txt",
    )
    names = {"all-reduce-implementation": algorithm} if kind == "ALLREDUCE" else {}
    files = {}
    for way, observe, cores in (("apart", {}, 1), ("threads", {}, 2), ("list", {"queues": ["switch0:0"]}, 1)):
        astra_ns3.run(
            network=parse_network({**network, "observe": observe}),
            workload=workload,
            system=small_system(**names),
            output=tmp_path / way,
            record=("flows",),
            cores=cores,
        )
        written = [path for path in (tmp_path / way).iterdir() if path.suffix in (".csv", ".parquet")]
        files[way] = {path.name: path.read_bytes() for path in written if path.stem != "queues"}
    assert {"flows.parquet", "switch.csv"} <= files["apart"].keys()
    assert files["apart"] == files["threads"] == files["list"]


TIGHT = {"buffer": 21_812, "pfc": {"priorities": [3], "alpha": 4.0, "reserve": 0, "resume_offset": 2464}}
"""A buffer little larger than its headroom: neighbours are stopped and let go on all the time."""
LOSSY = {"kind": "fat-tree", "k": 4, "link": {"rate": "25Gbps", "delay": "500ns", "error_rate": 0.02}}
OBSERVED: dict[str, dict[str, Any]] = {
    "utilisation": {"utilisation": [f"host{host}" for host in range(16)], "utilisation_interval": "1us"},
    "sent again": {"queue_pairs": ["rate", "retransmissions", "cnps"]},
}


def _cores_case(kind: str, path: Path) -> tuple[dict[str, Any], Path]:
    """A network and flows; what each kind observes is told late, and by windows of another length at another time."""
    draw = random.Random(5)
    if kind == "drawn":
        return {"topology": _drawn_topology(draw), "transport": _drawn_transport(draw)}, _drawn_flows(draw, path)
    if kind in OBSERVED:
        transport = {"kind": "roce", "reliability": {"kind": "selective-repeat", "timeout": "100us"}}
        network = {"topology": {**LOSSY, "switch": {"buffer": "2MB"}}, "transport": transport}
        return {**network, "observe": OBSERVED[kind]}, _drawn_flows(draw, path)
    link = {"rate": "25Gbps", "delay": "500ns"}
    topology = {"kind": "fat-tree", "k": 4, "link": link, "switch": TIGHT, "core_switch": TIGHT}
    path.write_text(
        "source,destination,bytes,start\n9,12,1727,392443ps\n11,14,1815,285685ps\n12,15,3094,35268ps\n"
        "13,0,3482,5861ps\n14,1,3244,57610ps\n15,2,3208,94506ps\n",
        encoding="utf-8",
    )
    return {"topology": topology, "transport": {"kind": "roce", "payload": 512, "congestion_control": "none"}}, path


@pytest.mark.parametrize("kind", ["drawn", "departures of one moment", *OBSERVED])
def test_all_files_are_equal_on_any_number_of_cores(kind: str, tmp_path: Path) -> None:
    network, flows = _cores_case(kind, tmp_path / "flows.csv")
    for cores in (1, 2, 4):
        _play(network, flows, tmp_path / str(cores), 462, cores=cores)
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    observed = {"utilisation", "queue_pairs"}.intersection(network.get("observe", {}))
    assert {"flows.parquet", *(f"{name}.parquet" for name in observed)} <= {*names}
    for name in names:
        one, two, four = ((tmp_path / cores / name).read_bytes() for cores in ("1", "2", "4"))
        if name == "run.json":
            one, two, four = (_without_costs(text) for text in (one, two, four))
        assert one == two == four, name
    assert json.loads((tmp_path / "4" / "run.json").read_text(encoding="utf-8"))["timing"]["cores"] == 4


_VARYING = ("started", "timing", "memory", "digest")
"""What a run took of the machine, and the digest of run.json itself."""


def _without_costs(document: bytes) -> bytes:
    kept = {key: value for key, value in json.loads(document).items() if key not in _VARYING}
    return json.dumps(kept).encode()


def test_one_core_plays_where_a_switch_is_observed(tmp_path: Path) -> None:
    draw = random.Random(1)
    network = {"topology": _drawn_topology(draw), "observe": {"queues": ["switch0:0"]}}
    result = _play(network, _drawn_flows(draw, tmp_path / "flows.csv"), tmp_path / "out", 1, cores=3)
    assert [line for line in result.metadata["warnings"] if "played on one core, not 3: observe.queues" in line]


@pytest.mark.parametrize("seed", some_slow([160113, 160167], [160167]))
def test_random_runs_that_once_differed(seed: int) -> None:
    """Swift's start in a queue pair that is made when it first sends; two messages in the first picosecond of a NIC."""
    outcome = play(replace(random_case(seed), cores=2, record=()))
    assert outcome.numbers is not None
    assert outcome.problems == ()


def test_credit_given_before_a_delay_changes_takes_the_delay_of_its_time() -> None:
    """What had left a switch when a delay changed was settled in its window's end, over the delay after the change."""
    network = {
        "topology": {
            "kind": "dragonfly",
            "a": 2,
            "p": 1,
            "h": 1,
            "link": {"rate": "400Gbps", "delay": "3us"},
            "global_link": {"rate": "10Gbps"},
            "switch": {"buffer": 515_304, "credits": {"bytes": 13_954, "lanes": 3}},
            "routing": {"kind": "spray"},
        },
        "transport": {"kind": "roce", "payload": 256, "queue_pairs": "per-message"},
    }
    flows = {"name": "others", "kind": "poisson", "sizes": "20901B", "load": 0.8, "flows": 24, "seed": 8}
    event = {"at": "60608ns", "for": "40us", "every": "90us", "times": 3, "nic": 2, "delay": "66ns"}
    scenario: dict[str, Any] = {"traffic": [flows], "events": [event]}
    one, three = (
        astra_ns3.run_scenario(scenario=scenario, network=parse_network(network), cores=cores).metadata["statistics"]
        for cores in (1, 3)
    )
    assert one == three
    assert one["pauses"] > 1000


def test_a_queue_pair_moves_to_a_port_whose_line_is_busy(tmp_path: Path) -> None:
    """Hosts with two NIC ports: what was due to leave by the new port leaves before the queue pair that moves there.

    The rate that changes after the end makes windows shorter on several cores, and must change nothing.
    """
    network = {
        "topology": {
            "kind": "clos",
            "levels": [
                {"children": 2, "parents": 2, "link": {"rate": "40Gbps", "delay": "100ns"}, "switch": _SMALL},
                {"children": 2, "parents": 2, "link": {"rate": "800Gbps", "delay": "500ns"}, "switch": _SMALL},
                {"children": 2, "link": {"rate": "200Gbps", "delay": "500ns"}, "switch": _SMALL},
            ],
        },
        "transport": {"kind": "roce", "payload": 256, "congestion_control": "none"},
    }
    system = tmp_path / "system.yaml"
    keys = {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1, "endpoint-delay": 10}
    system.write_text(json.dumps(keys | {"all-reduce-implementation": "direct"}), encoding="utf-8")

    def job(name: str, npus: list[int], compute_ns: int, size: int, start: str) -> dict[str, Any]:
        text = f"MICRO\n1\none -1 {compute_ns} NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n"
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        files = {"workload": str(tmp_path / f"{name}.txt"), "system": str(system)}
        return {"name": name, **files, "npus": npus, "dimensions": [len(npus)], "start": start}

    events: list[Any] = [
        {"at": "11652ns", "for": "24us", "link": 39, "up": False},
        {"at": "34435ns", "for": "143us", "switch": 17, "up": False},
        {"at": "500us", "nic": 7, "rate": "50%"},
    ]
    jobs: list[Any] = [job("a", [5, 0, 2, 7], 2466, 131_397, "15us"), job("b", [1, 3, 4, 6], 0, 64_851, "0ns")]
    finish_ps = {
        (cores, len(happens)): astra_ns3.run_scenario(
            scenario={"jobs": jobs, "events": happens}, network=parse_network(network), cores=cores
        ).finish_ps
        for cores in (1, 2, 3)
        for happens in (events, events[:2])
    }
    assert len({*finish_ps.values()}) == 1, finish_ps


_SMALL = {"buffer": "100KB"}
_EDGE = {"buffer": 104_715, "pfc": {"priorities": [3], "alpha": 4.0, "reserve": "1KB"}, "cut_through": 64}
_SPINE = {"buffer": 60_678, "pfc": {"priorities": [3], "alpha": 1 / 64, "resume_offset": 4200}, "cut_through": 2100}


@pytest.mark.parametrize("seed", range(4))
def test_heads_where_times_are_rounded(seed: int, tmp_path: Path) -> None:
    """Whether a line is idle must not hang on whether the far end, in its window, has taken a head off it."""
    draw = random.Random(seed)
    link = {"rate": "25Gbps", "delay": "500ns"}
    levels = [{"children": 3, "switch": _EDGE, "parents": 1}, {"children": 2, "switch": _SPINE, "parents": 2}]
    network = {
        "topology": {
            "kind": "clos",
            "levels": [{**level, "link": link} for level in levels],
            "routing": {"kind": "spray"},
        },
        "transport": {
            "kind": "roce",
            "payload": 4096,
            "congestion_control": "static-window",
            "window_scales_with_rate": True,
            "reliability": {"kind": "go-back-n", "retries": 500, "timeout": "500us"},
            "time_rounding": "100ps",
        },
    }
    pairs = [draw.sample(range(6), 2) for _ in range(12)]
    rows = [f"{source},{receiver},{draw.randrange(2_000_000, 8_000_000)},0ns" for source, receiver in pairs]
    flows = tmp_path / "flows.csv"
    flows.write_text("\n".join(["source,destination,bytes,start", *rows]) + "\n", encoding="utf-8")
    for way, observe, cores in (("windows", {}, 1), ("cores", {}, 2), ("list", {"queues": ["switch0:0"]}, 1)):
        _play({**network, "observe": observe}, flows, tmp_path / way, 1, cores)
    tables = [(tmp_path / way / "flows.parquet").read_bytes() for way in ("windows", "cores", "list")]
    assert tables[0] == tables[1] == tables[2]


_LEAF_SPINE = {
    "topology": {
        "kind": "leaf-spine",
        "leaves": 4,
        "hosts_per_leaf": 4,
        "spines": 3,
        "link": {"rate": "100Gbps", "delay": "500ns", "error_rate": 1e-3},
        "switch": {"buffer": "2MB"},
    },
    "transport": {"kind": "roce", "congestion_control": "dcqcn"},
}


def _hooked(tmp_path: Path, hook: Callable[[Any], object], cores: int) -> Result:
    flows = _drawn_flows(random.Random(3), tmp_path / "flows.csv")
    network = parse_network(_LEAF_SPINE)
    return astra_ns3.run(network=network, workload=flows, system=small_system(), on_built=hook, cores=cores)


def test_a_switch_is_traced_before_several_cores_play_it(tmp_path: Path) -> None:
    def trace(context: Any) -> None:
        port = context.port("switch0:0")
        context.schedule(5_000_000, lambda: context.trace(port, "Queue", "void(ns3::Time, uint64_t)", print))

    with pytest.raises(InputError, match="Queue of a port is traced while several cores play it"):
        _hooked(tmp_path, trace, 2)


def test_what_hosts_lose_is_told_by_the_one_thread_that_plays(tmp_path: Path) -> None:
    lost: list[int] = []
    arguments = "Drop", "void(ns3::Time, ns3::Ptr<const ns3::Packet>)", lambda time, _: lost.append(time.GetTimeStep())

    def trace(context: Any) -> None:
        for host in range(16):
            context.trace(context.port(f"host{host}"), *arguments)

    result = _hooked(tmp_path, trace, 2)
    assert lost == sorted(lost)
    assert lost
    assert [line for line in result.metadata["warnings"] if "played on one core, not 2: observe.queues" in line]


@pytest.mark.parametrize("seed", range(2))
def test_more_frames_than_ethernets_least_may_end_a_phase_in_one_window(seed: int) -> None:
    """Frames of 37 bytes, as the simulator published with HPCC has them: all of a phase's arrive in one window."""
    draw = random.Random(seed)
    network = {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 6,
            "hosts_per_leaf": 2,
            "spines": 4,
            "link": {"rate": "10Gbps", "delay": draw.choice(["500ns", "611ns", "700ns"])},
            "switch": {"buffer": "2MB"},
        },
        "transport": {"kind": "roce", "header_bytes": 36, "minimum_frame_bytes": 0, "line_gap_bytes": 0},
    }
    sizes = [draw.randrange(1, 3) * 12 for _ in range(8)]
    layers = [f"layer{number} -1 1 NONE 0 1 NONE 0 1 ALLTOALL {size} 1" for number, size in enumerate(sizes)]
    workload = parse_workload("\n".join(["DATA", str(len(layers)), *layers]), "small.txt")
    system = small_system(**{"preferred-dataset-splits": 1})
    apart, together = (
        astra_ns3.run(network=parse_network(network), workload=workload, system=system, on_built=hook)
        for hook in (None, lambda context: None)
    )
    assert apart.finish_ps == together.finish_ps
    pd.testing.assert_frame_equal(apart.collectives, together.collectives)
