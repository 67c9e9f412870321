"""The network file: topology, transport, and what to observe."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import (
    ConfigModel,
    OnOff,
    PositiveTimePs,
    TimePs,
    checked,
    key_error,
    refuse_key,
    shown,
    validated,
)
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.topology.kinds import EcnConfig, NicConfig, SingleSwitch, SwitchConfig, TopologyConfig
from astra_ns3.config.transports.kinds import TRANSPORT_KEYS, TransportConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.roce_control import OwnControl
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.units import PS_PER_US, counted

__all__ = [
    "EcnConfig",
    "LinkConfig",
    "NetworkConfig",
    "NicConfig",
    "Observe",
    "RoceTransport",
    "SingleSwitch",
    "SwitchConfig",
    "TcpTransport",
    "TopologyConfig",
    "TransportConfig",
    "parse_network",
    "read_network",
]

_PORT_NAME = re.compile(r"host[0-9]{1,9}(:[0-9]{1,9})?|switch[0-9]{1,9}:[0-9]{1,9}")


def _port_name(name: str) -> str:
    if not _PORT_NAME.fullmatch(name):
        raise ValueError(f"found {name!r}, expected a port: 'host3' (a host's NIC) or 'switch0:3' (port 3 of switch 0)")
    return name


def _port_names_or_all(names: tuple[str, ...]) -> tuple[str, ...]:
    if names == ("all",):
        return names
    for name in names:
        if name == "all":
            raise ValueError("'all' must stand alone")
        _port_name(name)
    return names


def _listed(names: Json) -> Json:
    if names != "all" and not isinstance(names, list | tuple):
        raise ValueError(f"found {shown(names)}, expected all, or a list of ports such as [host3, 'switch0:3']")
    return ["all"] if names == "all" else names


_Ports = Annotated[
    tuple[str, ...],
    AfterValidator(_port_names_or_all),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"items": {"type": "string"}, "type": "array"}]}),
]


class Observe(ConfigModel):
    """Names of ports and values that are recorded while the simulation runs; none unless asked for."""

    connections: tuple[Literal["congestion_window", "rtt", "retransmissions", "timeouts"], ...] = ()
    """Values of every TCP connection."""
    queues: _Ports = ()
    """Ports whose queue is recorded, as `host3` or `switch0:3`, or `all`."""
    queue_interval_ps: PositiveTimePs = Field(alias="queue_interval", default=10 * PS_PER_US)
    """A queue is sampled at multiples of this time; a row is written where it differs from the last."""
    queue_pairs: tuple[Literal["rate", "window", "alpha", "retransmissions", "cnps"], ...] = ()
    """Values of every RoCE queue pair."""
    queue_pair_interval_ps: TimePs = Field(alias="queue_pair_interval", default=0)
    """Sampled at multiples of this; 0: written at each change."""
    pauses: OnOff = False
    """Every PFC pause and resume of every port."""
    utilisation: _Ports = ()
    """Ports whose share of each interval is recorded, or `all`."""
    utilisation_interval_ps: PositiveTimePs = Field(alias="utilisation_interval", default=10 * PS_PER_US)
    """The interval of `utilisation`."""
    pcap: tuple[Annotated[str, AfterValidator(_port_name)], ...] = ()
    """Ports whose frames are captured."""

    @property
    def anything(self) -> bool:
        """Whether there is something to write down."""
        names = (self.connections, self.queues, self.queue_pairs, self.utilisation, self.pcap)
        return self.pauses or any(names)

    @property
    def idle_intervals(self) -> tuple[str, ...]:
        """The intervals that the file gives though it doesn't ask for what they sample."""
        fields = type(self).model_fields
        intervals = {name: name.replace("_interval_ps", "") for name in fields if name.endswith("_interval_ps")}
        sampled = {name: each if each in fields else f"{each}s" for name, each in intervals.items()}
        return tuple(
            f"{fields[name].alias} without {what}"
            for name, what in sampled.items()
            if not getattr(self, what) and getattr(self, name) != fields[name].default
        )


class NetworkConfig(ConfigModel):
    """One network: everything below the system layer."""

    topology: TopologyConfig
    """The graph of hosts, switches and links; its `kind` says which keys it has."""
    transport: TransportConfig = TcpTransport()
    """How messages travel: TCP or RoCE. With `transports` this is the transport of the outermost dimension."""
    transports: Annotated[tuple[TransportConfig, ...], Field(min_length=1)] | None = None
    """Transports by dimension, the innermost first, instead of `transport`. A message goes over the transport of the
    highest dimension in which its two NPUs differ."""
    observe: Observe = Observe()
    """Ports and values that are recorded while the run goes on."""

    @model_validator(mode="after")
    @checked
    def _one_transport_of_a_kind(self) -> None:
        if self.transports is None:
            return
        refuse_key("transport" in self.model_fields_set, "transports", "stands beside transport; leave one of them out")
        refuse_key(
            self.topology.storage is not None,
            "transports",
            "stands beside topology.storage, whose hosts are in no dimension; expected one transport",
        )
        refuse_key(
            len(self.transports) != len(self.dimensions),
            "transports",
            f"has {counted(len(self.transports), 'entry', 'entries')}, expected {len(self.dimensions)}: one for each "
            "dimension",
        )
        for each in self.transports:
            refuse_key(
                each not in self.each_transport,
                "transports",
                f"has two entries of kind {each.kind} that differ, expected them alike",
            )
        object.__setattr__(self, "transport", self.transports[-1])

    @model_validator(mode="after")
    @checked
    def _observes_what_there_is(self) -> None:
        joined_by = {each.joined_by for each in self.each_transport}
        for keys in TRANSPORT_KEYS:
            if keys.joined_by and keys.joined_by not in joined_by and getattr(self.observe, keys.joined_by):
                other = self.transport
                raise key_error(
                    "observe",
                    f"{keys.joined_by} are {keys.title}'s, the transport is {other.kind}: see {other.joined_by}",
                )

    @property
    def each_transport(self) -> tuple[TransportConfig, ...]:
        """The transports, each kind once."""
        first: dict[str, TransportConfig] = {}
        for each in self.transports or (self.transport,):
            first.setdefault(each.kind, each)
        return tuple(first.values())

    @property
    def own_control(self) -> OwnControl | None:
        """A congestion control of the user's, if a transport has one."""
        return next((each.own_control for each in self.each_transport if each.own_control), None)

    def document(self) -> dict[str, Any]:  # as every file's model has it
        """Plain data with the keys and units of a file; reading it back gives an equal model."""
        left_out = "transports" if self.transports is None else "transport"
        return {key: value for key, value in super().document().items() if key != left_out}

    @property
    def npus(self) -> int:
        """How many NPUs the network joins."""
        return self.topology.npu_count()

    @property
    def dimensions(self) -> tuple[int, ...]:
        """NPUs along each dimension of the topology, the innermost first."""
        return self.topology.logical_dimensions

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """Bits per second of an NPU in each dimension, for policies that weigh them."""
        return self.topology.bandwidths


def read_network(path: str | os.PathLike[str]) -> NetworkConfig:
    """Read a YAML network file; raises InputError with file, line and key."""
    return validated(NetworkConfig, parse_yaml(read_text(path), os.fspath(path)))


def parse_network(data: object, source: str = "network") -> NetworkConfig:
    """The network that plain data (a mapping as in a file) describes; ``source`` names it in messages."""
    return validated(NetworkConfig, Document(source, data))
