"""Cost of RoCE: CPU time of the simulation alone, per data packet, and memory above the idle program.

``process_cpu_seconds`` is the whole process from its start: what to compare with another program's whole process.

``--accounts`` records where the time of each message went: ``dropped``, rows that nobody takes, which is what the
simulation spends; ``written``, Parquet files that are thrown away, from this same process.

``--credits`` gives switches credits of 256 KiB a lane in place of PFC.

One case a process, so that each starts afresh; prints one JSON line. The cases and their targets are those that
docs/roce.md lists.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from astra_ns3.collectives.in_network import in_network_schedule
from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.ns3.backend import Ns3Backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.recorded import Columns, RecordedTable
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.reduction_trees import GraphTrees

MIB = 1 << 20
LINK = {"rate": "400Gbps", "delay": "500ns"}
SWITCH = {"buffer": "32MiB", "pfc": {"priorities": [3]}, "ecn": {"kmin": "800KB", "kmax": "3200KB", "pmax": 0.2}}


CREDIT_SWITCH = {"buffer": "512MiB", "credits": {"bytes": "256KiB"}, "ecn": "off"}
Case = Callable[[str, RecorderOptions, int, bool], dict[str, Any]]
"""Measures under a congestion control; where its messages' accounts go; on how many cores; with credits or PFC."""


def ring(topology: Mapping[str, Any], npus: int, size: int, chunks: int) -> Case:
    """A ring all-reduce, chunk after chunk."""
    schedule = lookup(CollectiveKind.ALL_REDUCE, "ring", npus)
    bytes = size // chunks
    return lambda *how: measure(topology, schedule, bytes, chunks, *how)


def in_switches(topology: Mapping[str, Any], npus: int, size: int) -> Case:
    """An all-reduce that switches reduce, over one tree."""

    def measured(*how: Any) -> dict[str, Any]:
        reducing = {**topology, "switch": {**topology["switch"], "reduction": {}}}
        network = parse_network({"topology": reducing, "transport": {"kind": "roce"}})
        trees = GraphTrees(build_graph(network.topology), range(npus))
        joining = trees.joining(range(npus), 0, algorithm="sharp")
        schedule = in_network_schedule(CollectiveKind.ALL_REDUCE, "sharp", joining, size)
        return measure(reducing, schedule, size, 1, *how, players=trees.players(range(npus), joining))

    return measured


def all_to_all(topology: Mapping[str, Any], npus: int, pair_bytes: int) -> Case:
    """Every NPU sends to every other, all at once."""
    schedule = lookup(CollectiveKind.ALL_TO_ALL, "direct", npus)
    return lambda *how: measure(topology, schedule, pair_bytes * npus, 1, *how)


def permutation(topology: Mapping[str, Any], npus: int, size: int) -> Case:
    """Every host sends one message to another, as far away as can be, and receives one."""
    ranks = np.arange(npus, dtype=np.int32)
    zeros = np.zeros(npus, dtype=np.int32)
    schedule = Schedule(
        name="permutation",
        ranks=npus,
        blocks=1,
        sender=ranks,
        receiver=(ranks + npus // 2) % np.int32(npus),
        step=zeros,
        first_block=zeros,
        block_count=zeros + 1,
        reduces=zeros.astype(np.bool_),
        wait_step=zeros - 1,
        wait_count=zeros,
    )
    return lambda *how: measure(topology, schedule, size, 1, *how)


def single_switch(npus: int) -> dict[str, Any]:
    return {"kind": "single-switch", "npus": npus, "link": LINK, "switch": SWITCH}


CLOS = {"kind": "leaf-spine", "leaves": 16, "spines": 8, "hosts_per_leaf": 8, "link": LINK, "switch": SWITCH}
FAT_TREE = {"kind": "fat-tree", "k": 8, "link": LINK, "switch": SWITCH}
FAT_TREE_1024 = {"kind": "fat-tree", "k": 16, "link": LINK, "switch": SWITCH}
FAT_TREE_8192 = {"kind": "fat-tree", "k": 32, "link": LINK, "switch": SWITCH}
CASES = {
    "ring-8": ring(single_switch(8), 8, 16 * MIB, 4),
    "ring-128": ring(single_switch(128), 128, MIB, 4),
    "ring-128-clos": ring(CLOS, 128, MIB, 4),
    "ring-128-clos-16": ring(CLOS, 128, 16 * MIB, 1),
    "sharp-128-clos": in_switches(CLOS, 128, MIB),
    "sharp-128-clos-16": in_switches(CLOS, 128, 16 * MIB),
    "ring-8-small": ring(single_switch(8), 8, 16 * MIB, 2048),
    "ring-1024": ring(FAT_TREE_1024, 1024, 8 * MIB, 2),
    "ring-1024-small": ring(FAT_TREE_1024, 1024, MIB, 2),
    "permutation-128-three-tiers": permutation(FAT_TREE, 128, 16_000_000),
    "permutation-1024": permutation(FAT_TREE_1024, 1024, 1_000_000),
    "permutation-8192": permutation(FAT_TREE_8192, 8192, 1_000_000),
    "all-to-all-128": all_to_all(FAT_TREE, 128, 64_000),
    "all-to-all-256": all_to_all(FAT_TREE_1024 | {"npus": 256}, 256, 32_000),
    "all-to-all-256-small": all_to_all(FAT_TREE_1024 | {"npus": 256}, 256, 1_000),
    "all-to-all-1024-small": all_to_all(FAT_TREE_1024, 1024, 1_000),
}


class Dropped:
    """A TableSink that takes no row."""

    def open(self, table: RecordedTable) -> None: ...

    def write(self, name: str, columns: Columns) -> None: ...

    def failed(self, file: str, reason: str) -> None: ...

    def close(self) -> None: ...


class Chunks:
    """Launches the next chunk when the last has ended, as the system layer does with one active chunk."""

    def __init__(self, backend: Ns3Backend, schedule: Schedule, size: int, chunks: int, players: Sequence[int]) -> None:
        self._backend = backend
        self._schedule = backend.register_schedule(schedule)
        self._group = backend.register_group(players or range(schedule.ranks))
        self._ranks, self._size, self._chunks = schedule.ranks - schedule.helpers, size, chunks
        self._done = 0
        for rank in range(self._ranks):
            backend.launch(rank, self._schedule, self._group, 0, size)

    def phase_done(self, rank: int, instance: int, _time_ps: int) -> None:
        if instance + 1 < self._chunks:
            self._backend.launch(rank, self._schedule, self._group, instance + 1, self._size)
            return
        self._done += 1
        if self._done == self._ranks:
            self._backend.stop()

    def heartbeat(self, _time_ps: int, _events: int) -> None:
        """Nothing to see."""


def measure(
    topology: Mapping[str, Any],
    schedule: Schedule,
    size: int,
    chunks: int,
    control: str,
    recorder: RecorderOptions | None = None,
    cores: int = 1,
    by_credit: bool = False,
    players: Sequence[int] = (),
) -> dict[str, Any]:
    if by_credit:
        topology = {**topology, "switch": CREDIT_SWITCH}
    network = parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": control}})
    begin = time.process_time()
    backend = Ns3Backend(plan_network(network, EndpointModel(10_000)), recorder=recorder, cores=cores)
    built = time.process_time() - begin
    chunks_in_turn = Chunks(backend, schedule, size, chunks, players)
    began = time.perf_counter()
    begin = time.process_time()
    backend.run(chunks_in_turn, Limits())
    cpu = time.process_time() - begin
    wall = time.perf_counter() - began
    process = time.process_time()
    statistics = backend.statistics()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    packets = int(statistics["packets"])
    finish_us = backend.now_ps() / 1e6
    backend.close()
    return {
        "cpu_seconds": round(cpu, 3),
        "wall_seconds": round(wall, 3),
        "built_cpu_seconds": round(built, 3),
        "process_cpu_seconds": round(process, 3),
        "data_packets": packets,
        "us_per_data_packet": round(cpu / packets * 1e6, 3),
        "wall_us_per_data_packet": round(wall / packets * 1e6, 3),
        "events": int(statistics["events"]),
        "messages": int(statistics["messages"]),
        "memory_above_idle_mb": round((peak - int(statistics["idle_memory_bytes"])) / 1e6, 1),
        "finish_us": finish_us,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=sorted(CASES))
    parser.add_argument("--congestion-control", default="dcqcn", help="a name, or FILE:CLASS")
    parser.add_argument("--accounts", choices=("dropped", "written"), help="record where the time of messages went")
    parser.add_argument("--cores", type=int, default=1, help="threads that play; compare wall seconds")
    parser.add_argument("--credits", action="store_true", help="credits of 256 KiB a lane in place of PFC")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="astra-ns3-benchmark-") as folder:
        sink = Dropped() if options.accounts == "dropped" else None
        recorder = RecorderOptions(Path(folder), accounts=True, sink=sink) if options.accounts else RecorderOptions()
        measured = CASES[options.case](options.congestion_control, recorder, options.cores, options.credits)
    print(json.dumps({"case": options.case, "credits": options.credits, "accounts": options.accounts, **measured}))


if __name__ == "__main__":
    main()
