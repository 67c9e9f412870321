"""Every model file at full size, an iteration of flows over the graph: docs/tables/model-iterations.csv.

The network is inputs/network/roce-nvswitch-clos-128.yaml, servers of 8 NPUs with NVSwitches below leaves and spines,
with as many servers as a model needs where that is more than 16. One chunk a collective. A process each; seconds are of
the processor, start-up included. ``--backend analytical-queues`` plays the same with queues at links.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from astra_ns3 import Result
    from astra_ns3.config.network.packet_network import NetworkConfig
    from astra_ns3.workload.models.workload import ModelWorkload

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
MODELS = INPUTS / "workload" / "models"
NETWORK = INPUTS / "network" / "roce-nvswitch-clos-128.yaml"
SYSTEM = {f"{kind}-implementation": "oneRing" for kind in ("all-reduce", "all-gather", "reduce-scatter")}
SYSTEM |= {"all-to-all-implementation": "oneDirect", "scheduling-policy": "LIFO", "preferred-dataset-splits": "1"}
NAMES = tuple(sorted(path.stem for path in MODELS.glob("*.yaml")))
SERVERS_BELOW_A_LEAF = 2
TITLES = ("File", "NPUs", "Iteration", "Computing", "Exposed", "Over the floor")


def network_for(npus: int) -> dict[str, Any]:
    """The keys of the network, with servers for so many NPUs where its own are fewer."""
    from astra_ns3.config.network.packet_network import read_network

    keys: dict[str, Any] = read_network(NETWORK).document()
    topology = keys["topology"]
    nodes = max(topology["nodes"], npus // topology["npus_per_node"])
    topology["nodes"] = nodes
    topology["scale_out"]["leaves"] = nodes // SERVERS_BELOW_A_LEAF
    topology["scale_out"]["switch"]["buffer"] = "1GiB"  # for the headroom of spines with a port for each leaf
    return keys


def played(name: str, backend: str) -> tuple[ModelWorkload, NetworkConfig, Result]:
    """A model, the network, and an iteration on it."""
    import astra_ns3
    from astra_ns3.config.network.packet_network import parse_network
    from astra_ns3.system.file import parse_system
    from astra_ns3.workload.models.workload import read_model

    model = read_model(MODELS / f"{name}.yaml")
    network = parse_network(network_for(model.least_npus))
    result = astra_ns3.run(
        workload=model,
        system=parse_system(SYSTEM, "benchmark"),
        network=network,
        backend=backend,
        isolated=False,
    )
    return model, network, result


def times(result: Result) -> list[str]:
    """Cells of the table: the iteration, and what NPU 0 computes and waits for in it."""
    from astra_ns3.units import format_time

    return [
        format_time(each) for each in (result.finish_ps, result.metadata["compute_ps"], result.metadata["exposed_ps"])
    ]


def row(name: str, backend: str) -> dict[str, Any]:
    """What an iteration of a model comes to, and what it took."""
    _, network, result = played(name, backend)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    floor = result.metadata["floor"]
    return {
        "model": name,
        "of_floor": None if floor is None else floor["share"],
        "npus": network.npus,
        "times": times(result),
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1000,
    }


def main() -> None:
    """Print the table as CSV, or with ``--json`` the numbers of each model, with seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"of {', '.join(NAMES)}")
    parser.add_argument("--backend", default="flow", help="flow (default), or another that plays the network's file")
    parser.add_argument("--json", action="store_true", help="a JSON line for each, in this process")
    arguments = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    if not arguments.json:
        table.writerow(TITLES)
    for name in arguments.names:
        if arguments.json:
            print(json.dumps(row(name, arguments.backend)), flush=True)
            continue
        command = [sys.executable, __file__, "--json", "--backend", arguments.backend, name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        floor = "" if found["of_floor"] is None else f"{found['of_floor']:.2f}"
        table.writerow([name, f"{found['npus']:,}", *found["times"], floor])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
