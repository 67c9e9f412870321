"""Reads a network file of any kind we know, told apart by its keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

from astra_ns3.config.analytical import (
    VERSION_1_KEYS,
    VERSION_2_KEYS,
    AnalyticalNetwork,
    parse_version_1,
    parse_version_2,
)
from astra_ns3.config.model import validated
from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.reading import read_text
from astra_ns3.config.yaml_document import parse_yaml

AnyNetwork = NetworkConfig | AnalyticalNetwork


def read_any_network(path: str | os.PathLike[str]) -> AnyNetwork:
    """Our YAML, ASTRA-sim 1.0's analytical JSON or ASTRA-sim 2's analytical YAML.

    Raises InputError with file, line and key.
    """
    source = os.fspath(path)
    document = parse_yaml(read_text(path), source)
    keys = set(document.data) if isinstance(document.data, Mapping) else set()
    if keys.intersection(VERSION_1_KEYS):
        return parse_version_1(document)
    if keys.issuperset(VERSION_2_KEYS):
        return parse_version_2(document)
    return validated(NetworkConfig, document)
