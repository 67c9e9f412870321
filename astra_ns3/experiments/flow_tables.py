"""Results of a list of flows, as tables and as plain data: completion by size, goodput over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from astra_ns3.experiments.tables import Cell, CellColumn, Table, decimal, microseconds
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.network.records import FLOW_PERCENTILES, FlowTotals
from astra_ns3.network.run_document import FlowSizesDocument, RunDocument
from astra_ns3.units import PS_PER_NS

FLOW_COMPLETION = "flow_completion.csv"
GOODPUT = "goodput.csv"
_BITS = 8
_FEW_LEFT = 0.01
_MILLIONTHS = 1_000_000

Interval = tuple[int, int, int]
SizesRow = tuple[str, FlowSizesDocument]


def _time(name: str) -> Callable[[SizesRow], Cell]:
    return lambda row: microseconds(row[1]["times_ps"][name])


def _slowdown(name: str) -> Callable[[SizesRow], Cell]:
    def cell(row: SizesRow) -> Cell:
        slowdowns = row[1]["slowdowns"]
        return decimal(round(slowdowns[name] * _MILLIONTHS), _MILLIONTHS) if slowdowns else None

    return cell


FLOW_COMPLETION_COLUMNS: tuple[CellColumn[SizesRow], ...] = (
    ("sizes", lambda row: row[0]),
    ("above_bytes", lambda row: row[1]["above_bytes"]),
    ("most_bytes", lambda row: row[1]["most_bytes"]),
    ("flows", lambda row: row[1]["flows"]),
    ("bytes", lambda row: row[1]["bytes"]),
    *((f"{name}_us", _time(name)) for name in FLOW_PERCENTILES),
    *((f"slowdown_{name}", _slowdown(name)) for name in FLOW_PERCENTILES),
)
GOODPUT_COLUMNS: tuple[CellColumn[Interval], ...] = (
    ("from_us", lambda interval: microseconds(interval[0])),
    ("to_us", lambda interval: microseconds(interval[1])),
    ("bytes", lambda interval: interval[2]),
    ("goodput_gbit_per_s", lambda interval: _gbit_per_s(*interval)),
)


def flow_tables(totals: FlowTotals | None) -> list[Table]:
    """A row for each class of sizes, each bin, and all; a row for each interval of time. None for other workloads."""
    if totals is None:
        return []
    rows = [*(("class", sizes) for sizes in totals.sizes), *(("bin", sizes) for sizes in totals.bins)]
    rows += [("all", totals.all)] if totals.all else []
    return [
        Table.of(FLOW_COMPLETION, FLOW_COMPLETION_COLUMNS, rows),
        Table.of(GOODPUT, GOODPUT_COLUMNS, totals.goodput),
    ]


def flow_document(totals: FlowTotals | None) -> RunDocument:
    """Part ``flows`` of run.json, of a list of flows; nothing for other workloads."""
    if totals is None:
        return {}
    span_ps = totals.last_end_ps - totals.first_start_ps
    return {
        "flows": {
            "flows": totals.flows,
            "started": totals.started,
            "delivered": totals.delivered,
            "bytes": totals.bytes,
            "delivered_bytes": totals.delivered_bytes,
            "overlapping": totals.overlapping,
            "first_start_ps": totals.first_start_ps,
            "last_end_ps": totals.last_end_ps,
            "goodput_bps": totals.delivered_bytes * _BITS * PS_PER_NS * 10**9 // span_ps if span_ps > 0 else None,
            "all": totals.all,
            "sizes": list(totals.sizes),
            "bins": list(totals.bins),
        }
    }


def flow_warnings(totals: FlowTotals | None, plan: NetworkPlan | None, of: str | None = "") -> Iterator[str]:
    """Yield warnings of flows that the slowdowns leave out, and that went one after the other over what they share.

    ``plan``: of the network; None: its flows share nothing. ``of``: whose they are, if there are several; None: of a
    run that was stopped, whose flows have no other end.
    """
    if totals is None:
        return
    left = totals.started - totals.delivered
    if of is not None and totals.delivered and left > _FEW_LEFT * totals.started:
        yield (
            f"{left:,} of {totals.started:,} flows{of} weren't delivered when the run ended, those that take long most "
            "often: slowdowns leave them out, and are too low for a comparison; end flows well before the run "
            "(docs/traffic.md)"
        )
    by = None if plan is None else plan.outermost.shared_by_flows()
    if totals.overlapping and by is not None:
        yield (
            f"{totals.overlapping:,} of {totals.flows:,} flows started while another between the same two NPUs was "
            f"being sent, and may have waited for it on their one {by.shared}: {by.remedy}"
        )


def _gbit_per_s(begin_ps: int, end_ps: int, size_bytes: int) -> Cell:
    """Bits a nanosecond."""
    return decimal(size_bytes * _BITS * PS_PER_NS, end_ps - begin_ps) if end_ps > begin_ps else None
