"""What the files of all kinds of models share."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MinLen
from pydantic import Field

from astra_ns3.config.core.model import ConfigModel, PositiveBytes
from astra_ns3.config.model.compute import Compute, Roofline
from astra_ns3.config.model.parallel import Parallel


class ModelBase(ConfigModel):
    """A model file; a kind adds ``kind``, ``model`` and ``training``."""

    name: Annotated[str, MinLen(1)]
    parallel: Parallel = Parallel()
    compute: Compute = Roofline()
    memory_bytes: PositiveBytes | None = Field(alias="memory", default=None)
    """Of an NPU; the device's if it isn't said."""
