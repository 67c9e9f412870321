"""The model of each family: from the keys of a config.json to the keys of ``model`` in a model file.

Sources: the configuration classes of the library transformers (their defaults where a key is absent), and the models
that it builds of them: which products have biases, which vectors are normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from astra_ns3.config.core.model import shown
from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.formats.hugging_face.keys import Keys

_QUERY_KEY_VALUE = "query_key_value"
# What Qwen3's configuration has where ``head_dim`` is absent.
_ROTARY_HEAD_SIZE = 128
_GEMMA_HEAD_SIZE = 256


def _rotary(keys: Keys, kv_heads: int | None = None) -> JsonObject:
    """Return the keys that all models built like Llama have."""
    heads = keys.count("num_attention_heads")
    shape: JsonObject = {
        "layers": keys.count("num_hidden_layers"),
        "hidden": keys.count("hidden_size"),
        "heads": heads,
        "kv_heads": keys.count("num_key_value_heads", kv_heads or heads),
        "feed_forward": keys.count("intermediate_size"),
        "gated": True,
        "vocabulary": keys.count("vocab_size"),
        "tied_embeddings": keys.switch("tie_word_embeddings", False),
    }
    return shape | ({"head_size": keys.count("head_dim")} if keys.has("head_dim") else {})


def _llama(keys: Keys) -> JsonObject:
    shape = _rotary(keys)
    attention, network = keys.switch("attention_bias", False), keys.switch("mlp_bias", False)
    if attention != network:
        key = "attention_bias" if attention else "mlp_bias"
        raise keys.error(key, "is true for a part of the products, which a model file can't say: all or none")
    return shape | ({"biases": True} if attention else {})


def _mixtral(keys: Keys) -> JsonObject:
    width = keys.count("intermediate_size")
    experts: JsonObject = {
        "count": keys.count("num_local_experts", 8),
        "active": keys.count("num_experts_per_tok", 2),
        "feed_forward": width,
    }
    return {**_rotary(keys, kv_heads=8), "experts": experts}


def _qwen2(keys: Keys) -> JsonObject:
    return {**_rotary(keys), "biases": _QUERY_KEY_VALUE}


def _refuse_attention_biases(keys: Keys) -> None:
    biased = keys.switch("attention_bias", False)
    keys.refuse(biased, "attention_bias", "is true, biases of attention alone, which a model file can't say")


def _gemma(keys: Keys, *, query_key_norm: bool = False) -> JsonObject:
    _refuse_attention_biases(keys)
    shape = {**_rotary(keys), "head_size": keys.count("head_dim", _GEMMA_HEAD_SIZE)}
    return {**shape, "tied_embeddings": keys.switch("tie_word_embeddings", True), "query_key_norm": query_key_norm}


def _phi3(keys: Keys) -> JsonObject:
    return {**_rotary(keys), "dropout": keys.share("resid_pdrop", 0) > 0}


def _qwen3(keys: Keys) -> JsonObject:
    _refuse_attention_biases(keys)
    shape = _rotary(keys)
    return {**shape, "head_size": shape.get("head_size", _ROTARY_HEAD_SIZE), "query_key_norm": True}


def _qwen2_experts(keys: Keys) -> JsonObject:
    biased = keys.switch("qkv_bias", True)
    width, shared = keys.count("moe_intermediate_size"), keys.number("shared_expert_intermediate_size")
    if shared % width:
        words = f"found {shared}, which is no multiple of moe_intermediate_size, {width}, as a model file needs"
        raise keys.error("shared_expert_intermediate_size", words)
    experts: JsonObject = {**_chosen(keys, width), "shared": shared // width, "shared_gate": shared > 0}
    return {**_rotary(keys), "biases": _QUERY_KEY_VALUE if biased else False, "experts": experts}


def _qwen3_experts(keys: Keys) -> JsonObject:
    return {**_qwen3(keys), "experts": _chosen(keys, keys.count("moe_intermediate_size"))}


def _chosen(keys: Keys, width: int) -> JsonObject:
    """Qwen's experts: of each so many layers, but for some at the beginning."""
    every, dense = keys.count("decoder_sparse_step", 1), keys.plain("mlp_only_layers") or []
    if not isinstance(dense, list) or dense != list(range(len(dense))) or (dense and every > 1):
        raise keys.error("mlp_only_layers", f"found {shown(dense)}, expected the first layers, or none")
    return {
        "count": keys.count("num_experts"),
        "active": keys.count("num_experts_per_tok"),
        "feed_forward": width,
        "first_dense": len(dense),
        "every": every,
    }


def _deepseek(keys: Keys, *, router_biases: bool) -> JsonObject:
    _refuse_attention_biases(keys)
    keys.refuse(
        keys.count("moe_layer_freq", 1) > 1, "moe_layer_freq", f"found {keys.count('moe_layer_freq')}, expected 1"
    )
    shape = _rotary(keys)
    for replaced in ("kv_heads", "head_size"):
        shape.pop(replaced, None)
    latent: JsonObject = {
        "query_rank": keys.number("q_lora_rank", 0),
        "key_value_rank": keys.count("kv_lora_rank"),
        "plain_size": keys.count("qk_nope_head_dim"),
        "rotary_size": keys.count("qk_rope_head_dim"),
        "value_size": keys.count("v_head_dim"),
    }
    experts: JsonObject = {
        "count": keys.count("n_routed_experts"),
        "active": keys.count("num_experts_per_tok"),
        "feed_forward": keys.count("moe_intermediate_size"),
        "shared": keys.number("n_shared_experts", 0),
        "first_dense": keys.number("first_k_dense_replace", 0),
        "router_biases": router_biases,
    }
    return {**shape, "latent": latent, "experts": experts}


def _deepseek_v3(keys: Keys) -> JsonObject:
    return _deepseek(keys, router_biases=keys.plain("topk_method", "noaux_tc") == "noaux_tc")


def _gpt2(keys: Keys) -> JsonObject:
    keys.refuse(
        keys.switch("add_cross_attention", False), "add_cross_attention", "is true, which a model file can't say"
    )
    hidden = keys.count("n_embd", 768)
    return {
        "layers": keys.count("n_layer", 12),
        "hidden": hidden,
        "heads": keys.count("n_head", 12),
        "feed_forward": keys.count("n_inner", 4 * hidden),
        "vocabulary": keys.count("vocab_size", 50257),
        "positions": keys.count("n_positions", 1024),
        "tied_embeddings": keys.switch("tie_word_embeddings", True),
        "biases": True,
        "norm": "layer",
        "dropout": keys.share("resid_pdrop", 0.1) > 0,
    }


def _bert(keys: Keys) -> JsonObject:
    for key in ("is_decoder", "add_cross_attention"):
        keys.refuse(keys.switch(key, False), key, "is true, which a model file can't say")
    keys.refuse(
        keys.plain("position_embedding_type", "absolute") != "absolute",
        "position_embedding_type",
        "isn't 'absolute', the only one that a model file can say",
    )
    return {
        "layers": keys.count("num_hidden_layers", 12),
        "hidden": keys.count("hidden_size", 768),
        "heads": keys.count("num_attention_heads", 12),
        "feed_forward": keys.count("intermediate_size", 3072),
        "vocabulary": keys.count("vocab_size", 30522),
        "positions": keys.count("max_position_embeddings", 512),
        "segments": keys.number("type_vocab_size", 2),
        "tied_embeddings": keys.switch("tie_word_embeddings", True),
        "biases": True,
        "norm": "layer",
        "embedding_norm": True,
        "final_norm": False,
        "pooler": True,
        "dropout": keys.share("hidden_dropout_prob", 0.1) > 0,
    }


FAMILIES: Mapping[str, Callable[[Keys], JsonObject]] = {
    "llama": _llama,
    "mistral": partial(_rotary, kv_heads=8),
    "mixtral": _mixtral,
    "qwen2": _qwen2,
    "qwen2_moe": _qwen2_experts,
    "qwen3": _qwen3,
    "qwen3_moe": _qwen3_experts,
    "deepseek_v2": partial(_deepseek, router_biases=False),
    "deepseek_v3": _deepseek_v3,
    "gemma": _gemma,
    "gemma2": _gemma,
    "gemma3_text": partial(_gemma, query_key_norm=True),
    "phi3": _phi3,
    "gpt2": _gpt2,
    "bert": _bert,
}
"""By ``model_type``."""
FOUR_NORMS = ("gemma2", "gemma3_text")
"""Families that normalise behind attention and network, too."""
ACTIVATIONS = (
    *("gelu", "gelu_10", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_python", "gelu_python_tanh"),
    *("gelu_pytorch_tanh", "laplace", "leaky_relu", "linear", "mish", "prelu", "quick_gelu", "relu", "relu2"),
    *("relu6", "sigmoid", "silu", "swish", "tanh", "xielu"),
)
"""Names in transformers' ``ACT2CLS``. A family's network is gated or not, whichever of them it has."""
