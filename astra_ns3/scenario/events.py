"""Events of a scenario, which name nodes of the network, and the changes of the network that they cause."""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from astra_ns3.config.scenario.file import ALL, EventConfig
from astra_ns3.config.scenario.keys import rate_of
from astra_ns3.config.topology.switch import EcnConfig, PfcThresholds
from astra_ns3.errors import located, nearest, of_npus, refuse, some_of, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import ABILITIES
from astra_ns3.network.run_document import EventDocument
from astra_ns3.topology.changes import (
    BUILT,
    OF_SWITCHES,
    Change,
    LinkTarget,
    NpuTarget,
    State,
    SwitchTarget,
    Target,
    after_changes,
)
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.ports import nic_ports, resolve_port
from astra_ns3.topology.route_differences import marking_of
from astra_ns3.units import exact_time

_NUMBERED = re.compile(r"(host|switch|npu) ?([0-9]{1,9})", re.ASCII)

# The quantity that a key of an event changes.
_QUANTITIES = {
    "rate": "rate_bps",
    "delay": "delay_ps",
    "error-rate": "error_rate",
    "buffer": "buffer_bytes",
    "pfc": "pfc_alpha",
}


@dataclass(frozen=True)
class Event:
    """An event as a file has it, and where it stands there; ``drawn``: it comes of the rates there."""

    config: EventConfig
    where: str
    drawn: bool = False


@dataclass(frozen=True)
class Happening:
    """One occurrence of an event: from when to when (None: for ever) ``target`` is as ``state`` says."""

    event: int
    start_ps: int
    end_ps: int | None
    target: Target
    state: State


def happenings(events: Sequence[Event], graph: Graph) -> Iterator[Happening]:
    """Yield what happens to which part of a network; raises InputError for a part that isn't there."""
    for number, event in enumerate(events):
        config = event.config
        with located(event.where):
            targets = _targets(config, graph)
        for start_ps in config.starts_ps:
            end_ps = None if config.for_ps is None else start_ps + config.for_ps
            for target in targets:
                with located(event.where):
                    states = list(_states(config, target, graph))
                yield from (Happening(number, start_ps, end_ps, target, state) for state in states)


def event_documents(events: Sequence[Event], graph: Graph) -> list[EventDocument]:
    """Return what each event does to each part that it is of, as plain data."""
    return [
        _document(number, event, target, graph)
        for number, event in enumerate(events)
        for target in ([None] if event.config.npu == ALL else _targets(event.config, graph))
    ]


def _document(number: int, event: Event, target: Target | None, graph: Graph) -> EventDocument:
    """Return what an event does to a part, or to all NPUs (None)."""
    config = event.config
    found: EventDocument = {"event": number, "name": "all NPUs" if target is None else words_of(target, graph)}
    if event.drawn:
        found["drawn"] = True
    match target:
        case LinkTarget(link):
            found["link"] = link
        case SwitchTarget(switch):
            found["switch"] = switch
        case NpuTarget(npu):
            found["npu"] = npu
    found["start_ps"] = config.at_ps
    found["end_ps"] = None if config.for_ps is None else config.at_ps + config.for_ps
    if config.every_ps is not None and config.times is not None:
        found |= {"every_ps": config.every_ps, "times": config.times}
    for state in () if target is None else _states(config, target, graph):
        _add_state(found, state)
    if config.pfc is not None:
        found["pfc"] = {name: value for name, value in config.pfc if value is not None}
    if config.control is not None:
        found["control"] = dict(config.control)
    if config.still:
        found["still"] = True
    if config.slower is not None:
        found["slower"] = config.slower
    return found


def _add_state(found: EventDocument, state: State) -> None:
    if state.up is not None:
        found["up"] = state.up
    if state.rate_bps is not None:
        found["rate_bps"] = state.rate_bps
    if state.delay_ps is not None:
        found["delay_ps"] = state.delay_ps
    if state.error_rate is not None:
        found["error_rate"] = state.error_rate
    if state.storm is not None:
        found["storm"] = state.storm
    if isinstance(state.buffer_bytes, int):
        found["buffer_bytes"] = state.buffer_bytes
    if isinstance(state.ecn, EcnConfig):
        ecn = state.ecn
        found["ecn"] = {"kmin_bytes": ecn.kmin_bytes, "kmax_bytes": ecn.kmax_bytes, "pmax": ecn.pmax}


def changes_of(events: Sequence[Event], graph: Graph) -> tuple[Change, ...]:
    """Return the changes that events come to, in the order of time.

    Where several hold at once, what began last does; where none does, the network is as it was built.
    """
    of_part: defaultdict[tuple[Target, str], list[Happening]] = defaultdict(list)
    for each in happenings(events, graph):
        (name,) = each.state.named()
        of_part[each.target, name].append(each)
    found = [
        Change(time_ps, target, state)
        for (target, name), own in of_part.items()
        for time_ps, state in _course(own, _built(target, name, graph), events)
    ]
    return tuple(sorted(found, key=lambda change: change.time_ps))


_BUILT_SWITCH = {
    "ecn": State(ecn=BUILT),
    "buffer_bytes": State(buffer_bytes=BUILT),
    "pfc_alpha": State(pfc_alpha=BUILT),
    "pfc_headroom_bytes": State(pfc_headroom_bytes=BUILT),
    "pfc_reserve_bytes": State(pfc_reserve_bytes=BUILT),
    "pfc_resume_offset_bytes": State(pfc_resume_offset_bytes=BUILT),
}
"""Each quantity of a switch before all changes."""


def _course(own: Sequence[Happening], built: State, events: Sequence[Event]) -> Iterator[tuple[int, State]]:
    """Yield when one quantity of a part becomes what."""
    _check_agree(own, events)
    beginning = sorted(own, key=lambda each: each.start_ps, reverse=True)
    times = sorted({each.start_ps for each in own} | {each.end_ps for each in own if each.end_ps is not None})
    holding: list[tuple[int, int, Happening]] = []
    now = built
    for time_ps in times:
        while beginning and beginning[-1].start_ps == time_ps:
            heapq.heappush(holding, (-time_ps, len(beginning), beginning.pop()))
        while holding and _over(holding[0][2], time_ps):
            heapq.heappop(holding)
        state = holding[0][2].state if holding else built
        if state != now:
            now = state
            yield time_ps, state


def _over(happening: Happening, time_ps: int) -> bool:
    return happening.end_ps is not None and happening.end_ps <= time_ps


def _check_agree(own: Sequence[Happening], events: Sequence[Event]) -> None:
    """Raise InputError for two events that set one quantity to different values at one time."""
    of_time: dict[int, Happening] = {}
    for each in own:
        other = of_time.setdefault(each.start_ps, each)
        if other.state != each.state:
            ((name, value),), ((_, before),) = each.state.named().items(), other.state.named().items()
            raise wrong(
                f"{name} of {each.target} becomes {value} at {exact_time(each.start_ps)}, and {before} by "
                f"{events[other.event].where.partition(' ')[2]}; expected one of them",
                events[each.event].where,
            )


def _built(target: Target, name: str, graph: Graph) -> State:
    """Return what a quantity of a part is before all changes."""
    if isinstance(target, SwitchTarget) and name in OF_SWITCHES:
        return _BUILT_SWITCH[name]
    if not isinstance(target, LinkTarget):
        return State(up=True)
    link = graph.links[target.link]
    return {
        "up": State(up=link.up),
        "rate_bps": State(rate_bps=link.rate_bps),
        "delay_ps": State(delay_ps=link.delay_ps),
        "error_rate": State(error_rate=link.error_rate),
        "storm": State(storm=False),
    }[name]


def _states(config: EventConfig, target: Target, graph: Graph) -> Iterator[State]:
    """Yield each quantity that an event changes of one part."""
    if config.up is not None:
        yield State(up=config.up)
    if config.ecn is not None:
        yield State(ecn=config.ecn)
    if config.buffer_bytes is not None:
        yield State(buffer_bytes=config.buffer_bytes)
    yield from _thresholds(config.pfc)
    if not isinstance(target, LinkTarget):
        return
    if config.storm is not None:
        _check_stoppable(target.link, graph)
        yield State(storm=config.storm)
    if config.rate is not None:
        yield State(rate_bps=rate_of(config.rate, graph.links[target.link].rate_bps))
    if config.delay_ps is not None:
        yield State(delay_ps=config.delay_ps)
    if config.error_rate is not None:
        yield State(error_rate=config.error_rate)


def _thresholds(pfc: PfcThresholds | None) -> Iterator[State]:
    """Yield each threshold of pauses that an event changes."""
    if pfc is None:
        return
    if pfc.alpha is not None:
        yield State(pfc_alpha=pfc.alpha)
    if pfc.headroom_bytes is not None:
        yield State(pfc_headroom_bytes=pfc.headroom_bytes)
    if pfc.reserve_bytes is not None:
        yield State(pfc_reserve_bytes=pfc.reserve_bytes)
    if pfc.resume_offset_bytes is not None:
        yield State(pfc_resume_offset_bytes=pfc.resume_offset_bytes)


def _check_stoppable(number: int, graph: Graph) -> None:
    """Raise InputError for a link whose host can't stop the switch at its other end."""
    far = graph.links[number].stoppable_end(graph.hosts)
    words = f"no pause stops {name_of(far, graph)}, expected a switch with pfc"
    refuse(far < graph.hosts or graph.switch_configs[far - graph.hosts].pfc is None, words)


def _targets(config: EventConfig, graph: Graph) -> Sequence[Target]:
    """Return the parts of a network that an event is of."""
    if config.npu == ALL:
        return [NpuTarget(npu) for npu in range(len(graph.npu_host))]
    if isinstance(config.npu, int):
        of_npus("npu", config.npu, len(graph.npu_host))
        return [NpuTarget(config.npu)]
    if config.switch is not None:
        return [SwitchTarget(_switch(config.switch, graph))]
    refuse(not graph.links, "the network has no links, as each analytical one; expected a network of packets")
    if config.nic is not None:
        return [LinkTarget(number) for number in _nic(config.nic, graph)]
    assert config.link is not None
    return [LinkTarget(number) for number in _link(config.link, graph)]


def _switch(given: int | str, graph: Graph) -> int:
    """Return the number of a switch by its name or number."""
    if isinstance(given, str):
        node = node_of(given, graph)
        refuse(node < graph.hosts, f"'{given}' is a host, expected a switch; nic or npu is of a host")
        return node - graph.hosts
    refuse(
        given >= graph.switches,
        f"there is no switch {given}, expected 0 to {graph.switches - 1}" if graph.switches else "there is no switch",
    )
    return given


def _nic(given: int | str, graph: Graph) -> list[int]:
    """Return the links of an NPU that lead out of its server, or that of a NIC's port by its name."""
    if isinstance(given, str):
        node, port = resolve_port(graph, given)
        number = graph.ports[graph.inner_switch.get(node, node)][port].link  # a host that forwards has its lines there
        refuse(
            node >= graph.hosts and (graph.is_outside(node) or not graph.leads_out(graph.links[number])),
            f"port '{given}' is of a switch, expected that of a host, as host3 or host3:1",
        )
        return [number]
    of_npus("nic", given, len(graph.npu_host))
    host = graph.npu_host[given]
    outside = [graph.ports[node][number].link for node, number in nic_ports(graph, [host])]
    return outside or [port.link for port in graph.ports[host]]


def _link(given: int | tuple[int | str, int | str], graph: Graph) -> list[int]:
    """Return a link by its number, or all links between two nodes."""
    if isinstance(given, int):
        refuse(given >= len(graph.links), f"there is no link {given}, expected 0 to {len(graph.links) - 1}")
        return [given]
    one, other = (node_of(name, graph) for name in given)
    found = [port.link for port in graph.ports[one] if port.peer == other]
    if not found:
        peers = some_of(dict.fromkeys(name_of(port.peer, graph) for port in graph.ports[one]))
        raise wrong(f"no link joins {name_of(one, graph)} and {name_of(other, graph)}, expected one of {peers}")
    return found


def node_of(given: int | str, graph: Graph) -> int:
    """Return a node by its number, or by its name: host 3, NPU 3 (its host), switch 0, or as the topology calls it."""
    if isinstance(given, int):
        refuse(given >= graph.nodes, f"there is no node {given}, expected 0 to {graph.nodes - 1}")
        return given
    name = _plain(given)
    named = [number for number, own in enumerate(graph.switch_names) if _plain(own) == name]
    if len(named) > 1:
        raise wrong(f"'{given}' is the name of {len(named)} switches, expected one of them, as 'switch {named[0]}'")
    if named:
        return graph.hosts + named[0]
    numbered = _NUMBERED.fullmatch(name)
    kinds = {"host": graph.hosts, "switch": graph.switches, "npu": len(graph.npu_host)}
    if numbered is not None and int(numbered[2]) < kinds[numbered[1]]:
        number = int(numbered[2])
        if numbered[1] == "npu":
            return graph.npu_host[number]
        return number if numbered[1] == "host" else graph.hosts + number
    raise wrong(f"there is no '{given}' in the network, expected {_names(graph, name)}")


def _plain(name: str) -> str:
    """Return a name in small letters, with single spaces."""
    return " ".join(name.lower().split())


def _names(graph: Graph, meant: str) -> str:
    """Return which names there are, and the nearest."""
    names = [name_of(node, graph) for node in range(graph.nodes)]
    firsts: dict[str, str] = {}
    for name in names:
        firsts.setdefault(re.sub(r"[0-9]+$", "", name), name)
    return f"names as {some_of(firsts.values())}{nearest(meant, names)}"


def name_of(node: int, graph: Graph) -> str:
    """Return what a node is called: as the topology calls it, or its number."""
    if node < graph.hosts:
        return f"host {node}"
    number = node - graph.hosts
    return graph.switch_names[number] if graph.switch_names else f"switch {number}"


def words_of(target: Target, graph: Graph) -> str:
    """Return what a part of a network is called."""
    if isinstance(target, SwitchTarget):
        return name_of(graph.hosts + target.switch, graph)
    if isinstance(target, NpuTarget):
        return str(target)
    link: Link = graph.links[target.link]
    return f"{name_of(link.a, graph)} - {name_of(link.b, graph)}"


def check_heeded(events: Sequence[Event], backend: str, heeds: Collection[str]) -> None:
    """Raise InputError for an event that a backend knows nothing of; ``heeds``: what may change there."""
    for event in events:
        for key, value in event.config.states.items():
            quantity = _QUANTITIES.get(key, key)
            if value is not None and quantity not in heeds:
                able = " or ".join(name for name, each in ABILITIES.items() if quantity in each.heeds)
                raise wrong(f"'{key}' changes nothing on the backend {backend}, expected {able}", event.where)


def check_switches(events: Sequence[Event], graph: Graph) -> None:
    """Raise InputError for an event about what a switch doesn't have; ``graph``: that of the plan."""
    for event in events:
        if event.config.ecn is None and event.config.pfc is None and event.config.buffer_bytes is None:
            continue
        for target in _targets(event.config, graph):
            assert isinstance(target, SwitchTarget)
            if event.config.buffer_bytes is not None and graph.switch_configs[target.switch].credits is not None:
                words = f"the buffer of {words_of(target, graph)} stays, for which it has given credit"
                raise wrong(f"{words}; expected a switch without credits", event.where)
            if event.config.ecn is not None and not marking_of(graph, target.switch):
                raise wrong(f"{words_of(target, graph)} marks nothing, expected a switch with ecn", event.where)
            if event.config.pfc is not None and graph.switch_configs[target.switch].pfc is None:
                raise wrong(f"{words_of(target, graph)} pauses nobody, expected a switch with pfc", event.where)


def event_at(events: Sequence[Event], graph: Graph, switch: int, time_ps: int) -> Event | None:
    """Return the last event that begins or ends at a time and is of the memory of a switch."""
    found = None
    for event in events:
        config = event.config
        if config.buffer_bytes is None and config.pfc is None:
            continue
        begins = time_ps in config.starts_ps
        ends = config.for_ps is not None and time_ps - config.for_ps in config.starts_ps
        if (begins or ends) and SwitchTarget(switch) in _targets(config, graph):
            found = event
    return found


def check_not_cut(
    events: Sequence[Event], graph: Graph, changes: Sequence[Change], jobs: Mapping[str, Sequence[int]]
) -> None:
    """Raise InputError if two NPUs of a job have no way to each other from a time on and for ever."""
    lasting = [each for each in events if each.config.up is False and each.config.for_ps is None]
    if not lasting:
        return
    last = max(lasting, key=lambda each: each.config.at_ps)
    of_host = {name: {graph.npu_host[npu]: npu for npu in npus} for name, npus in jobs.items()}
    for sources, lost in after_changes(graph, changes):
        for name, hosts in of_host.items():
            source = next((host for host in sources if host in hosts), None)
            other = next((host for host in lost if host in hosts and host != source), None)
            if source is not None and other is not None:
                raise wrong(
                    f"from {exact_time(last.config.at_ps)} on and for ever no way leads from NPU {hosts[source]} to "
                    f"NPU {hosts[other]}, both of job '{name}'; expected for: TIME, or another event that ends it",
                    last.where,
                )
