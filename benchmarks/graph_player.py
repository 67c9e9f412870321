"""How fast graphs are played on the analytical network, and in how much memory.

    python benchmarks/graph_player.py [--npus 128] [--nodes 50000] [--collective-every 50] [--profile]

Each NPU has layers of computations, with an all-reduce in its group of eight after so many nodes; nothing is read from
files, so this is the player alone.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import preset
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.playing.graphs.graph_driver import GraphDriver
from astra_ns3.system.file import parse_system

GROUP = 8


@dataclass(frozen=True)
class Layers:
    """Layers of computations and all-reduces on each of ``npus``."""

    npus: int
    size: int
    every: int
    source: str = "layers"
    format: str = "made"
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        """A chain, each third node of which also depends on the one before its parent."""
        group = str(npu // GROUP)
        for number in range(self.size):
            parents = (number - 1, number - 2) if number > 1 and number % 3 == 0 else (number - 1,) if number else ()
            if number % self.every == self.every - 1:
                yield GraphNode(
                    number,
                    "all_reduce",
                    NodeKind.COLLECTIVE,
                    parents,
                    collective=CollectiveKind.ALL_REDUCE,
                    bytes=1 << 20,
                    group=group,
                )
            else:
                yield GraphNode(number, "compute", NodeKind.COMPUTE, parents, 1_000_000 + npu)

    def file_of(self, npu: int) -> str:
        """There is none."""
        return f"{self.source}.{npu}"

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> Layers:
        """As it is."""
        return self


def main() -> None:
    """Play, and print what it took as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--npus", type=int, default=128)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--collective-every", type=int, default=50)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--compat", default="none")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    groups = {str(first // GROUP): tuple(range(first, first + GROUP)) for first in range(0, options.npus, GROUP)}
    workload = Layers(options.npus, options.nodes, options.collective_every, groups=groups)
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    system = parse_system(
        {
            **{f"{kind}-implementation": "ring" for kind in kinds},
            "scheduling-policy": "LIFO",
            "preferred-dataset-splits": options.splits,
        }
    )
    dimension = AnalyticalDimension(topology="switch", npus=options.npus, bytes_per_ns=50, link_latency_ns=500)
    plan = plan_network(AnalyticalNetwork(grid=(dimension,)), EndpointModel())
    rules = preset(options.compat)
    network = create_backend("analytical", plan, seed=1, recorder=RecorderOptions(), compatibility=rules)
    driver = GraphDriver(network, system, workload, compatibility=rules)
    profile = cProfile.Profile()
    begin, cpu = time.perf_counter(), time.process_time()
    if options.profile:
        profile.enable()
    driver.run(Limits())
    profile.disable()
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
    nodes = options.npus * options.nodes
    print(
        json.dumps(
            {
                "nodes": nodes,
                "seconds": round(seconds, 2),
                "cpu_seconds": round(cpu_seconds, 2),
                "nodes_per_second": round(nodes / seconds),
                "nodes_per_cpu_second": round(nodes / cpu_seconds),
                "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
                "events": network.statistics()["events"],
            },
            indent=2,
        )
    )
    network.close()
    if options.profile:
        profile.print_stats("tottime")


if __name__ == "__main__":
    main()
