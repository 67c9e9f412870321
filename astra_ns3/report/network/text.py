"""The text that ``astra-ns3 show network`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from astra_ns3.report.alignment import aligned
from astra_ns3.units import counted, format_rate, format_time


def network_text(document: Mapping[str, Any]) -> str:  # plain data: a key, a type
    """The table, for people; ``document`` is what ``network_summary`` (``experiments/network_summary.py``) gives."""
    rows = [
        ("topology", document["kind"]),
        ("NPUs", f"{document['npus']:,} as {' x '.join(str(size) for size in document['dimensions'])}"),
        ("hosts", f"{document['hosts']:,}"),
        *([("storage hosts", f"{document['storage_hosts']:,}")] if document["storage_hosts"] else []),
        ("switches", f"{document['switches']:,}"),
        *(
            (
                f"links, {link['class']}",
                f"{link['count']:,} of {format_rate(link['rate_bps'])}, {format_time(link['delay_ps'])}",
            )
            for link in document["links"]
        ),
        ("diameter", counted(document["diameter"], "link", "links")),
        ("paths that long", f"{document['paths']:,} between two NPUs so far apart"),
        ("bisection", format_rate(document["bisection_bps"])),
        ("base round trip", format_time(document["round_trip_ps"])),
        (
            "oversubscription",
            ", ".join(f"{name} {ratio:.4g}:1" for name, ratio in document["oversubscription"].items()) or "-",
        ),
        ("routing", document["routing"]),
    ]
    return aligned(rows)
