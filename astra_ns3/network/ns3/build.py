"""Turns a configuration into the calls that build a native session."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.network import NetworkConfig
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.ns3 import _runtime
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.routes import shortest_path_ports
from astra_ns3.transport.tcp import TcpParameters, tcp_parameters


def build_network(session: Any, graph: Graph, config: NetworkConfig, endpoint: EndpointModel) -> None:
    """Add hosts, switches, links, routes, NPUs and the transport to a new ``session``."""
    topology = config.topology
    session.AddHosts(graph.hosts)
    if topology.switch.ecn is not None:
        ecn = topology.switch.ecn
        session.UseMarking(ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax)
    session.SetNicBuffer(topology.nic.buffer_bytes or 0)
    for switch, buffer_bytes in enumerate(graph.switch_buffer_bytes):
        session.AddSwitch(buffer_bytes, switch)
    for link in graph.links:
        session.AddLink(link.a, link.b, link.rate_bps, link.delay_ps)
    for switch, routes in enumerate(shortest_path_ports(graph)):
        session.SetRoutes(graph.hosts + switch, routes.offsets.astype(np.uint32), routes.ports.astype(np.uint32))
    session.SetNpus(np.array(graph.rank_host, dtype=np.uint32), len(graph.rank_host))
    session.SetLocal(topology.local.rate_bps, topology.local.delay_ps)
    session.SetEndpoint(endpoint.delay_ps, endpoint.reduction_bytes_per_ns)
    session.UseTcp(_native_tcp(tcp_parameters(config.transport)))


def native_columns(schedule: Schedule) -> npt.NDArray[np.int32]:
    """The eight columns of a schedule one after the other, as ``Session.RegisterSchedule`` takes them.

    Shape ``(8 * messages,)``.
    """
    columns = (
        schedule.sender,
        schedule.receiver,
        schedule.step,
        schedule.first_block,
        schedule.block_count,
        schedule.reduces,
        schedule.wait_step,
        schedule.wait_count,
    )
    return np.concatenate(columns).astype(np.int32)


def _native_tcp(parameters: TcpParameters) -> Any:
    native = _runtime.load().TcpParameters()
    native.congestionControl = parameters.type_id
    native.windowBytes = parameters.window_bytes
    native.segmentBytes = parameters.segment_bytes
    native.mtuBytes = parameters.mtu_bytes
    native.initialWindowSegments = parameters.initial_window_segments
    native.minRtoPs = parameters.min_rto_ps
    native.clockGranularityPs = parameters.clock_granularity_ps
    native.delayedAckCount = parameters.delayed_ack_count
    native.delayedAckTimeoutPs = parameters.delayed_ack_timeout_ps
    native.connectTimeoutPs = parameters.connect_timeout_ps
    native.connectRetries = parameters.connect_retries
    native.dataRetries = parameters.data_retries
    native.ecn = parameters.ecn
    native.sack = parameters.sack
    native.timestamps = parameters.timestamps
    native.acknowledged = parameters.acknowledged
    return native
