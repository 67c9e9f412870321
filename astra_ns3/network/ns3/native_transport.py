"""Numbers of the transports as the native session takes them."""

from __future__ import annotations

from dataclasses import fields

from astra_ns3.network.door.filling import native_name
from astra_ns3.network.door.library import native_namespace
from astra_ns3.transport.roce import RoceParameters
from astra_ns3.transport.tcp import TcpParameters

_ELSEWHERE = {"reliability", "time_rounding_ps", "congestion_control", "own_file", "own_class", "control_parameters"}
"""What has another form in C++, or is of another part of the description."""


def native_tcp(parameters: TcpParameters) -> dict[str, object]:
    """Fields of the native ``TcpParameters``: the same names, written its way."""
    values = {native_name(field.name): getattr(parameters, field.name) for field in fields(parameters)}
    type_id = values.pop("typeId")
    return {**values, "congestionControl": type_id}


def native_roce(parameters: RoceParameters) -> dict[str, object]:
    """Fields of the native ``RoceParameters``: the same names, written its way."""
    values = {
        native_name(field.name): getattr(parameters, field.name)
        for field in fields(parameters)
        if field.name not in _ELSEWHERE
    }
    kinds = native_namespace().RoceReliability
    return {**values, "reliability": getattr(kinds, parameters.reliability.replace("-", "_").upper())}
