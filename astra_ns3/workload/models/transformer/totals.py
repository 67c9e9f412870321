"""A transformer's parameters and operations, from its sizes alone: each parameter counted once.

The operations of a sequence are those of D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
Clusters Using Megatron-LM", SC 2021, section 5.1, for any attention and any network.
"""

from __future__ import annotations

from astra_ns3.config.model.transformer import Experts, LatentAttention, TransformerFile, TransformerShape
from astra_ns3.workload.models.parts import Totals
from astra_ns3.workload.models.transformer.common import norm_parameters


def transformer_totals(file: TransformerFile) -> Totals:
    """The whole model; a sample is a sequence."""
    shape, sequence = file.model, file.training.sequence
    every = _ends(shape) + shape.layers * _attention(shape)
    stored, active, products = every, every, 0
    for layer in range(shape.layers):
        stored_here, active_here, used = _network(shape, shape.has_experts(layer))
        stored, active, products = stored + stored_here, active + active_here, products + used
    products += shape.layers * _attention_products(shape)
    scores = 2 * sequence * sequence * shape.heads * (shape.query_size + shape.value_size) * shape.layers
    if shape.skip_masked and shape.fused_attention:
        scores //= 2
    predicted = sequence * shape.predicted_percent // 100
    logits = 2 * predicted * shape.hidden * shape.vocabulary
    pooled = 2 * shape.hidden * shape.hidden if shape.pooler else 0
    forward = 2 * sequence * products + scores + logits + pooled
    experts = shape.experts
    routed = 0 if experts is None else experts.active * _one_network(shape, experts.feed_forward)[0]
    return Totals(stored, active, forward, shape.layers, "sequence", sequence, 2 * sequence * routed)


def _norm(shape: TransformerShape) -> int:
    return norm_parameters(shape.norm, shape.hidden)


def _ends(shape: TransformerShape) -> int:
    """Tables, the last normalisation, and logits unless their weights are the table's."""
    hidden = shape.hidden
    tables = (shape.vocabulary + shape.learned_positions + shape.segments) * hidden
    norms = (shape.embedding_norm + shape.final_norm) * _norm(shape)
    logits = 0 if shape.tied_embeddings else shape.vocabulary * hidden
    return tables + norms + logits + shape.pooler * hidden * (hidden + 1)


def _attention(shape: TransformerShape) -> int:
    """Weights, biases and the normalisation before."""
    biases = 0
    norms = _norm(shape)
    if shape.latent is not None:
        norms += norm_parameters(shape.norm, shape.latent.query_rank + shape.latent.key_value_rank)
    elif shape.input_biases:
        biases = (shape.heads + 2 * shape.key_value_heads) * shape.query_size
    if shape.query_key_norm:
        norms += 2 * norm_parameters(shape.norm, shape.query_size)
    if shape.all_biases:
        biases += shape.hidden
    return _attention_products(shape) + biases + norms


def _attention_products(shape: TransformerShape) -> int:
    """Weights of products."""
    output = shape.heads * shape.value_size * shape.hidden
    if shape.latent is not None:
        return output + _latent_products(shape, shape.latent)
    return output + (shape.heads + 2 * shape.key_value_heads) * shape.query_size * shape.hidden


def _latent_products(shape: TransformerShape, latent: LatentAttention) -> int:
    down = latent.query_rank + latent.key_value_rank + latent.rotary_size
    queries = shape.heads * shape.query_size * (latent.query_rank or shape.hidden)
    return shape.hidden * down + queries + latent.key_value_rank * shape.heads * (latent.plain_size + latent.value_size)


def _network(shape: TransformerShape, with_experts: bool) -> tuple[int, int, int]:
    """Parameters of a layer's network or experts, those that a token uses, and the weights of products among these."""
    norm = _norm(shape)
    if not with_experts or shape.experts is None:
        weights, biases = _one_network(shape, shape.width)
        return weights + biases + norm, weights + biases + norm, weights
    return _experts(shape, shape.experts, norm)


def _experts(shape: TransformerShape, experts: Experts, norm: int) -> tuple[int, int, int]:
    weights, biases = _one_network(shape, experts.feed_forward)
    shared, shared_biases = _one_network(shape, experts.shared * experts.feed_forward) if experts.shared else (0, 0)
    router = (experts.count + experts.shared_gate) * shape.hidden
    always = shared + shared_biases + router + experts.count * experts.router_biases + norm
    return (
        experts.count * (weights + biases) + always,
        experts.active * (weights + biases) + always,
        experts.active * weights + shared + router,
    )


def _one_network(shape: TransformerShape, width: int) -> tuple[int, int]:
    """Weights and biases."""
    ways = 2 if shape.gated else 1
    biases = ways * width + shape.hidden if shape.all_biases else 0
    return (ways + 1) * shape.hidden * width, biases
