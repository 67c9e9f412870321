"""Keys that the files of all kinds of models share."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import MinLen
from pydantic import Field, model_validator

from astra_ns3.config.core.model import ConfigModel, MemoryBytes, checked, key_error, refuse_key
from astra_ns3.config.model.compute import Compute, Roofline
from astra_ns3.config.model.offload import Checkpoint, Offload
from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.model.training import Training


class ModelBase(ConfigModel):
    """A model file; a kind adds ``kind``, ``model`` and ``training``."""

    without: ClassVar[tuple[str, ...]] = ()
    """Keys of ``parallel`` that a kind has no use for: they keep their defaults."""

    name: Annotated[str, MinLen(1)]
    """The model's name."""
    parallel: Parallel = Parallel()
    """How the model is split over NPUs."""
    compute: Compute = Roofline()
    """How long computing takes; its `kind` says by which rule."""
    memory_bytes: MemoryBytes | None = Field(alias="memory", default=None)
    """Memory of an NPU. Absent: the device's."""
    offload: Offload = Offload()
    """The parts that lie beyond the device. Absent: none does."""
    checkpoint: Checkpoint | None = None
    """When all states are stored, for a restart. Absent: never."""

    @model_validator(mode="after")
    @checked
    def _device_has_the_datatype(self) -> None:
        training = getattr(self, "training", None)
        if not isinstance(self.compute, Roofline) or not isinstance(training, Training):
            return
        peaks = self.compute.device.peak.by_datatype
        refuse_key(
            training.datatype not in peaks,
            "training",
            f"datatype is {training.datatype}, expected one that compute's {self.compute.device.name} has a peak "
            f"for: {', '.join(peaks)}",
        )

    @model_validator(mode="after")
    @checked
    def _servers_keep_all(self) -> None:
        away = [name for name in type(self.offload).model_fields if getattr(self.offload, name) is not None]
        for key, given in (("offload", bool(away)), ("checkpoint", self.checkpoint is not None)):
            refuse_key(given and self.parallel.servers > 0, key, "stands beside parallel.servers; expected one of both")

    @model_validator(mode="after")
    @checked
    def _pool_has_whole_weights(self) -> None:
        if self.reduces_on_the_way is None:
            return
        path = ("offload", "optimizer", "reduce")
        if self.parallel.zero:
            words = f"found in-network beside parallel.zero {self.parallel.zero}; expected zero: 0, as the storage host"
            raise key_error(path, f"{words} has the states of all weights")
        if self.offload.weights is not None:
            raise key_error(path, "found in-network beside offload.weights; expected weights on the device")

    @property
    def reduces_on_the_way(self) -> str | None:
        """The key that asks for gradients to be reduced on the way to storage hosts; None: nothing does."""
        optimizer = self.offload.optimizer
        return None if optimizer is None or optimizer.reduce == "npus" else "offload.optimizer.reduce"

    @property
    def uses_storage(self) -> str | None:
        """The key that asks for storage hosts; None: nothing does."""
        away = ("optimizer", "weights", "activations")
        parts = ((f"offload.{name}", getattr(self.offload, name)) for name in away)
        found = [name for name, part in parts if part is not None and part.to == "storage"]
        return next(iter([*found, *(["checkpoint"] if self.checkpoint is not None else [])]), None)

    @property
    def uses_remote_memory(self) -> str | None:
        """The key that asks for remote memory; None: nothing does."""
        away = ("optimizer", "weights", "activations")
        parts = ((f"offload.{name}", getattr(self.offload, name)) for name in away)
        return next((name for name, part in parts if part is not None and part.to == "remote"), None)

    @model_validator(mode="after")
    @checked
    def _has_use_for_them(self) -> None:
        usual = Parallel()
        for name in self.without:
            found, expected = getattr(self.parallel, name), getattr(usual, name)
            if found != expected:
                words, allowed = (
                    {True: "on", False: "off"}[value] if isinstance(value, bool) else value
                    for value in (found, expected)
                )
                kind = getattr(self, "kind", "")
                key = type(self.parallel).model_fields[name].alias or name
                message = f"found {words}, expected {allowed}: a model of kind {kind} has none"
                raise key_error(("parallel", key), message)
