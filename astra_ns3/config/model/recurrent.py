"""A translator of recurrent layers: an encoder, a decoder, and attention between them."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from astra_ns3.config.core.model import ConfigModel, Count, Listed, Number, checked, refuse_key
from astra_ns3.config.model.base import ModelBase
from astra_ns3.config.model.convolution import WITHOUT_SEQUENCES
from astra_ns3.config.model.training import Training


class RecurrentShape(ConfigModel):
    """Layers of long short-term memory; the decoder's layers all see what attention gives them of the encoder."""

    units: Count
    """Numbers of a cell's state."""
    vocabulary: Count
    """Tokens that there are."""
    encoder_layers: Listed
    """Layers of the encoder."""
    bidirectional_layers: Number = 1
    """Bidirectional layers of the encoder, the first ones."""
    decoder_layers: Listed
    """Layers of the decoder."""
    source_length: Count
    """Words of a sentence."""
    target_length: Count
    """Tokens of a translation."""

    @model_validator(mode="after")
    @checked
    def _as_many_as_there_are(self) -> None:
        refuse_key(
            self.bidirectional_layers > self.encoder_layers,
            "bidirectional_layers",
            f"found {self.bidirectional_layers}, expected at most the {self.encoder_layers} encoder_layers",
        )


class RecurrentFile(ModelBase):
    """``kind: recurrent``. A sample is a pair of sentences."""

    without: ClassVar[tuple[str, ...]] = WITHOUT_SEQUENCES

    kind: Literal["recurrent"]
    model: RecurrentShape
    """The model's sizes."""
    training: Training = Training()
    """The data and the optimizer of an iteration."""
