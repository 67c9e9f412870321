"""Slowdowns of a run: read and checked against its network, and those that slowed nothing, told at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator

from astra_ns3.config.compute_slowdown import ComputeSlowdown, Straggler, slowdown_of
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.network.records import NpuRecord, RunRecords
from astra_ns3.scenario.paces import OfEvent
from astra_ns3.units import format_time
from astra_ns3.workload.files.workload_formats import AnyWorkload


def checked_slowdown(given: object, npus: int) -> ComputeSlowdown | None:
    """Return the slowdown of the option or its file; raises InputError if it names an NPU that the network hasn't."""
    if given is None:
        return None
    slowdown = slowdown_of(given)
    for number, straggler in enumerate(slowdown.stragglers):
        if straggler.npus and straggler.npus[-1] >= npus:
            path = "stragglers", number, "npus"
            where = "compute_slowdown"
            if isinstance(given, (str, os.PathLike)):
                where = parse_yaml(read_text(given), os.fspath(given)).where(path)
            raise wrong(
                f"key '{'.'.join(map(str, path))}': found NPU {straggler.npus[-1]}, expected one of {npus}, "
                f"0 to {npus - 1}",
                where,
            )
    return slowdown


def check_lasts(slowdown: ComputeSlowdown | None) -> None:
    """Raise InputError for an NPU that is slow for a while: times count from the start of each try of a job."""
    for number, each in enumerate(slowdown.stragglers if slowdown is not None else ()):
        for key, given in (("from", each.from_ps > 0), ("until", each.until_ps is not None)):
            refuse(
                given,
                f"compute_slowdown: key 'stragglers.{number}.{key}': the job has restart and may begin again at any "
                f"time; expected stragglers without {key}, or a job without restart",
            )


def waits_for_slow(slowdown: ComputeSlowdown | None, system: SystemConfig, workload: AnyWorkload) -> list[str]:
    """Return a warning if fast NPUs begin collectives that slow ones haven't issued, while others could be played.

    In a graph they begin when all have issued them.
    """
    if isinstance(workload, (FlowList, FlowStream, GraphWorkload)):
        return []
    uneven = slowdown is not None and (slowdown.jitter or any(each.npus is not None for each in slowdown.stragglers))
    if not uneven or system.plays_nccl or system.scheduling_policy != "LIFO":
        return []
    return [
        "scheduling-policy LIFO: fast NPUs begin the newest collective and wait there for slow ones, which may cost "
        "far more than these compute longer; FIFO keeps the order in which all NPUs issue"
    ]


def slowdown_warnings(slowdown: ComputeSlowdown | None, records: RunRecords) -> list[str]:
    """Warn of stragglers that slowed nothing in a finished run, for their time never came or nothing computed."""
    stragglers = () if slowdown is None or records.flows is not None else slowdown.stragglers
    return list(_idle(stragglers, records.npus))


def _idle(stragglers: tuple[Straggler, ...], npus: tuple[NpuRecord, ...]) -> Iterator[str]:
    for number, straggler in enumerate(stragglers):
        if isinstance(straggler, OfEvent):
            continue
        own = npus if straggler.npus is None else [npus[npu] for npu in straggler.npus]
        last_ps = max(npu.finish_ps for npu in own)
        words = f"compute_slowdown: stragglers.{number} slowed nothing: "
        if not any(npu.compute_ps for npu in own):
            yield f"{words}its NPUs compute nothing"
        elif straggler.from_ps >= last_ps:
            yield f"{words}it begins at {format_time(straggler.from_ps)}, its NPUs end at {format_time(last_ps)}"
