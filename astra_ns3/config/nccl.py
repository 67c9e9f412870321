"""The table ``nccl`` of a system file: collectives as NCCL plays them.

``host-overhead`` is added to each message between servers, and not once to each collective. A slow host (virtual
machines, network plugins) is slow each time that its proxy thread posts or completes a message. Within one published
table both rules fit alike, for small sizes all have about as many messages one after the other. Only the overhead of
messages also holds on the same machines with other numbers of servers. On P5 (1 and 2 servers, 48 rows below 128 MiB)
one number a protocol leaves a mean error of 21 %, against 37 % with a constant. Fitted on some numbers of servers and
applied to the others, the error on Slingshot (2 and 8 servers, 50 rows) is 24 % against 31 %. On a cluster of H100
(1 and 10 servers, 12 rows) 13 % against 18 %. Inside a server no proxy takes part, so nothing is added there.
*Limit*: the overhead delays a message. It doesn't keep the host from others, so no bandwidth is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from astra_ns3.config.core.model import ConfigModel, Keys, checked
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError
from astra_ns3.nccl.environment import Environment, parse_environment
from astra_ns3.nccl.server import Server
from astra_ns3.nccl.servers import server_named
from astra_ns3.nccl.version import Version, parse_version

PREFIX = "NCCL_"


def _text(value: Json) -> Json:
    """Return a version that YAML took for a number as text; a number can't tell 2.3 from 2.30."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value
    if isinstance(value, float) and re.fullmatch(r"[0-9]+\.[0-9]", str(value)):
        raise ValueError(f"found {value}, which may be {value}0, too; write it as text, as '{value}0'")
    return str(value)


_Overhead = Annotated[float, Ge(0), Le(1e6)]


class HostOverhead(ConfigModel):
    """Microseconds by protocol."""

    ll_us: _Overhead = Field(alias="LL", default=0.0)
    """Microseconds of each message with LL."""
    ll128_us: _Overhead = Field(alias="LL128", default=0.0)
    """Microseconds of each message with LL128."""
    simple_us: _Overhead = Field(alias="Simple", default=0.0)
    """Microseconds of each message with Simple, and so of NVLS and large messages of send/recv."""

    def of(self, protocol: str) -> float:
        """Return the overhead of a protocol."""
        return {"LL": self.ll_us, "LL128": self.ll128_us, "Simple": self.simple_us}[protocol]


class NcclConfig(ConfigModel):
    """NCCL's variables stand among the keys, under their own names (``NCCL_ALGO: Ring``)."""

    version: Annotated[str, BeforeValidator(_text)] = "2.30"
    """Whose rules decide: 2.18 to 2.30, and the nearest of these for others."""
    server: str | None = None
    """A ready server, such as ``dgx-h100``. Absent: Hopper GPUs with the ports that the network file gives them."""
    host_overhead_us: _Overhead | HostOverhead = Field(alias="host-overhead", default=0.0)
    """Microseconds of each message between servers, besides NCCL's own; also by protocol, ``{LL: 4, Simple: 12}``.
    ``nccl fit`` finds it."""
    nic_efficiency: Annotated[float, Gt(0.01), Le(1)] = Field(alias="nic-efficiency", default=1.0)
    """Share of a NIC's rate that messages reach."""
    channels: Literal["each", "merged"] | None = None
    """Whether channels that do the same are played each by itself, or as one with the rate of all. Absent: each on
    packets, and where paths of flows branch; merged elsewhere."""
    environment: Mapping[str, str | int] = Field(default_factory=dict)
    """NCCL's variables; also each by itself beside the other keys."""

    _servers: tuple[int, ...] = PrivateAttr(default=())
    _gpus: tuple[int, ...] = PrivateAttr(default=())
    _built: Server | None = PrivateAttr(default=None)
    _merges: bool = PrivateAttr(default=False)
    _has_sockets: bool = PrivateAttr(default=False)

    @classmethod
    def prepare(cls, data: Keys) -> Keys:
        """Gather NCCL's variables."""
        variables = {key: value for key, value in data.items() if key.startswith(PREFIX)}
        if not variables:
            return data
        given = data.get("environment")
        both = {**(given if isinstance(given, Mapping) else {}), **variables}
        return {**{key: value for key, value in data.items() if key not in variables}, "environment": both}

    @model_validator(mode="after")
    @checked
    def _means_something(self) -> None:
        try:
            parse_version(self.version)
            if self.server is not None:
                server_named(self.server)
            _ = self.variables
        except InputError as error:
            raise ValueError(str(error)) from error

    def overhead_us(self, protocol: str) -> float:
        """Return the overhead of a message between servers with a protocol."""
        overhead = self.host_overhead_us
        return overhead.of(protocol) if isinstance(overhead, HostOverhead) else overhead

    def __hash__(self) -> int:
        return hash((*(getattr(self, name) for name in self._hashed()), tuple(sorted(self.environment.items()))))

    @classmethod
    def _hashed(cls) -> Iterator[str]:
        """Names of the fields that hash by themselves."""
        return (name for name in cls.model_fields if name != "environment")

    @cached_property
    def variables(self) -> Environment:
        """The environment."""
        return parse_environment(self.environment)

    @property
    def parsed_version(self) -> Version:
        """The version."""
        return parse_version(self.version)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return a line for each setting that changes nothing."""
        version, variables, words = self.parsed_version, self.variables, list[str]()
        if not version.is_known:
            nearest = "{}.{}".format(*version.rules)
            words.append(f"key 'nccl.version': the rules of {version} aren't known; those of {nearest} decide")
        if variables.without_effect:
            words.append(f"key 'nccl': without effect here: {', '.join(variables.without_effect)}")
        return tuple(words)

    @property
    def servers(self) -> tuple[int, ...]:
        """The server of each NPU."""
        return self._servers

    @property
    def gpus(self) -> tuple[int, ...]:
        """Which GPU of its server each NPU is."""
        return self._gpus

    @property
    def built(self) -> Server:
        """The server that the NPUs stand in."""
        assert self._built is not None
        return self._built

    @property
    def merges(self) -> bool:
        """Whether channels that do the same are played as one."""
        return self._merges

    @property
    def has_sockets(self) -> bool:
        """Whether messages between servers go over TCP, by NCCL's sockets."""
        return self._has_sockets

    def placed(
        self,
        server: Server,
        servers: tuple[int, ...],
        *,
        merges: bool,
        has_sockets: bool = False,
        gpus: tuple[int, ...] = (),
    ) -> NcclConfig:
        """Return the same for NPUs of which each stands in one of ``servers``; ``merges``: unless ``channels`` says.

        ``gpus``: which GPU of its server each NPU is; empty: they follow each other.
        """
        found = self.model_copy()
        found._has_sockets = has_sockets
        found._built, found._servers = server, servers
        found._gpus = gpus or tuple(servers[:npu].count(server) for npu, server in enumerate(servers))
        found._merges = self.channels == "merged" or (self.channels is None and merges)
        return found
