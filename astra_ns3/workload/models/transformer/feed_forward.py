"""The ordinary feed-forward network, plain or gated.

Source of the gated one: N. Shazeer, "GLU Variants Improve Transformer", 2020. A plain network keeps, for each token,
its input, what its first product gives and what the activation makes of it (Korthikanti et al., 2022, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.sized_operations import Linear, elementwise
from astra_ns3.workload.models.transformer.common import addition, linear, norm
from astra_ns3.workload.models.transformer.share import Share


def feed_forward(share: Share) -> Iterator[Piece]:
    """From a block's sum to the next."""
    yield norm(share, "feed-forward norm")
    yield from network(share, "feed-forward", share.shape.width)
    yield addition(share, "feed-forward addition")


def network(share: Share, name: str, width: int) -> Iterator[Piece]:
    """Two products, or three in two, split over the tensor group."""
    hidden, value = share.shape.hidden, share.value_bytes
    part = share.split(width)
    outputs = (2 if share.shape.gated else 1) * part
    yield share.enter()
    up = Linear(f"{name} up", share.tokens, outputs, hidden, value)
    yield linear(share, up, share.input_bytes(hidden), outputs)
    yield activation(share, f"{name} activation", share.tokens, part)
    down = Linear(f"{name} down", share.tokens, hidden, part, value)
    yield linear(share, down, share.tokens * part * value, hidden, sums=True)
    yield share.leave()


def activation(share: Share, name: str, rows: int, width: int) -> Piece:
    """Reads what the first product gave, which is kept, and writes ``width`` numbers a row."""
    read = (2 if share.shape.gated else 1) * rows * width * share.value_bytes
    written = rows * width * share.value_bytes
    return Piece(
        (elementwise(name, read + written),),
        (elementwise(f"{name} gradient", 2 * read + written),),
        kept_bytes=read,
    )
