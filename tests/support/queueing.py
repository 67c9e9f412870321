"""One line under Poisson arrivals, played and measured; as a program it prints the table of docs/traffic.md.

    PYTHONPATH=tests python -m support.queueing --flows 1000000 --seeds 10
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.experiments.jobs.flows import system_of_flows
from astra_ns3.workload.generators.flow_sizes import DISTRIBUTIONS, FlowSizes, one_size
from astra_ns3.workload.generators.processes import Poisson, until
from astra_ns3.workload.generators.receivers import Receivers

RATE_BPS = 100_000_000_000
PAYLOAD, AROUND = 1000, 82
"""Bytes of a packet of RoCE, without and around its data."""
_POINTS = 4000


class Measured(NamedTuple):
    """In units of the mean service: mean and p99 of the time in the queue, mean slowdown, and the load offered."""

    mean: float
    p99: float
    slowdown: float
    load: float


class Case(NamedTuple):
    """A queue: sizes of flows, the backend, and the control, which decides the discipline.

    Without a control, flows of one pair of NPUs go one after the other: first come, first served. With a queue pair for
    each flow and a control, flows on ``flow`` share the line evenly.
    """

    sizes: FlowSizes
    backend: str
    control: str
    queue_pairs: str


def exponential(mean_bytes: int) -> FlowSizes:
    """Sizes that are exponential, by many points; the last one has the mean that is missing."""
    shares = np.concatenate([np.arange(_POINTS) / _POINTS, 1 - np.geomspace(1 / _POINTS, 1e-9, 400)[1:]])
    sizes = -np.log1p(-shares) * mean_bytes
    percents = [*(shares * 100).tolist(), 100.0]
    return FlowSizes("exponential", (*sizes.tolist(), float(sizes[-1])), tuple(percents))


CASES = {
    "M/M/1, first come, first served, packets": Case(exponential(20_000), "ns3", "none", "per-pair"),
    "M/D/1, first come, first served, packets": Case(one_size(1_000), "ns3", "none", "per-pair"),
    "M/M/1, first come, first served, flow": Case(exponential(100_000), "flow", "none", "per-pair"),
    "M/D/1, first come, first served, flow": Case(one_size(100_000), "flow", "none", "per-pair"),
    "M/M/1, processor sharing, flow": Case(exponential(1_000_000), "flow", "dcqcn", "per-message"),
    "M/D/1, processor sharing, flow": Case(one_size(1_000_000), "flow", "dcqcn", "per-message"),
    "M/G/1 (web-search), processor sharing, flow": Case(DISTRIBUTIONS["web-search"], "flow", "dcqcn", "per-message"),
}


def wire_bytes(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Bytes on the line of messages of these sizes."""
    return sizes + AROUND * -(-sizes // PAYLOAD)


def measured(case: Case, load: float, flows: int, seed: int) -> Measured:
    """Play one line from NPU 0 to NPU 1 at a load, headers counted."""
    shares = (np.arange(1_000_000) + 0.5) / 1_000_000
    service_ps = float(wire_bytes(case.sizes.sizes_of(shares)).mean()) * 8e12 / RATE_BPS
    mean_bps = load * case.sizes.mean_bytes * 8e12 / service_ps
    drawn = until(Poisson(2, case.sizes, mean_bps, Receivers(2)), seed, flows=flows)
    ends = np.zeros(flows, dtype=np.int32), np.ones(flows, dtype=np.int32)
    listed = FlowList(*ends, sizes_bytes=drawn.sizes_bytes, starts_ps=drawn.starts_ps)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "network.yaml"
        path.write_text(
            "topology: {kind: single-switch, npus: 2, link: {rate: 100Gbps, delay: 1ns}, switch: {buffer: 1GB}}\n"
            f"transport: {{kind: roce, payload: {PAYLOAD}, congestion_control: {case.control}, "
            f"queue_pairs: {case.queue_pairs}, reliability: {{timeout: 1s}}}}\n"
        )
        result = astra_ns3.run(
            workload=listed,
            system=system_of_flows(None),
            network=path,
            backend=case.backend,
            record=["flows"],
            isolated=False,
        )
    table = result.completions
    took, ideal = (table["end_ps"] - table["start_ps"]).to_numpy(), table["ideal_ps"].to_numpy()
    service = wire_bytes(table["bytes"].to_numpy()) * 8e12 / RATE_BPS
    in_queue = (took - ideal + service) / service_ps
    span_ps = int(drawn.starts_ps[-1]) - int(drawn.starts_ps[0])
    p99 = float(np.percentile(in_queue, 99, method="inverted_cdf"))
    return Measured(float(in_queue.mean()), p99, float((took / ideal).mean()), float(service.sum() / span_ps))


def main() -> None:
    from oracles import queueing

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
