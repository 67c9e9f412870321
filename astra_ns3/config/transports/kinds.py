"""Every transport's keys, told apart by ``kind``."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Discriminator, Tag

from astra_ns3.config.core.model import OrName, kind_of
from astra_ns3.config.transports.base import TransportKeys
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.tcp import TcpTransport


def _transport_kind(value: object) -> str | None:
    return kind_of(value, "tcp")


TransportConfig = Annotated[
    Annotated[TcpTransport, Tag("tcp")] | Annotated[RoceTransport, Tag("roce")],
    Discriminator(_transport_kind),
    OrName(),
]
"""Every transport, told apart by ``kind``; without it TCP."""

TRANSPORT_KEYS: tuple[type[TransportKeys], ...] = tuple(
    get_args(model)[0] for model in get_args(get_args(TransportConfig)[0])
)
"""The models of all transports."""
