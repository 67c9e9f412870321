"""Relations of a run or a scenario with the same, whose rates are k times as high and whose times are a k-th."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.transports.roce import NIC_TIMEOUT_PS
from astra_ns3.config.workload import Workload
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.system.file import parse_system
from astra_ns3.transport.roce.control_sets import Line, in_force
from astra_ns3.units import PS_PER_US
from soak.case import Case, network_document
from soak.cases import random_case
from soak.draw import Draw
from soak.models import WORD
from soak.relations import (
    NO_REDUCTION,
    Found,
    apart,
    changed_network,
    drawn_request,
    is_switch,
    played,
    usable_case,
)
from soak.rewritten import rewritten, times
from soak.scenarios import KIND as SCENARIO
from soak.scenarios import scenario_of

_ROUNDING = 1.02
"""Times are whole picoseconds, so that packets of equally fast senders may change places."""
_COUNTS = ("messages", "packets", "retransmissions", "dropped_frames", "marked_frames")
_CHAOS = 1.05
"""Controls react to every picosecond."""
_WITHOUT_CONTROL = ("none", "static-window")
_ABSOLUTE = ("tcp", "nccl", "transports", "storage", "remote-memory")
"""Parts with times or rates of their own."""


def scaled(seed: int, folder: Path) -> Found:
    """All rates k times as high and all times a k-th: the run takes a k-th, and nothing else changes."""
    case, draw = usable_case(seed), Draw(f"scaled {seed}")
    if case is None or not in_proportion(case):
        return None
    k, backend = draw.pick(2, 10), draw.pick("ns3", "ns3", "flow", "analytical-queues", "analytical")
    slow = replace(drawn_request(case, folder, backend=backend), network=without_absolute_defaults(case, folder))
    system = slow.system.model_copy(update={"reduction_bytes_per_ns": NO_REDUCTION})  # type: ignore[union-attr]
    fast = replace(slow, network=changed_network(slow, bps=k, ps=Fraction(1, k)), system=system)
    slow = replace(slow, system=parse_system(rewritten(system, times(ns=k))), compute_scale=k * slow.compute_scale)
    if isinstance(slow.workload, Workload):
        layers = tuple(replace(layer, update_ns=k * layer.update_ns) for layer in slow.workload.layers)
        slow = replace(slow, workload=replace(slow.workload, layers=layers))
    one, other = played(fast), played(slow)
    counted = {name: (one["statistics"].get(name), other["statistics"].get(name)) for name in _COUNTS}
    if any(counted["retransmissions"]):  # whose packets a picosecond decides
        return None
    control = case.network["transport"]["congestion_control"]["kind"]
    exact = control in _WITHOUT_CONTROL and WORD not in case.job.get("text", "")  # models' times are whole ns
    names = counted if exact else ("messages",)
    found = [f"{name}: {counted[name]}" for name in names if len(set(counted[name])) > 1]
    return found + apart("finish", k * one["finish_ps"], other["finish_ps"], _ROUNDING if exact else _CHAOS)


def in_proportion(case: Case) -> bool:
    """Whether all that takes time in a case is among its numbers."""
    control = str(case.network["transport"].get("congestion_control")) if "transport" in case.network else ":"
    absolute = any(f'"{word}"' in case.document() for word in _ABSOLUTE)
    return not absolute and ".py:" not in control and case.job.get("options", {}).get("compat", "none") == "none"


def without_absolute_defaults(case: Case, folder: Path) -> NetworkConfig:
    """Return the network of a case with what is else bytes for a rate, or a time whatever the rates are."""
    document = network_document(case, folder)
    transport, routing = document["transport"], document["topology"]["routing"]
    transport["congestion_control"].pop("parameters", None)
    transport.setdefault("reliability", {}).setdefault("timeout", f"{NIC_TIMEOUT_PS}ps")
    transport |= {"cnp_interval": "50us", "time_rounding": "0ps"}
    if routing.get("kind") == "flowlet":
        routing.setdefault("flowlet_gap", "50us")
    for switch in _switches(document["topology"]):
        if isinstance(switch.get("ecn", ""), str):
            switch["ecn"] = "off"
    roce: Any = parse_network(document).transport
    transport["congestion_control"] |= _numbers_in_force(roce.congestion_control, roce.payload_bytes)
    return parse_network(document)


def _numbers_in_force(control: Any, payload: int) -> dict[str, Any]:
    """Return a control's times, rates and sizes for some line as keys of a file, where else rules give them."""
    numbers = in_force(control, Line(100 * 10**9, 10 * PS_PER_US, payload)).numbers
    units = {key: name.removeprefix(key) for key, name in control.names_with_units().items()}
    return {key: f"{int(value)}{units[key][1:]}" for key, value in numbers.items() if units[key] in ("_ps", "_bps")}


def _switches(value: Any) -> Iterator[dict[str, Any]]:
    if is_switch(value):
        yield value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        if key != "nic":
            yield from _switches(each)


def _scenario_in(folder: Path, case: Case) -> ScenarioRequest:
    folder.mkdir()
    return replace(scenario_of(case, folder), isolated=False)


def scaled_scenario(seed: int, folder: Path) -> Found:
    """A scenario whose rates are k times as high, and whose times are a k-th, takes a k-th."""
    case, draw = replace(random_case(seed, 1.0), cores=1), Draw(f"scenario {seed}")
    if case.job["kind"] != SCENARIO or case.files or not in_proportion(case) or "hello" in str(case.job):
        return None  # when hellos come is drawn
    k, network = draw.pick(2, 10), without_absolute_defaults(case, folder)
    job = {key: value for key, value in case.job.items() if key != "traffic"}  # which starts at any picosecond
    longer = re.sub(r'"(\d+)(ns|us|ms)"', lambda time: f'"{k * int(time[1])}{time[2]}"', json.dumps(job))
    longer = re.sub(r'("endpoint-delay": )(\d+)', lambda delay: delay[1] + str(k * int(delay[2])), longer)
    fast, slow = (
        _scenario_in(folder / name, replace(case, job=each))
        for name, each in (("fast", job), ("slow", json.loads(longer)))
    )
    one = played(replace(fast, network=parse_network(rewritten(network, times(bps=k, ps=Fraction(1, k))))))
    other = played(replace(slow, network=network, compute_scale=float(k)))
    if one["statistics"].get("retransmissions") != other["statistics"].get("retransmissions"):
        return None  # of packets that a picosecond decides
    return apart(f"finish on {fast.backend}", k * one["finish_ps"], other["finish_ps"], _CHAOS)


def in_another_order(seed: int, folder: Path) -> Found:
    """Jobs in another order of a scenario's file take the same times, each on the same NPUs from the same time."""
    case = replace(random_case(seed, 1.0), cores=1)
    jobs = case.job.get("jobs", ())
    if case.job["kind"] != SCENARIO or case.files or len(jobs) < 2:
        return None
    job = {key: each for key, each in case.job.items() if key != "arrivals"}
    one, other = (
        {job["name"]: job["finish_ps"] for job in played(_scenario_in(folder / name, replace(case, job=each)))["jobs"]}
        for name, each in (("one", job), ("other", {**job, "jobs": jobs[::-1]}))
    )
    return [line for name, finish_ps in one.items() for line in apart(name, finish_ps, other[name], 1.0)]
