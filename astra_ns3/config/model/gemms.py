"""A model that is a table of products of matrices."""

from __future__ import annotations

from typing import ClassVar, Literal

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.model.base import ModelBase
from astra_ns3.config.model.convolution import WITHOUT_SEQUENCES
from astra_ns3.config.model.relative_path import RelativePath
from astra_ns3.config.model.training import Training


class GemmsShape(ConfigModel):
    """``table``: a CSV file with columns ``Layer``, ``m``, ``n`` and ``k``: m x n activations by n x k weights."""

    table: RelativePath
    """A CSV file of products of matrices."""


class GemmsFile(ModelBase):
    """``kind: gemms``. ``tensor`` splits the weights' columns, ``data`` has copies: data, model or hybrid parallel."""

    without: ClassVar[tuple[str, ...]] = tuple(name for name in WITHOUT_SEQUENCES if name != "tensor")

    kind: Literal["gemms"]
    model: GemmsShape
    """The table of products."""
    training: Training = Training()
    """The data and the optimizer of an iteration."""
