"""Reads a config.json, and says what a model file leaves out of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from astra_ns3.config.core.json_reading import not_json
from astra_ns3.config.core.model import shown
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.formats.hugging_face.families import ACTIVATIONS, FAMILIES, FOUR_NORMS
from astra_ns3.config.formats.hugging_face.keys import Keys
from astra_ns3.errors import InputError, nearest, of_type

USUAL_SEQUENCE = 4096
"""Tokens of a sample, unless the model has fewer positions."""
_DATATYPES = ("bfloat16", "float16")
# A key that tells a config.json, even one that isn't valid JSON.
_SIGN = re.compile(r'"(model_type|architectures)"\s*:')
# Keys that change neither the parameters nor what an iteration takes, except for those of dropout some per mille.
_IDLE = re.compile(
    r"_\w+|architectures|transformers_version|auto_map|\w+_token_id|id2label|label2id|task_specific_params|"
    r"\w+_(eps|epsilon|range|theta|coef|alpha|softcapping|noise)|rope_\w+|summary_\w+|pooler_\w+|output_\w+|"
    r"scale_attn_\w+|attn_pdrop|embd_pdrop|attention_probs_dropout_prob|classifier_dropout|use_cache|"
    r"cache_implementation|attn_implementation|pretraining_tp|n_ctx|n_special|predict_special_tokens|"
    r"reorder_and_upcast_attn|directionality|max_window_layers|layer_types|\w*sliding_window_pattern|norm_topk_prob|"
    r"scoring_func|topk_method|topk_group|n_group|seq_aux|ep_size|routed_scaling_factor|partial_rotary_factor|"
    r"query_pre_attn_scalar|original_max_position_embeddings|qk_head_dim"
)


class Imported(NamedTuple):
    """A model file as plain data, and what its reader should know."""

    data: dict[str, Json]
    notes: tuple[str, ...]


def is_hugging_face(data: object) -> bool:
    """Whether plain data are those of a config.json."""
    return isinstance(data, Mapping) and "kind" not in data and bool({"model_type", "architectures"} & data.keys())


def read_hugging_face(path: str | os.PathLike[str]) -> Imported | None:
    """Return the model file that a config.json comes to; None if the file isn't one.

    Training's numbers are our defaults, for a config.json has none. Raises InputError with file and key.
    """
    try:
        text = read_text(path) if Path(path).is_file() else ""
    except InputError:  # who reads it as another kind says what is wrong
        return None
    try:
        data = json.loads(text) if text.lstrip().startswith("{") else None
    except json.JSONDecodeError as error:
        if _SIGN.search(text):
            raise not_json(error, os.fspath(path)) from error
        return None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not is_hugging_face(data):
        return None
    return _imported(Keys(os.fspath(path), data))


def _imported(keys: Keys) -> Imported:
    family = keys.plain("model_type")
    family = of_type(family, str, f"key 'model_type' is missing, expected one of {', '.join(FAMILIES)}", keys.source)
    if family not in FAMILIES:
        words = f"found {shown(family)}, which isn't read yet; allowed: {', '.join(FAMILIES)}"
        raise keys.error("model_type", f"{words}{nearest(family, FAMILIES)}")
    for key in ("activation_function",) if family == "gpt2" else ("hidden_act", "hidden_activation"):
        keys.check_word(key, ACTIVATIONS)
    shape = FAMILIES[family](keys)
    positions = keys.count("n_positions" if family == "gpt2" else "max_position_embeddings", USUAL_SEQUENCE)
    training: dict[str, Json] = {"sequence": min(USUAL_SEQUENCE, positions)}
    names = {key: keys.plain(key) for key in ("torch_dtype", "dtype")}
    named, datatype = next(((key, value) for key, value in names.items() if value is not None), ("dtype", None))
    if datatype in _DATATYPES:
        training["datatype"] = datatype
    return Imported(
        {"kind": "transformer", "name": _name(keys, family), "model": shape, "training": training},
        tuple(_left_out(keys, family, positions, named, datatype)),
    )


def _name(keys: Keys, family: str) -> str:
    """Return the name it was loaded by; without one, its family and its folder."""
    named = keys.plain("_name_or_path")
    words = named if isinstance(named, str) and named.strip("/. ") else ""
    return Path(words).name or f"{family} of {Path(keys.source).absolute().parent.name or 'a config.json'}"


def _left_out(keys: Keys, family: str, positions: int, named: str, datatype: Json) -> list[str]:
    """Return a line for each setting that a model file has no key for, or that isn't known.

    ``named``: the key that the data type has.
    """
    said = []
    if family in FOUR_NORMS:
        said.append("the norms behind attention and network are left out, less than 0.01% of the parameters")
    if datatype is not None and datatype not in _DATATYPES:
        said.append(f"{named} {shown(datatype)} is passed over: training.datatype says what products are in")
    window = keys.plain("sliding_window")
    sliding = keys.plain("use_sliding_window", True)
    if isinstance(window, int) and sliding and window < positions:
        said.append(f"sliding_window isn't modelled: attention goes over sequences of more than {window} tokens whole")
    if keys.has("num_nextn_predict_layers") and keys.number("num_nextn_predict_layers"):
        said.append("num_nextn_predict_layers: modules that predict further tokens are left out")
    if keys.has("topk_group") and keys.has("n_group") and keys.number("topk_group") < keys.number("n_group"):
        said.append("n_group, topk_group: model.experts.node_limit and npus_per_node limit the nodes of a token")
    if keys.has("quantization_config"):
        said.append("quantization_config is passed over: training.datatype says what products are computed in")
    if keys.has("attention_dropout") and keys.share("attention_dropout", 0):
        said.append("attention_dropout is passed over")
    others = [key for key in keys.not_asked() if not _IDLE.fullmatch(key)]
    if others:
        said.append(f"{', '.join(others)}: not read, and may change what a model takes")
    return [f"{keys.source}: {words}" for words in said]
