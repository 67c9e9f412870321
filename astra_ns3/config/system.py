"""The system file: collective algorithms, chunking, scheduling; ASTRA-sim 1.0's text keys, or the same as YAML.

Keys of that format which are not modelled are accepted only at the value that leaves them without effect.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, Strict, WithJsonSchema

from astra_ns3.config.document import Document, KeyPath
from astra_ns3.config.model import ConfigModel, key_error, shown, validated
from astra_ns3.config.reading import read_text
from astra_ns3.config.yaml_document import parse_yaml
from astra_ns3.errors import InputError, nearest
from astra_ns3.units import LARGEST_INTEGER, PS_PER_NS

ALGORITHMS = (
    "ring",
    "direct",
    "doubleBinaryTree",
    "halvingDoubling",
    "oneRing",
    "oneDirect",
    "oneHalvingDoubling",
)
"""Names that the format knows; ``direct`` and ``oneDirect`` may end in a window, as in ``direct3``."""

_WINDOWED = re.compile(r"(direct|oneDirect)([1-9][0-9]{0,8})")

_ONLY_WITHOUT_EFFECT: Mapping[str, tuple[int, ...]] = {
    "local-reduction-delay": (1,),
    "model-shared-bus": (0,),
    "L": (0,),
    "o": (0,),
    "g": (0,),
    "G": (0,),
    # It only names log files, so neither value changes a result.
    "seprate-log": (0, 1),
}


def _whole_number(value: object) -> object:
    """Text of a decimal number, as text files have it, to that number; anything else is left to pydantic."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value) else value


def _algorithms(value: object) -> tuple[str, ...]:
    """``ring_direct3`` or a YAML list to one name for each dimension."""
    names = value.split("_") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names:
        raise ValueError(f"found {shown(value)}, expected one algorithm for each dimension, joined by '_'")
    for name in names:
        if name not in ALGORITHMS and not (isinstance(name, str) and _WINDOWED.fullmatch(name)):
            hint = nearest(str(name), ALGORITHMS)
            raise ValueError(f"found {name!r}, allowed: {', '.join(ALGORITHMS)}, direct<window>{hint}")
    return tuple(names)


def _one_of(supported: tuple[str, ...], later: tuple[str, ...]) -> Callable[[object], object]:
    """A check that knows the words of the format and which of them this program doesn't model."""

    def check(value: object) -> object:
        if value in later:
            raise ValueError(f"{value!r} is not supported yet; supported: {', '.join(supported)}")
        if value not in supported:
            hint = nearest(str(value), (*supported, *later))
            raise ValueError(f"found {shown(value)}, allowed: {', '.join(supported)}{hint}")
        return value

    return check


def _boost_mode(value: object) -> int:
    if _whole_number(value) == 1:
        raise ValueError("1 is not supported yet (every NPU is simulated); supported: 0")
    if isinstance(value, bool) or _whole_number(value) != 0:
        raise ValueError(f"found {shown(value)}, allowed: 0")
    return 0


_Whole = BeforeValidator(_whole_number)
_Number = Annotated[int, Strict(), Ge(0), Le(LARGEST_INTEGER // PS_PER_NS), _Whole]
_Positive = Annotated[int, Strict(), Ge(1), Le(LARGEST_INTEGER // PS_PER_NS), _Whole]
_Algorithms = Annotated[
    tuple[str, ...],
    BeforeValidator(_algorithms),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
_Intra = Annotated[str, BeforeValidator(_one_of(("FIFO",), ("RG", "SCF", "smallestFirst", "lessRemainingPhaseFirst")))]
_Inter = Annotated[
    str,
    BeforeValidator(
        _one_of(("ascending", "baseline"), ("roundRobin", "themis", "offlineGreedy", "themisFlex", "offlineGreedyFlex"))
    ),
]


class SystemConfig(ConfigModel):
    """How each NPU runs its collectives. Times are nanoseconds (ASTRA-sim's cycles)."""

    scheduling_policy: Literal["LIFO", "FIFO"] = Field(alias="scheduling-policy")
    endpoint_delay_ns: _Number = Field(alias="endpoint-delay", default=10)
    active_chunks_per_dimension: _Positive = Field(alias="active-chunks-per-dimension", default=1)
    preferred_dataset_splits: _Positive = Field(alias="preferred-dataset-splits")
    all_reduce: _Algorithms = Field(alias="all-reduce-implementation")
    reduce_scatter: _Algorithms = Field(alias="reduce-scatter-implementation")
    all_gather: _Algorithms = Field(alias="all-gather-implementation")
    all_to_all: _Algorithms = Field(alias="all-to-all-implementation")
    collective_optimization: Literal["baseline", "localBWAware"] = Field(
        alias="collective-optimization", default="baseline"
    )
    intra_dimension_scheduling: _Intra = Field(alias="intra-dimension-scheduling", default="FIFO")
    inter_dimension_scheduling: _Inter = Field(alias="inter-dimension-scheduling", default="ascending")
    boost_mode: Annotated[int, BeforeValidator(_boost_mode)] = Field(alias="boost-mode", default=0)
    reduction_bytes_per_ns: _Positive = Field(alias="reduction-bytes-per-ns", default=500_000)
    """How fast memory moves data that is reduced; ours, ASTRA-sim has this number in its code."""

    @classmethod
    def prepare(cls, data: dict[str, object]) -> dict[str, object]:
        """Take out the keys that are accepted only without effect."""
        for key, allowed in _ONLY_WITHOUT_EFFECT.items():
            if key in data and (isinstance(data[key], bool) or _whole_number(data[key]) not in allowed):
                words = " or ".join(str(value) for value in allowed)
                raise key_error(key, f"found {shown(data[key])}, which is not supported yet; supported: {words}")
        return {key: value for key, value in data.items() if key not in _ONLY_WITHOUT_EFFECT}

    def check_dimensions(self, dimensions: int) -> None:
        """Raise InputError unless there is one algorithm for each of so many dimensions."""
        for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"):
            algorithms: tuple[str, ...] = getattr(self, name)
            if len(algorithms) != dimensions:
                key = name.replace("_", "-") + "-implementation"
                raise InputError(
                    f"key '{key}': found {len(algorithms)} algorithms ({'_'.join(algorithms)}), "
                    f"expected {dimensions}: one for each dimension of the network"
                )


def read_system(path: str | os.PathLike[str]) -> SystemConfig:
    """Read a system file: YAML if it ends in .yaml or .yml, else ASTRA-sim's text; raises InputError."""
    source = os.fspath(path)
    text = read_text(path)
    is_yaml = Path(source).suffix.lower() in (".yaml", ".yml")
    return validated(SystemConfig, parse_yaml(text, source) if is_yaml else _parse_text(text, source))


def parse_system(data: object, source: str = "system") -> SystemConfig:
    """The system that plain data (a mapping as in a file) describes; ``source`` names it in messages."""
    return validated(SystemConfig, Document(source, data))


def json_schema() -> dict[str, Any]:
    """JSON schema of a system file in YAML."""
    return SystemConfig.model_json_schema(by_alias=True)


def _parse_text(text: str, source: str) -> Document:
    """Lines ``key: value``; empty lines, and lines that begin with '#' (ours), are skipped."""
    data: dict[str, object] = {}
    lines: dict[KeyPath, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not key or not value or len(value.split()) != 1:
            raise InputError(f"{source}:{number}: found {shown(line.strip())}, expected 'key: value'")
        if key in data:
            raise InputError(f"{source}:{number}: key '{key}' stands twice (first on line {lines[(key,)]})")
        data[key], lines[(key,)] = value, number
    return Document(source, data, lines)
