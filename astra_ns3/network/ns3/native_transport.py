"""Numbers of the transports as the native session takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from astra_ns3.network.door.filling import native_name
from astra_ns3.network.door.library import native_namespace
from astra_ns3.network.door.session import Description
from astra_ns3.network.ideal.widest import packets_part
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.transport.roce.parameters import RoceParameters
from astra_ns3.transport.roce.roce import Roce
from astra_ns3.transport.tcp import Tcp
from astra_ns3.transport.transport import Transport

_ELSEWHERE = {"reliability", "time_rounding_ps", "congestion_control", "own_file", "own_class", "control_parameters"}
"""What has another form in C++, or is of another part of the description."""


def describe_transport(description: Description, plan: NetworkPlan, transport: Transport) -> None:
    """Fill in the numbers of a transport."""
    _DESCRIBE[transport.kind](description, plan, transport)


def _describe_tcp(description: Description, _: NetworkPlan, tcp: Transport) -> None:
    """Fields of the native ``TcpParameters``: the same names, written its way."""
    assert isinstance(tcp, Tcp)
    values = {native_name(field.name): getattr(tcp.parameters, field.name) for field in fields(tcp.parameters)}
    type_id = values.pop("typeId")
    description.part("tcp", {**values, "congestionControl": type_id})


def _describe_roce(description: Description, plan: NetworkPlan, roce: Transport) -> None:
    assert isinstance(roce, Roce)
    parameters = roce.parameters
    values = {"postingPs": plan.endpoint.delay_ps, "packetsPart": packets_part(plan)}
    description.part("roce", {**_native_roce(parameters), **values})
    control = {} if parameters.own_file else {"name": parameters.congestion_control}
    native = description.part("roceControl", control)
    for name, value in parameters.control_parameters.items():
        native.Set(name, value)
    switches = plan.graph.switch_configs
    watchdogs = [config.pfc.watchdog_ps for config in switches if config.pfc is not None]
    description.set(pauseWatchdogPs=min((limit for limit in watchdogs if limit), default=0))


def _native_roce(parameters: RoceParameters) -> dict[str, object]:
    """Fields of the native ``RoceParameters``: the same names, written its way."""
    values = {
        native_name(field.name): getattr(parameters, field.name)
        for field in fields(parameters)
        if field.name not in _ELSEWHERE
    }
    kinds = native_namespace().RoceReliability
    return {**values, "reliability": getattr(kinds, parameters.reliability.replace("-", "_").upper())}


_DESCRIBE: Mapping[str, Callable[[Description, NetworkPlan, Transport], None]] = {
    Tcp.kind: _describe_tcp,
    Roce.kind: _describe_roce,
}
