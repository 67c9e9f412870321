"""One line under Poisson arrivals, played and measured; as a program it prints the table of docs/traffic.md.

PYTHONPATH=tests python -m support.queueing --flows 1000000 --seeds 10
"""

from __future__ import annotations

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
    """In units of the mean service: mean and p99 of the time in the queue; the mean of the time over the own
    service, and the load offered."""

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
    slowdown = float(((took - ideal + service) / service).mean())
    return Measured(float(in_queue.mean()), p99, slowdown, float(service.sum() / span_ps))
