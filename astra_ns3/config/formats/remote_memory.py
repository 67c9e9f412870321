"""Memory that NPUs load from and store to besides their own, by ASTRA-sim 2's keys."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field, model_validator

from astra_ns3.config.core.model import ConfigModel, Count, checked, refuse_key, validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import REMOTE_MEMORY, told_apart

NONE = "NO_MEMORY_EXPANSION"
PER_NPU = "PER_NPU_MEMORY_EXPANSION"
PER_NODE = "PER_NODE_MEMORY_EXPANSION"
POOL = "MEMORY_POOL"

_Kind = Literal["NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"]
_Latency = Annotated[float, Ge(0), Le(1e12)]
_Bandwidth = Annotated[float, Ge(1e-9), Le(1e9)]  # so that no access takes infinitely long


class RemoteMemory(ConfigModel):
    """An access takes the latency, in ns, and its bytes over the bandwidth, in GB/s (10**9).

    Each NPU has a memory of its own, or so many NPUs of a node share one, or all do. A memory serves one access at a
    time.
    """

    kind: Literal["NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"] = (
        Field(alias="memory-type")
    )
    """How the memory is shared: by ASTRA-sim 2's word."""
    latency_ns: _Latency | None = Field(alias="remote-mem-latency", default=None)
    """Latency of an access, in nanoseconds."""
    bandwidth: _Bandwidth | None = Field(alias="remote-mem-bw", default=None)
    """Bandwidth in GB/s (10^9)."""
    nodes: Count | None = Field(alias="num-nodes", default=None)
    """Nodes that share the memory."""
    npus_of_node: Count | None = Field(alias="num-npus-per-node", default=None)
    """NPUs of each node."""

    @model_validator(mode="after")
    @checked
    def _is_whole(self) -> None:
        needed = {} if self.kind == NONE else {"remote-mem-latency": self.latency_ns, "remote-mem-bw": self.bandwidth}
        if self.kind == PER_NODE:
            needed["num-npus-per-node"] = self.npus_of_node
        for key, value in needed.items():
            refuse_key(value is None, key, f"is missing, which {self.kind} needs")

    @property
    def there(self) -> bool:
        """Whether there is any."""
        return self.kind != NONE

    def memory_of(self, npu: int) -> int:
        """Return the number of the memory that an NPU uses."""
        if self.kind == POOL:
            return 0
        return npu if self.kind == PER_NPU else npu // (self.npus_of_node or 1)

    def access_ns(self, bytes: int) -> float:
        """Return the time of an access that waits for no other."""
        assert self.latency_ns is not None
        assert self.bandwidth is not None
        return self.latency_ns + bytes / self.bandwidth


def read_remote_memory(path: str | os.PathLike[str]) -> RemoteMemory:
    """Read ASTRA-sim 2's JSON, or the same as YAML; raises InputError with file, line and key."""
    with told_apart(path, REMOTE_MEMORY):
        return validated(RemoteMemory, parse_yaml(read_text(path), os.fspath(path)))
