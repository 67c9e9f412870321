"""A model's training as plain data: what every NPU of a stage computes, exchanges and keeps, for one micro-batch.

Made of a model's numbers (``workload/models/``), timed by a clock (``workload/computing/``), put in an order and played
by the loops (``workload/training/``), and added up (``workload/memory/``). Times of operations aren't in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.errors import in_range, refuse
from astra_ns3.frozen import dataclass, field

MOST_PASSES = 1_000_000
"""The bound of blocks forward on a stage in an iteration, each of which is worked out."""


class Group(str, Enum):
    """Which NPUs of a stage an exchange goes among."""

    TENSOR = "tensor"
    """NPUs that share each product of matrices."""
    CONTEXT = "context"
    """NPUs that share each sequence."""
    DATA = "data"
    """NPUs that have the same part of the model and of each sequence, for other sequences."""
    GRADIENT = "gradient"
    """All that have the same dense weights: context and data together."""
    EXPERT = "expert"
    """Neighbours of a gradient group that share the experts."""
    EXPERT_GRADIENT = "expert-gradient"
    """NPUs of a gradient group that have the same experts."""


@dataclass(frozen=True)
class Degrees:
    """In how many parts each kind of parallelism cuts; ranks are numbered tensor first, then context, data, pipeline.

    Experts are shared by ``expert`` neighbours of the ``context * data`` NPUs that have the same dense weights. Raises
    InputError unless each is at least 1 and ``expert`` divides those.
    """

    tensor: int = 1
    context: int = 1
    data: int = 1
    pipeline: int = 1
    expert: int = 1

    def __post_init__(self) -> None:
        for name in ("tensor", "context", "data", "pipeline", "expert"):
            in_range(name, getattr(self, name), 1)
        refuse(
            bool(self.gradient % self.expert),
            f"expert is {self.expert}, expected a divisor of context times data, {self.context} x {self.data}",
        )

    @property
    def gradient(self) -> int:
        """NPUs that have the same dense weights."""
        return self.context * self.data

    @property
    def stage_npus(self) -> int:
        """NPUs of a stage."""
        return self.tensor * self.gradient

    @property
    def npus(self) -> int:
        """All of them."""
        return self.stage_npus * self.pipeline

    def size(self, group: Group) -> int:
        """NPUs of a group."""
        return {
            Group.TENSOR: self.tensor,
            Group.CONTEXT: self.context,
            Group.DATA: self.data,
            Group.GRADIENT: self.gradient,
            Group.EXPERT: self.expert,
            Group.EXPERT_GRADIENT: self.gradient // self.expert,
        }[group]

    def strides(self, group: Group) -> tuple[int, int]:
        """Ranks of a group's members within a stage differ by multiples of the first, below the second."""
        first, second = self.tensor, self.tensor * self.gradient
        return {
            Group.TENSOR: (1, first),
            Group.CONTEXT: (first, first * self.context),
            Group.DATA: (first * self.context, second),
            Group.GRADIENT: (first, second),
            Group.EXPERT: (first, first * self.expert),
            Group.EXPERT_GRADIENT: (first * self.expert, second),
        }[group]


class OperationKind(str, Enum):
    """The kind of an operation, on which its efficiency and time depend."""

    MATMUL = "matmul"
    ATTENTION = "attention"
    """Scores, softmax and weighted sum in one (fused) operation."""
    CONVOLUTION = "convolution"
    ELEMENTWISE = "elementwise"
    """Normalisation, activation, addition, rotation, softmax of logits: bound by memory."""
    GATHER = "gather"
    """Look-ups in tables of embeddings, permutations of tokens."""
    OPTIMIZER = "optimizer"
    """The update of weights."""


@dataclass(frozen=True)
class Operation:
    """A computation on one NPU for one micro-batch.

    ``flops``: multiplications and additions, each counted; ``bytes``: that go to and from memory at least. ``shape``:
    m, n and k of each of ``count`` products of m x k by k x n (None: no product). ``time_ps``: where it is given, so
    that no clock is asked.
    """

    name: str
    kind: OperationKind
    flops: int = 0
    bytes: int = 0
    shape: tuple[int, int, int] | None = None
    count: int = 1
    time_ps: int | None = None


@dataclass(frozen=True)
class Uneven:
    """An operation that is another one in each place of a group: ``operations`` has one per place."""

    group: Group
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class Exchange:
    """A collective of ``bytes`` of each NPU (as in :class:`~astra_ns3.system.request.CollectiveRequest`) in a group.

    ``waited``: before the next item; if not, before the end of the block's pass (of its weight gradient, if it is of an
    input gradient). ``counts``: of an all-to-all that isn't even, the bytes from each place of the group to each, a row
    per sender; ``bytes`` then says what the one sends who sends most. ``relay``: where they go by way of a place of
    each node, with bytes that cross. ``content``: where that tells exchanges in the
    same group apart. ``pool``: of an all-reduce by way of the group's storage host, how many of its units go there and
    how many come back.
    """

    kind: CollectiveKind
    group: Group
    bytes: int
    waited: bool = True
    counts: tuple[tuple[int, ...], ...] | None = None
    relay: Relay | None = None
    content: str = ""
    pool: tuple[int, int] | None = None


@dataclass(frozen=True)
class Ring:
    """Turns of computing on a part and passing it on: ring attention.

    In each of as many turns as the group has NPUs, ``operation`` is computed, while ``bytes`` go to the next of the
    group and as many come from the one before, but in the last turn; ``home_bytes`` with them, in the last turn, too:
    gradients that go back to where keys and values came from.
    Source: H. Liu, M. Zaharia, P. Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite Context", 2023.
    """

    group: Group
    operation: Operation
    bytes: int
    home_bytes: int = 0

    @property
    def turn_bytes(self) -> int:
        """Return the bytes that come in a turn, the last one left out."""
        return self.bytes + self.home_bytes


Item = Operation | Uneven | Exchange | Ring


@dataclass(frozen=True)
class ExpertLoad:
    """Rows that the places of an expert group compute for a micro-batch, and choices of tokens that come to nothing."""

    rows: tuple[int, ...]
    dropped: int = 0


@dataclass(frozen=True)
class Block:
    """A layer of the model on each NPU of its stage: its passes for one micro-batch, and what it keeps.

    ``parameters``: dense ones of this NPU; ``expert_parameters``: of its experts, which other NPUs have the same of;
    ``table_parameters``: of tables that no other NPU has, updated row by row in the backward pass, so they have no part
    in exchanges of gradients nor in the update of all weights.
    ``again``: what is computed again before the backward pass (empty: nothing is). ``activation_bytes``: kept from the
    forward to the backward pass; ``again_bytes``: that ``again`` makes, and the backward pass frees. ``expert_load``:
    of experts that aren't chosen alike.
    """

    name: str
    forward: tuple[Item, ...]
    input_gradient: tuple[Item, ...] = ()
    weight_gradient: tuple[Item, ...] = ()
    again: tuple[Item, ...] = ()
    parameters: int = 0
    expert_parameters: int = 0
    table_parameters: int = 0
    activation_bytes: int = 0
    again_bytes: int = 0
    expert_load: ExpertLoad | None = None
    summed_parameters: int = 0
    """The part of ``parameters`` that each NPU of a tensor group has and uses for its own tokens alone, so that the
    group adds up their gradients."""
    tied_parameters: int = 0
    """Parameters of the first block, on the same NPU, that this block uses too."""

    @property
    def passes(self) -> tuple[tuple[Item, ...], ...]:
        """All that is done for a micro-batch."""
        return self.forward, self.input_gradient, self.weight_gradient, self.again

    def operations(self) -> Iterator[Operation]:
        """All that is computed."""
        for item in (item for items in self.passes for item in items):
            if isinstance(item, Uneven):
                yield from item.operations
            elif isinstance(item, Ring):
                yield item.operation
            elif isinstance(item, Operation):
                yield item


_GRADIENTS, _WEIGHTS = 2, 3
"""The stages of ZeRO from which on gradients are shared, and weights, too."""


@dataclass(frozen=True)
class Sharding:
    """How weights, gradients and optimizer states are shared by those with the same weights, and sent.

    ``stage``: 0 everybody has all and gradients are all-reduced; 1 optimizer states are shared, 2 gradients, too, 3
    weights, too. Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
    SC 2020. ``bucket_bytes``: gradients are sent when so many have come together (None: of each block at once; with
    ``overlap`` off all at the end, of each micro-batch in stages 2 and 3). ``prefetch``: for how many blocks weights
    are gathered before they are needed, in stage 3. ``keeps_gathered``: weights stay from the forward to the backward
    pass of a micro-batch.
    """

    stage: int = 0
    bucket_bytes: int | None = None
    overlap: bool = True
    prefetch: int = 1
    keeps_gathered: bool = False

    @property
    def shards_gradients(self) -> bool:
        """Whether an NPU keeps a shard of the gradients, and sends those of each micro-batch."""
        return self.stage >= _GRADIENTS

    @property
    def shards_weights(self) -> bool:
        """Whether an NPU keeps a shard of the weights, and gathers them before each use."""
        return self.stage == _WEIGHTS

    @property
    def gathers_updated(self) -> bool:
        """Whether an NPU keeps all weights, and gathers those that others have updated."""
        return 0 < self.stage < _WEIGHTS


@dataclass(frozen=True)
class Elements:
    """Bytes of a parameter's weight, of its gradient as it is sent and kept, and of its optimizer's states."""

    weight: int = 2
    gradient: int = 2
    optimizer: int = 12


@dataclass(frozen=True)
class Beyond:
    """A part of the memory beyond the device, a block at a time. ``remote``: by the system's remote memory, else on
    storage hosts. ``prefetch``: for how many blocks loads begin ahead."""

    remote: bool = False
    prefetch: int = 1

    def most(self, sizes: Sequence[int]) -> int:
        """Return the most bytes during an update: of a block, of those loaded ahead, and of as many being stored."""
        blocks = 1 + 2 * self.prefetch
        return max(sum(sizes[first : first + blocks]) for first in range(max(1, len(sizes) - blocks + 1)))


@dataclass(frozen=True)
class Offloading:
    """The parts that lie beyond the device; None: on it. ``pooled``: storage hosts update with the states."""

    optimizer: Beyond | None = None
    weights: Beyond | None = None
    activations: Beyond | None = None
    pooled: bool = False

    @staticmethod
    def stores(part: Beyond | None) -> bool:
        """Whether a part lies on storage hosts."""
        return part is not None and not part.remote

    @property
    def updates(self) -> bool:
        """Whether an update needs what lies beyond the device."""
        return not self.pooled and (self.optimizer is not None or self.weights is not None)


@dataclass(frozen=True)
class Checkpointing:
    """Checkpoints after so many iterations each, or after the first that ends ``interval_ps`` after the last one began.

    ``behind``: while the next iterations go on.
    """

    every: int = 1
    behind: bool = False
    interval_ps: int = 0


@dataclass(frozen=True)
class TrainingPlan:
    """Work of the NPUs of each stage in one iteration, before it has an order.

    ``chunks``: the model's blocks, cut in as many parts as there are stages, or a multiple; part c is on stage
    ``c % degrees.pipeline``. ``schedule``: one of the registry of ``workload/training/``. ``boundary_bytes``: an NPU's
    activations between two parts, for one micro-batch. ``tied_parameters``: of this NPU's part of an embedding that the
    first and the last stage both have. ``memory_bytes``: of an NPU (None: not known). ``servers``: NPUs besides those
    of the degrees that keep the weights and add up gradients, whichever comes first if ``asynchronous``.
    ``comm_scale``: of what is sent of gradients and weights; all other sizes are as they are sent. ``offload``: what
    lies beyond the device. ``checkpoint``: how often states are stored (None: never).
    """

    name: str
    source: str
    degrees: Degrees
    chunks: tuple[tuple[Block, ...], ...]
    micro_batches: int = 1
    schedule: str = "1f1b"
    boundary_bytes: int = 0
    sharding: Sharding = field(default_factory=Sharding)
    elements: Elements = field(default_factory=Elements)
    tied_parameters: int = 0
    memory_bytes: int | None = None
    servers: int = 0
    asynchronous: bool = False
    comm_scale: float = 1.0
    offload: Offloading = field(default_factory=Offloading)
    checkpoint: Checkpointing | None = None

    def __post_init__(self) -> None:
        refuse(self.micro_batches < 1, f"micro-batches are {self.micro_batches}, expected at least 1", self.source)
        refuse(
            bool(not self.chunks or len(self.chunks) % self.degrees.pipeline),
            f"{len(self.chunks)} parts of the model, expected a multiple of the {self.degrees.pipeline} stages",
            self.source,
        )
        blocks = max(sum(map(len, self.stage(number))) for number in range(self.degrees.pipeline))
        refuse(
            blocks * self.micro_batches > MOST_PASSES,
            f"{blocks:,} blocks on a stage and {self.micro_batches:,} micro-batches: expected at "
            f"most {MOST_PASSES:,} of one times the other",
            self.source,
        )

    @property
    def virtual_stages(self) -> int:
        """Parts of the model on each stage."""
        return len(self.chunks) // self.degrees.pipeline

    def sent_bytes(self, size_bytes: int) -> int:
        """Return a size of gradients or weights: scaled, truncated, but at least a byte."""
        return max(1, int(size_bytes * self.comm_scale)) if size_bytes else 0

    def stage(self, number: int) -> Sequence[tuple[Block, ...]]:
        """The parts of the model on a stage."""
        return self.chunks[number :: self.degrees.pipeline]

    def operations(self) -> Iterator[Operation]:
        """All that blocks compute, but for the update of weights."""
        for block in (block for chunk in self.chunks for block in chunk):
            yield from block.operations()
