"""Pieces that stand in several places of a transformer: normalisation, additions, products with weights."""

from __future__ import annotations

from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.sized_operations import Linear, elementwise
from astra_ns3.workload.models.transformer.share import Share

# Scale; scale and shift.
_NORM_VECTORS = {"rms": 1, "layer": 2}


def norm_parameters(share_norm: str, size: int) -> int:
    """Parameters of a normalisation of ``size`` numbers."""
    return _NORM_VECTORS[share_norm] * size


def norm(share: Share, name: str) -> Piece:
    """A normalisation of an NPU's own tokens; its input is kept."""
    parameters = norm_parameters(share.shape.norm, share.shape.hidden)
    return Piece(
        (elementwise(name, 2 * share.own_bytes),),
        (elementwise(f"{name} gradient", 3 * share.own_bytes),),
        parameters=parameters,
        summed_parameters=share.summed(parameters),
        kept_bytes=share.own_bytes,
    )


def addition(share: Share, name: str) -> Piece:
    """The output of a layer is added to what went in, with dropout if the model has it; its mask has a byte a
    number."""
    mask = share.own_bytes // share.value_bytes if share.shape.dropout else 0
    return Piece(
        (elementwise(name, 3 * share.own_bytes + mask),),
        (elementwise(f"{name} gradient", 2 * share.own_bytes + mask),) if mask else (),
        kept_bytes=mask,
    )


def linear(share: Share, product: Linear, kept_bytes: int, bias: int = 0, *, sums: bool = False) -> Piece:
    """A product with weights, of which ``kept_bytes`` of input stay; ``bias``: numbers of one, if all products have it.

    ``sums``: the tensor group adds up its outputs, and each NPU the bias to its own tokens.
    """
    biases = bias if share.shape.all_biases else 0
    return Piece(
        (product.forward,),
        (product.input_gradient,),
        (product.weight_gradient,),
        parameters=product.inputs * product.outputs + biases,
        summed_parameters=share.summed(biases) if sums else 0,
        kept_bytes=kept_bytes,
    )
