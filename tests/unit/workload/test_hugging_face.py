"""A Hugging Face config.json becomes a model file whose parameters are those that were published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from astra_ns3.errors import InputError
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.hugging_face import read_as_model

Config = dict[str, Any]

LLAMA: Config = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
DEGREES = "parallel.data is auto and all other degrees are 1"
MISTRAL = {**LLAMA, "model_type": "mistral", "vocab_size": 32000, "sliding_window": 4096}
QWEN2: Config = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
    "vocab_size": 152064,
}
DEEPSEEK_V3: Config = {
    "model_type": "deepseek_v3",
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "moe_intermediate_size": 2048,
    "moe_layer_freq": 1,
    "n_group": 8,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "num_nextn_predict_layers": 1,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "topk_group": 4,
    "topk_method": "noaux_tc",
    "v_head_dim": 128,
    "vocab_size": 129280,
}
# Parameters as the published checkpoints have them; DeepSeek-V3 without the module for a second token.
PUBLISHED: dict[str, tuple[Config, int]] = {
    "Llama-3 8B": (LLAMA, 8_030_261_248),
    "Mistral 7B": (MISTRAL, 7_241_732_096),
    "Mixtral 8x7B": (
        {**MISTRAL, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None},
        46_702_792_704,
    ),
    "Qwen2 7B": (QWEN2, 7_615_616_512),
    "Qwen2.5 0.5B": (
        {
            **QWEN2,
            "hidden_size": 896,
            "intermediate_size": 4864,
            "num_attention_heads": 14,
            "num_hidden_layers": 24,
            "num_key_value_heads": 2,
            "tie_word_embeddings": True,
            "vocab_size": 151936,
        },
        494_032_768,
    ),
    "Qwen1.5 MoE A2.7B": (
        {
            "model_type": "qwen2_moe",
            "decoder_sparse_step": 1,
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "moe_intermediate_size": 1408,
            "num_attention_heads": 16,
            "num_experts": 60,
            "num_experts_per_tok": 4,
            "num_hidden_layers": 24,
            "num_key_value_heads": 16,
            "shared_expert_intermediate_size": 5632,
            "vocab_size": 151936,
        },
        14_315_784_192,
    ),
    "Qwen3 8B": (
        {
            "model_type": "qwen3",
            "head_dim": 128,
            "hidden_size": 4096,
            "intermediate_size": 12288,
            "num_attention_heads": 32,
            "num_hidden_layers": 36,
            "num_key_value_heads": 8,
            "vocab_size": 151936,
        },
        8_190_735_360,
    ),
    "Qwen3 30B A3B": (
        {
            "model_type": "qwen3_moe",
            "decoder_sparse_step": 1,
            "head_dim": 128,
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "mlp_only_layers": [],
            "moe_intermediate_size": 768,
            "num_attention_heads": 32,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "num_hidden_layers": 48,
            "num_key_value_heads": 4,
            "vocab_size": 151936,
        },
        30_532_122_624,
    ),
    "DeepSeek-V2-Lite": (
        {
            **DEEPSEEK_V3,
            "model_type": "deepseek_v2",
            "first_k_dense_replace": 1,
            "hidden_size": 2048,
            "intermediate_size": 10944,
            "moe_intermediate_size": 1408,
            "n_routed_experts": 64,
            "n_shared_experts": 2,
            "num_attention_heads": 16,
            "num_experts_per_tok": 6,
            "num_hidden_layers": 27,
            "q_lora_rank": None,
            "vocab_size": 102400,
        },
        15_706_484_224,
    ),
    "DeepSeek-V3": (DEEPSEEK_V3, 671_026_419_200),
    "GPT-2": (
        {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257},
        124_439_808,
    ),
    "BERT base": (
        {
            "model_type": "bert",
            "hidden_size": 768,
            "intermediate_size": 3072,
            "max_position_embeddings": 512,
            "num_attention_heads": 12,
            "num_hidden_layers": 12,
            "type_vocab_size": 2,
            "vocab_size": 30522,
        },
        109_482_240,
    ),
    "Gemma 7B": (
        {
            "model_type": "gemma",
            "head_dim": 256,
            "hidden_size": 3072,
            "intermediate_size": 24576,
            "max_position_embeddings": 8192,
            "num_attention_heads": 16,
            "num_hidden_layers": 28,
            "num_key_value_heads": 16,
            "vocab_size": 256000,
        },
        8_537_680_896,
    ),
    "Phi-3 mini": (
        {
            "model_type": "phi3",
            "hidden_size": 3072,
            "intermediate_size": 8192,
            "max_position_embeddings": 4096,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "num_key_value_heads": 32,
            "vocab_size": 32064,
        },
        3_821_079_552,
    ),
}
# With four vectors in a layer that are normalised, of which a model file has two.
FOUR_NORMS: dict[str, tuple[Config, int]] = {
    "Gemma 2 2B": (
        {
            "model_type": "gemma2",
            "attn_logit_softcapping": 50.0,
            "cache_implementation": "hybrid",
            "final_logit_softcapping": 30.0,
            "head_dim": 256,
            "hidden_activation": "gelu_pytorch_tanh",
            "hidden_size": 2304,
            "intermediate_size": 9216,
            "max_position_embeddings": 8192,
            "num_attention_heads": 8,
            "num_hidden_layers": 26,
            "num_key_value_heads": 4,
            "query_pre_attn_scalar": 256,
            "sliding_window": 4096,
            "vocab_size": 256000,
        },
        2_614_341_888,
    ),
    "Gemma 3 1B": (
        {
            "model_type": "gemma3_text",
            "hidden_activation": "gelu_pytorch_tanh",
            "hidden_size": 1152,
            "intermediate_size": 6912,
            "max_position_embeddings": 32768,
            "num_attention_heads": 4,
            "num_hidden_layers": 26,
            "num_key_value_heads": 1,
            "query_pre_attn_scalar": 256,
            "sliding_window_pattern": 6,
            "vocab_size": 262144,
        },
        999_885_952,
    ),
}
# Other keys of the published files, none of which changes what an iteration takes.
COMMON: Config = {
    "_name_or_path": "published/name",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": [128001, 128009],
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "pad_token_id": None,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {"factor": 8.0, "rope_type": "llama3"},
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.43.0",
    "use_cache": True,
}
OTHERS: dict[str, Config] = {
    "Llama-3 8B": {**COMMON, "architectures": ["LlamaForCausalLM"], "mlp_bias": False, "pretraining_tp": 1},
    "Mistral 7B": {**COMMON, "architectures": ["MistralForCausalLM"], "head_dim": None},
    "Mixtral 8x7B": {**COMMON, "output_router_logits": False, "router_aux_loss_coef": 0.02, "router_jitter_noise": 0.0},
    "Qwen2 7B": {**COMMON, "max_window_layers": 28, "sliding_window": 131072, "use_sliding_window": False},
    "Qwen1.5 MoE A2.7B": {
        **COMMON,
        "norm_topk_prob": False,
        "router_aux_loss_coef": 0.001,
        "use_sliding_window": False,
    },
    "Qwen3 8B": {**COMMON, "max_window_layers": 36, "sliding_window": None, "use_sliding_window": False},
    "Qwen3 30B A3B": {**COMMON, "norm_topk_prob": True, "output_router_logits": False, "router_aux_loss_coef": 0.001},
    "DeepSeek-V2-Lite": {
        **COMMON,
        "aux_loss_alpha": 0.001,
        "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV2Config"},
        "ep_size": 1,
        "n_group": 1,
        "norm_topk_prob": False,
        "num_nextn_predict_layers": None,
        "pretraining_tp": 1,
        "routed_scaling_factor": 1.0,
        "scoring_func": "softmax",
        "seq_aux": True,
        "topk_group": 1,
        "topk_method": "greedy",
    },
    "GPT-2": {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1,
        "embd_pdrop": 0.1,
        "layer_norm_epsilon": 1e-05,
        "n_ctx": 1024,
        "resid_pdrop": 0.1,
        "summary_activation": None,
        "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True,
        "summary_type": "cls_index",
        "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    },
    "BERT base": {
        "attention_probs_dropout_prob": 0.1,
        "gradient_checkpointing": False,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
    },
    "Gemma 7B": {**COMMON, "hidden_act": "gelu", "hidden_activation": None},
    "Phi-3 mini": {
        **COMMON,
        "embd_pdrop": 0.0,
        "original_max_position_embeddings": 4096,
        "resid_pdrop": 0.0,
        "sliding_window": None,
    },
}


def written(folder: Path, config: Config) -> Path:
    """A config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_of_a_config_has_its_published_parameters(tmp_path: Path, name: str) -> None:
    config, parameters = PUBLISHED[name]
    read = read_as_model(written(tmp_path, config))
    assert read is not None
    assert read.workload.totals().parameters == parameters
    plan = read.workload.plan(1)
    held = sum(block.parameters + block.expert_parameters for chunk in plan.chunks for block in chunk)
    assert held == parameters


@pytest.mark.parametrize("name", FOUR_NORMS)
def test_the_norms_that_a_model_file_lacks_are_told(tmp_path: Path, name: str) -> None:
    config, parameters = FOUR_NORMS[name]
    read = read_as_model(written(tmp_path, config))
    assert read is not None
    missing = 2 * config["hidden_size"] * config["num_hidden_layers"]
    assert read.workload.totals().parameters == parameters - missing
    assert missing < 1e-4 * parameters
    assert "the norms behind attention and network are left out" in read.notes[0]
    assert not any("not read" in note for note in read.notes)


@pytest.mark.parametrize("name", OTHERS)
def test_keys_that_change_nothing_are_passed_over_in_silence(tmp_path: Path, name: str) -> None:
    config, parameters = PUBLISHED[name]
    alone = read_as_model(written(tmp_path, config))
    read = read_as_model(written(tmp_path, {**OTHERS[name], **config, **(OTHERS[name] if "V2" in name else {})}))
    assert alone is not None
    assert read is not None
    assert read.workload.totals().parameters == parameters
    expected = () if "V2" in name else alone.notes
    assert read.notes == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attention_dropout": 0.1}, "attention_dropout is passed over"),
        (
            {"gradient_checkpointing": True, "capacity_factor": 2},
            "gradient_checkpointing, capacity_factor: not read, and",
        ),
        ({"torch_dtype": "float32"}, "torch_dtype 'float32' is passed over"),
        ({"torch_dtype": None, "dtype": "float32"}, "dtype 'float32' is passed over"),
        ({"capacity_factor": 0, "gradient_checkpointing": False, "unknown": None}, None),
    ],
)
def test_keys_that_matter_and_are_not_read_are_told(tmp_path: Path, change: Config, said: str | None) -> None:
    path = written(tmp_path, {**LLAMA, **change})
    read = read_as_model(path)
    assert read is not None
    assert [note.startswith(f"{path}: {said}") for note in read.notes] == ([] if said is None else [True])


def test_training_has_our_defaults_and_no_more_tokens_than_the_model_has_positions(tmp_path: Path) -> None:
    llama = read_as_model(written(tmp_path, LLAMA))
    assert llama is not None
    assert llama.workload.file.training.document()["sequence"] == 4096
    assert llama.workload.file.training.datatype == "bfloat16"
    shorter = changed(llama.workload, {"training.sequence": 512, "parallel.tensor": 4})
    assert (shorter.file.training.document()["sequence"], shorter.file.parallel.tensor) == (512, 4)
    bert = read_as_model(written(tmp_path, PUBLISHED["BERT base"][0]))
    assert bert is not None
    assert bert.workload.file.training.document()["sequence"] == 512


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((), f"training.sequence is 4096, {DEGREES}, compute is an H100's; --set changes that"),
        (("parallel.tensor",), "training.sequence is 4096, compute is an H100's; --set changes that"),
        (("training.micro_batch", "parallel"), "training.sequence is 4096, compute is an H100's; --set changes that"),
        (("training.sequence", "compute.device.memory"), f"{DEGREES}; --set changes that"),
        (("training", "parallel.tensor", "compute.device"), None),
    ],
)
def test_the_defaults_that_no_setting_changes_are_told(
    tmp_path: Path, settings: tuple[str, ...], said: str | None
) -> None:
    path = written(tmp_path, LLAMA)
    read = read_as_model(path)
    assert read is not None
    assert read.defaults(settings) == (() if said is None else (f"{path}: by default {said}",))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "phi"}, "key 'model_type': found 'phi', which isn't read yet; allowed: llama, mistral"),
        ({"model_type": "qwen_2"}, "did you mean 'qwen2'?"),
        ({"attention_bias": True}, "key 'attention_bias': is true for a part of the products"),
        ({"hidden_size": None}, "key 'hidden_size' is missing"),
        ({"hidden_size": None, "hidden_sise": 4096}, "key 'hidden_size' is missing; did you mean 'hidden_sise'"),
        ({"hidden_size": None, "hidden_act": "silu"}, "key 'hidden_size' is missing"),
        ({"num_hidden_layers": "32"}, "key 'num_hidden_layers': found '32', expected a whole number above 0"),
        ({"tie_word_embeddings": "no"}, "key 'tie_word_embeddings': found 'no', expected true or false"),
        ({"num_key_value_heads": 5}, "key 'model.kv_heads': found 5, expected a divisor of the 32 heads"),
    ],
)
def test_what_a_model_file_cannot_say_is_named(tmp_path: Path, change: Config, said: str) -> None:
    path = written(tmp_path, {**LLAMA, **change})
    with pytest.raises(InputError) as raised:
        read_as_model(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert said in str(raised.value)
    assert "hidden_act" not in str(raised.value)


@pytest.mark.parametrize(
    ("config", "key", "found", "nearest"),
    [
        (LLAMA, "hidden_act", "silo", "silu"),
        (LLAMA, "hidden_act", 1, None),
        (PUBLISHED["GPT-2"][0], "activation_function", "gelu_neww", "gelu_new"),
    ],
)
def test_an_unknown_activation_is_refused(
    tmp_path: Path, config: Config, key: str, found: str | int, nearest: str | None
) -> None:
    path = written(tmp_path, {**config, key: found})
    with pytest.raises(InputError) as raised:
        read_as_model(path)
    assert str(raised.value).startswith(f"{path}: key '{key}': found {found!r}, expected one of gelu, ")
    assert str(raised.value).endswith("xielu" if nearest is None else f"; did you mean '{nearest}'?")


def test_what_is_left_out_without_changing_parameters_is_told(tmp_path: Path) -> None:
    read = read_as_model(written(tmp_path, DEEPSEEK_V3))
    assert read is not None
    told = " ".join(read.notes)
    assert "num_nextn_predict_layers" in told
    assert "topk_group" in told
    short = read_as_model(written(tmp_path, {**MISTRAL, "sliding_window": 1024}))
    assert short is not None
    assert "attention goes over sequences of more than 1024 tokens whole" in " ".join(short.notes)


def test_another_json_is_no_config(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"kind": "transformer", "model_type": "llama"}', encoding="utf-8")
    assert read_as_model(path) is None


@pytest.mark.parametrize("mistake", [("128256", "128256,"), ('"vocab_size"', "vocab_size"), ("}", "")])
def test_a_config_that_is_no_json_is_told_with_its_line(tmp_path: Path, mistake: tuple[str, str]) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA, indent=2).replace(*mistake), encoding="utf-8")
    with pytest.raises(InputError, match=rf"^{path}:1[0-9]: is not JSON in column "):
        read_as_model(path)
