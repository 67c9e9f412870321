"""Reads a network file of any kind we know, told apart by its keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.hpcc_keys import looks_like_hpcc
from astra_ns3.config.formats.kinds import NETWORK, told_apart
from astra_ns3.config.network.analytical_network import (
    AnalyticalNetwork,
    analytical_version,
    parse_analytical,
)
from astra_ns3.config.network.hpcc import PRESET, read_hpcc_config
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.file import format_of
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.frozen import dataclass, field

AnyNetwork = NetworkConfig | AnalyticalNetwork
# Formats of graphs that no network file looks like.
_GRAPHS = ("graphml", "hpcc", "htsim", "gml", "infragraph")
_KEY = re.compile(r"key '([\w.]+)'")
_NODES = "nodes"
_LINKS = frozenset(("links", "edges"))
# Keys of a file that joins a config.txt with a topology.
_CONFIG_AND_TOPOLOGY = frozenset(("config", "topology"))


@dataclass(frozen=True)
class NetworkFile:
    """The content of a network file: the network, the preset that goes with its format, and what to warn of."""

    network: AnyNetwork
    compat: str | None = None
    warnings: tuple[str, ...] = ()
    imported: bool = False
    """Whether an importer wrote it, so that nobody asked for what it observes."""
    document: Document | None = field(default=None, compare=False)
    """The file, if its keys are read as they are: where they stand."""

    def place_of(self, words: str) -> str | None:
        """``file:line`` of the key with which a message begins (``key 'transport.window': ...``), if known."""
        named = _KEY.match(words)
        if named is None or self.document is None:
            return None
        path = tuple(int(part) if part.isdigit() else part for part in named[1].split("."))
        return self.document.where(path)


def read_network_file(path: str | os.PathLike[str]) -> NetworkFile:
    """Our YAML, ASTRA-sim 1.0's analytical JSON, ASTRA-sim 2's analytical YAML, or a config.txt of HPCC's lineage.

    Raises InputError with file, line and key.
    """
    with told_apart(path, NETWORK):
        return _network_file(path)


def _network_file(path: str | os.PathLike[str]) -> NetworkFile:
    """Told apart by what is in it."""
    source, text = os.fspath(path), read_text(path)
    if looks_like_hpcc(text):
        imported = read_hpcc_config(source)
        return NetworkFile(imported.network, PRESET, imported.warnings, imported=True)
    if format_of(text) in _GRAPHS:
        raise _only_a_graph(source)
    document = parse_yaml(text, source)
    keys = set(document.data) if isinstance(document.data, Mapping) else set()
    if analytical_version(document.data) is not None:
        return NetworkFile(parse_analytical(document), document=document)
    if _NODES in keys and not keys.isdisjoint(_LINKS):
        raise _only_a_graph(source)
    if "config" in keys:
        return _joined(document, source)
    return NetworkFile(validated(NetworkConfig, document), document=document)


def _joined(document: Document, source: str) -> NetworkFile:
    """A config.txt, such as SimAI's, which names no topology, and a topology for it."""
    named = document.data if isinstance(document.data, Mapping) else {}
    refuse(
        set(named) != _CONFIG_AND_TOPOLOGY or not all(isinstance(value, str) for value in named.values()),
        "key 'config' stands in a file of two lines, 'config: FILE' and "
        "'topology: FILE', which joins a config.txt of HPCC or SimAI with a topology text",
        document.where(("config",)),
    )
    path = str(Path(source).parent / named["config"])
    imported = read_hpcc_config(path, named["topology"], source)
    return NetworkFile(imported.network, PRESET, imported.warnings, imported=True)


def _only_a_graph(source: str) -> InputError:
    return wrong(
        f"is a graph alone; in a network file, 'topology: {{kind: file, path: {source}, switch: ...}}' "
        "reads it, and the transport stands beside it",
        source,
    )


def read_any_network(path: str | os.PathLike[str]) -> AnyNetwork:
    """The network of such a file alone."""
    return read_network_file(path).network
