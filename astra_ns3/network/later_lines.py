"""Warnings of numbers in proportion to rates and delays of lines, which stay when events change the lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from astra_ns3.frozen import replace
from astra_ns3.network.graph_outline import network_outline_of, port_outline, transport_outlines
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.changes import LinkTarget, SwitchTarget
from astra_ns3.topology.paths import longest_path, slowest_path
from astra_ns3.transport.lossless import largest_wire_bytes
from astra_ns3.transport.marking import with_marking
from astra_ns3.transport.network_outline import SwitchOutline
from astra_ns3.units import PS_PER_MS, format_rate, format_time

_MOMENT_PS = PS_PER_MS
"""A rate that lasts for less isn't warned of: controls need longer to regain half of a line."""
_TARGETS = frozenset({"base_target", "per_hop", "t_low"})
"""Numbers of controls that name the delay of congestion."""
_Later = tuple[int, int, int]
"""Number of a link, its later rate in bit/s, and since when in picoseconds."""


def later_line_warnings(plan: NetworkPlan) -> list[str]:
    """Return warnings of a control's numbers, and of marking thresholds, that are those of the lines at first."""
    later = list(_later_rates(plan))
    return [*_of_controls(plan, later), *_of_marking(plan, later), *_of_delays(plan)]


def _later_rates(plan: NetworkPlan) -> Iterator[_Later]:
    """Yield the rates, unlike the first, that links have for longer than a moment."""
    of_link: dict[int, list[tuple[int, int]]] = {}
    for each in plan.changes:
        if isinstance(each.target, LinkTarget) and each.state.rate_bps is not None:
            of_link.setdefault(each.target.link, []).append((each.time_ps, each.state.rate_bps))
    for link, course in of_link.items():
        ends = [*(time_ps for time_ps, _ in course[1:]), None]
        for (time_ps, rate_bps), end_ps in zip(course, ends, strict=True):
            lasts = end_ps is None or end_ps - time_ps >= _MOMENT_PS
            if lasts and rate_bps != plan.graph.links[link].rate_bps:
                yield link, rate_bps, time_ps


def _of_controls(plan: NetworkPlan, later: Sequence[_Later]) -> Iterator[str]:
    """Yield one warning of the controls; paths of lines as slow as some host's at first have numbers of their own."""
    graph = plan.graph
    of_hosts = {port.link for host in set(graph.npu_host) for port in graph.ports[host]}
    first_bps = {graph.links[link].rate_bps for link in of_hosts}
    for transport in plan.transports.values():
        changed = {name for each in plan.controls if each.transport == transport.kind for name in each.numbers}
        kinds = {
            (graph.links[link].rate_bps, rate_bps): time_ps
            for link, rate_bps, time_ps in reversed(later)
            if link in of_hosts and rate_bps not in first_bps
        }
        for (before_bps, rate_bps), time_ps in kinds.items():
            was, now = transport.numbers_of_line(before_bps), transport.numbers_of_line(rate_bps)
            stay = [name for name in now if now[name] != was[name] and name not in changed]
            if stay:
                yield (
                    f"congestion_control keeps {', '.join(stay)} as for {format_rate(before_bps)}, though "
                    f"events give lines of hosts {format_rate(rate_bps)} from {format_time(time_ps)} on: write them, "
                    "or change them by the key control of an event"
                )
                return


def _of_marking(plan: NetworkPlan, later: Sequence[_Later]) -> Iterator[str]:
    """Yield one warning of thresholds that are as the program chooses them."""
    graph, largest = plan.graph, largest_wire_bytes(plan.transports.values())
    changed = {each.target for each in plan.changes if each.state.ecn is not None}
    for link, rate_bps, time_ps in later:
        line = graph.links[link]
        for number in (end - graph.hosts for end in (line.a, line.b) if end >= graph.hosts):
            config = graph.switch_configs[number]
            if not config.marking or SwitchTarget(number) in changed:
                continue
            ports = sorted(port_outline(graph.links[port.link]) for port in graph.ports[graph.hosts + number])
            with_later = (replace(each, rate_bps=rate_bps) if each == port_outline(line) else each for each in ports)
            for transport in plan.transports.values():
                chosen = with_marking(SwitchOutline(config, tuple(ports)), transport, largest)
                new = with_marking(SwitchOutline(config, tuple(sorted(with_later))), transport, largest)
                if chosen.ecn == config.ecn and new.ecn_of(rate_bps) != config.ecn_of(line.rate_bps):
                    yield (
                        f"ecn keeps the thresholds of ports of {format_rate(line.rate_bps)}, though events give them "
                        f"{format_rate(rate_bps)} from {format_time(time_ps)} on: write them, or change them by the "
                        "key ecn of an event"
                    )
                    return


def _of_delays(plan: NetworkPlan) -> Iterator[str]:
    """Yield warnings of delays that controls take for congestion once events have made lines longest."""
    if not any(each.state.delay_ps for each in plan.changes):
        return
    links = (replace(link, delay_ps=max(link.delay_ps, link.most_delay_ps)) for link in plan.graph.links)
    longer = replace(plan.graph, links=tuple(links))
    outlines = transport_outlines(plan.config, longer, plan.tables)
    whole = network_outline_of(longer, slowest_path(longer, plan.tables, longest_path(longer, plan.tables)))
    changed = {name for each in plan.controls for name in each.numbers}
    for transport in (each for each in plan.transports.values() if each.outline.path and not changed & _TARGETS):
        first = transport.below_round_trip(transport.outline)
        for words in transport.below_round_trip(outlines.get(transport.kind, whole)) if not first else ():
            yield f"with the longest delays that events give, {words}"
