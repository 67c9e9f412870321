"""The numbers of a run that a study's table has a column for. A new one is a function and a line in the table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.experiments.listing.columns import at
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.scenario_result import ScenarioResult
from astra_ns3.frozen import dataclass
from astra_ns3.report.records import Recorded, table_of
from astra_ns3.report.signals import without_signals
from astra_ns3.report.summary import hidden_by_the_next_ps
from astra_ns3.scenario.times import PROGRAMS
from astra_ns3.studies.task import Measure
from astra_ns3.units import PS_PER_US

MOST_JOBS = 4
"""So many of a scenario's jobs have a measure."""
ALONE, FLOWS, SCENARIO = "a job alone", "a list of flows", "a scenario"
"""The kinds of runs, by what they play."""
_CAPACITY = "memory_by_stage.capacity_bytes"
_FLOW_COLUMNS = ("bytes", "start_ps", "end_ps", "ideal_ps")
SIZES = {"short": "smallest", "middle": "middle", "long": "largest"}
"""Thirds of the flows by size, in words; flows of one size are in the same one."""
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


class _Run:
    """A run as measures read it; its tables are read once, and only if a measure asks."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self.document = result.metadata
        self.metadata: Mapping[str, Any] = self.document  # its numbers are read by their dotted keys
        self.statistics: Mapping[str, int | float] = result.metadata.get("statistics", {})

    def has(self, name: str) -> bool:
        """Whether the run has such a file."""
        return name in self.metadata["files"]

    @cached_property
    def ports(self) -> list[dict[str, str]]:
        """Rows of switch.csv; none if there are no packets."""
        return self._result.rows("switch.csv") if self.has("switch.csv") else []

    @cached_property
    def collectives(self) -> list[dict[str, str]]:
        """Rows of collectives.csv."""
        return self._result.rows("collectives.csv") if self.has("collectives.csv") else []

    @cached_property
    def slowdowns(self) -> Mapping[str, npt.NDArray[np.float64]]:
        """Time over ideal time of each flow of a list, or of traffic, or of each message but signals, sorted.

        By size: all (an empty name), and the thirds of SIZES; empty: none is known.
        """
        tables = [found for result in self._with_flows if (found := _flow_table(result)) is not None]
        columns = [tuple(without_signals(table, _FLOW_COLUMNS)[0].values()) for table in tables]
        if not columns:
            return {}
        sizes, start, end, ideal = (np.concatenate(each) for each in zip(*columns, strict=True))
        known = ideal > 0
        return _by_size(sizes[known], (end[known] - start[known]) / ideal[known])

    @property
    def _with_flows(self) -> Sequence[Result]:
        """The results whose flows count: of a scenario those of its traffic, and else the run's own."""
        if not isinstance(self._result, ScenarioResult):
            return [self._result]
        traffic = [job["name"] for job in self.metadata["jobs"] if job.get("traffic")]
        return [self._result.tenants[name] for name in traffic] or [self._result]

    @cached_property
    def dimensions(self) -> list[float]:
        """Mean over the windows of the dimension utilisation, percent, of each dimension."""
        if not any(name.endswith("_dimension_utilization.csv") for name in self.metadata["files"]):
            return []
        frame = self._result.dimension_utilization
        return [float(frame[name].mean()) for name in frame.columns if name.endswith("_percent") and len(frame)]


def _flow_table(result: Result) -> Recorded | None:
    return table_of(result, "completions") or table_of(result, "flows")


def _by_size(sizes: npt.NDArray[np.int64], slowdowns: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """Return slowdowns, sorted: all, and those of the smallest, the middle and the largest third of the sizes."""
    if not len(sizes):
        return {}
    ordered = np.sort(sizes)
    small, large = (ordered[-(-len(sizes) * share // len(SIZES)) - 1] for share in (1, 2))
    inside = np.ones_like(sizes, dtype=np.bool_), sizes <= small, (sizes > small) & (sizes <= large), sizes > large
    return {name: np.sort(slowdowns[some]) for name, some in zip(("", *SIZES), inside, strict=True)}


def _number(path: str, over: int = 1, times: int = 1) -> Callable[[_Run], Measure]:
    """Return a measure: a number of run.json by its dotted key, times ``times``, over ``over``; None without one."""

    def measure(run: _Run) -> Measure:
        value = at(run.metadata, path)
        if not isinstance(value, (int, float)):
            return None
        return value if over == times == 1 else value * times / over

    return measure


def _statistic(*names: str) -> Callable[[_Run], Measure]:
    """The sum of the backend's counters of these names; None if it has none of them."""

    def measure(run: _Run) -> Measure:
        found = [run.statistics[name] for name in names if run.statistics.get(name) is not None]
        return sum(found) if found else None

    return measure


def _ports(column: str, of_all: Callable[[list[int]], int], unit: int = 1) -> Callable[[_Run], Measure]:
    """A column of switch.csv, over all ports."""

    def measure(run: _Run) -> Measure:
        values = [int(row[column]) for row in run.ports if row[column]]  # empty: not counted
        if not values:
            return None
        return of_all(values) if unit == 1 else of_all(values) / unit

    return measure


def _slowdown(quantile: float, size: str = "") -> Callable[[_Run], Measure]:
    """The least slowdown that so large a share of the messages, or of those of a size, does not exceed."""

    def measure(run: _Run) -> Measure:
        values = run.slowdowns.get(size)
        if values is None or not len(values):
            return None
        return float(values[max(0, int(np.ceil(quantile * len(values))) - 1)])

    return measure


def _bus_bandwidth(run: _Run) -> Measure:
    """Mean over the collectives that ended, weighted by their size: of an all-gather what each NPU has after it.

    Messages from one NPU to another are none: one may wait until its receiver asks for it.
    """
    weighted, sizes = 0.0, 0
    for row in run.collectives:
        kind, bandwidth = row["kind"], row["bus_bandwidth_gbytes_per_s"]
        if bandwidth and kind != CollectiveKind.POINT_TO_POINT:
            size = int(row["bytes"]) * (int(row["npus"]) if kind == CollectiveKind.ALL_GATHER else 1)
            weighted, sizes = weighted + size * float(bandwidth), sizes + size
    return weighted / sizes if sizes else None


def _utilisation(run: _Run) -> Measure:
    """Mean over dimensions and windows."""
    return sum(run.dimensions) / len(run.dimensions) if run.dimensions else None


def _job(number: int, key: str) -> Callable[[_Run], Measure]:
    """A time of the job of a number, from 0, of a scenario; None without the job or its time, or if it was stopped."""

    def measure(run: _Run) -> Measure:
        jobs = run.metadata.get("jobs", ())
        if number >= len(jobs) or jobs[number]["ended_by"] != PROGRAMS:
            return None
        time_ps = jobs[number].get(key)
        return None if time_ps is None else float(time_ps / PS_PER_US)

    return measure


def _undelivered(run: _Run) -> Measure:
    """Return how many flows of a list, or of traffic, had started and weren't delivered."""
    alone = run.metadata.get("flows")
    found = [job for job in run.metadata.get("jobs", ()) if "delivered" in job] if alone is None else [alone]
    return sum(each["started"] - each["delivered"] for each in found) if found else None


def _npu_memory(run: _Run) -> Measure:
    """Return the memory of the stage that has most."""
    stages = run.metadata.get("memory_by_stage", {}).get("stages", ())
    return max((int(stage["peak_bytes"]) for stage in stages), default=None)


def _hidden_by_the_next(run: _Run) -> Measure:
    if "throughput" not in run.metadata or "passes" not in run.metadata:
        return None
    return hidden_by_the_next_ps(run.document) / PS_PER_US


def _fits(run: _Run) -> Measure:
    needed, capacity = _npu_memory(run), _number(_CAPACITY)(run)
    return None if needed is None or capacity is None else needed <= capacity


@dataclass(frozen=True)
class MeasureKind:
    """A measure: what it says, in which unit, and how it is read off a run."""

    words: str
    unit: str
    read: Callable[[_Run], Measure]
    record: str = ""
    """The record (an option of a run) that it needs; empty: none."""
    of: tuple[str, ...] = (ALONE, FLOWS, SCENARIO)
    """The kinds of runs that can have it."""

    @property
    def of_one(self) -> bool:
        """Whether it is the reported NPU's alone."""
        return "the reported NPU" in self.words


MEASURES: Mapping[str, MeasureKind] = {
    "finish_us": MeasureKind("when the last NPU finished", "us", _number("finish_ps", PS_PER_US)),
    "compute_us": MeasureKind("computing, of the reported NPU", "us", _number("compute_ps", PS_PER_US), of=(ALONE,)),
    "exposed_us": MeasureKind("waiting, of the reported NPU", "us", _number("exposed_ps", PS_PER_US), of=(ALONE,)),
    "hidden_by_next_us": MeasureKind(
        "waiting for updated weights (zero 1 or 2) in a run of one pass, which a next pass may hide",
        "us",
        _hidden_by_the_next,
        of=(ALONE,),
    ),
    "floor_us": MeasureKind(
        "least time that lines or a chain of computations need", "us", _number("floor.time_ps", PS_PER_US)
    ),
    "of_floor": MeasureKind("finish over that least time; below 1 no network is so fast", "", _number("floor.share")),
    "tokens_per_second": MeasureKind(
        "tokens a second of all NPUs, of a model whose samples have tokens",
        "",
        _number("throughput.tokens_per_second"),
        of=(ALONE,),
    ),
    "samples_per_second": MeasureKind(
        "samples a second of all NPUs, of a model", "", _number("throughput.samples_per_second"), of=(ALONE,)
    ),
    "samples_per_iteration": MeasureKind(
        "samples of an iteration over all copies of a model",
        "",
        _number("throughput.samples_per_iteration"),
        of=(ALONE,),
    ),
    "dropped_share": MeasureKind(
        "share of tokens' choices of experts that capacities drop; empty where experts are chosen alike",
        "",
        _number("throughput.dropped_share"),
        of=(ALONE,),
    ),
    "model_flop_utilisation_percent": MeasureKind(
        "model FLOPs of an iteration, without what is computed again or dropped, over NPUs x peak of the device x time "
        "of the iteration; empty without a peak",
        "%",
        _number("throughput.model_flop_utilisation", times=100),
        of=(ALONE,),
    ),
    "npu_memory_bytes": MeasureKind("memory that the fullest NPU needs, of a model", "B", _npu_memory, of=(ALONE,)),
    "npu_memory_capacity_bytes": MeasureKind(
        "memory that an NPU has, of a model", "B", _number(_CAPACITY), of=(ALONE,)
    ),
    "fits": MeasureKind("whether the fullest NPU has the memory that it needs: True or False", "", _fits, of=(ALONE,)),
    **{
        f"job_{number}_us": MeasureKind(
            f"how long job {number} of a scenario took; empty: it was stopped, as a job with passes: forever always is",
            "us",
            _job(number - 1, "finish_ps"),
            of=(SCENARIO,),
        )
        for number in range(1, MOST_JOBS + 1)
    },
    **{
        f"job_{number}_{name}_us": MeasureKind(
            f"{words} of the reported NPU of job {number} of a scenario",
            "us",
            _job(number - 1, f"{name}_ps"),
            of=(SCENARIO,),
        )
        for number in range(1, MOST_JOBS + 1)
        for name, words in (("compute", "computing"), ("exposed", "waiting"))
    },
    "mean_wait_us": MeasureKind(
        "how long jobs that arrive wait for NPUs, on average of those that started",
        "us",
        _number("waits.mean_ps", PS_PER_US),
        of=(SCENARIO,),
    ),
    "longest_wait_us": MeasureKind(
        "how long the job waits that waits longest", "us", _number("waits.longest_ps", PS_PER_US), of=(SCENARIO,)
    ),
    "npu_time_used_percent": MeasureKind(
        "share of the time of all NPUs in which jobs of a scenario had them",
        "%",
        _number("npu_time_used", times=100),
        of=(SCENARIO,),
    ),
    "npus": MeasureKind("NPUs", "", _number("npus"), of=(ALONE, FLOWS)),
    "collectives": MeasureKind("collectives", "", _number("collectives"), of=(ALONE, FLOWS)),
    "messages": MeasureKind("messages sent", "", _statistic("messages")),
    "packets": MeasureKind("packets, of TCP those received, of RoCE data packets sent", "", _statistic("packets")),
    "retransmissions": MeasureKind("segments or packets sent again", "", _statistic("retransmissions")),
    "timeouts": MeasureKind("times that nothing had progressed for too long", "", _statistic("timeouts")),
    "drops": MeasureKind("frames that found no room, or were lost", "", _statistic("dropped_frames", "lost_frames")),
    "ecn_marks": MeasureKind("frames given a congestion mark", "", _statistic("marked_frames")),
    "pauses": MeasureKind("times that a port's priority was told to stop", "", _statistic("pauses")),
    "paused_us": MeasureKind("time stopped, summed over ports", "us", _ports("paused_ps", sum, PS_PER_US)),
    "cnps": MeasureKind("congestion notifications that senders got", "", _statistic("cnps")),
    "nacks": MeasureKind("negative acknowledgements sent", "", _statistic("nacks")),
    "out_of_order_packets": MeasureKind("packets that came out of order", "", _statistic("out_of_order_packets")),
    "max_queue_bytes": MeasureKind("most that ever waited at a port", "B", _ports("highest_queue_bytes", max)),
    "bus_bandwidth_gbytes_per_s": MeasureKind(
        "bus bandwidth of the collectives, their mean by size; messages between two NPUs don't count",
        "10^9 B/s",
        _bus_bandwidth,
        of=(ALONE,),
    ),
    "undelivered_flows": MeasureKind(
        "flows of lists and of traffic that had started and weren't delivered at the end; slowdowns leave them out",
        "",
        _undelivered,
        of=(FLOWS, SCENARIO),
    ),
    "slowdown_p50": MeasureKind("median of time over ideal time of the messages", "", _slowdown(0.5), "flows"),
    "slowdown_p95": MeasureKind("95% of the messages are no slower", "", _slowdown(0.95), "flows"),
    "slowdown_p99": MeasureKind("99% of the messages are no slower", "", _slowdown(0.99), "flows"),
    "slowdown_p999": MeasureKind("99.9% of the messages are no slower", "", _slowdown(0.999), "flows"),
    **{
        f"slowdown_{size}_{name}": MeasureKind(
            f"as slowdown_{name}, of the {words} third of the sizes", "", _slowdown(share, size), "flows"
        )
        for size, words in SIZES.items()
        for name, share in _SHARES.items()
    },
    "slowdown_max": MeasureKind("of the slowest message", "", _slowdown(1.0), "flows"),
    "dimension_utilisation_percent": MeasureKind(
        "share of the time in which a dimension's queue held a chunk on the reported NPU, mean of the dimensions",
        "%",
        _utilisation,
        of=(ALONE,),
    ),
    "events": MeasureKind("events of the simulation", "", _statistic("events")),
    "setup_wall_seconds": MeasureKind("wall time until the first event", "s", _number("timing.setup_seconds")),
    "run_wall_seconds": MeasureKind("wall time of the run", "s", _number("timing.wall_seconds")),
    "peak_memory_bytes": MeasureKind("highest resident memory", "B", _number("memory.peak_bytes")),
}
"""By the name of its column."""


@cache
def measures_digest() -> str:
    """Return the digest of the code that makes measures; all that it stands on is in a point's address."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]


def measures_of(result: Result) -> dict[str, Measure]:
    """Each measure by name; None where the run has no such number."""
    run = _Run(result)
    return {name: kind.read(run) for name, kind in MEASURES.items()}
