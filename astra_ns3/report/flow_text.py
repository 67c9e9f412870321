"""The results of a list of flows, for people: a table by size, of the numbers in run.json."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.network.run_document import FlowsDocument, FlowSizesDocument
from astra_ns3.units import format_bytes, format_rate, format_time

_HEAD = ("flows of", "flows", "p50", "p95", "p99", "slowdown p50", "p95", "p99")
_SHOWN = ("p50", "p95", "p99")


def flow_rows(flows: FlowsDocument) -> list[tuple[str, str]]:
    """Rows of the summary's table."""
    rows = [
        ("flows", f"{flows['delivered']:,} of {flows['flows']:,} delivered"),
        ("data", f"{format_bytes(flows['delivered_bytes'])} of {format_bytes(flows['bytes'])}"),
    ]
    if flows["goodput_bps"] is not None:
        rows.append(("goodput", f"{format_rate(flows['goodput_bps'])} from the first start to the last delivery"))
    return rows


def flow_numbers(flows: FlowsDocument) -> list[tuple[str, str, str]]:
    """Numbers at the page's top: name, number, and what stands small beside it."""
    numbers = [("flows", f"{flows['delivered']:,}", f"of {flows['flows']:,}")]
    if flows["goodput_bps"] is not None:
        numbers.append(("goodput", format_rate(flows["goodput_bps"]), "first start to last delivery"))
    sizes = flows["all"]
    if sizes is None:
        return numbers
    for name in _SHOWN:
        slowdown = f"{name} of slowdowns {sizes['slowdowns'][name]:.4g}" if sizes["slowdowns"] else ""
        numbers.append((f"completion {name}", format_time(sizes["times_ps"][name]), slowdown))
    return numbers


def completion_text(flows: FlowsDocument) -> str:
    """A line for each class of sizes, and one for all; empty if nothing was delivered."""
    if flows["all"] is None:
        return ""
    several = len(flows["sizes"]) > 1
    lines = [_HEAD, *(_line(sizes, f"up to {format_bytes(sizes['most_bytes'])}") for sizes in flows["sizes"])]
    if several:
        lines.append(_line(flows["all"], "all sizes"))
    widths = [max(len(line[index]) for line in lines) for index in range(len(_HEAD))]
    return "\n".join(_in_columns(line, widths) for line in lines)


def _in_columns(line: Sequence[str], widths: Sequence[int]) -> str:
    numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
    return "  ".join(["", line[0].ljust(widths[0]), *numbers])


def _line(sizes: FlowSizesDocument, name: str) -> tuple[str, ...]:
    times, slowdowns = sizes["times_ps"], sizes["slowdowns"]
    told = [format_time(times[each]) for each in _SHOWN]
    slower = [f"{slowdowns[each]:.4g}" if slowdowns else "-" for each in _SHOWN]
    return (name, f"{sizes['flows']:,}", *told, *slower)
