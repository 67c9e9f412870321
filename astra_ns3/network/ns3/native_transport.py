"""Numbers of the transports as the native session takes them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from astra_ns3.network.ns3 import _runtime
from astra_ns3.transport.roce import RoceParameters
from astra_ns3.transport.tcp import TcpParameters

_NOT_NATIVE = {"reliability", "time_rounding_ps", "congestion_control", "own_file", "own_class", "control_parameters"}
"""What goes across by a call of its own."""


def native_tcp(parameters: TcpParameters) -> Any:
    """``TcpParameters`` of the native library."""
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


def native_roce(parameters: RoceParameters) -> Any:
    """``RoceParameters`` of the native library: the same names, written its way."""
    native = _runtime.load().RoceParameters()
    for field in fields(parameters):
        if field.name in _NOT_NATIVE:
            continue
        first, *others = field.name.split("_")
        name = first + "".join(word.capitalize() for word in others)
        getattr(native, name)  # a name that C++ lacks must not become a new attribute
        setattr(native, name, getattr(parameters, field.name))
    kinds = _runtime.native_namespace().RoceReliability
    native.reliability = getattr(kinds, parameters.reliability.replace("-", "_").upper())
    return native
