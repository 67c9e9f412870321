"""CPU time per TCP data packet over our fabric; prints one JSON line, as the stock program in stock/ does.

Two hops: all hosts on one switch, host i sends to host i + 1. Four hops: a chain of three switches, half of the hosts
on each end, host i sends to host i + hosts / 2 and back, so that every flow crosses four links. Same rates, delays,
windows, segment size and bytes as the stock program; the CPU time is that of the event loop.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import numpy as np

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.door.description import Description
from astra_ns3.network.door.listener import Listener, dues_at
from astra_ns3.network.door.session import Session, close_session
from astra_ns3.network.door.session_backend import native_columns
from astra_ns3.network.ns3.build import describe_network
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.topology.routes import shortest_paths

RATE_BPS = 100_000_000_000
DELAY_PS = 500_000
BUFFER_BYTES = 1_000_000_000
SEED = 1


class Receiver:
    """Stops the simulation when every host has its message."""

    def __init__(self, hosts: int) -> None:
        self.left = hosts
        self.finish_ps = 0
        self.session: Session

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        self.left -= 1
        if not self.left:
            self.finish_ps = time_ps
            self.session.Stop()

    def timer_due(self, token: int, time_ps: int) -> None:
        """No timer is set."""

    def several_due(self, address: int, count: int, time_ps: int) -> None:
        for npu, instance in zip(*reversed(dues_at(address, count)), strict=True):
            self.phase_done(npu, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None:
        """Nothing to show."""

    def records_ready(self, table: int) -> None:
        """Nothing is recorded."""


def topology(hosts: int, hops: int) -> Graph:
    switches = 1 if hops == 2 else 3
    last = hosts + switches - 1
    links = [Link(host, hosts if host < hosts // 2 else last, RATE_BPS, DELAY_PS) for host in range(hosts)]
    core = RATE_BPS * hosts // 2
    links += [Link(hosts + switch, hosts + switch + 1, core, DELAY_PS) for switch in range(switches - 1)]
    return Graph(hosts, switches, tuple(links), tuple(range(hosts)), (BUFFER_BYTES,) * switches)


def flows(hosts: int, hops: int) -> Schedule:
    sender = np.arange(hosts, dtype=np.int32)
    zero = np.zeros(hosts, dtype=np.int32)
    return Schedule(
        name="flows",
        ranks=hosts,
        blocks=1,
        sender=sender,
        receiver=((sender + (1 if hops == 2 else hosts // 2)) % hosts).astype(np.int32),
        step=zero,
        first_block=zero,
        block_count=zero + 1,
        reduces=zero.astype(np.bool_),
        wait_step=zero - 1,
        wait_count=zero,
    )


def configuration(options: argparse.Namespace) -> NetworkConfig:
    return parse_network(
        {
            "topology": {
                "kind": "single-switch",
                "npus": options.hosts,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB"},
            },
            "transport": {
                "kind": "tcp",
                "window": options.window,
                "segment": options.segment,
                "timestamps": options.timestamps,
                "sack": options.sack,
            },
        }
    )


def measure(options: argparse.Namespace) -> dict[str, object]:
    receiver = Receiver(options.hosts)
    description, listener = Description(), Listener(receiver)
    graph = topology(options.hosts, options.hops)
    plan = plan_network(configuration(options))
    describe_network(description, replace(plan, graph=graph, tables=shortest_paths(graph)), SEED)
    session = receiver.session = description.open(SEED, listener.native)
    schedule = flows(options.hosts, options.hops)
    columns = native_columns(schedule)
    number = session.RegisterSchedule(options.hosts, 1, 1, 1, options.hosts, columns)
    group = session.RegisterGroup(np.arange(options.hosts, dtype=np.uint32), options.hosts)
    for npu in range(options.hosts):
        session.Launch(npu, 0, number, group, options.bytes)
    begin = time.process_time()
    session.Run(-1)
    cpu_seconds = time.process_time() - begin
    packets = -(-options.bytes // options.segment) * options.hosts
    found = {
        "hosts": options.hosts,
        "hops": options.hops,
        "cpu_seconds": round(cpu_seconds, 4),
        "data_packets": packets,
        "events": int(session.GetStatistics().events),
        "finish_ps": receiver.finish_ps,
        "retransmissions": int(session.GetStatistics().retransmissions),
        "us_per_data_packet": round(cpu_seconds / packets * 1e6, 3),
    }
    close_session(session, process_ends=False)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--hops", type=int, choices=(2, 4), default=2)
    parser.add_argument("--bytes", type=int, default=4_000_000)
    parser.add_argument("--segment", type=int, default=1440)
    parser.add_argument("--window", type=int, default=500_000)
    parser.add_argument("--sack", type=lambda text: text == "1", default=True)
    parser.add_argument("--timestamps", type=lambda text: text == "1", default=False)
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
