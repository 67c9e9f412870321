"""A network of convolutions for images: residual, or plain."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from annotated_types import MinLen
from pydantic import model_validator

from astra_ns3.config.core.model import ConfigModel, Count, Listed, OnOff, checked, key_error, refuse_key
from astra_ns3.config.model.base import ModelBase
from astra_ns3.config.model.training import Training

WITHOUT_SEQUENCES = ("tensor", "sequence", "gather_inputs_again", "overlap_tensor", "context", "context_by", "expert")
"""Keys of ``parallel`` that only transformers have."""

_Counts = Annotated[tuple[Count, ...], MinLen(1)]


class Residual(ConfigModel):
    """A 7x7 convolution, pooling, and stages of blocks whose input is added to their output; each stage but the first
    halves the image and doubles the channels.
    """

    blocks: Annotated[tuple[Listed, ...], MinLen(1)]
    """Blocks of each stage."""
    width: Count = 64
    """Channels of the first stage's inner convolutions."""
    bottleneck: OnOff = True
    """Blocks of 1x1, 3x3 and 1x1 convolutions with four times the channels at the end, or of two 3x3."""
    stride_in_first: OnOff = True
    """Whether a stage's first bottleneck halves the image in its first convolution, or in its second."""


class Plain(ConfigModel):
    """Groups of 3x3 convolutions, each group followed by pooling that halves the image; then fully connected layers."""

    convolutions: Annotated[tuple[_Counts, ...], MinLen(1)]
    """Channels of each convolution of each group."""
    dense: tuple[Count, ...] = ()
    """Widths of fully connected layers before the last, which has the classes."""


class ConvolutionShape(ConfigModel):
    """The model itself; one of ``residual`` and ``plain``."""

    image: Count = 224
    """Pixels along each side."""
    channels: Count = 3
    """Channels of an image."""
    classes: Count = 1000
    """Classes that the last layer tells apart."""
    residual: Residual | None = None
    """A network of residual blocks."""
    plain: Plain | None = None
    """A network of plain convolutions."""

    @model_validator(mode="after")
    @checked
    def _one_of_both(self) -> None:
        if (self.residual is None) == (self.plain is None):
            found = "is missing, as is plain" if self.plain is None else "stands beside plain"
            raise key_error("residual", f"{found}; expected one of them")
        halvings = (
            len(self.residual.blocks) + 1 if self.residual else len(self.plain.convolutions if self.plain else ())
        )
        refuse_key(
            self.image % (1 << halvings) != 0,
            "image",
            f"found {self.image}, expected a multiple of {1 << halvings}, for it is halved so often",
        )


class ConvolutionFile(ModelBase):
    """``kind: convolution``. A sample is an image."""

    without: ClassVar[tuple[str, ...]] = WITHOUT_SEQUENCES

    kind: Literal["convolution"]
    model: ConvolutionShape
    """The model's layers."""
    training: Training = Training()
    """The data and the optimizer of an iteration."""
