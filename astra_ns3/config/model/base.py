"""Keys that the files of all kinds of models share."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import MinLen
from pydantic import Field, model_validator

from astra_ns3.config.core.model import ConfigModel, PositiveBytes, checked, key_error, refuse_key
from astra_ns3.config.model.compute import Compute, Roofline
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
    memory_bytes: PositiveBytes | None = Field(alias="memory", default=None)
    """Memory of an NPU. Absent: the device's."""

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
