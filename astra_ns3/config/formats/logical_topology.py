"""ASTRA-sim 2's file of logical dimensions, ``{"logical-dims": ["2", "4"]}``: how the NPUs of a network are seen."""

from __future__ import annotations

import os
from typing import Annotated

from annotated_types import Len
from pydantic import BeforeValidator, Field

from astra_ns3.config.core.model import ConfigModel, Count, validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import LOGICAL_TOPOLOGY, told_apart


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() else value


class _LogicalTopology(ConfigModel):
    dimensions: Annotated[tuple[Annotated[Count, BeforeValidator(_number)], ...], Len(1)] = Field(alias="logical-dims")


def read_logical_topology(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """NPUs along each dimension, the innermost first; raises InputError with file, line and key."""
    with told_apart(path, LOGICAL_TOPOLOGY):
        return validated(_LogicalTopology, parse_yaml(read_text(path), os.fspath(path))).dimensions
