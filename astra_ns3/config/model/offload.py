"""Keys of a training's memory beyond the device, and of its checkpoints."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    model_validator,
)

from astra_ns3.config.core.model import ConfigModel, Count, Number, as_value_error, checked, refuse_key, shown
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.units import exact_time, parse_time_ps

MOST_LAYERS = 100_000
"""More than any model has."""


class Offloaded(ConfigModel):
    """One part of the memory that lies beyond the device, layer by layer."""

    to: Literal["storage", "remote"] = "storage"
    """`storage`: the network's storage hosts. `remote`: the remote memory that the run is given."""
    prefetch: Number = Field(default=1, le=MOST_LAYERS)
    """For how many layers loads begin ahead, and stores may still go on behind."""


class OffloadedOptimizer(Offloaded):
    """States of the optimizer beyond the device, and who adds up the gradients for them."""

    reduce: Literal["npus", "in-network"] = "npus"
    """`npus`: NPUs exchange gradients, and update with the states that they load. `in-network`: switches add up
    gradients on the way to a storage host, which updates, and its new weights come back to all copies."""

    @model_validator(mode="after")
    @checked
    def _reduces_on_lines(self) -> None:
        refuse_key(
            self.reduce == "in-network" and self.to == "remote",
            "reduce",
            "found in-network with to: remote, expected to: storage, as no lines lead to remote memory",
        )


class Offload(ConfigModel):
    """Parts of the memory that lie beyond the device."""

    optimizer: OffloadedOptimizer | None = None
    """States of the optimizer: loaded for the update of a layer, and stored after it."""
    weights: Offloaded | None = None
    """Weights: loaded for each pass through a layer and for its update, and stored after it."""
    activations: Offloaded | None = None
    """Activations: stored after a layer's forward pass, and loaded for its backward pass."""


@dataclass(frozen=True)
class Interval:
    """A time from one checkpoint to the next."""

    time_ps: int


def _interval(value: str | int | float | Interval) -> Interval:
    """Return a time with a unit as an interval; raises InputError for 0."""
    if isinstance(value, Interval):
        return value
    time_ps = parse_time_ps(value)
    refuse(time_ps == 0, f"found {shown(value)}, expected a time above 0")
    return Interval(time_ps)


def _form(value: str | int | float | Interval) -> str:
    return "time" if isinstance(value, (str, Interval)) else "iterations"


_Time = Annotated[
    Interval,
    BeforeValidator(as_value_error(_interval)),
    PlainSerializer(lambda interval: exact_time(interval.time_ps), return_type=str),
    WithJsonSchema({"type": "string", "examples": ["10min"]}),
]
Every = Annotated[Annotated[Count, Tag("iterations")] | Annotated[_Time, Tag("time")], Discriminator(_form)]
"""A number of iterations, or a time."""


class Checkpoint(ConfigModel):
    """Weights and states of the optimizer, stored on storage hosts."""

    every: Every
    """Iterations from one checkpoint to the next, or the time: `10min` is up when an iteration ends."""
    mode: Literal["synchronous", "behind"] = "synchronous"
    """`synchronous`: an NPU waits until its part is stored. `behind`: it goes on, and waits before the next one."""
