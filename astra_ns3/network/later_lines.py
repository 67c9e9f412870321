"""Warnings of numbers chosen for lines and memory, which stay when events change the lines or the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from astra_ns3.errors import InputError
from astra_ns3.frozen import replace
from astra_ns3.network.graph_outline import network_outline_of, port_outline, transport_outlines
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.topology.changes import LinkTarget, SwitchTarget, switches_in_time
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.paths import longest_path, slowest_path
from astra_ns3.transport.lossless import largest_wire_bytes
from astra_ns3.transport.marking import with_marking
from astra_ns3.transport.network_outline import NetworkOutline, SwitchOutline
from astra_ns3.transport.transport import Transport
from astra_ns3.units import PS_PER_MS, format_rate, format_time

_MOMENT_PS = PS_PER_MS
"""A rate that lasts for less isn't warned of: controls need longer to regain half of a line."""
_MUCH = 1.25
"""Round trips that differ by a smaller factor aren't warned of: so close to each other, numbers do as well."""
_TARGETS = frozenset({"base_target", "per_hop", "t_low"})
"""Numbers of controls that name the delay of congestion."""
_Later = tuple[int, int, int]
"""Number of a link, its later rate in bit/s or delay, and since when in picoseconds."""


def later_line_warnings(plan: NetworkPlan) -> list[str]:
    """Return warnings of a control's numbers, and of marking thresholds, that are those of the lines at first."""
    later = list(_later(plan, "rate_bps"))
    of_rates = (each(plan, later) for each in (_of_controls, _of_marking, _of_pauses))
    return [*chain.from_iterable(of_rates), *_of_memory(plan), *_of_delays(plan), *_of_round_trips(plan)]


def later_transports(plan: NetworkPlan) -> Mapping[str, Transport]:
    """Return the transports as they would be on lines with the last rates and delays that last; none as at first."""
    rates, delays = ({link: value for link, value, _ in _later(plan, name)} for name in ("rate_bps", "delay_ps"))
    if not (rates or delays):
        return {}
    links = (
        replace(link, rate_bps=rates.get(number, link.rate_bps), delay_ps=delays.get(number, link.delay_ps))
        for number, link in enumerate(plan.graph.links)
    )
    outlines = _outlines(plan, replace(plan.graph, links=tuple(links)))
    found: dict[str, Transport] = {}
    for kind, each in plan.transports.items():
        with suppress(InputError):  # whose numbers contradict each other on such lines, where they don't stand
            found[kind] = type(each).on(each.keys, outlines[kind])
    return found


def _outlines(plan: NetworkPlan, graph: Graph) -> Mapping[str, NetworkOutline]:
    """Return the outline of the plan's network with other lines, for each transport."""
    outlines = transport_outlines(plan.config, graph, plan.tables)
    whole = network_outline_of(graph, slowest_path(graph, plan.tables, longest_path(graph, plan.tables)))
    return {kind: outlines.get(kind, whole) for kind in plan.transports}


def _later(plan: NetworkPlan, name: str) -> Iterator[_Later]:
    """Yield the rates or delays, unlike the first, that links have for longer than a moment."""
    of_link: dict[int, list[tuple[int, int]]] = {}
    for each in plan.changes:
        if isinstance(each.target, LinkTarget) and getattr(each.state, name) is not None:
            of_link.setdefault(each.target.link, []).append((each.time_ps, getattr(each.state, name)))
    for link, course in of_link.items():
        ends = [*(time_ps for time_ps, _ in course[1:]), None]
        for (time_ps, value), end_ps in zip(course, ends, strict=True):
            lasts = end_ps is None or end_ps - time_ps >= _MOMENT_PS
            if lasts and value != getattr(plan.graph.links[link], name):
                yield link, value, time_ps


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


def _of_pauses(plan: NetworkPlan, later: Sequence[_Later]) -> Iterator[str]:
    """Yield one warning of ports whose alpha goes by their rate."""
    changed = {each.target for each in plan.changes if each.state.pfc_alpha is not None}
    for link, rate_bps, time_ps in later:
        line = plan.graph.links[link]
        for number in (end - plan.graph.hosts for end in (line.a, line.b) if end >= plan.graph.hosts):
            pfc = plan.graph.switch_configs[number].pfc
            if pfc is None or SwitchTarget(number) in changed or pfc.alpha_of(rate_bps) == pfc.alpha_of(line.rate_bps):
                continue
            yield (
                f"pfc keeps the alpha that reference_rate gives ports of {format_rate(line.rate_bps)}, though events "
                f"give them {format_rate(rate_bps)} from {format_time(time_ps)} on: leave out reference_rate, or "
                "change alpha by the key pfc of an event"
            )
            return


def _of_memory(plan: NetworkPlan) -> Iterator[str]:
    """Yield one warning of thresholds that the program chose for the memory and pauses of a switch at first."""
    graph, largest = plan.graph, largest_wire_bytes(plan.transports.values())
    changed = {each.target for each in plan.changes if each.state.ecn is not None}
    for time_ps, number, now in switches_in_time(graph, plan.changes):
        config = graph.switch_configs[number]
        ports = tuple(sorted(port_outline(graph.links[port.link]) for port in graph.ports[graph.hosts + number]))
        for transport in plan.transports.values() if config.marking and SwitchTarget(number) not in changed else ():
            chosen, new = (with_marking(SwitchOutline(each, ports), transport, largest) for each in (config, now))
            if chosen.ecn == config.ecn != new.ecn:
                yield (
                    "ecn keeps the thresholds of the first buffer and pfc, though events change these from "
                    f"{format_time(time_ps)} on: write them, or change them by the key ecn of an event"
                )
                return


def _of_round_trips(plan: NetworkPlan) -> Iterator[str]:
    """Yield warnings of a control's numbers that are in proportion to the longest round trip of the lines at first."""
    changed = {name for each in plan.controls for name in each.numbers}
    largest = largest_wire_bytes(plan.transports.values())
    for kind, now in later_transports(plan).items():
        first, rate_bps = plan.transports[kind], now.outline.line_rates_bps[0]
        least_ps, most_ps = sorted((first.base_round_trip_ps, now.base_round_trip_ps))
        if most_ps < _MUCH * least_ps:
            continue
        was, new = first.numbers_of_line(rate_bps), now.numbers_of_line(rate_bps)
        stay = [name for name in new if new[name] != was[name] and name not in changed]
        ends = f"as for a round trip of {format_time(first.base_round_trip_ps)}, though events make the longest"
        ends = f"{ends} {format_time(now.base_round_trip_ps)}"
        if stay:
            yield f"congestion_control keeps {', '.join(stay)} {ends}: write them, or change them by the key control"
        marks = any(each.state.ecn is not None for each in plan.changes)
        switches = [] if marks else [each for each in first.outline.switches if each.config.marking]
        if any(
            with_marking(each, first, largest) == each.config != with_marking(each, now, largest) for each in switches
        ):
            yield f"ecn keeps the thresholds {ends}: write them, or change them by the key ecn of an event"
        if first.measured_by_switches:
            yield f"switches measure utilisation {ends}: write the lines into the network file"


def _of_delays(plan: NetworkPlan) -> Iterator[str]:
    """Yield warnings of delays that controls take for congestion once events have made lines longest."""
    if not any(each.state.delay_ps for each in plan.changes):
        return
    links = (replace(link, delay_ps=max(link.delay_ps, link.most_delay_ps)) for link in plan.graph.links)
    longer = replace(plan.graph, links=tuple(links))
    outlines = _outlines(plan, longer)
    changed = {name for each in plan.controls for name in each.numbers}
    for transport in (each for each in plan.transports.values() if each.outline.path and not changed & _TARGETS):
        first = transport.below_round_trip(transport.outline)
        for words in transport.below_round_trip(outlines[transport.kind]) if not first else ():
            yield f"with the longest delays that events give, {words}"
