"""The flow backend: messages are flows that share the links of the network's graph, on the ways that packets take.

Model limits: docs/flow.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.topology.kinds import Ring, Torus
from astra_ns3.config.topology.routing import ADAPTIVE, FLOWLET, PARTING
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.frozen import replace
from astra_ns3.network.door.description import Description, NativeValue
from astra_ns3.network.door.hook import HookContext
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.network.flow_rates import meet_in_queues, moves_bytes, windows_close
from astra_ns3.network.graph_outline import port_outline
from astra_ns3.network.ideal.packets import PacketIdeal
from astra_ns3.network.ideal.ways import routing_parts
from astra_ns3.network.later_lines import later_transports
from astra_ns3.network.ns3.build import describe_fabric
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.changes import State, states_in_time
from astra_ns3.topology.checks import narrows, unequal_ways
from astra_ns3.topology.graph import Graph
from astra_ns3.transport.lossless import largest_wire_bytes, lossless_bytes
from astra_ns3.transport.network_outline import SwitchOutline
from astra_ns3.transport.transport import Transport
from astra_ns3.transport.wire import PREAMBLE_AND_GAP_BYTES
from astra_ns3.units import counted

QUEUE_GRAIN_BYTES = 2048.0
"""Where flows meet in queues, the least bytes that came in together before a change counts; fitted: docs/flow.md."""
QUEUE_GRAIN_SHARE = 0.03
"""The same as a share of the queue."""

# By the counter of ports.
_FULL = {
    "full_queues": "more may wait than switches without pauses have room for, at {}: packets would be lost there, and "
    "flows know nothing of that; times with packets may be far longer",
    "full_ingress_queues": "more may wait than lossless switches let in, at {}: pauses would slow "
    "other flows, too, and flows know nothing of that; times may be far too short or long, also the finish if many "
    "send to one host, such as a storage host; use --backend ns3",
}
_ON_TORI = (
    "more may wait than lossless switches let in, at {}: pauses would slow other flows, too, and flows know nothing of "
    "that; on tori finish times of rings were -3% to 0% off those of packets, of all-to-alls -14% to +23% "
    "(docs/flow.md), and many that send to one host may be further off; use --backend ns3"
)
_BY_CREDIT = (
    "more may wait than credits let in, at {}: lanes without credit hold up other flows, or keep bytes out of queues, "
    "and flows know nothing of that (docs/flow.md): beside traffic that overloads lines jobs ended -79% to +891% off "
    "those of packets; use --backend ns3"
)
_LOST = (
    "links fail: senders of packets that are lost there may wait for a timeout, and flows wait only until routes have "
    "converged; times with packets may be far longer, and senders may give up, so that jobs end or begin again"
)
_ACKNOWLEDGED = (
    "completion: acknowledged: queues don't delay acknowledgements of flows; beside other traffic jobs ended up to 33% "
    "earlier than with packets (docs/flow.md); use --backend ns3"
)
_EVENLY = (
    "because of {}, flows share lines evenly, not in the order of their bytes (docs/flow.md): finish times over "
    "several switches were -28% to +17% off, of trees -28% to +87%; {}use --backend ns3"
)
_TREES = (
    "flows share lines evenly, not in the order of their bytes (docs/flow.md): trees over a slow core or "
    "shared NICs took up to 86% longer than with packets; use --backend ns3"
)
_SPREAD = (
    "packets take several ways over a slow core or shared NICs, which flows share evenly (docs/flow.md): finish times "
    "were -56% to +17% off; use --backend ns3"
)
_OF_CHANGES = (
    "failures or changes of delays or weights",
    "leave out events that come too late, compare with the same events 'for: 1ns', or ",
)
_OF_WINDOWS = "windows", ""
# Of a message.
_ENDS = 2
# Switches that choose by the length of queues send more over faster ports, where slow ones are full.
_BY_QUEUES = (ADAPTIVE, FLOWLET)
_ROUGH = "flows play {} (docs/flow.md); compare congestion controls with --backend ns3"
_CUT_THROUGH = (
    "flows play cut_through as if all lines were idle (docs/flow.md): with several switches, finish times were 3% to "
    "26% too short; use --backend ns3"
)
_BY_DELAY = (
    "events change delays, which a control takes for queues, and flows don't (docs/flow.md): finish times were up to "
    "99% too short; use --backend ns3"
)
_TCP_AND_DELAYS = (
    "events change delays, and TCP's windows of flows have grown only to what filled the lines before (docs/flow.md): "
    "finish times were -11% to +86% off; use --backend ns3"
)
_WINDOWS = (
    "events change lines, and flows keep the window of the longest path at first (base_rtt_of: longest): times may be "
    "far too short or long; use --backend ns3"
)
_PARTED = (
    "congestion controls act otherwise on packets that take several ways (docs/flow.md): finish times of flows were up "
    "to 57% too short; compare routing with --backend ns3"
)
_UNEQUAL = (
    "queues of packets choose among equally short ways of unequal rates by what waits, and flows share these as if all "
    "lines into a switch were full (docs/flow.md): finish times of collectives were -17% to +9% off, of a few senders "
    "-58% to +99%; use --backend ns3"
)
_PAIRS = (
    "packets of several queue pairs of two NPUs take turns, so that messages end together; flows share lines evenly "
    "(docs/flow.md): finish times of collectives were -81% to +31% off those of packets; use --backend ns3"
)
_LANES = (
    "flows play the lanes of credits as one queue (docs/flow.md): finish times were -33% to +22% off those of packets; "
    "use --backend ns3"
)


class FlowBackend(SessionBackend):
    """Messages as flows; arguments and errors as for :class:`SessionBackend`."""

    def __init__(
        self,
        plan: NetworkPlan,
        *,
        seed: int = 1,
        recorder: RecorderOptions | None = None,
        on_built: Callable[[HookContext], object] | None = None,
    ) -> None:
        fails_ps = (each.time_ps for each in plan.changes if each.state.up is False)
        self._rough = sorted({each.flow_errors for each in plan.transports.values()} - {""})
        cuts_through = any(each.cut_through_bytes for each in plan.graph.switch_configs)
        acknowledged = any(each.acknowledged for each in plan.transports.values())
        self._short = [_CUT_THROUGH] if cuts_through and plan.graph.switches > 1 else []
        self._short += [_ACKNOWLEDGED] if acknowledged else []
        credits_ = (each.credits for each in plan.graph.switch_configs)
        self._lanes = max((each.lanes for each in credits_ if each is not None), default=0)
        on_torus = isinstance(plan.config.topology, Ring | Torus) and not self._rough
        stopped = _BY_CREDIT if self._lanes else _ON_TORI if on_torus else _FULL["full_ingress_queues"]
        self._full = {**_FULL, "full_ingress_queues": stopped}
        delays = any("delay_ps" in each.state.named() for each in plan.changes)
        self._short += [_BY_DELAY] if delays and any(each.flow_by_delay for each in plan.transports.values()) else []
        self._short += [_TCP_AND_DELAYS] if delays and any(map(_window_grows, plan.transports.values())) else []
        later = later_transports(plan).items()
        self._short += [_WINDOWS] if any(_keeps_window(plan.transports[kind], now) for kind, now in later) else []
        parts = plan.config.topology.routing.kind in PARTING
        self._short += [_PARTED] if self._rough and parts else []
        self._short += [_UNEQUAL] if _chooses_unequal(plan) else []
        self._has_collectives = self._has_trees = False
        self._on_switches = plan.graph.switches > 1
        self._narrow = (bool(self._rough) or parts) and any(map(narrows, _graphs_in_time(plan)))
        self._spread = [_SPREAD] if self._narrow and not self._rough and not _chooses_unequal(plan) else []
        evenly = [_OF_CHANGES] * moves_bytes(plan) or [_OF_WINDOWS] * windows_close(plan)
        self._evenly = [] if self._rough else evenly  # with a control rates are shared evenly anyway
        self._in_turns = any(each.pair_of_message or each.takes_turns for each in plan.transports.values())
        self._loses_ps = min((time_ps for time_ps in fails_ps if time_ps or plan.reaction), default=None)
        super().__init__(
            plan.graph,
            plan.config.observe,
            lambda description: _describe(description, plan, seed),
            seed=seed,
            recorder=recorder,
            on_built=on_built,
            ideal=partial(PacketIdeal, plan),
        )

    def warnings(self) -> list[str]:
        """Beside the usual ones, what flows know little of: controls, packets that would be lost, and pauses."""
        counts = self.statistics()
        bounds = [words.format(counted(int(counts[key]), "port")) for key, words in self._full.items() if counts[key]]
        bounds += [_LANES] if self._lanes > 1 and not counts["full_ingress_queues"] else []
        loses = self._loses_ps is not None and self._loses_ps <= self.now_ps()
        rough = map(_ROUGH.format, self._rough)
        turns = [_PAIRS] if self._in_turns and self._has_collectives else []
        meets = self._has_trees or (self._on_switches and counts["messages"] > 1)
        turns += [_EVENLY.format(why, how) for why, how in self._evenly if meets]
        turns += [_TREES] if self._narrow and self._has_trees else []
        turns += self._spread if counts["messages"] > 1 else []
        return [*super().warnings(), *rough, *self._short, *turns, *bounds, *([_LOST] if loses else [])]

    def register_schedule(self, schedule: Schedule) -> int:
        """Hand over a schedule; raises BackendError if it can't be played."""
        self._has_collectives |= schedule.ranks > _ENDS
        matters = self._narrow or bool(self._evenly)
        self._has_trees = self._has_trees or (matters and _branches(schedule))
        return super().register_schedule(schedule)


def _chooses_unequal(plan: NetworkPlan) -> bool:
    """Return whether queues choose among equally short ways of unequal rates, from the start or after an event."""
    if plan.config.topology.routing.kind not in _BY_QUEUES:
        return False
    return any(unequal_ways(present, plan.tables) for present in _graphs_in_time(plan))


def _graphs_in_time(plan: NetworkPlan) -> Iterator[Graph]:
    """Yield the network as its events make it, by their rates alone."""
    rates = [(each, each.state.rate_bps) for each in plan.changes if each.state.rate_bps is not None]
    changes = [replace(each, state=State(rate_bps=rate_bps)) for each, rate_bps in rates]
    return (present for _, present in states_in_time(plan.graph, changes))


def _window_grows(transport: Transport) -> bool:
    """Return whether a connection's window grows by what is acknowledged, as TCP's does."""
    return transport.flow_window_growth > 0


def _keeps_window(first: Transport, now: Transport) -> bool:
    """Return whether a window of the longest path isn't that of later lines, which each path's own always is."""
    return not first.window_of_path and first.window_bytes != now.window_bytes


def _branches(schedule: Schedule) -> bool:
    """Return whether a rank sends on to more others than in a ring of both ways what it waits for."""
    waits = schedule.kept["wait_step"] >= 0
    ends = np.stack([schedule.kept[name][waits] for name in ("sender", "receiver")])
    senders = np.unique(ends, axis=1)[0]
    return bool(np.bincount(senders).max(initial=0) > _ENDS)


def _describe(description: Description, plan: NetworkPlan, seed: int) -> None:
    describe_fabric(description, plan, _without_queues(plan.graph), seed, queues=False)
    kinds = {kind: number for number, kind in enumerate(plan.transports)}
    dimensions, routing = plan.transport_of_dimensions, plan.config.topology.routing
    for npus, _ in dimensions:
        description.add("dimension", {"npus": npus, "transport": "flow"})
    values: dict[str, NativeValue] = {
        "transports": len(kinds),
        "transport_of_dimension": np.array([kinds[kind] for _, kind in dimensions], dtype=np.uint32),
        "packets_part": routing_parts(plan),
        "parts_by_rate": routing.kind in _BY_QUEUES,
        "flowlet_gap_ps": routing.gap_ps if routing.kind == FLOWLET else 0,
        "queues": meet_in_queues(plan),
        "grain_bytes": QUEUE_GRAIN_BYTES,
        "grain_share": QUEUE_GRAIN_SHARE,
    }
    values |= _rooms(plan)
    for number, transport in enumerate(plan.transports.values()):
        values |= {f"{number}.{name}": value for name, value in _numbers(transport).items()}
    description.transport("flow", values)


def _rooms(plan: NetworkPlan) -> dict[str, NativeValue]:
    """Return what each switch has room for before it loses packets or stops a neighbour.

    A port by credit has what its lanes hold. With PFC an ingress port, and else a port's queue, has its alpha times
    what is free of the shared part. Ports with PFC have their reserve besides.
    """
    graph = plan.graph
    lossless, shared, own, ports = [], [], [], []
    alphas: list[float] = []
    for config, entrances in zip(graph.switch_configs, graph.ports[graph.hosts :], strict=True):
        links = [graph.links[port.link] for port in entrances]
        outline = SwitchOutline(config, tuple(sorted(map(port_outline, links))))
        kept_bytes = lossless_bytes(outline, largest_wire_bytes(plan.transports.values()))
        passing = [each for each in plan.transports.values() if outline in each.outline.switches]
        is_kept = all(config.keeps(each.priority) for each in passing or plan.transports.values())
        alpha, own_bytes = math.inf if config.alpha is None else config.alpha, 0
        if is_kept and config.credits is not None:
            alpha, own_bytes = 0.0, config.credits.lanes * config.credits.bytes_
        pfc = config.pfc if is_kept else None
        lossless.append(is_kept)
        shared.append(config.buffer_bytes - kept_bytes)
        own.append(own_bytes if pfc is None else pfc.reserve_bytes)
        ports.append(len(links))
        alphas += [alpha if pfc is None else pfc.alpha_of(link.rate_bps) for link in links]
    return {
        "room_lossless": np.array(lossless, dtype=np.uint32),
        "room_shared_bytes": np.array(shared, dtype=np.int64),
        "room_own_bytes": np.array(own, dtype=np.int64),
        "room_ports": np.array(ports, dtype=np.uint32),
        "room_alphas": np.array(alphas, dtype=np.float64),
    }


def _numbers(transport: Transport) -> dict[str, NativeValue]:
    """Return what flows know of a transport, by the names that the native half reads."""
    one_byte = transport.frames(np.ones(1, dtype=np.int64))
    return {
        "payload_bytes": transport.payload_bytes,
        "around_bytes": transport.packet_wire_bytes - transport.payload_bytes,
        "least_wire_bytes": max(int(size[0]) for count, size in one_byte if count[0]),
        "line_gap_bytes": PREAMBLE_AND_GAP_BYTES,
        "answer_wire_bytes": transport.answer_wire_bytes,
        "answer_every": transport.answer_every,
        "reducer_answer_every": transport.reducer_answer_every or transport.answer_every,
        "window_bytes": 0 if transport.flow_window_step_bytes else transport.window_lets_out_bytes,
        "window_of_path": transport.window_of_path,
        "first_window_bytes": transport.flow_first_window_bytes,
        "window_growth": transport.flow_window_growth,
        "window_step_bytes": transport.flow_window_step_bytes,
        "opening_wire_bytes": transport.flow_opening_wire_bytes,
        "headroom": transport.flow_headroom / (1 - transport.flow_headroom),
        "start_cost": transport.flow_start_cost,
        "rise_round_trips": transport.flow_rise_round_trips,
        "in_flight_bytes": transport.flow_in_flight_bytes,
        "queue_pairs": transport.queue_pairs,
        "server_npus": transport.server_npus,
        "per_message": transport.pair_of_message,
        "split_messages": transport.message_parts > 1,
        "acknowledged": transport.acknowledged,
        "port_of_message": transport.port_of_message,
        "tcp_ports": transport.ports_of_connections,
    }


def _without_queues(graph: Graph) -> Graph:
    """Return the graph with switches that neither mark nor pause: flows have no queues."""
    plain: dict[int, SwitchConfig] = {}
    for config in graph.switch_configs:
        if id(config) not in plain:
            plain[id(config)] = config.model_copy(update={"pfc": None, "credits": None, "marking": ()})
    return replace(graph, switch_configs=tuple(plain[id(config)] for config in graph.switch_configs))
