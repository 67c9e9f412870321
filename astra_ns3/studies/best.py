"""The best point of a part: the one that gets most done in a second, of those that fit into memory.

Only points that do the same work are compared: one model, trained alike, on as many samples an iteration.
A backend is no choice of whoever builds a cluster, and one that leaves more out is faster, so each has its own best.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from astra_ns3.errors import some_of
from astra_ns3.frozen import dataclass
from astra_ns3.studies.expansion import Part, Point
from astra_ns3.studies.figures.data import (
    DONE,
    Coordinates,
    Row,
    below_floor,
    is_tight_row,
    label_text,
    why_not,
    why_too_fast,
)
from astra_ns3.workload.memory.room import WHY_TIGHT
from astra_ns3.workload.models.workload import ModelWorkload

# The first that all points have.
_CRITERIA = ("tokens_per_second", "samples_per_second")
_SEVERAL = 2
# Keys of a model that say how and where it is computed, not what it is.
_HOW = {"fused_attention", "skip_masked", "placement", "tables_of_npus"}


@dataclass(frozen=True)
class LeftOut:
    """A point that can't be the best, and why."""

    point: str
    reason: str


@dataclass(frozen=True)
class Best:
    """The best point of a part by ``measure``, whose mean over seeds is ``value``; None: none of them can be it.

    ``backend``: plays the compared points; empty where one backend plays all points of the part.
    """

    part: str
    backend: str
    measure: str
    point: str | None
    value: float | None
    left_out: tuple[LeftOut, ...] = ()
    why_none: str = ""
    """Empty: there is a best."""
    equals: tuple[str, ...] = ()
    """Other points that get exactly as much done."""
    as_seeds_spread: tuple[str, ...] = ()
    """Other points that get as much done with some seed as the best with some seed."""
    sooner_next: tuple[str, ...] = ()
    """Other points that may get more done than the best from the second iteration on, which none was played for."""
    tight: str = ""
    """How little of an NPU's memory it leaves; empty: enough, or that isn't known."""

    @property
    def name(self) -> str:
        """Return the part's name, with the backend's where the part has several."""
        return f"{self.part} on {self.backend}" if self.backend else self.part


def bests_of(part: Part, points: Sequence[Point], rows: Sequence[Row]) -> Iterator[Best]:
    """Yield the best of a part's points on each backend, where any can be compared; ``rows``: in the same order."""
    own = [(point, row) for point, row in zip(points, rows, strict=True) if point.part == part.name]
    backends = list(dict.fromkeys(point.request.backend_name for point, _ in own))
    for backend in backends:
        compared = [each for each in own if each[0].request.backend_name == backend]
        best = _best_of(part, backend if backends[1:] else "", compared)
        if best is not None:
            yield best


def _best_of(part: Part, backend: str, own: Sequence[tuple[Point, Row]]) -> Best | None:
    """Return the best of some points, each with its row; None where nothing can be compared."""
    axes = [axis.name for axis in part.axes]
    measure = next((name for name in _CRITERIA if _all_have(name, [row for _, row in own])), None)
    groups: dict[Coordinates, list[Row]] = {}
    for _, row in own:
        groups.setdefault(tuple(row[axis] for axis in axes), []).append(row)
    if measure is None or len(groups) < _SEVERAL:
        return None
    unlike = _unlike(own)
    if unlike:
        return Best(part.name, backend, measure, None, None, why_none=f"points differ in {', '.join(unlike)}")
    left_out: list[LeftOut] = []
    means: dict[str, float] = {}
    next_means: dict[str, float] = {}
    spreads: dict[str, tuple[float, float]] = {}
    tight: dict[str, str] = {}
    all_seeds = {row["seed"] for _, row in own}
    for labels, seeds in groups.items():
        name = ", ".join(f"{axis} {label_text(label)}" for axis, label in zip(axes, labels, strict=True))
        reason = next((why for why in map(why_left_out, seeds) if why), _lacking(all_seeds, seeds))
        if reason:
            left_out.append(LeftOut(name, reason))
        else:
            done = [float(row[measure]) for row in seeds]
            means[name], spreads[name] = sum(done) / len(done), (min(done), max(done))
            next_means[name] = sum(float(row[measure]) * _of_next(row) for row in seeds) / len(seeds)
            tight[name] = next((f"tight: {why_not(row)}, and {WHY_TIGHT}" for row in seeds if is_tight_row(row)), "")
    first = max(means, key=lambda name: means[name], default=None)
    value, why = (None, "every point is left out") if first is None else (means[first], "")
    equals = tuple(name for name, mean in means.items() if mean == value and name != first)
    near = (name for name, (_, most) in spreads.items() if first is not None and most >= spreads[first][0])
    spread = tuple(name for name in near if name not in (first, *equals))
    sooner = tuple(name for name, most in next_means.items() if first is not None and most > next_means[first])
    return Best(
        *(part.name, backend, measure, first, value, tuple(left_out), why, equals, spread, sooner),
        tight.get(first or "", ""),
    )


def _of_next(row: Row) -> float:
    """Return how many times as much a next iteration may get done as the first, if it hides all that it can."""
    took, hidden = float(row["finish_us"] or 0), float(row["hidden_by_next_us"] or 0)
    return took / (took - hidden) if hidden < took else 1.0


def why_left_out(row: Row) -> str:
    """Why a row can't be the best; empty: it can."""
    if row["status"] != DONE:
        return str(row["status"])
    if row.get("fits") is False:
        return why_not(row)
    return why_too_fast(row) if below_floor(row) else ""


def _lacking(all_seeds: set[int], rows: Sequence[Row]) -> str:
    """Say which seeds a point wasn't played with, while others were: means over unlike seeds can't be compared."""
    lacking = sorted(all_seeds - {row["seed"] for row in rows})
    return f"not played with seed {some_of(map(str, lacking))}" if lacking else ""


def _all_have(measure: str, rows: Sequence[Row]) -> bool:
    """Whether all rows that were played to their end have this number, and there are some."""
    done = [row for row in rows if row["status"] == DONE]
    return bool(done) and all(row.get(measure) is not None for row in done)


def _unlike(own: Sequence[tuple[Point, Row]]) -> list[str]:
    """Return the names of all in which the work of points differs; empty: an iteration is worth the same in each."""
    found: dict[str, set[str]] = defaultdict(set)
    for point, row in own:
        workload = point.request.workload
        work = {name: repr(getattr(point.request, name)) for name in ("compute_slowdown", "compat", "passes")}
        if isinstance(workload, ModelWorkload):
            file = workload.file
            work |= {
                "model or sequence": f"{workload.totals()} {file.model.model_dump(exclude=_HOW)}",
                "datatype": file.training.datatype,
                "datatype of gradients": file.training.gradients or file.training.datatype,
                "optimizer": file.training.optimizer,
                "asynchronous": str(file.parallel.asynchronous),
            }
        if row["status"] == DONE:
            dropped = float(row.get("dropped_share") or 0)  # a model without experts has none
            work |= {"samples_per_iteration": repr(row.get("samples_per_iteration")), "dropped_share": repr(dropped)}
        for name, value in work.items():
            found[name].add(value)
    return [name for name, values in found.items() if len(values) > 1]
