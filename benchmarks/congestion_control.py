"""What congestion controls cost an all-to-all, at several line rates: simulated time relative to no control.

    python benchmarks/congestion_control.py --rates 25,100,400,800 --delay 500ns --seeds 4

32 hosts on 4 leaves below 2 spines, 2:1 oversubscribed (``inputs/network/leaf-spine-32.yaml``), lossless; every NPU
sends 16 MiB, the same to each other one. Marking is as the program chooses. A figure is a mean over the seeds where
marks are drawn, with the range; nothing else in these runs is random.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network, read_network

INPUTS = Path(__file__).resolve().parents[1] / "inputs"
MIB_FROM_EACH = 16
CONTROLS: Sequence[tuple[str, str]] = (
    ("static-window", ""),
    ("dcqcn", "scaled"),
    ("dcqcn", "nvidia"),
    ("dcqcn", "hpcc"),
    ("dcqcn", "paper"),
    ("timely", "scaled"),
    ("timely", "hpcc"),
    ("timely", "paper"),
    ("dctcp", "scaled"),
    ("hpcc", "scaled"),
    ("hpcc", "hpcc"),
    ("hpcc", "paper"),
    ("hpcc-pint", "scaled"),
    ("swift", "scaled"),
    ("swift", "paper"),
)
DRAWN = ("dcqcn",)
"""Controls whose marks are drawn; DCTCP's are a step."""


def finish_us(control: dict[str, Any], rate_gbps: int, delay: str, seed: int) -> float:
    """Simulated microseconds until the last NPU is done."""
    keys = read_network(INPUTS / "network" / "leaf-spine-32.yaml").document()
    keys["topology"]["link"] = {"rate": f"{rate_gbps}Gbps", "delay": delay}
    keys["topology"]["switch"] = {"buffer": "64MB", "pfc": {}}
    keys["transport"] = {"kind": "roce", "congestion_control": control}
    result = astra_ns3.run(
        workload=INPUTS / "workload" / "micro-all-to-all.txt",
        system=INPUTS / "system" / "flat.txt",
        network=parse_network(keys),
        comm_scale=MIB_FROM_EACH,
        seed=seed,
    )
    return result.finish_ns / 1000


def main() -> None:
    """Print a table, a row a control and set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="25,100,400,800", help="Gb/s of a host's link")
    parser.add_argument("--delay", default="500ns", help="of every link")
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    rates = [int(rate) for rate in given.rates.split(",")]
    alone = {rate: finish_us({"kind": "none"}, rate, given.delay, 1) for rate in rates}
    print("| Control | Set | " + " | ".join(f"{rate} Gb/s" for rate in rates) + " |")
    print("|---|---|" + "---|" * len(rates))
    print("| `none` | | " + " | ".join(f"{alone[rate]:.0f} us" for rate in rates) + " |", flush=True)
    for kind, name in CONTROLS:
        control = {"kind": kind, **({"parameters": name} if name else {})}
        cells = []
        for rate in rates:
            seeds = range(1, 1 + (given.seeds if kind in DRAWN else 1))
            found = [finish_us(control, rate, given.delay, seed) / alone[rate] for seed in seeds]
            spread = f" ({min(found):.2f} to {max(found):.2f})" if len(found) > 1 else ""
            cells.append(f"{mean(found):.2f}{spread}")
        print(f"| `{kind}` | {f'`{name}`' if name else ''} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
