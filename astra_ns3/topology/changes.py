"""A network that changes: at given times links, switches and NPUs go down or come up, and links get other numbers.

Changes cut a run into *epochs*, in each of which nothing changes. The routes of an epoch come from ``routes.py`` as
those of any network. Since all epochs have the same groups of hosts, the tables of two of them differ in a few
entries, and only these are handed over (``route_differences.py``). A description only; nothing here knows a simulator.

A link carries something while it is up itself, and both its ends are. A switch is down with all its links, a host with
the last of its NPUs, and the switch inside a host that forwards with the host. All of that is known everywhere at
once, unless a reaction says when (``reactions.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from astra_ns3.config.topology.switch import EcnConfig, SwitchConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass, fields, replace
from astra_ns3.topology.distances import Groups, common_groups, distances_to_groups, host_groups, unreachable_hosts
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.reactions import Reaction, Stage, stages, without_links
from astra_ns3.topology.routes import RouteTables, tables_by_groups
from astra_ns3.units import exact_time

BUILT: Literal["built"] = "built"
"""As before all changes."""
_PFC = {
    "pfc_alpha": "alpha",
    "pfc_headroom_bytes": "headroom_bytes",
    "pfc_reserve_bytes": "reserve_bytes",
    "pfc_resume_offset_bytes": "resume_offset_bytes",
}
"""Quantities of a switch that are numbers of its priority flow control, and their names there."""
OF_SWITCHES = ("ecn", "buffer_bytes", *_PFC)
"""Things that only switches have."""
_Values = Mapping[str, object]
_Ways = tuple[tuple[bool, int], ...]
# A link that flaps brings the same routes again and again; of so many states they are kept.
_KEPT = 4
_NONE = frozenset[int]()
MOST_NAMED = 8
"""So many pairs of hosts without a way are named; all are counted."""


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A link, by its number in ``Graph.links``."""

    link: int

    def __str__(self) -> str:
        return f"link {self.link}"


@dataclass(frozen=True, slots=True)
class SwitchTarget:
    """A switch, the first being 0."""

    switch: int

    def __str__(self) -> str:
        return f"switch {self.switch}"


@dataclass(frozen=True, slots=True)
class NpuTarget:
    """An NPU."""

    npu: int

    def __str__(self) -> str:
        return f"NPU {self.npu}"


Target = LinkTarget | SwitchTarget | NpuTarget


@dataclass(frozen=True, slots=True)
class State:
    """A new state of a part; None stays as it is. Only a link has a rate, a one-way delay, an error rate and a storm.

    ``error_rate``: probability that a frame that leaves from then on is lost. ``storm``: the host at an end of the link
    has the switch at the other stop all lossless priorities. Only a switch has what follows, BUILT: as before. ``ecn``:
    how all its ports mark; ``buffer_bytes``: what they share; the others: when it stops its neighbours.
    """

    up: bool | None = None
    rate_bps: int | None = None
    delay_ps: int | None = None
    error_rate: float | None = None
    storm: bool | None = None
    ecn: EcnConfig | Literal["built"] | None = None
    buffer_bytes: int | Literal["built"] | None = None
    pfc_alpha: float | Literal["built"] | None = None
    pfc_headroom_bytes: int | Literal["built"] | None = None
    pfc_reserve_bytes: int | Literal["built"] | None = None
    pfc_resume_offset_bytes: int | Literal["built"] | None = None

    def named(self) -> dict[str, object]:
        """Return the quantities that change, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of ``target`` to ``state`` at ``time_ps``. It holds until the next change of the same target."""

    time_ps: int
    target: Target
    state: State

    def __str__(self) -> str:
        return f"change of {self.target} at {exact_time(self.time_ps)}"


@dataclass(frozen=True, slots=True)
class Severed:
    """The number of ordered ``pairs`` of hosts with NPUs that no path joins, and the ``first`` few of them."""

    pairs: int
    first: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        if not self.pairs:
            return "all hosts can reach each other"
        named = ", ".join(f"{source} to {destination}" for source, destination in self.first)
        more = f" and {self.pairs - len(self.first)} more" if self.pairs > len(self.first) else ""
        return f"no way from host {named}{more}"


@dataclass(frozen=True, eq=False)
class Epoch:
    """A time in which nothing changes: from ``start_ps`` to the next epoch.

    ``graph``: the network with its links as they are then, or as their ends take them; ``tables``: its routes, with the
    same groups of hosts in all epochs; what can't be reached has no ports. ``severed``: who has no way by these routes.
    """

    start_ps: int
    graph: Graph
    tables: RouteTables
    severed: Severed


def epochs(
    graph: Graph, changes: Sequence[Change], *, weighted: bool = False, reaction: Reaction | None = None
) -> Iterator[Epoch]:
    """The epochs of a network, in order, the first from time 0 on; of their tables only a few need to be kept.

    ``weighted`` as for :func:`astra_ns3.topology.routes.shortest_paths`. ``reaction``: when turns of links are known;
    None: at once. Pairs of hosts without a way are named in the
    epoch, and no error. Raises InputError, before the first epoch, if a change names what doesn't exist or can't be, or
    if two contradict each other.
    """
    check_changes(graph, changes)
    return _epochs(graph, list(stages(graph, states_in_time(graph, changes), reaction)), weighted)


def tables_before(
    graph: Graph, changes: Sequence[Change], *, weighted: bool = False, reaction: Reaction | None = None
) -> RouteTables:
    """The routes before all changes, with the groups of hosts that all :func:`epochs` have; raises as these do."""
    check_changes(graph, changes)
    passed = stages(graph, states_in_time(graph, changes), reaction)
    groups = common_groups(_groups([graph, *(stage.routed for stage in passed)]))[0]
    return _routes(graph, groups, weighted)[0]


def after_changes(graph: Graph, changes: Sequence[Change]) -> Iterator[tuple[list[int], list[int]]]:
    """Hosts with NPUs, and those that they can't reach once all changes are made, group by group."""
    _, last = states_in_time(graph, changes)[-1]
    groups = host_groups(last)
    return unreachable_hosts(last, groups, distances_to_groups(last, groups))


def check_changes(graph: Graph, changes: Sequence[Change]) -> None:
    """Raise InputError if a change names what doesn't exist or can't be, or if two contradict each other."""
    asked: dict[tuple[int, Target, str], object] = {}
    for change in changes:
        _check_target(graph, change)
        _check_state(change)
        for name, value in change.state.named().items():
            before = asked.setdefault((change.time_ps, change.target, name), value)
            if before != value:
                raise wrong(f"{name} is both {before} and {value}", str(change))


def _check_target(graph: Graph, change: Change) -> None:
    refuse(change.time_ps < 0, f"change of {change.target} at {change.time_ps} ps: a time is 0 or more")
    match change.target:
        case LinkTarget(number):
            there = len(graph.links)
        case SwitchTarget(number):
            there = graph.switches
        case NpuTarget(number):
            there = len(graph.npu_host)
    if not 0 <= number < there:
        kind = str(change.target).split()[0]
        expected = f"0..{there - 1}" if there else f"none: there is no {kind}"
        raise wrong(f"there is no such {kind}, expected {expected}", str(change))


def _check_state(change: Change) -> None:
    state = change.state
    asked = state.named()
    if not asked:
        raise wrong(f"nothing changes, expected one of {', '.join(f.name for f in fields(State))}", str(change))
    able = {"up", *OF_SWITCHES} if isinstance(change.target, SwitchTarget) else {"up"}
    if not isinstance(change.target, LinkTarget) and not set(asked) <= able:
        named = ", ".join(name for name in asked if name not in able)
        expected = "up or ecn" if isinstance(change.target, SwitchTarget) else "up"
        raise wrong(f"{named} is of links only, expected {expected}", str(change))
    if state.rate_bps is not None and state.rate_bps <= 0:
        raise wrong(f"rate_bps is {state.rate_bps}, expected above 0 (or up: false)", str(change))
    if state.delay_ps is not None and state.delay_ps < 0:
        raise wrong(f"delay_ps is {state.delay_ps}, expected 0 or more", str(change))
    if state.error_rate is not None and not 0 <= state.error_rate < 1:
        raise wrong(f"error_rate is {state.error_rate}, expected 0 or more and below 1 (or up: false)", str(change))


def with_most(graph: Graph, changes: Sequence[Change]) -> Graph:
    """Return the graph with the highest rates and longest delays that changes ever give its links; the same if none."""
    most: dict[int, tuple[int, int]] = {}
    for change in changes:
        if isinstance(change.target, LinkTarget):
            link, state = graph.links[change.target.link], change.state
            rate_bps, delay_ps = most.get(change.target.link, (link.rate_bps, link.delay_ps))
            most[change.target.link] = max(rate_bps, state.rate_bps or 0), max(delay_ps, state.delay_ps or 0)
    links = list(graph.links)
    for number, (rate_bps, delay_ps) in most.items():
        if (rate_bps, delay_ps) != (links[number].rate_bps, links[number].delay_ps):
            links[number] = replace(links[number], most_rate_bps=rate_bps, most_delay_ps=delay_ps)
    return graph if links == list(graph.links) else replace(graph, links=tuple(links))


def states_in_time(graph: Graph, changes: Sequence[Change]) -> list[tuple[int, Graph]]:
    """Return the network from each time on at which something changes, and from 0 on."""
    present = _Present(graph)
    times = sorted({0, *(change.time_ps for change in changes)})
    at: dict[int, list[Change]] = {time_ps: [] for time_ps in times}
    for change in changes:
        at[change.time_ps].append(change)
    states = []
    for time_ps in times:
        for change in at[time_ps]:
            present.apply(change)
        states.append((time_ps, present.graph()))
    return states


class _Present:
    """Which parts are up, and what links are like, after some changes."""

    def __init__(self, graph: Graph) -> None:
        self._graph = self._built = graph
        self._links = list(graph.links)
        self._switches = list(graph.switch_configs)
        self._otherwise: dict[int, _Values] = {}
        self._down: set[Target] = {LinkTarget(number) for number, link in enumerate(graph.links) if not link.up}
        self._inside = graph.inner_switch
        self._npus_of: dict[int, list[int]] = {}
        for npu, host in enumerate(graph.npu_host):
            self._npus_of.setdefault(host, []).append(npu)

    def apply(self, change: Change) -> None:
        asked = change.state.named()
        up = asked.pop("up", None)
        if up is not None:
            (self._down.discard if up else self._down.add)(change.target)
        storm = asked.pop("storm", None)
        of_switch = {name: asked.pop(name) for name in OF_SWITCHES if name in asked}
        if isinstance(change.target, LinkTarget):
            number = change.target.link
            if storm is not None:
                asked["storm"] = self._stoppable(self._links[number]) if storm else 0
            if asked:
                self._links[number] = replace(self._links[number], **asked)  # type: ignore[arg-type]
        elif isinstance(change.target, SwitchTarget) and of_switch:
            number = change.target.switch
            before = self._otherwise.get(number, {})
            now = {name: value for name, value in {**before, **of_switch}.items() if value != BUILT}
            self._otherwise[number] = now
            self._switches[number] = _switch_with(self._built.switch_configs[number], now)

    def _stoppable(self, link: Link) -> int:
        """Return the priorities that a host may have the switch at the other end of its link stop, a bit each."""
        far = self._graph.switch_configs[link.stoppable_end(self._graph.hosts) - self._graph.hosts]
        return 0 if far.pfc is None else sum(1 << priority for priority in far.pfc.priorities)

    def graph(self) -> Graph:
        """The network as it is; links that are as before stay the same objects."""
        down_nodes = self._down_nodes()
        down_links = {target.link for target in self._down if isinstance(target, LinkTarget)}
        for number, link in enumerate(self._links):
            up = number not in down_links and link.a not in down_nodes and link.b not in down_nodes
            if up != link.up:
                self._links[number] = replace(link, up=up)
        if any(link is not before for link, before in zip(self._links, self._graph.links, strict=True)):
            self._graph = replace(self._graph, links=tuple(self._links))
        if any(now is not was for now, was in zip(self._switches, self._graph.switch_configs, strict=True)):
            self._graph = replace(self._graph, switch_configs=tuple(self._switches))
        return self._graph

    def _down_nodes(self) -> set[int]:
        nodes = {self._graph.hosts + target.switch for target in self._down if isinstance(target, SwitchTarget)}
        for host in {self._graph.npu_host[target.npu] for target in self._down if isinstance(target, NpuTarget)}:
            if all(NpuTarget(npu) in self._down for npu in self._npus_of[host]):
                nodes |= {host, self._inside.get(host, host)}
        return nodes


def _switch_with(built: SwitchConfig, values: _Values) -> SwitchConfig:
    """Return a switch with other values of some quantities; without any, the very same."""
    if not values:
        return built
    update = {name: value for name, value in values.items() if name not in _PFC}
    of_pfc = {_PFC[name]: value for name, value in values.items() if name in _PFC}
    if of_pfc and built.pfc is not None:
        if "headroom_bytes" in of_pfc:
            of_pfc["headroom_factor"] = None
        update["pfc"] = built.pfc.model_copy(update=of_pfc)
    return built.model_copy(update=update)


def switches_in_time(graph: Graph, changes: Sequence[Change]) -> Iterator[tuple[int, int, SwitchConfig]]:
    """Yield when which switch becomes what, in the order of time."""
    before = graph.switch_configs
    of_switches = [each for each in changes if isinstance(each.target, SwitchTarget) and each.state.up is None]
    for time_ps, present in states_in_time(graph, of_switches):
        for number, (was, now) in enumerate(zip(before, present.switch_configs, strict=True)):
            if was is not now:
                yield time_ps, number, now
        before = present.switch_configs


def _epochs(built: Graph, passed: Sequence[Stage], weighted: bool) -> Iterator[Epoch]:
    grouped = common_groups(_groups([built, *(stage.routed for stage in passed)]))[1:]
    before: tuple[Stage, Epoch] | None = None
    known: dict[tuple[_Ways, frozenset[int]], tuple[RouteTables, Severed]] = {}
    for stage, groups in zip(passed, grouped, strict=True):
        if before is not None and _same_routes(before[0], stage, weighted):
            epoch = Epoch(stage.start_ps, stage.graph, before[1].tables, before[1].severed)
        else:
            ways = tuple((link.up, link.rate_bps if weighted else 0) for link in stage.routed.links)
            if (ways, stage.repaired) not in known:
                if len(known) == _KEPT:
                    del known[next(iter(known))]
                tables, severed = known.get((ways, _NONE)) or _routes(stage.routed, groups, weighted)
                known[ways, stage.repaired] = without_links(tables, stage.routed, stage.repaired), severed
            epoch = Epoch(stage.start_ps, stage.graph, *known[ways, stage.repaired])
        before = stage, epoch
        yield epoch


def _routes(present: Graph, groups: Groups, weighted: bool) -> tuple[RouteTables, Severed]:
    distances = distances_to_groups(present, groups)
    tables = tables_by_groups(present, groups, distances, weighted=weighted)
    return tables, _severed(unreachable_hosts(present, groups, distances))


def _groups(states: Sequence[Graph]) -> list[Groups]:
    """The groups of each state; worked out once for states whose hosts hang alike."""
    found: list[Groups] = []
    before: Graph | None = None
    for graph in states:
        same = before is not None and all(
            link is old or link.up == old.up or min(link.a, link.b) >= graph.hosts
            for link, old in zip(graph.links, before.links, strict=True)
        )
        found.append(found[-1] if same else host_groups(graph))
        before = graph
    return found


def _same_routes(before: Stage, after: Stage, weighted: bool) -> bool:
    """Whether no shortest path can be another one: rates matter only to weights."""
    return before.repaired == after.repaired and all(
        old is new or (old.up == new.up and (not weighted or old.rate_bps == new.rate_bps))
        for old, new in zip(before.routed.links, after.routed.links, strict=True)
    )


def _severed(unreachable: Iterator[tuple[list[int], list[int]]]) -> Severed:
    pairs, first = 0, list[tuple[int, int]]()
    for sources, lost in unreachable:
        pairs += len(sources) * len(lost) - len(set(sources) & set(lost))
        for source in sources[:MOST_NAMED]:
            if len(first) < MOST_NAMED:
                near = [(source, host) for host in lost[: MOST_NAMED + 1] if host != source]
                first += near[: MOST_NAMED - len(first)]
    return Severed(pairs, tuple(first))
