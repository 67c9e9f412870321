"""How many times its ideal a message takes over TCP, by control and by the segments that a round trip holds.

    python benchmarks/tcp_slow_start.py --delays 250ns,1us,10us --controls NewReno,Cubic,Vegas --bytes 2000000,20000000

One host sends one message to another over a switch, at 100 Gb/s with segments of 1,460 bytes. Nothing else is on the
network, and no window limits the message. `steady` is Cubic without HyStart, whose slow start ends with a loss alone.
"""

from __future__ import annotations

import argparse
import logging

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import TcpTransport, parse_network
from astra_ns3.network.door.hook import HookContext
from astra_ns3.network.graph_outline import network_outline_of
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.transport.tcp import base_round_trip_ps, tcp_parameters

_SYSTEM = {f"{kind}-implementation": "ring" for kind in ("all-reduce", "all-gather", "reduce-scatter")}
_SYSTEM |= {"all-to-all-implementation": "direct", "scheduling-policy": "FIFO", "preferred-dataset-splits": "1"}
_GBPS = 100


def without_hystart(context: HookContext) -> None:
    """Let Cubic's slow start go on until a loss."""
    context.ns.Config.SetDefault("ns3::TcpCubic::HyStart", context.ns.BooleanValue(False))


def played(control: str, delay: str, size: int) -> tuple[int, float]:
    """Return the full segments that a round trip holds, and how many times its ideal the message takes."""
    link = {"rate": f"{_GBPS}Gbps", "delay": delay}
    name = "Cubic" if control == "steady" else control
    keys = {
        "topology": {"kind": "single-switch", "npus": 2, "link": link, "switch": {"buffer": "64MB"}},
        "transport": {"kind": "tcp", "congestion_control": name, "window": "16MB", "min_rto": "20ms"},
    }
    network = parse_network(keys)
    assert isinstance(network.transport, TcpTransport)
    parameters = tcp_parameters(network.transport)
    round_trip_ps = base_round_trip_ps(parameters, network_outline_of(build_graph(network.topology)))
    flows, hook = FlowList.of([0], [1], [size], [0]), without_hystart if control == "steady" else None
    result = astra_ns3.run(
        workload=flows, system=parse_system(_SYSTEM), network=network, record=["flows"], on_built=hook
    )
    ideal_ps = int(result.completions["ideal_ps"].iloc[0])
    return round_trip_ps * _GBPS // 8000 // parameters.segment_bytes, result.finish_ps / ideal_ps


def main() -> None:
    """Print a row for each round trip and size, a column for each control."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delays", default="250ns,500ns,1us,2us,5us,20us", help="of a line, one way")
    parser.add_argument("--controls", default="NewReno,Cubic,steady,Vegas")
    parser.add_argument("--bytes", default="2000000,20000000", help="of the message")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    controls = given.controls.split(",")
    print("| Segments | Bytes | " + " | ".join(controls) + " |\n|---|---|" + "---|" * len(controls))
    for delay in given.delays.split(","):
        for size in map(int, given.bytes.split(",")):
            found = [played(control, delay, size) for control in controls]
            print(
                f"| {found[0][0]} | {size:,} | " + " | ".join(f"{times:.2f}" for _, times in found) + " |", flush=True
            )


if __name__ == "__main__":
    main()
