"""Python's share of a run: wall time in callbacks and planning over wall time from the first to the last event.

Ring all-reduce of 16 MiB in 128 chunks on 64 NPUs over TCP on one switch; prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.ns3.backend import Ns3Backend
from astra_ns3.network.plan import plan_network
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npus", type=int, default=64)
    parser.add_argument("--chunks", type=int, default=128)
    parser.add_argument("--bytes", type=int, default=16 << 20)
    options = parser.parse_args()
    network = parse_network(
        {
            "topology": {
                "kind": "single-switch",
                "npus": options.npus,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB"},
            }
        }
    )
    system = parse_system(
        {
            "scheduling-policy": "LIFO",
            "endpoint-delay": 10,
            "active-chunks-per-dimension": options.chunks,
            "preferred-dataset-splits": options.chunks,
            "all-reduce-implementation": "ring",
            "reduce-scatter-implementation": "ring",
            "all-gather-implementation": "ring",
            "all-to-all-implementation": "direct",
        }
    )
    workload = parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {options.bytes} 0\n", "micro")
    backend = Ns3Backend(plan_network(network, EndpointModel(system.endpoint_delay_ns * 1000)))
    begin = time.perf_counter()
    driver = ProgramsDriver(backend, system, Programs.of(workload, 1, network.dimensions))
    planning = time.perf_counter() - begin
    begin = time.perf_counter()
    driver.run(Limits())
    wall = time.perf_counter() - begin
    statistics = backend.statistics()
    python = float(statistics["python_seconds"]) + planning
    print(
        json.dumps(
            {
                "wall_seconds": round(wall, 3),
                "python_seconds": round(python, 3),
                "planning_seconds": round(planning, 3),
                "python_share": round(python / wall, 4),
                "events": statistics["events"],
                "packets": statistics["packets"],
            }
        )
    )
    backend.close()


if __name__ == "__main__":
    main()
