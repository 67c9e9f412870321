"""Reads a workload of whatever format, told by what is in the file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import check_json
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.formats.kinds import GROUPS, WORKLOAD, told_apart
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.model.fitting import fits_model
from astra_ns3.config.workload import Workload
from astra_ns3.errors import of_type, wrong
from astra_ns3.frozen import dataclass, replace
from astra_ns3.workload.files.astra_sim import read_workload as read_astra_sim
from astra_ns3.workload.files.chakra.groups import read_groups
from astra_ns3.workload.files.chakra.trace import ChakraTrace, is_chakra, read_chakra
from astra_ns3.workload.files.flows.reading import holds_flows, read_flows
from astra_ns3.workload.files.simai import fits_simai, read_simai
from astra_ns3.workload.models.workload import ModelWorkload, read_model

# How YAML begins.
_KEY = re.compile(r"(?:\s*(?:#[^\n]*)?\n)*[A-Za-z_][\w-]*:")
AnyWorkload = Workload | GraphWorkload | FlowList | FlowStream | ModelWorkload
"""A workload of any kind."""


@dataclass(frozen=True)
class WorkloadFormat:
    """``fits(path)`` is asked before ``read(path)``, which raises InputError with file, place and what was expected."""

    name: str
    fits: Callable[[Path], bool]
    read: Callable[[Path], AnyWorkload]


FORMATS: tuple[WorkloadFormat, ...] = (
    WorkloadFormat("model", fits_model, read_model),
    WorkloadFormat("Chakra", is_chakra, read_chakra),
    WorkloadFormat("flows", holds_flows, read_flows),
    WorkloadFormat("SimAI", fits_simai, read_simai),
)
"""The first that fits reads the file; ASTRA-sim's text is what none of these fits."""


def read_workload(path: str | os.PathLike[str]) -> AnyWorkload:
    """Read a workload; raises InputError with file, place and what was expected."""
    with told_apart(path, WORKLOAD):
        for form in FORMATS:
            if form.fits(Path(path)):
                return form.read(Path(path))
        _check_is_a_text(path)
        return read_astra_sim(path)


def _check_is_a_text(path: str | os.PathLike[str]) -> None:
    """Raise InputError for keys and values, which ASTRA-sim's text, the last format, is not."""
    text = read_text(path)
    check_json(text, os.fspath(path))
    named = Path(path).suffix.lower() in (".json", ".yaml", ".yml")
    if text.lstrip().startswith("{") or (named and _KEY.match(text)):
        formats = "a model file begins with 'kind', a Chakra trace in JSON with 'version' or 'workload_graph'"
        raise wrong(f"holds keys that no workload has; {formats}", path)


def with_groups(workload: AnyWorkload, path: str | os.PathLike[str]) -> AnyWorkload:
    """A workload of graphs with the groups of a file; raises InputError for another kind.

    As in ASTRA-sim 2, a path with the word "empty" in it that is no file's has none.
    """
    if "empty" in os.fspath(path) and not Path(path).is_file():
        return workload
    workload = of_type(workload, ChakraTrace, "groups are for workloads of graphs, and this is none", path)
    with told_apart(path, GROUPS):
        return replace(workload, groups=read_groups(path))
