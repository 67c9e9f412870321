"""What large topologies cost: from a run's call to its first event, a collective on 1,024 NPUs, a TCP packet over hops.

``run-65536`` and ``run-8192`` are whole runs of a command, its tables included, with three flows.
One case a process, so that each starts afresh; prints one JSON line. Memory is what the process held at most above
what it held with ns-3 loaded and nothing built.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.door.library import load
from astra_ns3.network.ns3.backend import Ns3Backend
from astra_ns3.network.plan import plan_network
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

HERE = Path(__file__).resolve().parent
LINK = {"rate": "400Gbps", "delay": "500ns"}
SWITCH = {"buffer": "32MiB", "pfc": {"priorities": [3]}, "ecn": {"kmin": "800KB", "kmax": "3200KB", "pmax": 0.2}}
ROCE = {"kind": "roce", "congestion_control": "dcqcn"}
TCP = {"kind": "tcp", "window": "0.5MB"}
HOPS_ROUNDS = 5
FIRST_EVENT_ROUNDS = 4
NODES, NPUS_PER_NODE, ALL_REDUCE_BYTES, CHUNKS = 128, 8, 16 << 20, 4


def ready(k: int, transport: Mapping[str, Any]) -> dict[str, Any]:
    """A k-ary fat tree: described, built, routed, and everything made that the first event needs."""
    load()
    begin, cpu = time.perf_counter(), time.process_time()
    topology = {"kind": "fat-tree", "k": k, "link": LINK, "switch": SWITCH}
    network = parse_network({"topology": topology, "transport": transport})
    backend = Ns3Backend(plan_network(network, EndpointModel(10_000)))
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
    memory = memory_mb(int(backend.statistics()["idle_memory_bytes"]))
    backend.close()
    return {
        "hosts": network.npus,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "memory_above_idle_mb": memory,
    }


class _FirstEvent(Exception):
    """The first event would come now."""


def first_event(k: int) -> dict[str, Any]:
    """CPU time from ``run``'s call to the first event of a ring all-reduce over RoCE: the first run, and later ones."""
    reached: list[float] = []

    def stop(*_: object) -> None:
        reached.append(time.process_time())
        raise _FirstEvent

    Ns3Backend.run = stop  # type: ignore[method-assign]
    network = parse_network(
        {"topology": {"kind": "fat-tree", "k": k, "link": LINK, "switch": SWITCH}, "transport": ROCE}
    )
    keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    rings = {f"{key}-implementation": ["direct" if key == "all-to-all" else "ring"] for key in keys}
    system = parse_system(
        {
            **rings,
            "scheduling-policy": "LIFO",
            "preferred-dataset-splits": 1,
            "active-chunks-per-dimension": 1,
        }
    )
    workload = parse_workload(f"MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {ALL_REDUCE_BYTES} 0\n", "micro")
    taken = []
    for _ in range(FIRST_EVENT_ROUNDS):
        begin = time.process_time()
        with suppress(_FirstEvent):
            astra_ns3.run(workload=workload, system=system, network=network, isolated=False)
        taken.append(reached.pop() - begin)
    first, *later = taken
    return {
        "hosts": network.npus,
        "first_cpu_seconds": round(first, 3),
        "repeated_cpu_seconds": round(min(later), 3),
        "peak_mb": round(memory_mb(0), 1),
    }


def hierarchical() -> dict[str, Any]:
    """An all-reduce among 128 nodes of 8 NPUs, each with a NIC to a fat tree: rings inside, between and inside."""
    topology = {
        "kind": "hierarchical",
        "nodes": NODES,
        "npus_per_node": NPUS_PER_NODE,
        "scale_up": {"link": {"rate": "2400Gbps", "delay": "25ns"}, "switch": SWITCH},
        "scale_out": {"kind": "fat-tree", "k": 16, "link": LINK, "switch": SWITCH},
    }
    keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    system = {f"{key}-implementation": ["direct" if key == "all-to-all" else "ring"] * 2 for key in keys}
    begin = time.perf_counter()
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {ALL_REDUCE_BYTES} 0\n", "micro"),
        system=parse_system(
            {
                **system,
                "scheduling-policy": "LIFO",
                "preferred-dataset-splits": CHUNKS,
                "active-chunks-per-dimension": CHUNKS,
                "collective-optimization": "localBWAware",
            }
        ),
        network=parse_network({"topology": topology, "transport": ROCE}),
    )
    seconds = time.perf_counter() - begin
    found = result.metadata
    return {
        "npus": NODES * NPUS_PER_NODE,
        "wall_seconds": round(seconds, 2),
        "data_packets": found["statistics"]["packets"],
        "us_per_data_packet": round(seconds / found["statistics"]["packets"] * 1e6, 3),
        "events": found["statistics"]["events"],
        "retransmissions": found["statistics"]["retransmissions"],
        "memory_above_idle_mb": round(found["memory"]["peak_above_idle_bytes"] / 1e6, 1),
        "finish_us": result.finish_ps / 1e6,
    }


def whole_run(k: int) -> dict[str, Any]:
    """Three flows over RoCE on a k-ary fat tree by ``astra-ns3 run``: time of the whole, its tables, and its set-up."""
    last = k**3 // 4 - 1
    with tempfile.TemporaryDirectory(prefix="astra-ns3-benchmark-") as name:
        folder = Path(name)
        topology = {"kind": "fat-tree", "k": k, "link": LINK, "switch": SWITCH}
        (folder / "network.yaml").write_text(json.dumps({"topology": topology, "transport": ROCE}), encoding="utf-8")
        flows = f"source,destination,bytes\n0,{last},500KB\n1,{last // 2},500KB\n2,{k + 1},500KB\n"
        (folder / "flows.csv").write_text(flows, encoding="utf-8")
        system = HERE.parent / "inputs/system/flat.txt"
        files = ["-w", str(folder / "flows.csv"), "-s", str(system), "-n", str(folder / "network.yaml")]
        begin = time.perf_counter()
        command = [sys.executable, "-m", "astra_ns3", "run", "--quiet", *files, "-o", str(folder / "results")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        timing = json.loads((folder / "results/run.json").read_text(encoding="utf-8"))["timing"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "hosts": last + 1,
        "seconds": round(seconds, 1),
        "setup_seconds": round(timing["setup_seconds"], 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6),
    }


def tcp_hops() -> dict[str, Any]:
    """CPU time per TCP data packet over four hops (two leaves and a spine) and over two, in turns; medians."""
    costs: dict[int, list[float]] = {2: [], 4: []}
    for _ in range(HOPS_ROUNDS):
        for hops, found in costs.items():
            words = [sys.executable, str(HERE / "fabric_tcp.py"), f"--hops={hops}"]
            printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            found.append(json.loads(printed)["us_per_data_packet"])
    two, four = statistics.median(costs[2]), statistics.median(costs[4])
    return {"two_hops_us": two, "four_hops_us": four, "ratio": round(four / two, 3)}


def memory_mb(idle_bytes: int) -> float:
    """The most that this process held, above ``idle_bytes``."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return round((peak - idle_bytes) / 1e6, 1)


CASES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "first-event-1024": lambda: first_event(16),
    "first-event-8192": lambda: first_event(32),
    "ready-1024-roce": lambda: ready(16, ROCE),
    "ready-1024-tcp": lambda: ready(16, TCP),
    "ready-65536-roce": lambda: ready(64, ROCE),
    "ready-8192-roce": lambda: ready(32, ROCE),
    "ready-8192-tcp": lambda: ready(32, TCP),
    "hierarchical-1024": hierarchical,
    "run-8192": lambda: whole_run(32),
    "run-65536": lambda: whole_run(64),
    "tcp-hops": tcp_hops,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    case = parser.parse_args().case
    print(json.dumps({"case": case, **CASES[case]()}))


if __name__ == "__main__":
    main()
