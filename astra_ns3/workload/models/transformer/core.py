"""Scores, softmax and weighted sum: on one NPU, or over the NPUs that share each sequence.

``ring``: H. Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context", 2023: keys and values
go round; back, with their gradients, which go all the way home. ``all-to-all``: S. A. Jacobs et al., "DeepSpeed
Ulysses", 2023: heads are shared instead of tokens while scores are computed. ``all-gather``: everybody gets all keys
and values (Llama Team, "The Llama 3 Herd of Models", 2024, section 3.3.2). Kept is what Korthikanti et al. (2022,
section 4) count; a fused kernel (T. Dao et al., "FlashAttention", NeurIPS 2022) keeps one number a row instead of
scores, and computes these again on the way back.
"""

from __future__ import annotations

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Group, Item, Operation, OperationKind, Ring
from astra_ns3.workload.models.piece import Piece
from astra_ns3.workload.models.sized_operations import elementwise, product
from astra_ns3.workload.models.transformer.share import Share

# Of the logarithm of a row's sum, in single precision.
_ROW_BYTES = 4


def core(share: Share) -> Piece:
    """Attention between the products that make queries, keys and values, and the one that makes the output."""
    context = share.degrees.context
    if context == 1:
        return _alone(share, share.heads, share.sequence, share.sequence)
    by = share.file.parallel.context_by
    if by == "ring":
        return _ring(share)
    if by == "all-gather":
        return _gathered(share)
    return _exchanged(share)


def _alone(share: Share, heads: int, queries: int, keys: int) -> Piece:
    """Return the attention of ``heads`` on this NPU; each has a matrix of scores, ``queries`` x ``keys``."""
    forward, backward = _computed(share, heads, queries, keys)
    return Piece(
        forward, backward, kept_bytes=_kept_bytes(share, heads, queries, keys), cheap=not share.shape.fused_attention
    )


def _gathered(share: Share) -> Piece:
    """Gather all keys and values for this NPU's queries. The backward pass gathers again, and sums the gradients."""
    inner = _alone(share, share.heads, share.sequence, share.file.training.sequence)
    part = _keys_values_bytes(share)
    before = share.exchange(CollectiveKind.ALL_GATHER, Group.CONTEXT, part)
    after = share.exchange(CollectiveKind.REDUCE_SCATTER, Group.CONTEXT, part * share.degrees.context)
    return Piece(
        (*before, *inner.forward),
        (*before, *inner.input_gradient, *after),
        kept_bytes=inner.kept_bytes,
        cheap=inner.cheap,
    )


def _exchanged(share: Share) -> Piece:
    """Heads are shared instead of tokens while scores are computed: an all-to-all before, and one after."""
    whole = share.file.training.sequence
    inner = _alone(share, share.heads // share.degrees.context, whole, whole)
    queries = share.tokens * share.heads * share.shape.query_size * share.value_bytes
    made = share.tokens * share.heads * share.shape.value_size * share.value_bytes
    before = share.exchange(CollectiveKind.ALL_TO_ALL, Group.CONTEXT, queries + _keys_values_bytes(share))
    after = share.exchange(CollectiveKind.ALL_TO_ALL, Group.CONTEXT, made)
    return Piece(
        (*before, *inner.forward, *after),
        (*after, *inner.input_gradient, *before),
        kept_bytes=inner.kept_bytes,
        cheap=inner.cheap,
    )


def _ring(share: Share) -> Piece:
    """Each turn is attention of this NPU's queries with the keys and values of one part of the sequence."""
    size = share.sequence
    forward = _fused(share, "attention", share.heads, size, size, backward=False)
    backward = _fused(share, "attention gradient", share.heads, size, size, backward=True)
    part = _keys_values_bytes(share)
    return Piece(
        (Ring(Group.CONTEXT, forward, part),),
        (Ring(Group.CONTEXT, backward, part, home_bytes=part),),
        kept_bytes=_ROW_BYTES * share.batch * share.heads * size,
    )


def _keys_values_bytes(share: Share) -> int:
    """Bytes of keys and values of the tokens that this NPU has."""
    heads = share.heads if share.shape.latent is not None else share.key_value_heads
    numbers = heads * (share.shape.query_size + share.shape.value_size)
    return share.tokens * numbers * share.value_bytes


def _computed(share: Share, heads: int, queries: int, keys: int) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The operations of both passes."""
    if share.shape.fused_attention:
        return (
            (_fused(share, "attention", heads, queries, keys, backward=False),),
            (_fused(share, "attention gradient", heads, queries, keys, backward=True),),
        )
    value, count = share.value_bytes, share.batch * heads
    size, out = share.shape.query_size, share.shape.value_size
    scores = count * queries * keys
    passes = 4 if share.shape.dropout else 2  # softmax reads and writes, and so does dropout, beside its mask
    moved = scores * (passes * value + share.shape.dropout)
    return (
        (
            product("scores", queries, keys, size, value, count),
            elementwise("softmax", moved),
            product("weighted sum", queries, out, keys, value, count),
        ),
        (
            product("weighted sum input gradient", queries, keys, out, value, count),
            product("value gradient", keys, out, queries, value, count),
            elementwise("softmax gradient", moved + scores * value),
            product("query gradient", queries, size, keys, value, count),
            product("key gradient", keys, size, queries, value, count),
        ),
    )


def _fused(share: Share, name: str, heads: int, queries: int, keys: int, *, backward: bool) -> Operation:
    """One kernel; its shape is of scores and weighted sum as one product, and back of scores once more and four more.

    With ``skip_masked`` half of the products are left out, of a sequence's own block or of all of them on average.
    """
    size, out = share.shape.query_size, share.shape.value_size
    inner = 3 * size + 2 * out if backward else size + out
    count = share.batch * heads
    flops = 2 * count * queries * keys * inner
    if share.shape.skip_masked:
        flops //= 2
    key_heads = share.batch * (share.key_value_heads if share.shape.latent is None else heads)
    numbers = count * queries * (size + out) + min(count, key_heads) * keys * (size + out)
    moved = numbers * (2 if backward else 1) * share.value_bytes
    return Operation(name, OperationKind.ATTENTION, flops, moved, (queries, keys, inner), count)


def _kept_bytes(share: Share, heads: int, queries: int, keys: int) -> int:
    """Beside queries, keys, values and output: a number a row; or softmax, dropout's mask and what it leaves."""
    rows = share.batch * heads * queries
    if share.shape.fused_attention:
        return _ROW_BYTES * rows
    dropout = share.value_bytes + 1 if share.shape.dropout else 0
    return rows * keys * (share.value_bytes + dropout)
