"""Topology keys of a network file: what is joined to what, how fast, with which buffers."""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal

from annotated_types import Gt, Le
from pydantic import Field, Strict, model_validator

from astra_ns3.config.model import Bytes, ConfigModel, Count, PositiveBytes, RateBps, TimePs, key_error

MOST_NPUS = 1_000_000
"""A typing error such as 16e9 must not fill the memory before it is seen."""


class LinkConfig(ConfigModel):
    """One full-duplex link: rate of each direction, propagation delay one way."""

    rate_bps: RateBps = Field(alias="rate")
    delay_ps: TimePs = Field(alias="delay")


class EcnConfig(ConfigModel):
    """ECN marking by the length of a port's queue: none up to kmin, all above kmax, linear to ``pmax`` between.

    ``kmin`` equal to ``kmax`` is the step of DCTCP (RFC 8257, section 3.1).
    """

    kmin_bytes: Bytes = Field(alias="kmin")
    kmax_bytes: PositiveBytes = Field(alias="kmax")
    pmax: Annotated[float, Strict(), Gt(0), Le(1)] = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> EcnConfig:
        if self.kmin_bytes > self.kmax_bytes:
            raise key_error("kmin", f"{self.kmin_bytes} bytes is above kmax, {self.kmax_bytes} bytes")
        return self


class SwitchConfig(ConfigModel):
    """A switch: the buffer all its ports share, and ECN marking (absent: no marking)."""

    buffer_bytes: PositiveBytes = Field(alias="buffer")
    ecn: EcnConfig | None = None


class NicConfig(ConfigModel):
    """A host's network card: the buffer of its one queue (absent: unlimited)."""

    buffer_bytes: PositiveBytes | None = Field(alias="buffer", default=None)


def _default_local() -> LinkConfig:
    # NVSwitch links of github.com/DartingMelody/ns3-interface, 128_nodes_112_switch: 2400 Gbps, 25 ns.
    return LinkConfig.model_validate({"rate": "2400Gbps", "delay": "25ns"})


class SingleSwitch(ConfigModel):
    """Every host on one switch. NPU r is on host ``r // npus_per_host``; NPUs of one host talk over ``local``."""

    kind: Literal["single-switch"] = "single-switch"
    npus: Annotated[Count, Le(MOST_NPUS)]
    npus_per_host: Count = 1
    dimensions: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    """NPUs along each logical dimension, the innermost first; absent: all in one."""
    link: LinkConfig
    switch: SwitchConfig
    nic: NicConfig = NicConfig()
    local: LinkConfig = Field(default_factory=_default_local)

    @model_validator(mode="after")
    def _whole_hosts(self) -> SingleSwitch:
        if self.npus % self.npus_per_host:
            raise key_error("npus", f"found {self.npus}, expected a multiple of npus_per_host, {self.npus_per_host}")
        if self.dimensions is not None and prod(self.dimensions) != self.npus:
            raise key_error("dimensions", f"{list(self.dimensions)} make {prod(self.dimensions)} NPUs, not {self.npus}")
        return self

    @property
    def hosts(self) -> int:
        """How many hosts the NPUs sit on."""
        return self.npus // self.npus_per_host


TopologyConfig = SingleSwitch
"""Every topology, told apart by ``kind``."""
