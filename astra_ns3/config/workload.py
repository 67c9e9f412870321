"""The workload: a training loop's layers with their compute times and collectives, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.scales import check_scales
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass, replace
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS

LARGEST_COMPUTE_NS = LARGEST_INTEGER // PS_PER_NS


class PassKind(str, Enum):
    """The three passes of a layer."""

    FORWARD = "forward"
    WEIGHT_GRADIENT = "weight gradient"
    INPUT_GRADIENT = "input gradient"

    __hash__ = str.__hash__  # as its text, which is what a label of somebody else's may have

    def __str__(self) -> str:
        return self.value


class ParallelGroup(str, Enum):
    """Which NPUs a collective of SimAI's loops goes among; the values are SimAI's words."""

    TENSOR = "TP"
    """NPUs that share each layer of the model."""
    DATA = "DP"
    """NPUs that have the same part of the model, for other data."""
    EXPERT = "EP"
    """Neighbours of a data-parallel group that share the experts."""
    EXPERT_DATA = "DP_EP"
    """NPUs of a data-parallel group that have the same experts."""


@dataclass(frozen=True)
class Pass:
    """One of a layer's three passes: compute, then a collective on ``bytes`` of each NPU (None: no collective).

    In SimAI's loops the bytes of an all-gather are those that each NPU has at its end, and ``group`` says among whom
    (None: the pass's usual group).
    """

    compute_ns: int
    collective: CollectiveKind | None = None
    bytes: int = 0
    group: ParallelGroup | None = None

    def __post_init__(self) -> None:
        _check_range("compute time", self.compute_ns, LARGEST_COMPUTE_NS)
        _check_range("size", self.bytes, LARGEST_INTEGER)
        refuse(
            bool(self.collective is None and self.bytes),
            f"a pass without a collective has {self.bytes} bytes to send, expected 0",
        )

    def scaled(self, comm_scale: float, compute_scale: float) -> Pass:
        """Times and sizes multiplied and truncated; what was to be sent stays at least one byte."""
        return Pass(
            int(self.compute_ns * compute_scale),
            self.collective,
            max(1, int(self.bytes * comm_scale)) if self.bytes else 0,
            self.group,
        )


@dataclass(frozen=True)
class Layer:
    """A layer; ``update_ns`` passes after each of its collectives before that counts as done.

    ``policy``: the loop whose dimensions it communicates over, in HYBRID_CUSTOMIZED, or in a loop of the user's.
    """

    name: str
    forward: Pass
    input_gradient: Pass
    weight_gradient: Pass
    update_ns: int = 0
    policy: str | None = None

    def __post_init__(self) -> None:
        _check_range("update time", self.update_ns, LARGEST_COMPUTE_NS)

    @property
    def passes(self) -> dict[PassKind, Pass]:
        """Its three passes, in the order of a file's columns."""
        return {
            PassKind.FORWARD: self.forward,
            PassKind.INPUT_GRADIENT: self.input_gradient,
            PassKind.WEIGHT_GRADIENT: self.weight_gradient,
        }

    def changed(self, change: Callable[[Pass], Pass]) -> Layer:
        """The layer with each of its passes changed."""
        forward, input_gradient, weight_gradient = map(change, self.passes.values())
        return replace(self, forward=forward, input_gradient=input_gradient, weight_gradient=weight_gradient)


@dataclass(frozen=True)
class Workload:
    """A training loop by name and the layers it goes through; ``source`` is the file it came from."""

    loop: str
    layers: tuple[Layer, ...]
    last_bottom_layer: int | None = None
    """Index of the last layer of the bottom MLP; only the DLRM loops have one."""
    source: str = "workload"
    model_parallel_npus: int | None = None
    """NPUs that share one copy of the model; only the transformer loops have it."""
    checkpoints: tuple[int, ...] = ()
    """Indices of the layers whose input is kept; only HYBRID_TRANSFORMER_FWD_IN_BCKWD has any."""
    checkpoint_initiates: tuple[int, ...] = ()
    """Indices of the layers before whose backward pass the forward pass is done again from a checkpoint."""
    npus: int | None = None
    """How many NPUs there have to be (None: any number); from here on only SimAI's loops have any of these."""
    expert_parallel_npus: int | None = None
    """NPUs of a data-parallel group that share the experts."""
    pipeline_stages: int | None = None
    """In how many stages the model is cut; the layers are those of each."""
    micro_batches: int | None = None
    """How often the layers of one micro-batch are repeated."""
    virtual_stages: int | None = None
    """In how many chunks a stage's part of a micro-batch is cut, where it can be."""
    stage_bytes: int | None = None
    """Bytes that an NPU sends to the next stage for a micro-batch, and back to the one before."""
    warnings: tuple[str, ...] = ()
    """Facts of the file that its user should know, each one line."""

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> Workload:
        """Every size times ``comm_scale``, every compute time times ``compute_scale``; update times stay."""
        check_scales(comm_scale, compute_scale)
        if comm_scale == 1 and compute_scale == 1:
            return self
        layers = tuple(layer.changed(lambda part: part.scaled(comm_scale, compute_scale)) for layer in self.layers)
        sent = self.stage_bytes and max(1, int(self.stage_bytes * comm_scale))
        return replace(self, layers=layers, stage_bytes=sent)


def _check_range(what: str, value: int, largest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise wrong(f"{what} {value!r} is not a whole number from 0 to {largest}")
