"""A transformer by its numbers: sizes, attention, feed-forward, experts, and what stands at both ends."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Strict, model_validator

from astra_ns3.config.core.model import ConfigModel, Count, Listed, Number, OnOff, checked, key_error, refuse_key
from astra_ns3.config.model.base import ModelBase
from astra_ns3.config.model.routing import Routing
from astra_ns3.config.model.training import SequenceTraining

QUERY_KEY_VALUE = "query_key_value"
"""A value of ``biases``: only the products that make queries, keys and values."""


class Experts(Routing):
    """Feed-forward networks of which each token goes through a few."""

    count: Listed
    """How many experts a layer has."""
    active: Count
    """Experts that each token goes to."""
    feed_forward: Count
    """Width of each."""
    shared: Number = 0
    """Experts that all tokens go through besides."""
    first_dense: Number = 0
    """Layers at the beginning that have an ordinary feed-forward network."""
    every: Count = 1
    """Distance of layers with experts among the others: each so many-th has them."""
    router_biases: OnOff = False
    """Whether the router has a number for each expert besides."""
    shared_gate: OnOff = False
    """Whether a product of each token with one vector says how much of the shared experts goes through."""

    @model_validator(mode="after")
    @checked
    def _gates_something(self) -> None:
        refuse_key(
            self.shared_gate and not self.shared, "shared_gate", "is on, expected off: there are no shared experts"
        )

    @model_validator(mode="after")
    @checked
    def _as_many_as_there_are(self) -> None:
        refuse_key(
            self.active > self.count, "active", f"found {self.active}, expected at most the {self.count} experts"
        )


class LatentAttention(ConfigModel):
    """Attention whose queries, keys and values are made of short vectors: DeepSeek-V2's."""

    query_rank: Number = 0
    """Length of the vector that queries are made of; 0: they are made of the input itself."""
    key_value_rank: Count
    """Length of the vector that keys and values are made of."""
    plain_size: Count
    """Numbers of a head's query and key without a position."""
    rotary_size: Count
    """The part with one; of the key it is the same for all heads."""
    value_size: Count
    """Numbers of a head's value."""


class TransformerShape(ConfigModel):
    """The model itself. ``feed_forward``: width of the ordinary network; four times ``hidden`` if it isn't said."""

    layers: Listed
    """Layers."""
    hidden: Count
    """Numbers of a token between layers."""
    heads: Count
    """Heads of attention."""
    kv_heads: Count | None = None
    """Heads of keys and values; as many as of queries if it isn't said."""
    head_size: Count | None = None
    """Numbers of a head. Absent: `hidden` over `heads`."""
    latent: LatentAttention | None = None
    """Latent attention, instead of `kv_heads` and `head_size`. Absent: none."""
    feed_forward: Count | None = None
    """Width of the ordinary feed-forward network. Absent: 4 times `hidden`."""
    gated: OnOff = False
    """Whether one half of the first product decides what goes through of the other."""
    experts: Experts | None = None
    """A mixture of experts. Absent: none."""
    vocabulary: Count
    """Tokens that there are."""
    positions: Literal["rotary", "none"] | Count = "rotary"
    """A number: so many learned ones."""
    segments: Number = 0
    """Learned vectors that say to which part of the input a token belongs."""
    tied_embeddings: OnOff = False
    """Whether logits are made with the embedding's weights."""
    biases: OnOff | Literal["query_key_value"] = False
    """Whether all products in layers have biases, or only the products that make queries, keys and values."""
    query_key_norm: OnOff = False
    """Whether each head's query and key are normalised."""
    norm: Literal["rms", "layer"] = "rms"
    """The normalisation: `rms` has a scale, `layer` a scale and a shift."""
    embedding_norm: OnOff = False
    """Whether there is a normalisation behind the embedding."""
    final_norm: OnOff = True
    """Whether there is a normalisation before the logits."""
    pooler: OnOff = False
    """A product of the first token's output with a square matrix, at the end."""
    dropout: OnOff = False
    """Whether masks are written and kept, a byte a number."""
    fused_attention: OnOff = True
    """Whether scores never go to memory."""
    skip_masked: OnOff = False
    """Whether scores of later tokens, which a mask throws away, aren't computed."""
    predicted_percent: Annotated[int, Strict(), Ge(1), Le(100)] = 100
    """Share of the tokens whose logits are computed."""

    @model_validator(mode="after")
    @checked
    def _sizes_fit(self) -> None:
        refuse_key(
            bool(self.latent is not None and (self.kv_heads or self.head_size)),
            "latent",
            "stands beside kv_heads or head_size, which it replaces; leave these out",
        )
        refuse_key(
            self.latent is not None and self.query_key_norm,
            "query_key_norm",
            "is on, expected off: latent attention has normalisations of its own",
        )
        refuse_key(
            self.latent is not None and self.biases == QUERY_KEY_VALUE,
            "biases",
            f"found {QUERY_KEY_VALUE}, expected on or off: latent attention has none of these",
        )
        refuse_key(
            bool(self.latent is None and self.head_size is None and self.hidden % self.heads),
            "heads",
            f"found {self.heads}, expected a divisor of hidden, {self.hidden}, or a head_size",
        )
        refuse_key(
            self.skip_masked and not self.fused_attention,
            "skip_masked",
            "is on, expected off: without fused_attention all scores are computed",
        )
        refuse_key(
            self.heads % self.key_value_heads != 0,
            "kv_heads",
            f"found {self.kv_heads}, expected a divisor of the {self.heads} heads",
        )

    @model_validator(mode="after")
    @checked
    def _some_layer_has_experts(self) -> None:
        if self.experts is None or any(map(self.has_experts, range(self.layers))):
            return
        first, every = self.experts.first_dense, self.experts.every
        if first >= self.layers:
            expected = f"less than the {self.layers} layers, or no layer has experts"
            raise key_error(("experts", "first_dense"), f"found {first}, expected {expected}")
        expected = f"at most {self.layers - first}, the layers behind first_dense, or none has experts"
        raise key_error(("experts", "every"), f"found {every}, expected {expected}")

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values."""
        return self.kv_heads or self.heads

    @property
    def query_size(self) -> int:
        """Numbers of a head's query, and of its key."""
        if self.latent is not None:
            return self.latent.plain_size + self.latent.rotary_size
        return self.head_size or self.hidden // self.heads

    @property
    def value_size(self) -> int:
        """Numbers of a head's value."""
        return self.latent.value_size if self.latent is not None else self.query_size

    @property
    def input_biases(self) -> bool:
        """Whether the products that make queries, keys and values have biases."""
        return bool(self.biases)

    @property
    def all_biases(self) -> bool:
        """Whether all products in layers have."""
        return self.biases is True

    @property
    def width(self) -> int:
        """Return the width of the ordinary feed-forward network."""
        return self.feed_forward or 4 * self.hidden

    @property
    def learned_positions(self) -> int:
        """How many there are."""
        return self.positions if isinstance(self.positions, int) else 0

    def has_experts(self, layer: int) -> bool:
        """Whether a layer, counted from 0, has experts."""
        if self.experts is None or layer < self.experts.first_dense:
            return False
        return (layer - self.experts.first_dense + 1) % self.experts.every == 0


class TransformerFile(ModelBase):
    """``kind: transformer``."""

    kind: Literal["transformer"]
    model: TransformerShape
    """The model's sizes."""
    training: SequenceTraining
    """The data and the optimizer of an iteration."""

    @model_validator(mode="after")
    @checked
    def _degrees_fit(self) -> None:
        shape, cut = self.model, self.parallel
        _divides("tensor", cut.tensor, "heads", shape.heads)
        refuse_key(
            bool(shape.key_value_heads % cut.tensor and cut.tensor % shape.key_value_heads),
            "parallel",
            f"tensor is {cut.tensor}, expected a divisor or a multiple of the {shape.key_value_heads} kv_heads",
        )
        _divides("tensor", cut.tensor, "feed_forward", shape.width)
        _divides("context", cut.context, "tokens of a sequence", self.training.sequence)
        if shape.experts is not None:
            _divides("tensor", cut.tensor, "feed_forward of experts", shape.experts.feed_forward)
            _divides("expert", cut.expert, "experts", shape.experts.count)
        elif cut.expert > 1:
            raise key_error("parallel", f"expert is {cut.expert}, expected 1: the model has no experts")
        self._sequence_fits()

    def _sequence_fits(self) -> None:
        """Splits along the sequence leave whole tokens, and heads for each NPU."""
        cut, shape = self.parallel, self.model
        if cut.sequence:
            tokens = self.training.micro_batch * self.training.sequence // cut.context
            _divides("tensor", cut.tensor, "tokens of an NPU, which sequence splits", tokens)
        if cut.context_by == "all-to-all":
            _divides("tensor times context", cut.tensor * cut.context, "heads", shape.heads)
            _divides("tensor times context", cut.tensor * cut.context, "kv_heads", shape.key_value_heads)


def _divides(name: str, degree: int, what: str, count: int) -> None:
    refuse_key(count % degree != 0, "parallel", f"{name} is {degree}, expected a divisor of the {count} {what}")
