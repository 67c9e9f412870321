"""Other traffic of a scenario on its network: from an entry of the file to the flows that are played.

A load is a share of what the links of a cut carry; flows between NPUs of one part of the cut don't cross it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream, list_of
from astra_ns3.config.scenario.traffic import TrafficConfig
from astra_ns3.errors import located, of_npus, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.memory import require_memory
from astra_ns3.network.backends import abilities_of
from astra_ns3.scenario.cut import HOSTS, RACKS, Cut, cut_named
from astra_ns3.topology.graph import Graph
from astra_ns3.units import PS_PER_SECOND, format_rate, format_time
from astra_ns3.workload.generators.flow_sizes import FlowSizes, flow_sizes
from astra_ns3.workload.generators.flows import MOST_FLOWS, check_senders, made
from astra_ns3.workload.generators.processes import BITS, Constant, Incast, OnOff, Poisson, Process, until
from astra_ns3.workload.generators.receivers import Receivers

BYTES_PER_FLOW = 130
"""Bytes of a flow: 70 while it is drawn, measured, and its columns in the native half."""


@dataclass(frozen=True)
class Traffic:
    """An entry of the file, and where that stands."""

    config: TrafficConfig
    where: str


def npus_of(traffic: Traffic, npus: int) -> Sequence[int]:
    """Return the NPUs that take part, on a network of so many; raises InputError for one that isn't there."""
    own = traffic.config.npus
    if own is None:
        refuse(npus < 2, "needs two NPUs, the network has one", traffic.where)
        return range(npus)
    with located(f"{traffic.where}: npus"):
        for npu in own:
            of_npus("NPU", npu, npus)
    return own


def flows_of(traffic: Traffic, graph: Graph, seed: int) -> FlowList | FlowStream:
    """Return the flows of an entry, among the ranks of its NPUs; without end if it has none. Raises InputError."""
    config = traffic.config
    npus = npus_of(traffic, len(graph.npu_host))
    with located(traffic.where):
        process = _process(config, graph, npus)
        per_second = process.mean_bps / BITS / process.sizes.mean_bytes
        if not config.ends:
            return FlowStream(process, seed, config.name, per_second=per_second)
        times = [] if config.end_ps is None else [per_second * (config.end_ps - config.start_ps) / PS_PER_SECOND]
        _check_room(min([*times, *([] if config.flows is None else [config.flows])]))
        if config.flows is None:
            assert config.end_ps is not None
            return made(process, config.end_ps - config.start_ps, seed)
        duration_ps = None if config.end_ps is None else config.end_ps - config.start_ps
        flows = until(process, seed, duration_ps=duration_ps, flows=config.flows)
        refuse(not len(flows.starts_ps), "no flow starts before end; expected a later one, or more load")
        return list_of(flows, process.npus, config.name, f"generated: {process.kind}")


def check_beside(stream: FlowStream, least_ps: int, where: str) -> None:
    """Raise InputError for a stream that starts more flows than can be played in the time that jobs take at least."""
    with located(where):
        _check_room(stream.per_second * least_ps / PS_PER_SECOND, f" in the {format_time(least_ps)} that jobs need")


def _check_room(flows: float, when: str = "") -> None:
    """Raise InputError for more flows than can be told apart, or than memory can hold."""
    advice = "use less load, larger sizes, a sooner end or fewer flows"
    what = f"that makes about {flows:.3g} flows{when}"
    refuse(flows > MOST_FLOWS, f"{what}, expected at most {MOST_FLOWS:,}; {advice}")
    require_memory(what, round(flows * BYTES_PER_FLOW), advice)


def check_played(traffic: Sequence[Traffic], backend: str) -> None:
    """Raise InputError if a backend can't play traffic: one on which flows share no links."""
    abilities = abilities_of(backend)
    for each in traffic if not (abilities.packets or abilities.needs_packets) else ():
        refuse(True, f"other traffic has no meaning on the backend {backend}, expected ns3 or flow", each.where)


def _process(config: TrafficConfig, graph: Graph, npus: Sequence[int]) -> Process:
    """Return what makes the flows of an entry."""
    sizes = flow_sizes(config.sizes)
    count = len(npus)
    racks = None if config.rack_local is None else cut_named(RACKS, graph, npus).parts.tolist()
    receivers = Receivers(count, racks, config.rack_local)
    if config.kind == "incast":
        return _incast(config, graph, npus, sizes)
    mean_bps = _mean_bps(config, graph, npus, receivers)
    if config.kind == "poisson":
        return Poisson(count, sizes, mean_bps, receivers)
    if config.kind == "constant":
        return Constant(count, sizes, mean_bps / count, receivers)
    assert config.on_ps is not None
    assert config.off_ps is not None
    share_on = config.on_ps / (config.on_ps + config.off_ps)
    rate_bps = mean_bps / count / share_on if config.rate_bps is None else config.rate_bps
    return OnOff(count, sizes, rate_bps, config.on_ps, config.off_ps, receivers)


def _incast(config: TrafficConfig, graph: Graph, npus: Sequence[int], sizes: FlowSizes) -> Incast:
    assert config.senders is not None
    check_senders(len(npus), config.senders)
    if config.interval_ps is not None:
        return Incast(len(npus), sizes, config.senders, config.interval_ps)
    mean_bps = _mean_bps(config, graph, npus, Receivers(len(npus)))
    interval_ps = round(config.senders * sizes.mean_bytes * BITS * PS_PER_SECOND / mean_bps)
    return Incast(len(npus), sizes, config.senders, max(interval_ps, 1))


def _mean_bps(config: TrafficConfig, graph: Graph, npus: Sequence[int], receivers: Receivers) -> float:
    """Return the bits in a second that all flows have on average; with a rate and on-off, while all NPUs are on."""
    if config.rate_bps is not None:
        mean_bps, found = float(config.rate_bps * len(npus)), f"rate {format_rate(config.rate_bps)}"
    else:
        assert config.load is not None
        cut = cut_named(config.cut or HOSTS, graph, npus)
        crossing = crossing_share(cut, receivers)
        refuse(not crossing, f"no flow leaves {cut.name}, expected another cut, or a lower rack-local")
        mean_bps, found = config.load * cut.rate_bps / crossing, f"load {config.load:g} of {cut.name}"
    hosts = cut_named(HOSTS, graph, npus)
    on_hosts = mean_bps * crossing_share(hosts, receivers) / hosts.rate_bps
    if config.rate_bps is None and config.on_ps is not None and config.off_ps is not None:
        on_hosts *= 1 + config.off_ps / config.on_ps
        found += ", while NPUs are on,"
    if on_hosts > 1:
        most = f"load of at most {(config.load or 0) / on_hosts:.3g}"
        if config.rate_bps is not None:
            most = f"rate of at most {format_rate(int(config.rate_bps / on_hosts))}"
        raise wrong(f"{found} is {on_hosts:.3g} of the hosts' links, expected at most 1 there; use a {most}")
    return mean_bps


def crossing_share(cut: Cut, receivers: Receivers) -> float:
    """Return the share of flows that cross a cut, all NPUs sending alike."""
    _, both = np.unique([cut.tiers, cut.servers], axis=1, return_inverse=True)
    leaving = receivers.leaving(cut.tiers) + receivers.leaving(cut.servers) - receivers.leaving(both)
    return float(np.mean(leaving))
