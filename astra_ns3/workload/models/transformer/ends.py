"""The embedding before a transformer's layers, and the head behind them with the loss.

The vocabulary is split over the tensor group (M. Shoeybi et al., "Megatron-LM", 2019, section 3): every NPU looks up
the tokens that it has rows for, and sums bring these together; of logits only three numbers a token are exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Group
from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.sized_operations import Linear, elementwise, gather
from astra_ns3.workload.models.transformer.common import norm
from astra_ns3.workload.models.transformer.share import Share

# Logits and losses are in single precision.
_SINGLE_BYTES = 4
# The largest logit, the sum of exponentials, and the logit of the right word.
_LOSS_SUMS = 3


def embedding(share: Share) -> Iterator[Piece]:
    """Rows of the table of words, and of positions and segments."""
    shape = share.shape
    tables = shape.learned_positions + shape.segments
    moved = 2 * share.whole_bytes + (2 * share.whole_bytes if tables else 0)
    yield Piece(
        (gather("embedding", moved),),
        (),
        (gather("embedding gradient", moved),),
        parameters=(share.vocabulary + tables) * shape.hidden,
    )
    yield share.leave()
    if shape.embedding_norm:
        yield norm(share, "embedding norm")
    if shape.dropout:
        mask = share.own_bytes // share.value_bytes
        moved = 2 * share.own_bytes + mask
        yield Piece(
            (elementwise("embedding dropout", moved),),
            (elementwise("embedding dropout gradient", moved),),
            kept_bytes=mask,
        )


def head(share: Share, *, has_weights: bool) -> Iterator[Piece]:
    """The last normalisation, logits and loss; ``has_weights``: whether they are its own, or a copy of a tied table."""
    shape = share.shape
    if shape.final_norm:
        yield norm(share, "final norm")
    yield share.enter()
    rows = share.tokens * shape.predicted_percent // 100
    logits = Linear("logits", rows, share.vocabulary, shape.hidden, share.value_bytes)
    yield Piece(
        (logits.forward,),
        (logits.input_gradient,),
        (logits.weight_gradient,),
        parameters=share.vocabulary * shape.hidden if has_weights else 0,
        kept_bytes=share.input_bytes(shape.hidden),
    )
    yield _loss(share, rows)
    if shape.pooler:
        yield _pooler(share)


def _loss(share: Share, rows: int) -> Piece:
    """Cross entropy; the logits are kept."""
    logits = rows * share.vocabulary * _SINGLE_BYTES
    sums = share.exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, rows * _SINGLE_BYTES) * _LOSS_SUMS
    return Piece(
        (elementwise("loss", 2 * logits), *sums),
        (elementwise("loss gradient", 2 * logits),),
        kept_bytes=logits,
    )


def _pooler(share: Share) -> Piece:
    """The pooler of the first token of each sequence, on every NPU."""
    hidden = share.shape.hidden
    product = Linear("pooler", share.batch, hidden, hidden, share.value_bytes)
    return Piece(
        (product.forward,),
        (product.input_gradient,),
        (product.weight_gradient,),
        parameters=hidden * (hidden + 1),
        kept_bytes=share.batch * hidden * share.value_bytes,
    )
