"""What fills the switches of a random network: marking, pauses, schedulers, and buffers small enough to be felt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.switch import PRIORITIES
from astra_ns3.network.graph_outline import network_outline_of
from astra_ns3.topology.graph import Graph
from astra_ns3.transport.lossless import largest_wire_bytes, port_headroom_bytes
from astra_ns3.transport.network_outline import PortOutline
from astra_ns3.transport.transports import transports_on
from soak.draw import Draw
from soak.topologies import PLACE_BYTES

Drawn = dict[str, Any]


def draw_pfc(draw: Draw, roce: Mapping[str, Any], packet_bytes: int) -> Drawn:
    """Priority flow control for RoCE's data, now and then for answers too."""
    priority = roce.get("priority", 3)
    others = {roce.get("ack_priority", priority), roce.get("cnp_priority", 6)} if draw.chance(0.3) else set()
    made: Drawn = {"priorities": sorted({priority, *others})}
    made["alpha"] = draw.pick(1 / 64, 1 / 16, 0.125, 0.125, 0.5, 1.0, 4.0)
    made |= draw.some(
        0.4, reserve=draw.pick("0", "1KB", "20KB"), resume_offset=draw.pick(0, packet_bytes, 4 * packet_bytes)
    )
    return {**made, **draw.some(0.25, watchdog=draw.pick("200us", "5ms"), reference_rate="50Gbps")}


def draw_ecn(draw: Draw, packet_bytes: int) -> Drawn:
    """Marks from a few packets on, and how."""
    kmin = packet_bytes * draw.between(1, 30)
    kmax = kmin if draw.chance(0.25) else round(kmin * draw.uniform(1, 5))
    ecn: Drawn = {"kmin": kmin, "kmax": kmax} | draw.some(0.6, pmax=draw.pick(0.01, 0.2, 1.0))
    return ecn | draw.some(0.3, at=draw.pick("enqueue", "dequeue"))


def draw_switches(
    draw: Draw, places: Sequence[Drawn], transport: Mapping[str, Any], packet_bytes: int, *, lossless: bool
) -> None:
    """Fill the places, all but their buffers; mostly they are alike."""
    alike: Drawn | None = None
    for place in places:
        if alike is None or draw.chance(0.2):
            alike = {}
            if lossless:
                alike["pfc"] = draw_pfc(draw, transport, packet_bytes)
            if draw.chance(0.75):
                alike["ecn"] = draw_ecn(draw, packet_bytes)
            elif draw.chance(0.4):
                alike["ecn"] = draw.pick("scaled", "off")
            if draw.chance(0.2):
                weights = [draw.randint(1, 20) for _ in range(8)]
                alike["scheduler"] = {"kind": "dwrr", "weights": weights}
            alike |= draw.some(0.25, alpha=draw.pick(1.0, 2.0, 8.0))
        place.update({key: dict(value) if isinstance(value, dict) else value for key, value in alike.items()})


def draw_heads(draw: Draw, places: Sequence[Drawn], packet_bytes: int) -> None:
    """Let the switches of some places cut through."""
    if draw.chance(0.35):
        for place in places:
            place |= draw.some(0.85, cut_through=draw.pick(14, 64, 64, 200, max(14, packet_bytes // 2)))


def draw_credits(draw: Draw, places: Sequence[Drawn], graph: Graph, lanes: Sequence[int], packet_bytes: int) -> None:
    """Have the switches of all places give credit, in place of all else; ``lanes``: the priorities in use."""
    most = PRIORITIES - max(lanes)
    drawn = draw.pick(1, 1, most, draw.randint(1, most))
    frames = draw.between(1, 60)
    made: Drawn = {"bytes": frames * packet_bytes + draw.randrange(packet_bytes), "lanes": drawn}
    made |= draw.some(0.5, update=draw.pick("1ns", "70ns", "1us"), watchdog=draw.pick("200us", "5ms"))
    used = len({lane + more for lane in lanes for more in range(drawn)})
    ports = max((len(graph.ports[graph.hosts + switch]) for switch in range(graph.switches)), default=1)
    for place in places:
        for key in ("pfc", "alpha", "cut_through"):
            place.pop(key, None)
        place |= {"credits": dict(made), "buffer": ports * used * (made["bytes"] + packet_bytes)}


def draw_reduction(draw: Draw, places: Sequence[Drawn]) -> None:
    """Have the switches of all places reduce."""
    piece = draw.pick(512, 4096, 65_536, draw.randint(100, 100_000))
    made: Drawn = {"piece": piece, "buffer": piece * draw.pick(1, 2, 16, 100), "groups": 1000}
    made |= draw.some(0.5, latency=draw.pick("30ns", "500ns"), rate=draw.pick("100Gbps", "51200Gbps"))
    for place in places:
        place["reduction"] = made


def draw_buffers(draw: Draw, places: Sequence[Drawn], graph: Graph, config: NetworkConfig, packet_bytes: int) -> None:
    """Give each place its buffer: what headrooms and reserves keep, and something to share."""
    packets = draw.between(1.2, 12) if draw.chance(0.93) else draw.between(12, 1000)
    largest = largest_wire_bytes(transports_on(config, network_outline_of(graph)).values())
    for number, place in enumerate(places):
        mine = [
            switch
            for switch in range(graph.switches)
            if graph.switch_configs[switch].buffer_bytes == PLACE_BYTES + number
        ]
        kept = max((kept_bytes(graph, switch, largest) for switch in mine), default=0)
        shared = packets * packet_bytes
        if "pfc" not in place:
            ports = max((len(graph.ports[graph.hosts + switch]) for switch in mine), default=1)
            shared *= ports
        place["buffer"] = kept + shared


def kept_bytes(graph: Graph, switch: int, largest_wire_bytes: int) -> int:
    """What headrooms and reserves take of a switch's memory, for the largest frame of any transport."""
    pfc = graph.switch_configs[switch].pfc
    if pfc is None:
        return 0
    links = [graph.links[port.link] for port in graph.ports[graph.hosts + switch]]
    shapes = [PortOutline(link.rate_bps, link.delay_ps) for link in links]
    each = sum(port_headroom_bytes(pfc, shape, largest_wire_bytes) + pfc.reserve_bytes for shape in shapes)
    return len(pfc.priorities) * each
