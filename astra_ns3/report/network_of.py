"""The network that run.json holds, read back; never one that stands in a file, or a function, beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from astra_ns3.config.core.plain import Json
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.network.run_document import FileDocument
from astra_ns3.user_code import user_part

_IN_ANOTHER_FILE = "file"


def network_of(document: FileDocument) -> AnyNetwork | None:
    """The configuration of a run's network; None if what it names may be another one by now, or can't be read."""
    if any(kind == _IN_ANOTHER_FILE or user_part(kind) for kind in _kinds(document)):
        return None
    try:
        return parse_network(document) if "topology" in document else AnalyticalNetwork.model_validate(document)
    except (InputError, ValueError):
        return None


def _kinds(group: Json) -> Iterator[str]:
    """Every ``kind`` of a group and of those in it."""
    if isinstance(group, Mapping):
        for key, value in group.items():
            if key == "kind" and isinstance(value, str):
                yield value
            yield from _kinds(value)
    elif isinstance(group, list):
        for value in group:
            yield from _kinds(value)
