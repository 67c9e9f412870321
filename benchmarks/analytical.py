"""Speed of the analytical network and of the executor, 128 NPUs on one switch; prints one JSON line.

The seconds are those of the simulation, bridge and Python's policies included, start-up not; each case runs twice in
one process and the second counts.
"""

from __future__ import annotations

import gc
import json

import astra_ns3
from astra_ns3.config.network.analytical_network import GIB_PER_NS, AnalyticalDimension, AnalyticalNetwork
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

NPUS = 128
MIB = 1 << 20


def seconds_and_messages(collective: str, chunks: int, active: int, size: int) -> tuple[float, int]:
    dimension = AnalyticalDimension(topology="switch", npus=NPUS, bytes_per_ns=50 * GIB_PER_NS, link_latency_ns=500)
    keys: dict[str, object] = {f"{name}-implementation": "ring" for name in ("all-reduce", "all-gather", "all-to-all")}
    keys |= {"reduce-scatter-implementation": "ring", "scheduling-policy": "LIFO", "endpoint-delay": 10}
    keys |= {"preferred-dataset-splits": chunks, "active-chunks-per-dimension": active}
    for _ in range(2):
        gc.collect()  # or a search through all that is loaded comes in the middle of the short ones
        result = astra_ns3.run(
            workload=parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {collective} {size} 0\n", "micro"),
            system=parse_system(keys),
            network=AnalyticalNetwork(grid=(dimension,)),
            backend="analytical",
            isolated=False,
        )
    return result.metadata["timing"]["simulation_seconds"], result.metadata["statistics"]["messages"]


def main() -> None:
    all_reduce, _ = seconds_and_messages("ALLREDUCE", 4, 1, MIB)
    all_to_all, _ = seconds_and_messages("ALLTOALL", 4, 1, MIB)
    seconds, messages = seconds_and_messages("ALLREDUCE", 128, 128, 128 * MIB)
    print(
        json.dumps(
            {
                "ring_all_reduce_seconds": round(all_reduce, 3),
                "ring_all_to_all_seconds": round(all_to_all, 3),
                "executor_messages_per_second": round(messages / seconds),
            }
        )
    )


if __name__ == "__main__":
    main()
