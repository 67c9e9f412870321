"""Which of the formats a list of flows has, told by what is in the file, and the list."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError, failing, required
from astra_ns3.workload.files.flows import csv_file, hpcc, htsim


class FlowFormat(NamedTuple):
    """A format: its name, whether the words of a file's first lines are its, and its reader."""

    name: str
    looks_like: Callable[[list[list[str]]], bool]
    read: Callable[[str], FlowList]


FORMATS = (
    FlowFormat(csv_file.FORMAT, csv_file.looks_like, csv_file.read),
    FlowFormat(htsim.FORMAT, htsim.looks_like, htsim.read),
    FlowFormat(hpcc.FORMAT, hpcc.looks_like, hpcc.read),
)
_HEAD_LINES = 2


def flow_format(text: str) -> FlowFormat | None:
    """The format of a file that begins with ``text``, of which the last line may be cut; None: no list of flows."""
    lines = (line.split() for line in text.removeprefix("\ufeff").splitlines() if not line.lstrip().startswith("#"))
    head = [words for words in lines if words][:_HEAD_LINES]
    return next((each for each in FORMATS if each.looks_like(head)), None)


def holds_flows(path: Path) -> bool:
    """Whether a file looks like a list of flows; what can't be read doesn't."""
    try:
        return path.is_file() and flow_format(_head(str(path))) is not None
    except (InputError, OSError, ValueError):
        return False


def read_flows(path: str | os.PathLike[str]) -> FlowList:
    """The flows of a file in any of the formats; raises InputError with file, lines and what was expected."""
    name = os.fspath(path)
    found = required(
        flow_format(_head(name)),
        f"is no list of flows, expected one of: {', '.join(each.name for each in FORMATS)}",
        name,
    )
    return found.read(name)


def _head(path: str) -> str:
    # open, as the readers' messages have the path as it was given
    with failing(OSError, "cannot be read", path), open(path, "rb") as file:  # noqa: PTH123
        return file.read(4096).decode("utf-8", "replace")
