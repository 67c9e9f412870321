"""Keys of a training's memory beyond the device, and of its checkpoints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from astra_ns3.config.core.model import ConfigModel, Count, Number, checked, refuse_key

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


class Checkpoint(ConfigModel):
    """Weights and states of the optimizer, stored on storage hosts."""

    every: Count
    """Iterations from one checkpoint to the next."""
    mode: Literal["synchronous", "behind"] = "synchronous"
    """`synchronous`: an NPU waits until its part is stored. `behind`: it goes on, and waits before the next one."""
