"""Paths inside plain data of a configuration file: which values are some, and making them begin elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from astra_ns3.config.core.algorithm_names import FILE_PREFIX
from astra_ns3.config.core.document import KeyPath
from astra_ns3.config.core.plain import Json
from astra_ns3.user_code import user_part

# Of the graph's file in a network.
_PATH = ("topology", "path")
REMOTE_MEMORY = "remote-memory"
"""The key of a system whose value may be the path of a file."""


def placed(value: Json, folder: Path, path: KeyPath = ()) -> Any:  # of the kind of value
    """Return ``value`` with the relative paths of code, schedules, graphs and memory in it as seen from ``folder``."""
    if isinstance(value, Mapping):
        return {key: placed(each, folder, (*path, key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [placed(each, folder, (*path, index)) for index, each in enumerate(value)]
    if not isinstance(value, str):
        return value
    if path in (_PATH, (REMOTE_MEMORY,)):
        return os.path.normpath(folder / value)
    part = user_part(value, compiled=True)
    if part is not None:
        return f"{os.path.normpath(folder / part.file)}:{part.name}"
    head, prefix, file = value.partition(FILE_PREFIX)
    if prefix and path and str(path[0]).endswith("-implementation"):
        return f"{head}{prefix}{os.path.normpath(folder / file)}"
    return value


def names_files(value: Json) -> bool:
    """Whether there is a path of such a file in ``value``."""
    here = Path("/")
    return bool(placed(value, here) != placed(value, here / "elsewhere"))
