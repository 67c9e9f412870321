"""A recommendation model: tables of embeddings, and two networks of fully connected layers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from annotated_types import MinLen
from pydantic import model_validator

from astra_ns3.config.core.model import ConfigModel, Count, OnOff, checked, refuse_key
from astra_ns3.config.model.base import ModelBase
from astra_ns3.config.model.convolution import WITHOUT_SEQUENCES
from astra_ns3.config.model.relative_path import RelativePath
from astra_ns3.config.model.training import Training

_Widths = Annotated[tuple[Count, ...], MinLen(1)]


class DlrmShape(ConfigModel):
    """The model itself. ``bottom``, ``top``: widths of the layers of each network, the last included."""

    tables: Count
    """Tables of embeddings."""
    rows: Count = 1_000_000
    """Rows of each table."""
    embedding: Count
    """Numbers in a row."""
    pooling: Count
    """Rows that are summed, of each table for each sample."""
    dense_features: Count
    """Numbers of a sample beside the tables' keys."""
    bottom: _Widths
    """Widths of the layers for dense features."""
    top: _Widths
    """Widths of the layers at the end."""
    interaction: Literal["concatenation", "dot"] = "concatenation"
    """The interaction of all vectors: one behind the other, or the products of all pairs behind the dense one."""
    placement: Literal["table", "row", "column"] = "table"
    """The share of the tables that an NPU has: whole ones, some rows of all, or some columns of all."""
    tables_of_npus: RelativePath | None = None
    """With ``placement: table``: a CSV file with columns ``table`` and ``npu``; else they are dealt out in turn."""
    sends_indices: OnOff = False
    """Whether NPUs send each other, 8 bytes each, which rows they need."""

    @model_validator(mode="after")
    @checked
    def _fits(self) -> None:
        refuse_key(
            self.bottom[-1] != self.embedding,
            "bottom",
            f"ends in {self.bottom[-1]}, expected the embedding's {self.embedding}",
        )
        refuse_key(
            self.tables_of_npus is not None and self.placement != "table",
            "tables_of_npus",
            f"stands beside placement: {self.placement}, expected placement: table",
        )

    @property
    def interactions(self) -> int:
        """Numbers that go into the top network."""
        vectors = self.tables + 1
        if self.interaction == "concatenation":
            return vectors * self.embedding
        return self.embedding + vectors * (vectors - 1) // 2


class DlrmFile(ModelBase):
    """``kind: dlrm``. All NPUs are data parallel, but for the tables, which they share."""

    without: ClassVar[tuple[str, ...]] = (
        *WITHOUT_SEQUENCES,
        "pipeline",
        "virtual_stages",
        "layers_per_part",
        "schedule",
        "servers",
    )

    kind: Literal["dlrm"]
    model: DlrmShape
    """The model's sizes."""
    training: Training = Training()
    """The data and the optimizer of an iteration."""
