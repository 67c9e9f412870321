"""What flows are off by: each case is played with packets and with flows, and a row of a table compares the two.

    python benchmarks/flow_error.py > docs/tables/flow-error.csv    all cases
    python benchmarks/flow_error.py --quick                         those that take seconds
    python benchmarks/flow_error.py --case NAME ...                 some
    python benchmarks/flow_error.py --summary FILE                  the table of docs/flow.md, from such a file
    python benchmarks/flow_error.py --drawn N --seed S              N random cases instead; --case chooses among them
    python benchmarks/flow_error.py --drawn N --controls NAME ...   with these congestion controls in turn
    python benchmarks/flow_error.py --incasts                       incasts and permutations, with each control
    python benchmarks/flow_error.py --in-order                      all send to NPU 0, 1, 2, ..., with each control
    python benchmarks/flow_error.py --routing                       packets that take several ways over a slow core
    python benchmarks/flow_error.py --unequal                       queues that choose among ways of unequal rates
    python benchmarks/flow_error.py --shared                        collectives whose groups share a slow line
    python benchmarks/flow_error.py --credits                       jobs on links by credit, beside too much traffic
    python benchmarks/flow_error.py --tori                          collectives that pauses stop on tori

``finish``: of the run. ``error``: of the finish of flows; ``target`` is what it should be within; ``bound``: packets
were lost or timed out, and flows know nothing of that. ``median``, ``p99``, ``largest``: of the messages' errors, by
their size. ``CPU``: of the whole process of either, in seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from astra_ns3.experiments.two_backends import play_on_both, row_text

INPUTS = Path(__file__).parents[1] / "inputs"
LINK = {"rate": "100Gbps", "delay": "500ns"}
PFC = {"buffer": "32MiB", "pfc": {}}
LARGE = {"buffer": "1GB"}
DRAWN_SWITCH = {"buffer": "64MiB", "pfc": {}}
MARKING = {"buffer": "32MiB", "pfc": {}, "ecn": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}}


def star(npus: int, switch: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "single-switch", "npus": npus, "npus_per_host": 1, "link": LINK, "switch": switch}


def clos(leaves: int, spines: int, hosts: int, switch: Mapping[str, Any]) -> dict[str, Any]:
    shape = {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts}
    return {"kind": "leaf-spine", **shape, "link": LINK, "uplink": LINK, "switch": switch}


def fat_tree(k: int, switch: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "fat-tree", "k": k, "link": LINK, "switch": switch}


def torus(shape: Sequence[int], switch: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "torus", "shape": list(shape), "link": LINK, "switch": switch}


def servers(nodes: int, switch: Mapping[str, Any], *, rails: bool = False) -> dict[str, Any]:
    scale_up = {"link": {"rate": "1600Gbps", "delay": "25ns"}, "switch": switch}
    if rails:
        shape = {"nodes": nodes, "npus_per_node": 4, "nodes_per_leaf": 4, "spines": 4}
        return {"kind": "rail-optimised", **shape, "scale_up": scale_up, "link": LINK, "switch": switch}
    outside = clos(nodes // 4, 4, 16, switch)
    return {"kind": "hierarchical", "nodes": nodes, "npus_per_node": 4, "scale_up": scale_up, "scale_out": outside}


def roce(control: str, **keys: Any) -> dict[str, Any]:
    return {"kind": "roce", "congestion_control": control, **keys}


def tcp(control: str, **keys: Any) -> dict[str, Any]:
    timers = {"min_rto": "10ms", "clock_granularity": "10us"}
    return {"kind": "tcp", "congestion_control": control, "window": "0.5MB", **timers, **keys}


def collective(kind: str, size: int) -> str:
    return f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {kind} {size} 0\n"


@dataclass(frozen=True)
class Case:
    """A workload, as text of a file or of flows, on a topology under a transport; ``system``: more keys.

    ``files``: a workload, a system and a network in inputs/ instead, with ``words`` of the command line. ``events``: of
    a scenario, whose only job is played; ``traffic``: beside it.
    """

    name: str
    topology: Mapping[str, Any] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)
    workload: str = ""
    system: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ".txt"
    files: tuple[str, str, str] | None = None
    words: tuple[str, ...] = ()
    target: float = 0.01
    events: tuple[Mapping[str, Any], ...] = ()
    traffic: tuple[Mapping[str, Any], ...] = ()


USUAL: Mapping[str, Any] = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "all-to-all-implementation": ["direct"],
}
TARGETS = {
    "none": 0.08,
    "dcqcn": 0.15,
    "timely": 0.15,
    "dctcp": 0.1,
    "hpcc": 0.1,
    "hpcc-pint": 0.1,
    "swift": 0.1,
    "tcp": 0.03,
}
"""Of the finish, by control; ``none``: with pauses. Elsewhere 1%."""
QUICK = {
    "none, switch 16, ring",
    "none, switch 16, all-to-all",
    "none, switch 16, halvingDoubling",
    "none, switch 8, Chakra step",
    "hpcc, switch 16, all-to-all",
    "swift, switch 16, all-to-all",
}
CONTROLS = ("none", "dcqcn", "timely", "dctcp", "hpcc", "swift")
MIB = 1 << 20
ALL_REDUCE, ALL_TO_ALL = collective("ALLREDUCE", 4 * MIB), collective("ALLTOALL", 4 * MIB)


def algorithm(name: str, dimensions: int = 1) -> dict[str, Any]:
    keys = ("all-reduce", "reduce-scatter", "all-gather")
    return {f"{key}-implementation": [name] * dimensions for key in keys}


def direct(at_once: int, dimensions: int = 1) -> dict[str, Any]:
    return {"all-to-all-implementation": [f"direct{at_once}"] * dimensions, "preferred-dataset-splits": 1}


HIERARCHICAL = {
    **algorithm("ring", 2),
    "all-to-all-implementation": ["direct", "direct"],
    "collective-optimization": "localBWAware",
}


def three_dimensional() -> dict[str, Any]:
    return {**HIERARCHICAL, **algorithm("ring", 3), "all-to-all-implementation": ["direct"] * 3}


def web_search(npus: int, link_bps: float, load: float, count: int, seed: int) -> str:
    """Flows of the sizes of web search (DCTCP, SIGCOMM 2010), arriving at random."""
    steps = [(0, 1), (0.15, 10_000), (0.2, 20_000), (0.3, 30_000), (0.4, 50_000), (0.53, 80_000), (0.6, 200_000)]
    steps += [(0.7, 1_000_000), (0.8, 2_000_000), (0.9, 5_000_000), (0.97, 10_000_000), (1, 30_000_000)]
    draw = np.random.default_rng(seed)
    shares, sizes = zip(*steps, strict=True)
    bytes = np.interp(draw.random(count), shares, sizes).astype(np.int64) // 20 + 1  # so that packets take seconds
    gap = float(bytes.mean()) * 8 / (load * link_bps * npus)
    starts = np.cumsum(draw.exponential(gap, count)) * 1e9
    sources = draw.integers(0, npus, count)
    destinations = (sources + draw.integers(1, npus, count)) % npus
    rows = zip(sources, destinations, bytes, starts, strict=True)
    lines = [f"{source},{destination},{size},{start:.0f}ns" for source, destination, size, start in rows]
    return "\n".join(["source,destination,bytes,start", *lines]) + "\n"


def pairs_in_step(pairs: int, messages: int, size: int) -> str:
    """Return messages of pairs over one uplink: all pairs begin together, and each message waits for the one before."""
    lines = [
        f"{number % pairs},{number % pairs + pairs},{size},0,{number - pairs if number >= pairs else ''}"
        for number in range(messages * pairs)
    ]
    return "\n".join(["source,destination,bytes,start,after", *lines]) + "\n"


def cases() -> Iterator[Case]:
    """All cases."""
    yield from without_control()
    yield from larger()
    yield from from_files()
    yield from with_control()
    yield from with_events()


def without_control() -> Iterator[Case]:
    """Small ones, where lines alone decide."""
    none, topologies = (
        roce("none"),
        {
            "switch 16": star(16, LARGE),
            "Clos 32, 1:1": clos(4, 8, 8, LARGE),
            "Clos 32, 4:1": clos(4, 2, 8, LARGE),
            "fat tree 16": fat_tree(4, LARGE),
            "torus 4x4": torus((4, 4), LARGE),
            "rails 32": servers(8, LARGE, rails=True),
            "NVSwitch + Clos 32": servers(8, LARGE),
        },
    )
    for name, topology in topologies.items():
        two = HIERARCHICAL if name.startswith(("rails", "NVSwitch")) else {}
        if name.startswith("torus"):
            two = HIERARCHICAL
        yield Case(f"none, {name}, ring", topology, none, ALL_REDUCE, two)
        yield Case(f"none, {name}, all-to-all", topology, none, ALL_TO_ALL, two)
    wide = clos(4, 4, 8, LARGE)
    for at_once in (1, 8):
        yield Case(f"none, Clos 32, 2:1, all-to-all, {at_once} at a time", wide, none, ALL_TO_ALL, direct(at_once))
    for name in ("doubleBinaryTree", "halvingDoubling"):
        yield Case(f"none, Clos 32, 2:1, {name}", wide, none, ALL_REDUCE, algorithm(name))
    yield Case("none, payload 4096, Clos 32, 2:1, ring", wide, roce("none", payload=4096), ALL_REDUCE)
    yield Case("static window, Clos 32, 2:1, all-to-all", wide, roce("static-window"), ALL_TO_ALL)
    for load in (30, 50, 80):
        flows = web_search(32, 1e11, load / 100, 1_000, load)
        per_message = roce("none", queue_pairs="per-message")
        topology = clos(4, 8, 8, LARGE)
        yield Case(f"none, Clos 32, 1:1, web search {load}%", topology, per_message, flows, suffix=".csv")


def larger() -> Iterator[Case]:
    """64 to 256 NPUs, and more ways to play a collective."""
    none, small = roce("none"), collective("ALLTOALL", MIB)
    yield Case("none, switch 64, all-to-all", star(64, LARGE), none, small)
    yield Case("none, switch 64, doubleBinaryTree", star(64, LARGE), none, ALL_REDUCE, algorithm("doubleBinaryTree"))
    yield Case("none, switch 16, halvingDoubling", star(16, LARGE), none, ALL_REDUCE, algorithm("halvingDoubling"))
    yield Case("none, Clos 64, 1:1, ring", clos(8, 8, 8, LARGE), none, ALL_REDUCE)
    yield Case("none, Clos 64, 2:1, all-to-all, 8 at a time", clos(8, 4, 8, LARGE), none, ALL_TO_ALL, direct(8))
    yield Case("none, Clos 128, 1:1, ring", clos(8, 16, 16, LARGE), none, ALL_REDUCE)
    yield Case(
        "none, Clos 256, 1:1, doubleBinaryTree",
        clos(16, 16, 16, LARGE),
        none,
        ALL_REDUCE,
        algorithm("doubleBinaryTree"),
    )
    yield Case("none, fat tree 128, all-to-all, 8 at a time", fat_tree(8, LARGE), none, ALL_TO_ALL, direct(8))
    yield Case("none, fat tree 128, ring", fat_tree(8, LARGE), none, ALL_REDUCE)
    yield Case("none, switch 16, all-to-all, 8 at a time", star(16, LARGE), none, ALL_TO_ALL, direct(8))
    yield Case("none, switch 64, ring", star(64, LARGE), none, ALL_REDUCE)
    yield Case(
        "none, fat tree 16, doubleBinaryTree", fat_tree(4, LARGE), none, ALL_REDUCE, algorithm("doubleBinaryTree")
    )
    yield Case("none, Clos 64, 4:1, ring", clos(8, 2, 8, LARGE), none, ALL_REDUCE)
    yield Case("none, rails 64, ring", servers(16, LARGE, rails=True), none, ALL_REDUCE, HIERARCHICAL)
    yield Case("static window, switch 16, ring", star(16, LARGE), roce("static-window"), ALL_REDUCE)
    yield Case("none, payload 4096, switch 16, all-to-all", star(16, LARGE), roce("none", payload=4096), ALL_TO_ALL)
    yield Case("none, torus 4x4x4, ring", torus((4, 4, 4), LARGE), none, ALL_REDUCE, three_dimensional())
    wide = HIERARCHICAL | {"all-to-all-implementation": ["direct", "direct8"]}
    yield Case("none, rails 128, ring", servers(32, LARGE, rails=True), none, ALL_REDUCE, wide)
    yield Case("none, rails 128, all-to-all", servers(32, LARGE, rails=True), none, small, wide)
    yield Case("none, NVSwitch + Clos 128, ring", servers(32, LARGE), none, ALL_REDUCE, wide)


def from_files() -> Iterator[Case]:
    """Trainings, and other files that come with the program."""
    chakra, moe, dlrm = "workload/chakra/step", "workload/moe-simai-16.txt", "workload/DLRM_HybridParallel.txt"
    flat, switch, leaf_spine = "system/flat.yaml", "network/roce-16.yaml", "network/roce-leaf-spine-32.yaml"
    paused = TARGETS["none"]
    no_control = ("--set", "network.transport.congestion_control=none")
    yield Case(
        "none, switch 8, Chakra step",
        star(8, LARGE),
        roce("none"),
        files=(chakra, flat, ""),
        words=("--groups", str(INPUTS / "workload/chakra/step.groups.json")),
    )
    yield Case("none, paused, switch 16, MoE of SimAI", files=(moe, flat, switch), words=no_control, target=paused)
    small = ("--scale", "0.02", *no_control)
    yield Case(
        "none, paused, Clos 32, DLRM, 2% of the size", files=(dlrm, flat, leaf_spine), words=small, target=paused
    )
    for name, words in (
        ("resnet-50", small),
        ("transformer-bert-large", small),
        ("transformer-megatron-8b", ("--scale", "0.001", *no_control)),
    ):
        yield Case(
            f"none, paused, Clos 32, {name}",
            files=(f"workload/{name}.txt", flat, leaf_spine),
            words=words,
            target=paused,
        )
    llama = (
        "model.layers=2",
        "training.sequence=256",
        "training.micro_batches=2",
        "parallel.tensor=4",
        "parallel.pipeline=2",
    )
    mixtral = (
        "model.layers=2",
        "training.sequence=256",
        "training.micro_batches=1",
        "parallel.tensor=2",
        "parallel.expert=8",
        "parallel.pipeline=1",
    )
    for name, keys in (("llama-3-8b", llama), ("mixtral-8x7b", mixtral)):
        words = tuple(word for key in keys for word in ("--set", f"workload.{key}"))
        yield Case(
            f"none, paused, Clos 32, {name}, 2 layers",
            files=(f"workload/models/{name}.yaml", flat, leaf_spine),
            words=(*words, *no_control),
            target=paused,
        )


def with_control() -> Iterator[Case]:
    """Those where a control decides as well."""
    for control in CONTROLS:
        switch = PFC if control in ("none", "hpcc") else MARKING
        label = "none, paused" if control == "none" else control
        paused, kind, target = clos(4, 4, 8, switch), roce(control), TARGETS[control]
        name = f"{label}, Clos 32, 2:1, all-to-all, 8 at a time"
        yield Case(name, paused, kind, ALL_TO_ALL, direct(8), target=target)
        yield Case(f"{label}, Clos 32, 2:1, ring", paused, kind, ALL_REDUCE, target=target)
        yield Case(f"{label}, switch 16, all-to-all", star(16, switch), kind, ALL_TO_ALL, target=target)
    for control in ("Cubic", "Dctcp"):
        switch = (
            LARGE if control == "Cubic" else {"buffer": "64MB", "ecn": {"kmin": "250KB", "kmax": "250KB", "pmax": 1.0}}
        )
        kind, target = tcp(control), TARGETS["tcp"]
        yield Case(f"TCP {control}, switch 16, ring", star(16, switch), kind, ALL_REDUCE, target=target)
        name = f"TCP {control}, Clos 16, 1:1, all-to-all"
        yield Case(name, clos(4, 4, 4, switch), kind, ALL_TO_ALL, target=target)
    far, flows = {**LINK, "delay": "2us"}, pairs_in_step(4, 20, 64 << 10)
    for control in CONTROLS:
        switch = LARGE if control == "none" else PFC if control == "hpcc" else MARKING
        topology = clos(2, 1, 4, switch) | {"link": far, "uplink": far}
        target = 0.01 if control == "none" else TARGETS[control]
        name = f"{control}, Clos 8, 4:1, pairs in step"
        yield Case(name, topology, roce(control), flows, suffix=".csv", target=target)
    links = {"link": {**LINK, "delay": "5us"}, "uplink": {"rate": "400Gbps", "delay": "5us"}}
    flows, topology = pairs_in_step(16, 20, 64 << 10), clos(2, 1, 16, LARGE) | links
    yield Case("none, Clos 32, 4:1, pairs in step", topology, roce("none"), flows, suffix=".csv", target=0.01)


def with_events() -> Iterator[Case]:
    """Collectives whose ranks send on to several others: with a slow NIC, and with changes that cost nothing."""
    none, tree, at_once = roce("none", payload=4096), fat_tree(4, LARGE), {"active-chunks-per-dimension": 4}
    slow = {"at": "100us", "nic": 15, "rate": "50%"}
    idle = {"at": "1us", "nic": 15, "delay": "501ns", "for": "1ns"}
    bruck = {"all-to-all-implementation": ["bruck"]}
    kinds = {name: (ALL_REDUCE, algorithm(name)) for name in ("doubleBinaryTree", "halvingDoubling")}
    for name, (work, keys) in (kinds | {"bruck": (ALL_TO_ALL, bruck)}).items():
        system = at_once | keys
        for label, event in (("rates change", slow), ("delays change for 1 ns", idle)):
            for seed in range(1, 6):
                case, words = f"{label}, fat tree 16, {name}, seed {seed}", ("--seed", str(seed))
                yield Case(case, tree, none, work, system, words=words, events=(event,))
        window = roce("none", payload=4096, window="16MB")
        yield Case(f"static window, fat tree 16, {name}, 16 MB", tree, window, work, system)
    many = {"active-chunks-per-dimension": 64, "preferred-dataset-splits": 32} | HIERARCHICAL
    meshes = {
        "torus 4x4": torus((4, 4), PFC),
        "mesh 4x4": torus((4, 4), PFC) | {"kind": "mesh"},
        "torus 8": torus((8,), PFC),
    }
    for name, topology in meshes.items():
        system = many if name.endswith("x4") else at_once
        case, work = f"{name}, all-to-all of 1 MiB", collective("ALLTOALL", MIB)
        yield Case(f"delays change for 1 ns, {case}", topology, none, work, system, events=(idle | {"nic": 1},))
        for size in ("100KB", "250KB", "10MB"):
            window = roce("none", payload=4096, window=size)
            yield Case(f"static window, {case}, {size}", topology, window, work, system)


def on_tori() -> Iterator[Case]:
    """Collectives without a control that pauses stop on tori."""
    many = {"active-chunks-per-dimension": 64, "preferred-dataset-splits": 32}
    names = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    for buffer, shape in product(("4MiB", "16MiB"), ((4, 4), (8,), (2, 2, 4))):
        rings = {
            f"{name}-implementation": ["direct" if name == "all-to-all" else "ring"] * len(shape) for name in names
        }
        for size, kind, keys in product((1, 8), ("ALLREDUCE", "ALLGATHER", "ALLTOALL"), ({}, many)):
            topology = torus(shape, {"buffer": buffer, "pfc": {}})
            case = f"{buffer}, torus {'x'.join(map(str, shape))}, {kind} of {size} MiB{', many chunks' if keys else ''}"
            yield Case(case, topology, roce("none"), collective(kind, size * MIB), rings | keys, target=0.25)


def by_credit() -> Iterator[Case]:
    """Collectives beside random traffic that overloads lines, with one lane on a Clos network and four on a torus."""
    none = roce("none", payload=4096)
    for kind in ("ALLREDUCE", "ALLTOALL"):
        for size in ("16KiB", "128KiB"):
            one, four = ({"buffer": "64MB", "credits": {"bytes": size, "lanes": lanes}} for lanes in (1, 4))
            for shape, topology, system in (
                ("Clos 16, 1 lane", clos(4, 4, 4, one), {}),
                ("torus 4x4, 4 lanes", torus((4, 4), four), HIERARCHICAL),
            ):
                for sizes, rate in (
                    ("16KB", "60Gbps"),
                    ("16KB", "90Gbps"),
                    ("1MB", "90Gbps"),
                    ("web-search", "60Gbps"),
                ):
                    traffic = {"name": "others", "kind": "poisson", "sizes": sizes, "rate": rate, "seed": 5}
                    name = f"credits, {shape} of {size}, {kind} beside {sizes} at {rate}"
                    yield Case(name, topology, none, collective(kind, MIB), system, traffic=(traffic,))


def by_routing() -> Iterator[Case]:
    """Collectives spread over a slow core, also if a link becomes faster, or if overtaken packets count as lost."""
    lasting = {"kind": "selective-repeat", "reordering_packets": 4000, "timeout": "200ms"}
    faster = {"at": "300us", "link": ["core 0", "aggregation 0"], "rate": "100Gbps"}
    for routing, kind, splits in product(("spray", "adaptive"), ("ALLGATHER", "ALLTOALL"), (1, 4)):
        tree = fat_tree(4, PFC) | {"npus": 8, "core": {"rate": "25Gbps"}, "routing": {"kind": routing}}
        system = {"active-chunks-per-dimension": splits, "preferred-dataset-splits": splits}
        for name, repeat, events in (
            ("", lasting, ()),
            (", a link becomes faster", lasting, (faster,)),
            (", overtaken packets count as lost", {"kind": "selective-repeat"}, ()),
        ):
            none, case = (
                roce("none", payload=4096, reliability=repeat),
                f"{routing}, fat tree 8, {kind}, {splits} chunks",
            )
            yield Case(f"{case}{name}", tree, none, collective(kind, MIB), system, events=events)


def by_unequal_ways() -> Iterator[Case]:
    """Collectives and a few senders where queues choose ports, and one leaf has a line of another rate to one spine."""
    lasting = {"kind": "selective-repeat", "reordering_packets": 4000, "timeout": "200ms"}
    none = roce("none", payload=4096, reliability=lasting)
    few = "\n".join(["source,destination,bytes", "0,4,4000000", "1,5,4000000"]) + "\n"
    works = {kind: (collective(kind, 4 * MIB), ".txt") for kind in ("ALLREDUCE", "ALLTOALL")}
    for routing, rate, (name, spines) in product(
        ("adaptive", "flowlet"), ("50%", "200%", "400%"), (("1:1", 4), ("2:1", 2))
    ):
        topology = clos(4, spines, 4, LARGE) | {"routing": {"kind": routing}}
        other = {"at": "1ns", "link": ["leaf 0", "spine 0"], "rate": rate}
        for kind, (work, suffix) in (works | {"2 of 4 send": (few, ".csv")}).items():
            case = f"{routing}, Clos 16, {name}, a line at {rate}, {kind}"
            yield Case(case, topology, none, work, suffix=suffix, events=(other,))


def over_shared_lines() -> Iterator[Case]:
    """Collectives of 32 NPUs of which 8 share a slow line: rates are max-min fair but for the plain case."""
    lasting = {"kind": "selective-repeat", "reordering_packets": 4000, "timeout": "200ms"}
    late = {"at": "900ms", "link": ["leaf 0", "spine 0"], "delay": "1us"}
    none = roce("none", payload=4096, reliability=lasting)
    ways = [(f"none, {routing}", none, routing, ()) for routing in ("spray", "adaptive")]
    ways += [("none, a change too late", none, "ecmp", (late,)), ("none", none, "ecmp", ())]
    ways += [(control, roce(control), "ecmp", ()) for control in (*CONTROLS[1:], "hpcc-pint")]
    algorithms = ("ring", "halvingDoubling", "direct", "doubleBinaryTree")
    for (name, transport, routing, events), shape, each, size in product(ways, (1, 2, "NIC"), algorithms, (1, 16)):
        switch = PFC if name.startswith(("none", "hpcc")) else MARKING
        if isinstance(shape, int):
            uplink = {"rate": f"{100 // shape}Gbps", "delay": "500ns"}
            topology = clos(4, shape, 8, switch) | {"uplink": uplink, "dimensions": [8, 4]}
        else:
            planes = 1 if routing == "ecmp" else 2
            inside = {"planes": planes, "link": {"rate": "3600Gbps", "delay": "25ns"}, "switch": switch}
            outside = {"kind": "single-switch", "link": LINK, "switch": switch}
            nodes = {"nodes": 4, "npus_per_node": 8, "nics_per_node": 1}
            topology = {"kind": "hierarchical", **nodes, "scale_up": inside, "scale_out": outside}
        system = {**HIERARCHICAL, **algorithm(each, 2), "collective-optimization": "baseline"}
        place = f"Clos 32, 8:1 by {shape}" if isinstance(shape, int) else "servers of 8, one NIC"
        nic = {} if isinstance(shape, int) else {"link": ["host 0", "scale-up 0"]}
        changes = [{**change, **nic} for change in events]
        case = f"{name}, {place}, {each}, {size} MiB"
        work = collective("ALLREDUCE", size * MIB)
        yield Case(case, topology | {"routing": {"kind": routing}}, transport, work, system, events=tuple(changes))


def incasts() -> Iterator[Case]:
    """Some send to one, evenly or one of them four times as much, or each to the next: messages of 256 KiB to 4 MiB."""
    mib = 1 << 20
    order = random.Random(3).sample(range(16), 16)
    for rate, control in product(("25Gbps", "100Gbps", "400Gbps"), (*CONTROLS[1:], "hpcc-pint")):
        link = {"rate": rate, "delay": "1us"}
        switch = PFC if control.startswith("hpcc") else MARKING
        one, two = star(17, switch) | {"link": link}, clos(4, 2, 4, switch) | {"link": link, "uplink": link}
        sent = {
            f"incast of {count}, {size >> 10} KiB": (one, [(npu, 16, size) for npu in range(count)])
            for count, size in product((4, 16), (mib // 4, mib, 4 * mib))
        }
        for size in (mib, 4 * mib):
            uneven = [(0, 16, 4 * size), *((npu, 16, size) for npu in range(1, 5))]
            sent[f"uneven incast of 5, {size >> 10} KiB"] = one, uneven
            pairs = zip(order, [*order[1:], order[0]], strict=True)
            sent[f"permutation, {size >> 10} KiB"] = two, [(source, other, size) for source, other in pairs]
        for name, (topology, flows) in sent.items():
            text = "\n".join(["source,destination,bytes", *(",".join(map(str, each)) for each in flows)]) + "\n"
            yield Case(f"{control}, {rate}, {name}", topology, roce(control), text, suffix=".csv")


def in_order() -> Iterator[Case]:
    """Each sends to all others, to NPU 0 first: packets to one come in bursts, since queue pairs take turns."""
    for control, npus, payload in product((*CONTROLS[1:], "hpcc-pint"), (8, 16, 32), (1000, 4096)):
        topology = star(npus, PFC if control.startswith("hpcc") else MARKING)
        pairs = ((one, other) for one in range(npus) for other in range(npus) if one != other)
        text = "\n".join(["source,destination,bytes", *(f"{one},{other},100000" for one, other in pairs)]) + "\n"
        name = f"{control}, switch {npus}, payload {payload}, all in one order"
        yield Case(name, topology, roce(control, payload=payload), text, suffix=".csv")


def drawn(count: int, seed: int, controls: Sequence[str] = CONTROLS) -> Iterator[Case]:
    """Random collectives, and a random training of 16 NPUs in every fourth turn of the controls."""
    for number in range(count):
        draw = random.Random(f"{seed} {number}")
        control = controls[number % len(controls)]
        is_model = number // len(controls) % 4 == 3
        link = {"rate": draw.choice(["100Gbps", "400Gbps"]), "delay": draw.choice(["500ns", "1us", "2us", "5us"])}
        half, leaves = (8, 2) if is_model else (draw.choice([4, 8]), draw.choice([2, 4]))
        shapes = {
            "switch": star(2 * half, DRAWN_SWITCH),
            "dumbbell": {"kind": "dumbbell", "left": half, "right": half, "bottleneck": link, "switch": DRAWN_SWITCH},
            "Clos": clos(leaves, draw.choice([1, 2, 4]), half, DRAWN_SWITCH) | {"uplink": link},
            "fat tree": fat_tree(4, DRAWN_SWITCH),
        }
        shape = draw.choice(sorted(shapes))
        transport = roce(control, payload=draw.choice([1024, 4096]))
        name = f"drawn {seed}.{number}, {control}, {shape}, {'model' if is_model else 'collective'}"
        topology, target = shapes[shape] | {"link": link}, TARGETS[control]
        if is_model:
            yield Case(name, topology, transport, drawn_model(draw), direct(16), ".yaml", target=target)
        else:
            kind = draw.choice(["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL"])
            work = collective(kind, round(2 ** draw.uniform(16, 23)))
            system = algorithm(draw.choice(["ring", "direct", "halvingDoubling"])) | direct(draw.choice([4, 32]))
            yield Case(name, topology, transport, work, system, target=target)


def drawn_model(draw: random.Random) -> str:
    """A mixture of experts of four layers, as text of a file."""
    experts = {"count": 8, "active": 2, "feed_forward": 2048}
    size = {"layers": 4, "hidden": 1024, "heads": 16, "kv_heads": 8, "vocabulary": 8192, "gated": True}
    tensor, pipeline, context, expert = (draw.choice(each) for each in ([1, 2, 4], [1, 2], [1, 2], [1, 2]))
    parallel = {"tensor": tensor, "pipeline": pipeline, "context": context, "expert": expert}
    training = {"sequence": 1024, "micro_batch": 1, "micro_batches": 4, "datatype": "bfloat16"}
    keys = {"kind": "transformer", "name": "drawn", "model": size | {"experts": experts}, "training": training}
    return json.dumps(keys | {"compute": "H100", "parallel": parallel | {"zero": draw.choice([0, 1, 2, 3])}})


def row(case: Case) -> dict[str, Any]:
    """Return the case's row of the table."""
    with tempfile.TemporaryDirectory() as name:
        network, system, workload = (Path(name) / each for each in ("n.yaml", "s.yaml", f"workload{case.suffix}"))
        network.write_text(json.dumps({"topology": case.topology, "transport": case.transport}), encoding="utf-8")
        system.write_text(json.dumps({**USUAL, **case.system}), encoding="utf-8")
        workload.write_text(case.workload, encoding="utf-8")
        if case.files is not None:
            workload, system = INPUTS / case.files[0], INPUTS / case.files[1]
            network = INPUTS / case.files[2] if case.files[2] else network
        words = ["-w", str(workload), "-s", str(system), "-n", str(network), *case.words]
        if case.events or case.traffic:
            scenario = Path(name) / "scenario.yaml"
            job = {"name": "job", "workload": str(workload), "system": str(system)}
            keys = {"network": str(network), "jobs": [job], "events": case.events, "traffic": case.traffic}
            scenario.write_text(json.dumps(keys), encoding="utf-8")
            words = ["--scenario", str(scenario), *case.words]
        found = dict[str, Any](play_on_both(words, ("flow", "ns3"), case.name))
    target = "bound" if found.pop("losses") else f"{case.target:.0%}"
    before = list(found)[: list(found).index("error") + 1]
    return {**{key: found[key] for key in before}, "target": target, **found}


def within(values: Mapping[str, Any]) -> bool:
    """Return whether a row's error is within its target; a bound may lie below the packets."""
    error, target = values["error"], values["target"]
    return error <= TARGETS["tcp"] if target == "bound" else abs(error) <= float(target.strip("%")) / 100


def cells(values: Mapping[str, Any]) -> list[str]:
    """Return the row's cells as text."""
    return row_text(values).removeprefix("| ").removesuffix(" |").split(" | ")


def summary(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield lines of a table in Markdown: groups of cases."""
    groups: dict[str, list[Mapping[str, str]]] = {}
    for each in rows:
        groups.setdefault(_group(each["case"]), []).append(each)
    yield "| Cases | Number | Target | Missed | Error of the finish | Messages: median, p99 |"
    yield "|---|---|---|---|---|---|"
    for name, members in groups.items():
        errors = [_number(each["error"]) for each in members]
        middle = (statistics.median(_number(each[column]) for each in members) for column in ("median", "p99"))
        missed = sum(_missed(each) for each in members)
        found = f"{min(errors):+.1f}% to {max(errors):+.1f}%", ", ".join(f"{value:.1f}%" for value in middle)
        yield f"| {name} | {len(members)} | {members[0]['target']} | {missed} | {' | '.join(found)} |"


def _group(case: str) -> str:
    words = case.split(", ")
    return ", ".join(words[: 2 if words[1] == "paused" else 1])


def _number(cell: str) -> float:
    return float(cell.strip("%"))


def _missed(values: Mapping[str, str]) -> bool:
    return not within({"error": _number(values["error"]) / 100, "target": values["target"]})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", nargs="*", default=[])
    parser.add_argument("--summary", type=Path)
    parser.add_argument("--drawn", type=int)
    parser.add_argument("--credits", action="store_true")
    parser.add_argument("--tori", action="store_true")
    parser.add_argument("--routing", action="store_true")
    parser.add_argument("--unequal", action="store_true")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--incasts", action="store_true")
    parser.add_argument("--in-order", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--controls", nargs="+", default=CONTROLS)
    asked = parser.parse_args()
    if asked.summary is not None:
        with asked.summary.open(encoding="utf-8", newline="") as file:
            print(*summary(list(csv.DictReader(file))), sep="\n")
        return
    writer, rows = csv.writer(sys.stdout, lineterminator="\n"), 0
    asked_for = cases() if asked.drawn is None else drawn(asked.drawn, asked.seed, asked.controls)
    asked_for = by_routing() if asked.routing else on_tori() if asked.tori else asked_for
    asked_for = by_credit() if asked.credits else incasts() if asked.incasts else asked_for
    asked_for = in_order() if asked.in_order else by_unequal_ways() if asked.unequal else asked_for
    asked_for = over_shared_lines() if asked.shared else asked_for
    for case in asked_for:
        if (case.name in QUICK or not asked.quick) and (
            not asked.case or any(word in case.name for word in asked.case)
        ):
            found = row(case)
            writer.writerows([*([] if rows else [list(found)]), cells(found)])
            sys.stdout.flush()
            rows += 1


if __name__ == "__main__":
    main()
