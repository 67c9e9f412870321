"""Queues on one line against their closed forms: the table of docs/traffic.md.

PYTHONPATH=tests python benchmarks/queueing.py --flows 1000000 --seeds 10
"""

from __future__ import annotations

import argparse
import logging

import numpy as np
from oracles import queueing
from support.queueing import CASES, measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.3, 0.5, 0.7])
    options = parser.parse_args()
    logging.disable()  # of flows that wait for others: that is what is measured
    print("| Queue | load | offered | mean | expected | p99 | expected |\n|---|---|---|---|---|---|---|", flush=True)
    for name, case in CASES.items():
        for load in options.loads:
            every = [measured(case, load, options.flows, seed) for seed in range(1, options.seeds + 1)]
            mean, p99, slowdown, offered = (float(np.mean(column)) for column in zip(*every, strict=True))
            if "sharing" in name:
                expected, found, tail, tail_expected = queueing.sharing_mean_slowdown(load), slowdown, "", ""
            else:
                of_time, of_tail = (
                    (queueing.mm1_mean, queueing.mm1_percentile)
                    if "M/M/1" in name
                    else (queueing.md1_mean, queueing.md1_percentile)
                )
                expected, found, tail, tail_expected = of_time(load), mean, f"{p99:.3f}", f"{of_tail(load, 99):.3f}"
            off = f"{found:.3f} ({found / expected - 1:+.1%})"
            if tail:
                tail += f" ({p99 / of_tail(load, 99) - 1:+.1%})"
            print(
                f"| {name} | {load} | {offered / load - 1:+.2%} | {off} | {expected:.3f} | {tail} | {tail_expected} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
