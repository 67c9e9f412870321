"""The keys of a system file: collective algorithms, chunking, scheduling, by ASTRA-sim 1.0's keys.

:mod:`astra_ns3.system.file` reads it, and knows which algorithms and policies there are. Keys of that format which are
not modelled are accepted only at the value that leaves them without effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Len
from pydantic import BeforeValidator, Field, PrivateAttr, Strict, ValidationInfo, WithJsonSchema, model_validator

from astra_ns3.config.core.algorithm_names import is_flat, split_names
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.model import ConfigModel, checked, key_error, refuse_key, shown
from astra_ns3.config.core.reduction import ReductionTrees
from astra_ns3.config.core.storage import StorageHosts
from astra_ns3.config.formats.remote_memory import RemoteMemory
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.frozen import dataclass, field
from astra_ns3.nccl.server import Server
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS, counted
from astra_ns3.user_code import FORM, user_part

_SWITCH = (0, 1)
_ONLY_WITHOUT_EFFECT: Mapping[str, tuple[int, ...]] = {
    "local-reduction-delay": (1,),
    "model-shared-bus": (0,),
    "L": (0,),
    "o": (0,),
    "g": (0,),
    "G": (0,),
    # They change no result: one names log files, the other leaves out NPUs whose times follow from the others'.
    "seprate-log": _SWITCH,
    "boost-mode": _SWITCH,
    # Of ASTRA-sim 2: which of its own log files it writes.
    "trace-enabled": _SWITCH,
}
# Of ASTRA-sim 2: where ``track-local-mem`` writes.
_MEMORY_TRACE = "local-mem-trace-filename"


# Of the memory's bandwidth, by counting reductions in whole bytes per ns.
_MOST_LEFT_OUT = 0.01


# What files with NCCL's collectives may leave out.
_UNUSED_BY_NCCL: Mapping[str, int | str] = {"preferred-dataset-splits": 1, "scheduling-policy": "FIFO"}
_UNHEEDED_BY_NCCL = (
    *("preferred_dataset_splits", "active_chunks_per_dimension", "num_queues_per_dimension"),
    *("collective_optimization", "inter_dimension_scheduling"),
)
MOST_CHANNELS = 64
"""Channels of a collective, and so queues of a dimension, with ``collectives: nccl`` (NCCL's MAXCHANNELS)."""


def _whole_number(value: object) -> object:
    """Text of a decimal number, as text files have it, to that number; anything else is left to pydantic."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value) else value


def _without_unit(value: object) -> object:
    """``value``, unless it is text that is no number: a time with a unit, say."""
    if isinstance(_whole_number(value), str):
        raise ValueError(f"found {shown(value)}, expected a whole number of ns, without a unit")
    return value


def _decimal(value: object) -> object:
    """Text of a number with or without a fraction, as text files have it, to that number."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}(\.[0-9]{1,19})?", value) else value


def _switch(value: object) -> object:
    """Text of a switch, as text files have it: 0, 1, true or false."""
    return {"0": False, "1": True, "true": True, "false": False}.get(str(value).lower(), value)


POLICIES = "policies"
"""In the context of a validation: for each key of a policy (its alias) the names there are."""
ALGORITHMS = "algorithms"
"""In the context of a validation: what makes a list of names of it, and refuses those that there aren't."""


def _algorithms(value: object, info: ValidationInfo) -> object:
    """A name for each dimension, or one for all; without a context any name will do until a schedule is asked for."""
    known: Callable[[object], object] | None = (info.context or {}).get(ALGORITHMS)
    if known is not None and value != []:  # documents have an empty list where a file has no such key
        return known(value)
    return tuple(split_names(value)) if isinstance(value, str) else value


def policy_name(value: object, info: ValidationInfo) -> object:
    """A policy's name, one of those that the context has for its key, or ``FILE.py:name``; else ValueError."""
    alias = str(info.field_name).replace("_", "-")
    allowed = ((info.context or {}).get(POLICIES) or {}).get(alias)
    if allowed is None or user_part(value) is not None or (isinstance(value, str) and value in allowed):
        return value
    raise ValueError(f"found {shown(value)}, allowed: {', '.join(allowed)}, {FORM}{nearest(str(value), allowed)}")


_Whole = BeforeValidator(_whole_number)
_Number = Annotated[int, Strict(), Ge(0), Le(LARGEST_INTEGER // PS_PER_NS), _Whole]
_Nanoseconds = Annotated[_Number, BeforeValidator(_without_unit)]
_Positive = Annotated[int, Strict(), Ge(1), Le(LARGEST_INTEGER // PS_PER_NS), _Whole]
MOST_SPLITS = 1 << 24
"""Chunks that the number of a phase's instance has room for (network/instance.py)."""
_Splits = Annotated[int, Strict(), Ge(1), Le(MOST_SPLITS), _Whole]
_Algorithms = Annotated[
    tuple[str, ...],
    BeforeValidator(_algorithms),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
_Scale = Annotated[float, Gt(0), BeforeValidator(_decimal)]
_Traces = Annotated[tuple[str, ...], Len(0, 1)]
_Bandwidth = Annotated[float, Ge(1e-9), Le(1e9), BeforeValidator(_decimal)]  # so that nothing takes infinitely long
_Switch = Annotated[bool, Strict(), BeforeValidator(_switch)]
_Policy = Annotated[str, BeforeValidator(policy_name)]


def _whole_bytes_per_ns(bandwidth: float) -> int:
    """Return a memory's GB/s as bytes per ns, for reductions; ValueError if more than a percent would be left out."""
    whole = int(bandwidth)
    refuse_key(
        bandwidth - whole > _MOST_LEFT_OUT * bandwidth,
        "local-mem-bw",
        f"found {bandwidth:g}, but reductions count whole bytes per ns: expected a whole number, or "
        "'reduction-bytes-per-ns' besides",
    )
    return whole


@dataclass(frozen=True)
class _Origin:
    """The file of a system. All are equal: where a system is read from isn't part of it."""

    source: str | None = field(default=None, compare=False)


class SystemConfig(ConfigModel):
    """How each NPU runs its collectives. Times are nanoseconds (ASTRA-sim's cycles)."""

    also_read: ClassVar[tuple[str, ...]] = (*_ONLY_WITHOUT_EFFECT, _MEMORY_TRACE)
    scheduling_policy: _Policy = Field(alias="scheduling-policy")
    """Which collective goes first where the training loop doesn't say: LIFO, FIFO, EXPLICIT, or `FILE.py:name`. Needed,
    but for `collectives: nccl`."""
    endpoint_delay_ns: _Nanoseconds = Field(alias="endpoint-delay", default=10)
    """Nanoseconds that pass on an NPU before its first sends of a phase, and after each message that it receives."""
    start_jitter_ns: _Nanoseconds = Field(alias="start-jitter", default=0)
    """Most nanoseconds that an NPU waits at random before it starts a phase. ASTRA-sim has no such key."""
    active_chunks_per_dimension: _Positive = Field(alias="active-chunks-per-dimension", default=1)
    """Chunks that may travel at a time in a dimension."""
    preferred_dataset_splits: _Splits = Field(alias="preferred-dataset-splits")
    """Chunks that a collective is cut in, never more than it has bytes. Needed, but for `collectives: nccl`."""
    collectives: Literal["astra-sim", "nccl"] = "astra-sim"
    """Whose algorithms play collectives: those that the keys below name, or NCCL's, which chooses by size."""
    nccl: NcclConfig | None = None
    """NCCL's version, server and variables; only with ``collectives: nccl``."""
    all_reduce: _Algorithms = Field(alias="all-reduce-implementation", default=())
    """Algorithms of an all-reduce: one for each dimension, the innermost first, or a flat one over all. Needed if the
    workload has an all-reduce."""
    reduce_scatter: _Algorithms = Field(alias="reduce-scatter-implementation", default=())
    """Algorithms of a reduce-scatter, also where it is a part of a `localBWAware` all-reduce."""
    all_gather: _Algorithms = Field(alias="all-gather-implementation", default=())
    """Algorithms of an all-gather, also where it is a part of a `localBWAware` all-reduce."""
    all_to_all: _Algorithms = Field(alias="all-to-all-implementation", default=())
    """Algorithms of an all-to-all."""
    collective_optimization: Literal["baseline", "localBWAware"] = Field(
        alias="collective-optimization", default="baseline"
    )
    """How an all-reduce goes over several dimensions: `baseline` runs one on each with all the data; `localBWAware`
    runs reduce-scatters up to the last dimension, an all-reduce there, and all-gathers back."""
    intra_dimension_scheduling: _Policy = Field(alias="intra-dimension-scheduling", default="FIFO")
    """Which chunk of a queue goes first: FIFO, RG, SCF, smallestFirst, lessRemainingPhaseFirst, or `FILE.py:name`."""
    inter_dimension_scheduling: _Policy = Field(alias="inter-dimension-scheduling", default="ascending")
    """In which order a chunk goes through the dimensions: ascending, baseline, roundRobin, themis, offlineGreedy,
    themisFlex, offlineGreedyFlex, or `FILE.py:name`."""
    num_queues_per_dimension: _Positive = Field(alias="num-queues-per-dim", default=1)
    """Queues q of each dimension, which successive phases take in turn. Each runs active chunks / q, rounded up. The
    second half runs rings anticlockwise."""
    injection_scale: _Scale = Field(alias="injection-scale", default=1.0)
    """Multiplies the endpoint delay, cut to whole nanoseconds."""
    rendezvous: _Switch = Field(alias="rendezvous-protocol", default=False)
    """Whether a receiver has to invite each message before it is sent; on the analytical network only."""
    reduction_bytes_per_ns: _Positive = Field(alias="reduction-bytes-per-ns", default=500_000)
    """Bytes per nanosecond at which memory moves data that is reduced. ASTRA-sim has this number in its code."""
    local_mem_bw: _Bandwidth | None = Field(alias="local-mem-bw", default=None)
    """Bandwidth of the NPU's memory in GB/s (10^9): for the roofline, for memory nodes of graphs, and for reductions
    unless `reduction-bytes-per-ns` is given. Reductions count whole bytes per ns; a fraction above a percent is
    refused."""
    roofline_enabled: _Switch = Field(alias="roofline-enabled", default=False)
    """Whether a graph's computations take what the roofline says, instead of the trace's durations (ASTRA-sim 2)."""
    peak_perf: _Bandwidth | None = Field(alias="peak-perf", default=None)
    """The NPU's peak in TFLOP/s (10**12), for the roofline (ASTRA-sim 2)."""
    replay_only: _Switch = Field(alias="replay-only", default=False)
    """Whether each node of a graph lasts as long as the trace says, and nothing is sent (ASTRA-sim 2)."""

    track_local_memory: _Switch = Field(alias="track-local-mem", default=False)
    """Whether ASTRA-sim 2 writes when which tensors of a graph are in memory; here only a warning says that nothing
    does."""

    remote_memory: RemoteMemory | None = Field(alias="remote-memory", default=None)
    """Memory besides the NPU's own, which nodes of graphs load from and store to: these keys, or the path of a file
    with them, as ASTRA-sim 2 has it. The path begins in this file's folder."""
    all_reduce_custom: _Traces = Field(alias="all-reduce-implementation-custom", default=())
    """A prefix of Chakra traces, a graph for each rank, that are played for every all-reduce of a workload of graphs.
    The path begins in the working folder."""
    reduce_scatter_custom: _Traces = Field(alias="reduce-scatter-implementation-custom", default=())
    """The same for every reduce-scatter."""
    all_gather_custom: _Traces = Field(alias="all-gather-implementation-custom", default=())
    """The same for every all-gather."""
    all_to_all_custom: _Traces = Field(alias="all-to-all-implementation-custom", default=())
    """The same for every all-to-all."""

    _before_cuts: SystemConfig | None = PrivateAttr(default=None)
    """The system as it was given, where a workload's groups cut dimensions of the network."""
    _dimensions_before_cuts: int = PrivateAttr(default=0)
    _reduction_trees: ReductionTrees | None = PrivateAttr(default=None)
    """The trees of the network, where an algorithm asks for them."""
    _storage_hosts: StorageHosts | None = PrivateAttr(default=None)
    """The storage hosts of the network, where a workload stores."""
    _origin: _Origin = PrivateAttr(default=_Origin())

    @model_validator(mode="after")
    @checked
    def _roofline_is_whole(self) -> None:
        if self.roofline_enabled and (self.local_mem_bw is None or self.peak_perf is None):
            lacking = "local-mem-bw" if self.local_mem_bw is None else "peak-perf"
            raise key_error(lacking, "is missing, which roofline-enabled needs")

    @model_validator(mode="after")
    @checked
    def _memory_reduces(self) -> None:
        if self.local_mem_bw is not None and "reduction_bytes_per_ns" not in self.model_fields_set:
            # It stays a key that isn't given, so that it follows a change of the memory's bandwidth.
            self.__dict__["reduction_bytes_per_ns"] = _whole_bytes_per_ns(self.local_mem_bw)

    @model_validator(mode="after")
    @checked
    def _nccl_is_used(self) -> None:
        refuse_key(
            self.nccl is not None and self.collectives != "nccl",
            "nccl",
            "has no effect without 'collectives: nccl'; add that, or leave it out",
        )

    @model_validator(mode="after")
    @checked
    def _endpoint_delay_fits(self) -> None:
        refuse_key(
            self.endpoint_delay_ns * self.injection_scale > LARGEST_INTEGER // PS_PER_NS,
            "injection-scale",
            f"{self.injection_scale:g} times the endpoint delay of {self.endpoint_delay_ns} ns is too long: the "
            f"most is {LARGEST_INTEGER // PS_PER_NS} ns",
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what is asked for and isn't done, each one line."""
        words = []
        if self.track_local_memory:
            words.append(
                "key 'track-local-mem': changes no time, and the trace of memory that ASTRA-sim 2 writes isn't written"
            )
        return (*words, *self._nccl_warnings())

    @property
    def unheeded(self) -> tuple[str, ...]:
        """Return the keys with a value of their own that collectives by NCCL's rules don't heed.

        Ask before the system is placed on servers, which gives NCCL's channels their queues.
        """
        if not self.plays_nccl:
            return ()
        fields = type(self).model_fields
        usual = {name: _UNUSED_BY_NCCL.get(str(fields[name].alias), fields[name].default) for name in _UNHEEDED_BY_NCCL}
        return tuple(str(fields[name].alias) for name, value in usual.items() if getattr(self, name) != value)

    def _nccl_warnings(self) -> Iterator[str]:
        """Yield what NCCL's table asks for in vain; of switches, once it is known which servers there are."""
        if self.nccl is None:
            return
        yield from self.nccl.warnings
        if not self.nccl.servers:
            return
        first = {server: rank for rank, server in reversed(tuple(enumerate(self.nccl.servers)))}
        trees, variables = self.reduction_trees, self.nccl.variables
        joined = len(first) > 1 and trees is not None and trees.can_join(tuple(first.values()))
        if variables.collnet_enable and not joined:
            yield "key 'nccl': NCCL_COLLNET_ENABLE changes nothing: no switch that reduces joins several servers"
        members = [rank for rank, server in enumerate(self.nccl.servers) if server == self.nccl.servers[0]]
        able = self.nccl.server is not None and self.nccl.built.multicast and variables.nvls_enable != 0
        if able and len(members) > 1 and (trees is None or not trees.shared(members)):
            yield (
                f"key 'nccl': the switches of server '{self.nccl.server}' add up (NVLS), those of the network don't: "
                "NVLS is never chosen; in the network file, add reduction: {} to scale_up.switch (kind file: "
                "scale_up_switch), or set NCCL_NVLS_ENABLE to 0"
            )

    @property
    def scaled_endpoint_delay_ns(self) -> int:
        """The endpoint delay times the injection scale, rounded down to a nanosecond."""
        return int(self.endpoint_delay_ns * self.injection_scale)

    @classmethod
    def prepare(cls, data: dict[str, object]) -> dict[str, object]:
        """Take out the keys that are accepted only without effect."""
        for key, allowed in _ONLY_WITHOUT_EFFECT.items():
            if key not in data:
                continue
            no_number = data[key] is True and allowed != _SWITCH  # a switch may be true, as in ASTRA-sim 2
            if no_number or _whole_number(data[key]) not in allowed:
                words = " or ".join(str(value) for value in allowed)
                raise key_error(key, f"found {shown(data[key])}, which is not supported yet; supported: {words}")
        known = {key: value for key, value in data.items() if key not in (*_ONLY_WITHOUT_EFFECT, _MEMORY_TRACE)}
        if known.get("collectives") == "nccl":
            known = {**_UNUSED_BY_NCCL, **known}
        return known

    def algorithms(self, kind: CollectiveKind, dimensions: int, needed_by: str = "") -> tuple[str, ...]:
        """The algorithms for a collective: one per dimension, or a single flat one; raises InputError.

        ``needed_by``: in words, what asks for them; empty: a collective of the workload.
        A collective without a line of its own (broadcast, reduce, barrier, point-to-point) uses the all-reduce's.
        """
        if self.plays_nccl:
            return ("oneDirect",)  # of an all-to-all with counts; NCCL chooses the others itself
        key = _KEYS.get(kind, "all_reduce")
        name = f"{key.replace('_', '-')}-implementation"
        if self._before_cuts is not None:
            self._before_cuts.algorithms(kind, self._dimensions_before_cuts, needed_by)
        algorithms: tuple[str, ...] = getattr(self, key)
        whose = needed_by or f"the workload's {kind.name.lower()}"
        refuse(not algorithms, f"key '{name}' is missing, which {whose} needs")
        if len(algorithms) != dimensions and not is_flat(algorithms[0]):
            raise wrong(
                f"key '{name}': found {counted(len(algorithms), 'algorithm')} "
                f"({'_'.join(algorithms)}), expected {dimensions}: one for each dimension of the network, or of the "
                f"job's key 'dimensions', such as {'_'.join(algorithms[:1] * dimensions)}; or collectives: nccl"
            )
        return algorithms

    def with_nccl(
        self,
        server: Server,
        servers: Sequence[int],
        *,
        merges: bool,
        has_sockets: bool = False,
        gpus: Sequence[int] = (),
    ) -> SystemConfig:
        """Return the system whose collectives NCCL plays, on NPUs of which each stands in one of ``servers``.

        Each channel has a queue of its own. ``merges``: whether channels are merged unless the table says. ``gpus``:
        which GPU of its server each NPU is; empty: they follow each other.
        """
        table = (self.nccl or NcclConfig()).placed(
            server, tuple(servers), merges=merges, has_sockets=has_sockets, gpus=tuple(gpus)
        )
        queues = {"num_queues_per_dimension": MOST_CHANNELS, "active_chunks_per_dimension": MOST_CHANNELS}
        return self.model_copy(update={"nccl": table, **queues})

    def read_from(self, source: str) -> SystemConfig:
        """Return the system, told the file that it was read from."""
        told = self.model_copy()
        told._origin = _Origin(source)
        return told

    @property
    def source(self) -> str | None:
        """The file that the system was read from; None: none."""
        return self._origin.source

    def with_reduction_trees(self, trees: ReductionTrees) -> SystemConfig:
        """Return the system, told the trees of the network's switches that reduce."""
        told = self.model_copy()
        told._reduction_trees = trees
        return told

    @property
    def reduction_trees(self) -> ReductionTrees | None:
        """The trees of the network's switches that reduce; None: nobody has asked for them."""
        return self._reduction_trees

    def with_storage_hosts(self, hosts: StorageHosts) -> SystemConfig:
        """Return the system, told the storage hosts of the network."""
        told = self.model_copy()
        told._storage_hosts = hosts
        return told

    @property
    def storage_hosts(self) -> StorageHosts | None:
        """The storage hosts of the network; None: nobody has asked for them."""
        return self._storage_hosts

    @property
    def all_algorithms(self) -> frozenset[str]:
        """Every algorithm that is named for any collective."""
        return frozenset(name for key in _KEYS.values() for name in getattr(self, key))

    @property
    def plays_nccl(self) -> bool:
        """Whether NCCL plays the collectives."""
        return self.collectives == "nccl"

    @property
    def servers(self) -> tuple[int, ...]:
        """The server of each NPU; empty unless NCCL plays the collectives."""
        return self.nccl.servers if self.nccl is not None else ()

    def custom_collectives(self) -> dict[CollectiveKind, str]:
        """The kinds of collectives that are played as graphs, and the prefix of each one's traces."""
        lists: dict[CollectiveKind, tuple[str, ...]] = {
            kind: getattr(self, f"{key}_custom") for kind, key in _KEYS.items()
        }
        return {kind: prefixes[0] for kind, prefixes in lists.items() if prefixes}

    def for_one_ring(self) -> SystemConfig:
        """Return the system for groups of one dimension: the algorithms of lists with one name, else rings."""
        lists = {key: getattr(self, key) if len(getattr(self, key)) <= 1 else ("ring",) for key in _KEYS.values()}
        return self.model_copy(update=lists)

    def for_parts(self, parts: Sequence[int]) -> SystemConfig:
        """Return the system for a grid whose dimensions were each cut in ``parts``: all parts run its algorithms.

        A list that hasn't an algorithm for each dimension before the cuts is refused when it is asked for.
        """
        lists: dict[str, tuple[str, ...]] = {}
        for key in _KEYS.values():
            algorithms: tuple[str, ...] = getattr(self, key)
            if len(algorithms) == len(parts) and not is_flat(algorithms[0]):
                lists[key] = tuple(name for name, count in zip(algorithms, parts, strict=True) for _ in range(count))
        cut = self.model_copy(update=lists)
        cut._before_cuts, cut._dimensions_before_cuts = self, len(parts)
        return cut


_KEYS: Mapping[CollectiveKind, str] = {
    CollectiveKind.ALL_REDUCE: "all_reduce",
    CollectiveKind.REDUCE_SCATTER: "reduce_scatter",
    CollectiveKind.ALL_GATHER: "all_gather",
    CollectiveKind.ALL_TO_ALL: "all_to_all",
}
