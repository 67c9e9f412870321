"""Times of the reported NPU, exposed ones by layer or by group, for people, from what run.json says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from astra_ns3.network.records import PIPELINE
from astra_ns3.network.run_document import RunDocument, SeedsDocument
from astra_ns3.report.alignment import percent
from astra_ns3.units import format_time

Part = Literal["group", "layer"]
MOST_ROWS: Mapping[Part, int] = {"group": 12, "layer": 5}


def exposed_times(metadata: RunDocument, by: Part) -> list[tuple[str, int]]:
    """Layers or groups (``by``) and the time that each exposed, the longest first; the last row has all others.

    They add up to the exposed time. Empty if nothing was exposed, or the run is of a version that didn't write it.
    """
    times: dict[str, int] = {}
    for each in metadata.get("exposed_by_layer", ()) if by == "layer" else metadata.get("exposed_by_group", ()):
        times[each[by]] = times.get(each[by], 0) + each["exposed_ps"]
    rows = sorted(((name, time_ps) for name, time_ps in times.items() if time_ps), key=lambda row: -row[1])
    shown = rows[: MOST_ROWS[by]]
    rest_ps = metadata.get("exposed_ps", 0) - sum(time_ps for _, time_ps in shown)
    if times and rest_ps > 0:
        more = len(rows) - len(shown)
        shown.append((f"{more} {'other' if more == 1 else 'others'}" if more else f"of no {by}", rest_ps))
    return shown


def exposed_rows(metadata: RunDocument, by: Part) -> list[tuple[str, str]]:
    """Return the same, in words."""
    whole_ps = metadata.get("exposed_ps", 0)
    return [
        (place_words(name), f"{format_time(time_ps)}  ({percent(time_ps, whole_ps)})")
        for name, time_ps in exposed_times(metadata, by)
    ]


def place_words(name: str) -> str:
    """Return the name of a layer, a group or computing, with what else the time in it holds."""
    return f"{name}, with bubbles" if name == PIPELINE else name


def npu_time(time_ps: int, whole_ps: int, npu: int) -> str:
    """Return a time of an NPU, and its share of the NPU's whole time if there is any."""
    share = f"  ({percent(time_ps, whole_ps)} of NPU {npu}'s time)" if whole_ps else ""
    return f"{format_time(time_ps)}{share}"


def npu_computing(compute_ps: int, whole_ps: int, npu: int) -> str:
    """Return the same of the time that an NPU computes; in words if it computes nothing."""
    return npu_time(compute_ps, whole_ps, npu) if compute_ps else f"no computations on NPU {npu}"


def scale_rows(metadata: RunDocument | SeedsDocument) -> list[tuple[str, str]]:
    """Return a row of a table that says what the scales of a run multiply, or of a run of several ``jobs``; none if
    they are 1."""
    sizes, times = metadata.get("comm_scale", 1), metadata.get("compute_scale", 1)
    layers = metadata.get("workload", {}).get("layers") or ()
    kept = "; update times stay" if times != 1 and any(layer.get("update_ns") for layer in layers) else ""
    of_flows = {each.get("exposed_ps") is None for each in metadata.get("jobs", [metadata])}
    what = " and ".join(("compute times", "starts of flows")[each] for each in sorted(of_flows))
    words = [f"{name} by {scale:g}" for name, scale in (("sizes", sizes), (what, times)) if scale != 1]
    return [("multiplied", f"{', '.join(words)}{kept}")] if words else []
