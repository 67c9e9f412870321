"""How busy links were: ports from top to bottom, time from left to right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.report.page.figure import Figure, Missing, Panel, Shown, axis
from astra_ns3.report.page.having import having
from astra_ns3.report.page.scale import time_scale
from astra_ns3.report.ports import levels, rates_bps
from astra_ns3.report.records import SWITCH, Recorded, by_value
from astra_ns3.report.tables import Records
from astra_ns3.units import PS_PER_SECOND, parse_time_ps

_MOST_PORTS = 96
_MOST_BINS = 160
_BITS_PER_BYTE = 8

Matrix = npt.NDArray[np.float64]


def utilisation(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """A heat map per run: percent of each port's rate, or Gb/s where the rate is not known."""
    found = having(runs, "utilisation", "no port sent anything")
    if isinstance(found, Missing):
        return found
    end_ps = max(1, *(shown.run.metadata["finish_ps"] for shown in runs))
    tables, notes = found
    return Figure([_panel(shown, table, end_ps, detail, notes) for shown, table in tables], notes)


def _panel(shown: Shown, table: Recorded, end_ps: int, detail: int, notes: list[str]) -> Panel:
    interval_ps = parse_time_ps(shown.run.metadata["network"]["observe"]["utilisation_interval"])
    intervals = -(-end_ps // interval_ps)
    together = -(-intervals // min(_MOST_BINS, detail))
    sums = _sums(table, interval_ps, together, -(-intervals // together))
    ports = _ports(shown.run, sums, min(_MOST_PORTS, detail))
    if len(ports) < len(sums):
        notes.append(f"{shown.name}: the {len(ports)} busiest ports of {len(sums)}.")
    if together > 1:
        notes.append(f"{shown.name}: means over {together} intervals each.")
    bin_ps = interval_ps * together
    rates = rates_bps(shown.run)
    known = all(port in rates for port in ports)
    z = [_row(sums[port], bin_ps, rates[port] if known else None) for port in ports]
    scale = time_scale(end_ps)
    link_to = {row["port"]: row["link_to"] for row in shown.run.rows(SWITCH)}
    trace = {
        "type": "heatmap",
        "z": z,
        "x": scale.of((np.arange(len(z[0]) if z else 0) + 0.5) * bin_ps),
        "y": [f"{port} → {link_to[port]}" if port in link_to else port for port in ports],
        "colorscale": "Cividis",
        "zmin": 0,
        "zmax": 100 if known else None,
        "colorbar": {"title": {"text": "%" if known else "Gb/s"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": f"%{{y}}<br>%{{x}} {scale.unit}: %{{z}} {'%' if known else 'Gb/s'}<extra></extra>",
    }
    layout = {
        "xaxis": axis(f"time ({scale.unit})", range=[0, end_ps / scale.ps], showgrid=False),
        "yaxis": {"autorange": "reversed", "type": "category", "showgrid": False, "nticks": 32},
    }
    return Panel(shown.name, [trace], layout, 130 + max(12 * min(len(ports), 40), 120))


def _sums(table: Recorded, interval_ps: int, together: int, bins: int) -> dict[str, Matrix]:
    """Bytes of each port in each bin. A row stands at the end of its interval."""
    sums: dict[str, Matrix] = defaultdict(lambda: np.zeros(bins))
    for batch in table.batches(["time_ps", "port", "wire_bytes"]):
        places = np.minimum((batch["time_ps"] // interval_ps - 1) // together, bins - 1)
        for port, chosen in by_value(batch["port"]):
            sums[port] += np.bincount(places[chosen], weights=batch["wire_bytes"][chosen], minlength=bins)
    return sums


def _ports(run: Records, sums: Mapping[str, Matrix], most: int) -> list[str]:
    """The busiest, in the order of the network's levels, NICs first."""
    busiest = sorted(sums, key=lambda port: -float(sums[port].sum()))[:most]
    return [port for level in levels(run, busiest) for port in level.ports]


def _row(sums: Matrix, bin_ps: int, rate_bps: int | None) -> list[float]:
    """Percent of the rate without decimals, or Gb/s with one."""
    bits_per_second = sums * _BITS_PER_BYTE * PS_PER_SECOND / bin_ps
    if rate_bps is None:
        return [round(float(value), 1) for value in bits_per_second / 1e9]
    return [round(float(value)) for value in 100 * bits_per_second / rate_bps]
