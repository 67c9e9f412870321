"""RoCE networks and long flows, played on the ns-3 backend and taken down; shared by tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import LimitReached
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.changes import Change
from support.star_network import Listener, Played, Row, by_hand

LOSSLESS: Mapping[str, object] = {"priorities": [3]}
"""``switch.pfc`` with every default: the priority of RoCE's data."""
CONTROLS = ("none", "static-window", "dcqcn", "timely", "dctcp", "hpcc", "hpcc-pint", "swift")
RELIABILITIES = ("go-back-n", "go-back-0", "selective-repeat")


def roce_star(
    npus: int,
    *,
    rate: str = "100Gbps",
    delay: str = "500ns",
    error_rate: float = 0.0,
    observe: Mapping[str, object] | None = None,
    switch: Mapping[str, object] | None = None,
    **transport: Any,
) -> NetworkConfig:
    """Hosts around one switch, without PFC unless ``switch`` has it; ``transport`` are RoCE's keys."""
    topology = {
        "kind": "single-switch",
        "npus": npus,
        "npus_per_host": 1,
        "link": {"rate": rate, "delay": delay, "error_rate": error_rate},
        "switch": {"buffer": "1GB", **(switch or {})},
    }
    return roce_network(topology, observe=observe, **transport)


def roce_network(
    topology: Mapping[str, object], *, observe: Mapping[str, object] | None = None, **transport: Any
) -> NetworkConfig:
    """Any topology under RoCE."""
    return parse_network({"topology": topology, "transport": {"kind": "roce", **transport}, "observe": observe or {}})


@dataclass(frozen=True)
class Flow:
    """``messages`` messages of ``bytes`` each, all handed over at ``start_ps``; a queue pair sends them in a row."""

    sender: int
    receiver: int
    bytes: int
    messages: int = 1
    start_ps: int = 0


def play_flows(
    config: NetworkConfig,
    flows: Sequence[Flow],
    directory: Path,
    *,
    until_ps: int | None = None,
    seed: int = 1,
    changes: Sequence[Change] = (),
    accounts: bool = False,
    backend: str = "ns3",
    looks_ps: Sequence[int] = (),
) -> Played:
    """Play flows until all have arrived, or until ``until_ps``; message m of flow f is instance f, row m.

    ``looks_ps``: when counters are looked at on the way.
    """
    recorder = RecorderOptions(directory, flows=True, accounts=accounts)
    plan = plan_network(config, EndpointModel(), changes)
    network: Any = create_backend(backend, plan, seed=seed, recorder=recorder)
    left = 2 * len(flows)

    def done(rank: int, instance: int, time_ps: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            network.stop()

    def start(number: int, flow: Flow) -> None:
        rows = [Row(0, 1, step) for step in range(flow.messages)]
        schedule = network.register_schedule(by_hand(2, rows))
        group = network.register_group([flow.sender, flow.receiver])

        def launch(_: int) -> None:
            for member in (flow.sender, flow.receiver):
                network.launch(member, schedule, group, number, flow.bytes)

        if flow.start_ps:
            network.call_later(flow.sender, flow.start_ps, launch)
        else:
            launch(0)

    listener = Listener(done)
    try:
        for number, flow in enumerate(flows):
            start(number, flow)
        for look_ps in looks_ps:
            network.call_later(0, look_ps, lambda _: network.switch_table())
        try:
            network.run(listener, Limits(simulated_ps=until_ps))
        except LimitReached:
            assert until_ps is not None
        ports = {str(row["port"]): row for row in network.switch_table()}
        return Played(listener, network.now_ps(), network.statistics(), ports, directory)
    finally:
        network.close()


def arrived_bytes(played: Played, begin_ps: int, end_ps: int) -> list[int]:
    """Bytes of the messages of each pair that arrived in [begin, end), in the order of senders and receivers."""
    flows = played.table("flows")
    inside = flows[flows["end_ps"].between(begin_ps, end_ps, inclusive="left")]
    pairs = flows.groupby(["source", "destination"]).size().index
    return [int(each) for each in inside.groupby(["source", "destination"])["bytes"].sum().reindex(pairs, fill_value=0)]


def jain(shares: Sequence[int]) -> float:
    """Jain's index: 1 for equal shares, 1/n if one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def sampled_queue(played: Played, port: str, begin_ps: int, end_ps: int, interval_ps: int) -> pd.Series[int]:
    """The queue at every multiple of ``interval_ps`` in the time given; a row of the table holds until the next."""
    table = played.table("queues")
    rows = table[table["port"] == port].set_index("time_ps")["queue_bytes"]
    instants = range(-(-begin_ps // interval_ps) * interval_ps, end_ps, interval_ps)
    samples: pd.Series[int] = rows.reindex(rows.index.union(pd.Index(instants))).ffill().fillna(0).loc[list(instants)]
    return samples
