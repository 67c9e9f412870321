"""Reads a system file: ASTRA-sim 1.0's text keys, or the same as YAML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from astra_ns3.collectives.lookup import algorithm_names
from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.model import shown, validated
from astra_ns3.config.core.placing import REMOTE_MEMORY
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import SYSTEM, told_apart
from astra_ns3.config.formats.remote_memory import read_remote_memory
from astra_ns3.config.system import ALGORITHMS, POLICIES, SystemConfig
from astra_ns3.errors import Where, refuse, wrong
from astra_ns3.frozen import replace
from astra_ns3.system.inter_dimension import INTER_DIMENSION
from astra_ns3.system.intra_dimension import INTRA_DIMENSION
from astra_ns3.system.policies import USUAL_POLICIES

_REGISTRIES: Mapping[str, Mapping[str, object]] = {
    "scheduling-policy": USUAL_POLICIES,
    "intra-dimension-scheduling": INTRA_DIMENSION,
    "inter-dimension-scheduling": INTER_DIMENSION,
}


def read_system(path: str | os.PathLike[str]) -> SystemConfig:
    """Read a system file: YAML or ASTRA-sim 2's JSON by its ending, else ASTRA-sim 1.0's text; raises InputError."""
    source = os.fspath(path)
    # JSON, which ASTRA-sim 2's files are, is YAML.
    is_yaml = Path(source).suffix.lower() in (".yaml", ".yml", ".json")
    with told_apart(path, SYSTEM):
        text = read_text(path)
        document = parse_yaml(text, source) if is_yaml else _parse_text(text, source)
        return _system(document, Path(source).parent).read_from(source)


def parse_system(
    data: object, source: str = "system", lines: Mapping[KeyPath, int] = MappingProxyType({})
) -> SystemConfig:
    """The system that plain data (a mapping as in a file) describes; ``source`` and ``lines`` say where in messages.

    Paths in it begin in the working folder.
    """
    return _system(Document(source, data, lines), Path())


def _system(document: Document, folder: Path) -> SystemConfig:
    """Return the system of a document; ``folder``: where the path of a file with its remote memory begins."""
    data = document.data
    if isinstance(data, Mapping) and isinstance(data.get(REMOTE_MEMORY), str):
        memory = read_remote_memory(folder / data[REMOTE_MEMORY]).document()
        document = replace(document, data={**data, REMOTE_MEMORY: memory})
    return validated(SystemConfig, document, {POLICIES: _REGISTRIES, ALGORITHMS: algorithm_names})


def _parse_text(text: str, source: str) -> Document:
    """Lines ``key: value``; empty lines, and lines that begin with '#' (ours), are skipped."""
    data: dict[str, object] = {}
    lines: dict[KeyPath, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        refuse(
            not colon or not key or not value or len(value.split()) != 1,
            f"found {shown(line.strip())}, expected 'key: value' and nothing "
            "behind it; YAML needs a file that ends in .yaml",
            Where(source, number),
        )
        if key in data:
            raise wrong(f"key '{key}' stands twice (first on line {lines[(key,)]})", Where(source, number))
        data[key], lines[(key,)] = value, number
    return Document(source, data, lines)
