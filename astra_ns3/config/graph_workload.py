"""A workload as graphs: for each NPU nodes that depend on one another, instead of a training loop with layers.

The content of a trace, whatever format it came in, and nothing of how it is played. Traces may be large, so nodes are
read as a stream for each NPU, as often as they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

from astra_ns3.config.core.collective_kind import CollectiveKind


class NodeKind(str, Enum):
    """The kind of a node of a graph."""

    COMPUTE = "compute"
    COLLECTIVE = "collective"
    SEND = "send"
    RECEIVE = "receive"
    MEMORY_LOAD = "memory load"
    MEMORY_STORE = "memory store"
    MARK = "mark"
    """Takes no time of its own: metadata, what a format calls invalid, a host-side wrapper of a collective."""
    OTHER = "other"
    """A type we don't know, or one that is only proposed; it lasts as long as it says. ``type_name`` has its name."""

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


class GraphNode(NamedTuple):
    """One node on one NPU. A tuple, for a trace has millions.

    ``number``: its id, unique on its NPU. ``parents``: ids of the nodes on the same NPU that it depends on, each once,
    of data and of control alike; an id may belong to a node that comes later, or be missing. ``duration_ps``: what it
    takes if it computes, or where nothing else tells (0: not given). ``operations`` (floating-point) and
    ``tensor_bytes`` (memory read and written) are for the roofline; None: not given. ``on_host``: it runs on the CPU.

    Of communication: ``bytes`` is each member's whole buffer of a collective, but of an all-gather what each
    contributes; of a message its size (None: not given). ``collective``: None where the file doesn't say. ``group``:
    the name of its communicator, "" for all NPUs. ``dimensions``: which of the system's it goes over (None: not said).
    ``peer``: the other end of a message. ``priority``: the higher goes first, 0 where nothing is said. ``start_ps``:
    not before this time (0: at once); of lists of flows. ``type_name``: the file's own word for its type.
    """

    number: int
    name: str
    kind: NodeKind
    parents: tuple[int, ...] = ()
    duration_ps: int = 0
    operations: int | None = None
    tensor_bytes: int | None = None
    on_host: bool = False
    collective: CollectiveKind | None = None
    bytes: int | None = None
    group: str = ""
    dimensions: tuple[bool, ...] | None = None
    peer: int | None = None
    tag: int = 0
    priority: int = 0
    start_ps: int = 0
    type_name: str = ""


@runtime_checkable
class GraphWorkload(Protocol):
    """Graphs of all NPUs. A study's must be picklable."""

    @property
    def source(self) -> str:
        """The file, folder or prefix it came from."""

    @property
    def format(self) -> str:
        """The name of the format that it was read from."""

    @property
    def npus(self) -> int:
        """How many NPUs there are graphs for."""

    @property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """Members of each communicator, in their order, by name."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what its user should know, each one line."""

    def nodes(self, npu: int) -> Iterable[GraphNode]:
        """The nodes of an NPU in the order of the file, read anew; raises InputError with file and node."""

    def file_of(self, npu: int) -> str:
        """The file that an NPU's nodes are read from, for messages."""

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> GraphWorkload:
        """Every size times ``comm_scale``, every duration and number of operations times ``compute_scale``."""
