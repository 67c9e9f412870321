"""Keys of a model file's ``compute``: where the times of its operations come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from astra_ns3.config.core.model import (
    ConfigModel,
    Count,
    Keys,
    OnOff,
    TimePs,
    checked,
    key_error,
    kind_of,
    refuse_key,
)
from astra_ns3.config.model.devices import Frequency, NamedDevice, Share, Slowdown, device_named
from astra_ns3.config.model.relative_path import from_the_file


class Shares(ConfigModel):
    """A share of what a device could do at most, for each kind of operation; one number in its place is all of them."""

    matmul: Share
    attention: Share
    convolution: Share
    elementwise: Share
    gather: Share
    optimizer: Share


def _one_for_all(value: object) -> object:
    """One number instead of the group."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not 0 < value <= 1:
            raise ValueError(f"found {value}, expected a number above 0 and at most 1")
        return dict.fromkeys(Shares.model_fields, value)
    return value


class Efficiency(Shares):
    """The share of the peak that operations reach if the processors limit them.

    Choices of ours. On an A100 attention's forward pass reaches 50 to 73% of the peak, training as a whole 72% (T. Dao,
    "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", 2023); so large products of
    matrices come to about that, and convolutions, whose shapes are smaller, to less.
    """

    matmul: Share = 0.7
    """Share reached by products of matrices."""
    attention: Share = 0.6
    """Share reached by attention."""
    convolution: Share = 0.5
    """Share reached by convolutions."""
    elementwise: Share = 0.5
    """Share reached by elementwise operations."""
    gather: Share = 0.5
    """Share reached by look-ups in tables."""
    optimizer: Share = 0.5
    """Share reached by updates of weights."""


class MemoryEfficiency(Shares):
    """The share of the memory's bandwidth that operations reach if the memory limits them.

    Choices of ours: streams reach eight or nine tenths of it on these devices, single rows of a table far less.
    """

    matmul: Share = 0.8
    """Share reached by products of matrices."""
    attention: Share = 0.8
    """Share reached by attention."""
    convolution: Share = 0.8
    """Share reached by convolutions."""
    elementwise: Share = 0.8
    """Share reached by elementwise operations."""
    gather: Share = 0.5
    """Share reached by look-ups in tables."""
    optimizer: Share = 0.8
    """Share reached by updates of weights."""


class Losses(NamedTuple):
    """How far programs stay behind what a device and its lines could do."""

    launch_overhead_ps: int = 0
    """Time that every operation takes besides."""
    scale_up_efficiency: float = 1.0
    """The share of the lines inside a node that transfers reach."""
    overlap_slowdown: float = 1.0
    """Computing takes so many times as long while collectives run on the NPU."""


class RooflineKeys(ConfigModel):
    """How operations are timed by what the device could do at most."""

    device: NamedDevice | None = None
    """The device: a name of the list of devices, or a group of numbers."""
    efficiency: Annotated[Efficiency, BeforeValidator(_one_for_all)] = Efficiency()
    """Share of the peak that operations reach which the processors limit: one number for all, or a group by kind."""
    memory_efficiency: Annotated[MemoryEfficiency, BeforeValidator(_one_for_all)] = MemoryEfficiency()
    """Share of the memory's bandwidth that operations reach which memory limits: one number for all, or a group by
    kind."""
    launch_overhead_ps: TimePs | None = Field(alias="launch_overhead", default=None)
    """Time that every operation takes besides; None: the device's, as in what follows."""
    scale_up_efficiency: Share | None = None
    """The share of the lines inside a node that transfers reach."""
    overlap_slowdown: Slowdown | None = None
    """Computing takes so many times as long while collectives run on the NPU."""

    @classmethod
    def prepare(cls, data: Keys) -> Keys:
        """Refuse keys of a device that nobody has named, and say which keys they have beside it."""
        device, beside = data.get("device"), {field.alias or name for name, field in cls.model_fields.items()}
        if isinstance(device, Mapping) and device and beside >= device.keys():
            key = next(iter(device))
            raise key_error(("device", key), f"changes a device that isn't named; did you mean 'compute.{key}'?")
        return data

    @property
    def losses(self) -> Losses:
        """The losses that the keys say; a key that is absent takes the device's. Without a device there are none."""
        own = {name: getattr(self, name) for name in Losses._fields}
        others = Losses() if self.device is None else Losses(*(getattr(self.device, name) for name in Losses._fields))
        return others._replace(**{name: value for name, value in own.items() if value is not None})

    @property
    def memory_bytes(self) -> int | None:
        """Return the memory of the device; None: no device is named."""
        return None if self.device is None else self.device.memory_bytes


class Roofline(RooflineKeys):
    """``kind: roofline``: operations over the peak or bytes over the memory's bandwidth, whichever takes longer."""

    kind: Literal["roofline"] = "roofline"
    device: NamedDevice = device_named("H100")
    """The device: a name of the list of devices, or a group of numbers."""


class Table(RooflineKeys):
    """``kind: table``: times that the user measured, from a CSV file. With a ``device``, kinds of operations that the
    file hasn't are timed as by ``roofline``.
    """

    kind: Literal["table"]
    file: str
    """In a model file, as seen from its folder."""
    extrapolate: OnOff = False
    """Whether times outside of what was measured may be guessed, with a warning."""

    @field_validator("file")
    @classmethod
    def _beside_the_file(cls, file: str, info: ValidationInfo) -> str:
        return from_the_file(file, info)


class Systolic(RooflineKeys):
    """``kind: systolic``: products on arrays of rows x columns cells, each with a multiplication and an addition a
    cycle. All other operations are timed as by ``roofline``, on ``device``, whose memory also feeds the arrays.
    """

    kind: Literal["systolic"]
    rows: Count
    """Rows of cells of an array, each of which does a multiplication and an addition a cycle."""
    columns: Count
    """Columns of cells of an array."""
    arrays: Count = 1
    """Arrays that share the folds of a product, and products done at once, evenly."""
    frequency: Frequency
    """Cycles per second."""
    dataflow: Literal["output_stationary", "weight_stationary", "input_stationary"] = "weight_stationary"
    """The operand that stays in the array."""
    method: Literal["auto", "closed_form", "scalesim"] = "auto"
    """``auto``: scalesim where it is installed, for products that it can do in seconds; a closed form for others."""
    outputs_drain: OnOff = False
    """With output_stationary, closed form: results leave through the array, for as many cycles as it has rows."""
    python: str | None = None
    """The interpreter that has scalesim; the one that runs this program if it isn't said."""
    cache: str | None = None
    """Folder that keeps scalesim's cycles; ``~/.cache/astra-ns3/scalesim`` if it isn't said."""

    @model_validator(mode="after")
    @checked
    def _drains_by_closed_form(self) -> None:
        refuse_key(
            self.outputs_drain and (self.method != "closed_form" or self.dataflow != "output_stationary"),
            "outputs_drain",
            "needs method: closed_form and dataflow: output_stationary",
        )


class Given(ConfigModel):
    """``kind: given``: operations say themselves what they take."""

    kind: Literal["given"]
    scale_up_efficiency: Share = 1.0
    """Share of the lines inside a node that transfers reach."""
    overlap_slowdown: Slowdown = 1.0
    """Computing takes so many times as long while collectives run on its NPU."""

    @property
    def losses(self) -> Losses:
        """Return the losses of its keys; operations have their launches in them."""
        return Losses(0, self.scale_up_efficiency, self.overlap_slowdown)

    @property
    def memory_bytes(self) -> int | None:
        """Nobody knows."""
        return None


def _expanded(value: object) -> object:
    """``compute: H100`` is ``compute: {device: H100}``."""
    return {"device": value} if isinstance(value, str) else value


def _kind(value: object) -> str | None:
    return kind_of(value, default="roofline")


AnyCompute = Roofline | Table | Systolic | Given
Compute = Annotated[
    Annotated[Roofline, Tag("roofline")]
    | Annotated[Table, Tag("table")]
    | Annotated[Systolic, Tag("systolic")]
    | Annotated[Given, Tag("given")],
    Discriminator(_kind),
    BeforeValidator(_expanded),
]
"""The group of a model file; a device's name in its place is that device by ``roofline``."""
