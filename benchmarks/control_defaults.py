"""What congestion controls cost with their defaults at each line rate, in three patterns of 2 ms: times of no control.

    python benchmarks/control_defaults.py --rates 10,25,100,400,800

An incast of 8 into one host, a permutation of 16 hosts below 4 leaves and 4 spines, and an all-to-all of 16 hosts below
4 leaves and 2 spines, 2:1 oversubscribed. Each host that is a bottleneck has 2 ms of data at its line's rate. Lossless.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.system.file import parse_system

CONTROLS: Sequence[str] = ("dcqcn", "timely", "dctcp", "hpcc", "hpcc-pint", "swift", "static-window")
PATTERNS: Sequence[str] = ("incast", "permutation", "all-to-all")
SYSTEM = {f"{kind}-implementation": "ring" for kind in ("all-reduce", "all-gather", "reduce-scatter")}
SYSTEM |= {"all-to-all-implementation": "direct", "scheduling-policy": "FIFO", "preferred-dataset-splits": "1"}
_MILLISECONDS = 2.0
_HOSTS = 16


def flows_of(pattern: str, rate_gbps: float, milliseconds: float = _MILLISECONDS) -> FlowList:
    """The flows of a pattern: so many milliseconds of data for each bottleneck."""
    line_bytes = int(rate_gbps * 1e6 / 8 * milliseconds)
    if pattern == "incast":
        return FlowList.of(list(range(1, 9)), [0] * 8, [line_bytes // 8] * 8, [0] * 8)
    if pattern == "permutation":
        return FlowList.of(
            list(range(_HOSTS)), [(host + 5) % _HOSTS for host in range(_HOSTS)], [line_bytes] * _HOSTS, [0] * _HOSTS
        )
    pairs = [(one, other) for one in range(_HOSTS) for other in range(_HOSTS) if one != other]
    size = line_bytes // (_HOSTS - 1)
    return FlowList.of([one for one, _ in pairs], [other for _, other in pairs], [size] * len(pairs), [0] * len(pairs))


def topology_of(pattern: str, rate_gbps: float, delay: str) -> dict[str, Any]:
    """The network of a pattern."""
    link, switch = {"rate": f"{rate_gbps:g}Gbps", "delay": delay}, {"buffer": "64MB", "pfc": {}}
    if pattern == "incast":
        return {"kind": "single-switch", "npus": 9, "link": link, "switch": switch}
    spines = 4 if pattern == "permutation" else 2
    return {
        "kind": "leaf-spine", "leaves": 4, "spines": spines, "hosts_per_leaf": 4, "link": link, "switch": switch
    }  # fmt: skip


def finish_ps(pattern: str, rate_gbps: float, control: str, given: argparse.Namespace) -> int:
    """When the last flow of a pattern was delivered."""
    transport = {"kind": "roce", "congestion_control": control, "payload": given.payload}
    network = parse_network({"topology": topology_of(pattern, rate_gbps, given.delay), "transport": transport})
    flows = flows_of(pattern, rate_gbps, given.milliseconds)
    system = parse_system(SYSTEM, "benchmark")
    return astra_ns3.run(workload=flows, system=system, network=network, isolated=False).finish_ps


def main() -> None:
    """Print a table for each pattern, a row a control."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="10,25,40,50,100,200,400,800", help="Gb/s of a host's link")
    parser.add_argument("--delay", default="500ns", help="of every link")
    parser.add_argument("--payload", type=int, default=1000, help="bytes of a packet")
    parser.add_argument("--milliseconds", type=float, default=_MILLISECONDS, help="of data for each bottleneck")
    parser.add_argument("--controls", default=",".join(CONTROLS))
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    rates = [float(rate) for rate in given.rates.split(",")]
    print("| Pattern | Control | " + " | ".join(f"{rate:g}" for rate in rates) + " |")
    print("|---|---|" + "---|" * len(rates))
    for pattern in given.patterns.split(","):
        alone = [finish_ps(pattern, rate, "none", given) for rate in rates]
        print(f"| {pattern} | none | " + " | ".join(f"{ps / 1e9:.2f} ms" for ps in alone) + " |", flush=True)
        for control in given.controls.split(","):
            found = [finish_ps(pattern, rate, control, given) for rate in rates]
            cells = (f"{ps / base:.2f}" for ps, base in zip(found, alone, strict=True))
            print(f"| {pattern} | {control} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
