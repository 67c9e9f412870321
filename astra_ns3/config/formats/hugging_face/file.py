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
from astra_ns3.config.formats.hugging_face.families import ACTIVATIONS, FAMILIES
from astra_ns3.config.formats.hugging_face.keys import Keys
from astra_ns3.errors import InputError, nearest, of_type

USUAL_SEQUENCE = 4096
"""Tokens of a sample, unless the model has fewer positions."""
_DATATYPES = ("bfloat16", "float16")
# A key that tells a config.json, even one that isn't valid JSON.
_SIGN = re.compile(r'"(model_type|architectures)"\s*:')


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
    family = keys.data.get("model_type")
    family = of_type(family, str, f"key 'model_type' is missing, expected one of {', '.join(FAMILIES)}", keys.source)
    if family not in FAMILIES:
        words = f"found {shown(family)}, which isn't read yet; allowed: {', '.join(FAMILIES)}"
        raise keys.error("model_type", f"{words}{nearest(family, FAMILIES)}")
    keys.check_word("activation_function" if family == "gpt2" else "hidden_act", ACTIVATIONS)
    shape = FAMILIES[family](keys)
    positions = keys.count("n_positions" if family == "gpt2" else "max_position_embeddings", USUAL_SEQUENCE)
    training: dict[str, Json] = {"sequence": min(USUAL_SEQUENCE, positions)}
    datatype = keys.data.get("torch_dtype", keys.data.get("dtype"))
    if datatype in _DATATYPES:
        training["datatype"] = datatype
    return Imported(
        {"kind": "transformer", "name": _name(keys, family), "model": shape, "training": training},
        tuple(_left_out(keys, positions)),
    )


def _name(keys: Keys, family: str) -> str:
    """Return the name it was loaded by; without one, its family and its folder."""
    named = keys.data.get("_name_or_path")
    words = named if isinstance(named, str) and named.strip("/. ") else ""
    return Path(words).name or f"{family} of {Path(keys.source).absolute().parent.name or 'a config.json'}"


def _left_out(keys: Keys, positions: int) -> list[str]:
    """Return a line for each setting that a model file has no key for; none changes the number of parameters."""
    said = []
    window = keys.data.get("sliding_window")
    sliding = keys.data.get("use_sliding_window", True)
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
    return [f"{keys.source}: {words}" for words in said]
