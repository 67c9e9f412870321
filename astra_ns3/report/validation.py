"""What ``astra-ns3 validate`` says about a run that hasn't run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from astra_ns3.report.alignment import aligned, clock, counted
from astra_ns3.units import format_bytes


def validation_text(document: Mapping[str, Any]) -> str:
    """The table, for people; ``document`` is a Validation as plain data."""
    forecast = document["forecast"]
    return aligned(
        [
            ("files", "valid"),
            ("workload", _workload(document)),
            ("network", _network(document)),
            ("collectives", f"{forecast['collectives']:,}"),
            ("messages", f"{forecast['messages']:,} ({format_bytes(forecast['bytes'])})"),
            ("packets", f"{forecast['packets']:,} with data"),
            *_pairs(forecast),
            ("estimated time", f"{clock(forecast['wall_seconds'])} on one core"),
            ("estimated memory", f"{format_bytes(forecast['memory_bytes'])}"),
        ]
    )


def _pairs(forecast: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Connections of TCP, queue pairs of RoCE, or both."""
    counts = {"connections": forecast["connections"], "queue pairs": forecast["queue_pairs"]}
    used = {name: count for name, count in counts.items() if count} or {"connections": 0}
    return [(name, f"{count:,}") for name, count in used.items()]


def _workload(document: Mapping[str, Any]) -> str:
    layers = counted(document["layers"], "layer", "layers")
    return f"{document['loop']}, {layers}, {counted(document['passes'], 'pass', 'passes')}"


def _network(document: Mapping[str, Any]) -> str:
    npus = counted(document["npus"], "NPU", "NPUs")
    hosts = counted(document["hosts"], "host", "hosts")
    switches = counted(document["switches"], "switch", "switches")
    return f"{npus} on {hosts}, {switches}, {counted(document['links'], 'link', 'links')}"
