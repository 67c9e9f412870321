"""What ``astra-ns3 validate`` says about a run that hasn't run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from astra_ns3.report.alignment import aligned, clock
from astra_ns3.units import format_bytes


def validation_text(document: Mapping[str, Any]) -> str:
    """The table, for people; ``document`` is a Validation as plain data."""
    forecast = document["forecast"]
    return aligned(
        [
            ("files", "valid"),
            ("workload", f"{document['loop']}, {document['layers']} layers, {document['passes']} passes"),
            ("network", _network(document)),
            ("collectives", f"{forecast['collectives']:,}"),
            ("messages", f"{forecast['messages']:,} ({format_bytes(forecast['bytes'])})"),
            ("packets", f"{forecast['packets']:,} with data"),
            ("connections", f"{forecast['connections']:,}"),
            ("estimated time", f"{clock(forecast['wall_seconds'])} on one core"),
            ("estimated memory", f"{format_bytes(forecast['memory_bytes'])}"),
        ]
    )


def _network(document: Mapping[str, Any]) -> str:
    return (
        f"{document['npus']} NPUs on {document['hosts']} hosts, {document['switches']} switches, "
        f"{document['links']} links"
    )
