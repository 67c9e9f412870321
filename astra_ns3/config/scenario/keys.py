"""Types of keys that a scenario's file has alone: NPUs, ends of links, shares of a rate, files beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, BeforeValidator, Strict, ValidationInfo, WithJsonSchema

from astra_ns3.config.core.model import FOLDER, as_value_error, shown
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import is_workload
from astra_ns3.errors import wrong
from astra_ns3.units import parse_rate

Seed = Annotated[int, Strict(), Ge(1), Le(2**32 - 1)]
_RANGE = re.compile(r"([0-9]{1,7})-([0-9]{1,7})", re.ASCII)
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%", re.ASCII)
_MOST_SHARE = 10_000
_ENDS = 2


def _beside(is_there: Callable[[str], bool]) -> Callable[[str, ValidationInfo], str]:
    """Return a reader of paths as seen from the file's folder. A missing file is an error where its line is known."""

    def read(path: str, info: ValidationInfo) -> str:
        folder = (info.context or {}).get(FOLDER)
        found = path if folder is None else os.path.normpath(Path(folder) / path)
        if not is_there(found):
            raise ValueError(f"found {shown(path)}, expected a file; there is no {found}")
        return found

    return read


FileBeside = Annotated[str, MinLen(1), AfterValidator(_beside(os.path.exists))]
"""The path of a file, from the folder of the file that names it."""
WorkloadBeside = Annotated[str, MinLen(1), AfterValidator(_beside(is_workload))]
"""The path of a workload's file, or of its folder, or the prefix of a trace's files, from the same folder."""


def _numbers(value: Json) -> tuple[int, ...]:
    """``3``, ``"8-15"``, or a list of both, in its order, each once."""
    entries = value if isinstance(value, (list, tuple)) else [value]
    found: list[int] = []
    for entry in entries:
        ends = _RANGE.fullmatch(entry) if isinstance(entry, str) else None
        if ends is not None and int(ends[1]) <= int(ends[2]):
            found += range(int(ends[1]), int(ends[2]) + 1)
        elif isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0:
            found.append(entry)
        else:
            raise wrong(f"found {shown(entry)}, expected numbers of NPUs, ranges of them as 8-15, or {{place: ...}}")
    seen: set[int] = set()
    for npu in found:
        if npu in seen:
            raise wrong(f"names NPU {npu} twice, expected each once")
        seen.add(npu)
    if not found:
        raise wrong("names no NPU, expected at least one")
    return tuple(found)


NpuNumbers = Annotated[
    tuple[int, ...],
    BeforeValidator(as_value_error(_numbers)),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "array"}], "examples": [[3, "8-15"]]}),
]


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _name(value: Json) -> Json:
    """A node's name, or its number."""
    if not _is_number(value) and not (isinstance(value, str) and value.strip()):
        raise wrong(f"found {shown(value)}, expected a name, as 'leaf 0', or a number")
    return value


def _link(value: Json) -> Json:
    """Both ends of a link, or its number."""
    if isinstance(value, (list, tuple)) and len(value) == _ENDS:
        return tuple(map(_name, value))
    if not _is_number(value):
        raise wrong(f"found {shown(value)}, expected both ends, as [leaf 0, spine 1], or the number of a link")
    return value


def _rate(value: Json) -> Json:
    """A rate, or a share of the link's own."""
    share = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    if share is not None:
        if not 0 < Fraction(share[1]) <= _MOST_SHARE:
            raise wrong(f"found {shown(value)}, expected more than 0% (or up: false)")
        return f"{share[1]}%"
    if not isinstance(value, (int, str)) or isinstance(value, bool):
        raise wrong(f"found {shown(value)}, expected a rate, as 50Gbps, or a share of the link's own, as 50%")
    rate_bps = parse_rate(value)
    if not rate_bps:
        raise wrong(f"found {shown(value)}, expected more than 0 (or up: false)")
    return rate_bps


_NAME_OR_NUMBER = {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}
NodeName = Annotated[str | int, BeforeValidator(as_value_error(_name)), WithJsonSchema(_NAME_OR_NUMBER)]
LinkName = Annotated[
    int | tuple[str | int, str | int],
    BeforeValidator(as_value_error(_link)),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "array", "items": _NAME_OR_NUMBER}],
            "examples": [["leaf 0", "spine 1"]],
        }
    ),
]
RateOrShare = Annotated[
    int | str,
    BeforeValidator(as_value_error(_rate)),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["50Gbps", "50%"]}),
]


def rate_of(rate: int | str, own_bps: int) -> int:
    """Return the rate in bits per second that a file asks of a link whose own is ``own_bps``; at least 1."""
    if isinstance(rate, int):
        return rate
    return max(1, int(Fraction(rate.removesuffix("%")) / 100 * own_bps))


def _sizes(value: Json, info: ValidationInfo) -> str:
    """A size, a known distribution, or the path of a file as seen from the file's folder."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"found {shown(value)}, expected a size, as 100KB, the name of a distribution or a file")
    words = str(value)
    folder = (info.context or {}).get(FOLDER)
    beside = words if folder is None else os.path.normpath(Path(folder) / words)
    return beside if Path(beside).is_file() else words


FlowSizeWords = Annotated[
    str,
    BeforeValidator(_sizes),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["web-search", "100KB"]}),
]
"""Sizes of flows, as ``generate flows --sizes`` takes them."""
