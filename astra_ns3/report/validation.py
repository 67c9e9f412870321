"""The text of ``astra-ns3 validate``, about a run that hasn't run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from astra_ns3.config.core.plain import Json
from astra_ns3.network.run_document import ForecastDocument
from astra_ns3.report.alignment import aligned, clock
from astra_ns3.report.foreseen_text import foreseen_rows
from astra_ns3.transport.transports import TRANSPORTS
from astra_ns3.units import counted, format_bytes, format_rate, with_unit, without_unit


def validation_text(document: Mapping[str, Any]) -> str:  # keys depend on the backend and the workload
    """The table, for people; ``document`` is a Validation as plain data."""
    forecast = document["forecast"]
    bound = bound_word("not_counted" in forecast, "may_not_come" in forecast)
    return aligned(
        [
            ("files", "valid"),
            ("workload", _workload(document)),
            ("network", _network(document)),
            ("collectives", f"{bound}{forecast['collectives']:,}"),
            ("messages", f"{bound}{forecast['messages']:,} ({format_bytes(forecast['bytes'])})"),
            *_of_packets(forecast, bound),
            *_in_force(document["in_force"] or {}),
            *foreseen_rows(document["foreseen"]),
            *estimate_rows(forecast),
        ]
    )


def bound_word(leaves_out: bool, may_be_less: bool) -> str:
    """Return what stands before the numbers of a forecast that leaves things out, or has some that may not come."""
    words = {
        (False, False): "",
        (True, False): "at least ",
        (False, True): "at most ",
        (True, True): "more or less than ",
    }
    return words[leaves_out, may_be_less]


def estimate_rows(forecast: ForecastDocument) -> list[tuple[str, str]]:
    """Return the estimates of a forecast, and why there may be more or less."""
    bound = bound_word("not_counted" in forecast, "may_not_come" in forecast)
    return [
        ("estimated time", f"{bound}{clock(forecast['wall_seconds'])} on one core"),
        ("estimated memory", f"{bound}{format_bytes(forecast['memory_bytes'])}"),
        *([("not counted", "; ".join(forecast["not_counted"]))] if "not_counted" in forecast else []),
        *([("may not come", "; ".join(forecast["may_not_come"]))] if "may_not_come" in forecast else []),
    ]


def _of_packets(forecast: ForecastDocument, bound: str) -> list[tuple[str, str]]:  # numbers, and sets of them by kind
    """Packets, and connections, queue pairs, or both; nothing where messages go by formula."""
    if "packets" not in forecast:
        return []
    counts = {"connections": forecast["connections"], "queue pairs": forecast["queue_pairs"]}
    used = {name: count for name, count in counts.items() if count} or {"connections": 0}
    return [
        ("packets", f"{bound}{forecast['packets']:,} with data"),
        *((name, f"{bound}{count:,}") for name, count in used.items()),
    ]


def _in_force(in_force: Mapping[str, Any]) -> list[tuple[str, str]]:  # each transport has keys of its own
    """Each transport's congestion control with its numbers, a line each, and the marking."""
    rows: list[tuple[str, str]] = []
    for kind in (kind for kind in TRANSPORTS if kind in in_force):
        row, numbers = TRANSPORTS[kind].told(in_force[kind])
        rows += [row, *((f"  {without_unit(name)}", _with_unit(name, value)) for name, value in numbers.items())]
    thresholds = in_force.get("ecn", [])
    times = Counter(row["rate_bps"] for row in thresholds)
    for row in thresholds:
        kmin, kmax = format_bytes(row["kmin_bytes"]), format_bytes(row["kmax_bytes"])
        where = ", some switches" if times[row["rate_bps"]] > 1 else ""
        said = f"kmin {kmin}, kmax {kmax}, pmax {row['pmax']:g}"
        rows.append((f"ECN at {format_rate(row['rate_bps'])}{where}", said))
    return rows


def _with_unit(name: str, value: Json) -> str:
    assert isinstance(value, (int, float))
    return with_unit(name, int(value)) or f"{value:g}"


def _workload(document: Mapping[str, Any]) -> str:  # keys depend on the kind of workload
    one = document["counted"]
    layers = counted(document["layers"], one, f"{one}s")
    return f"{document['loop']}, {layers}, {counted(document['passes'], 'pass', 'passes')}"


def _network(document: Mapping[str, Any]) -> str:  # keys depend on the backend
    npus = counted(document["npus"], "NPU", "NPUs")
    hosts = counted(document["hosts"], "host", "hosts")
    switches = counted(document["switches"], "switch", "switches")
    return f"{npus} on {hosts}, {switches}, {counted(document['links'], 'link', 'links')}"
