"""The end of a run as far as it is known before: no simulated time goes beyond 64 bits of picoseconds, 106 days.

Only what an NPU computes (of training loops and models NPU 0), and when flows start, count here. All other things are
refused when the run gets there.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from astra_ns3.errors import refuse
from astra_ns3.experiments.inputs import Inputs, Parts
from astra_ns3.experiments.jobs.flows import FlowsJob
from astra_ns3.units import LARGEST_INTEGER, PS_PER_SECOND, format_bytes, format_time

_BEYOND = "which ends beyond 106 days, the most that simulated time lasts"


def check_end(parts: Parts) -> None:
    """Raise InputError if a job can't end in time; one that is stopped, fails or begins again may, and traffic."""
    for inputs, passes in parts:
        tenancy = inputs.tenancy
        fails = tenancy.restart_ps is not None or tenancy.fails_ps
        if tenancy.end_ps is None and not (fails or tenancy.endless or tenancy.is_traffic):
            _check_computing(inputs, passes)
            _check_flows(inputs)


def _check_computing(inputs: Inputs, passes: int) -> None:
    compute_ps, npu = inputs.job.least_computation(inputs.platform, passes)
    if inputs.slowdown is not None:  # what a host computes in a graph isn't slowed
        least = inputs.slowdown.least_factors(len(inputs.tenancy.npus))[npu]
        compute_ps = int(compute_ps * min(least, Fraction(1)))
    start_ps = inputs.tenancy.start_ps
    begun = f" from {format_time(start_ps)} on" if start_ps else ""
    fewer = "fewer passes, or " if passes > 1 else ""
    refuse(
        start_ps + compute_ps > LARGEST_INTEGER,
        f"NPU {npu} computes for {format_time(compute_ps)}{begun}, {_BEYOND}; use {fewer}shorter computations",
        inputs.job.source,
    )


def _check_flows(inputs: Inputs) -> None:
    """Raise InputError for a flow that ends too late even if it has all lines of the network for itself."""
    if not isinstance(inputs.job, FlowsJob):
        return
    flows, graph = inputs.job.workload, inputs.graph
    alone = not inputs.events and graph.hosts == len(graph.npu_host)
    rate_bps = 2 * sum(link.rate_bps for link in graph.links) if alone else 0
    least_ps = flows.sizes_bytes * (8 * PS_PER_SECOND / rate_bps) if rate_bps else np.zeros(len(flows))
    last = int(np.argmax(flows.starts_ps + least_ps))
    start_ps = inputs.tenancy.start_ps + int(flows.starts_ps[last])
    size = format_bytes(int(flows.sizes_bytes[last]))
    refuse(
        start_ps + int(least_ps[last]) > LARGEST_INTEGER,
        f"{flows.where(last)} starts at {format_time(start_ps)} and sends {size}, {_BEYOND}; expected an earlier "
        "start, or less data",
    )
