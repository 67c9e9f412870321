"""Rows of a study's tables in words, for the terminal and the page alike: which measures, each number, the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from astra_ns3.errors import some_of
from astra_ns3.studies.best import Best
from astra_ns3.studies.expansion import Part
from astra_ns3.studies.figures.data import Row, below_floor, is_tight_row, why_not
from astra_ns3.studies.figures.table import number, spread_text
from astra_ns3.studies.means import DEVIATION
from astra_ns3.studies.measures import MEASURES

_USUAL = ("finish_us", "compute_us", "exposed_us")
# Shown where a row has them.
_OF_MODELS = (
    "tokens_per_second",
    "samples_per_second",
    "samples_per_iteration",
    "dropped_share",
    "model_flop_utilisation_percent",
    "npu_memory_bytes",
    "fits",
)


def shown_measures(part: Part, rows: Sequence[Row]) -> list[str]:
    """The usual measures and those of models, if any row has them, and those that the part's figures show."""
    usual, of_models = ([name for name in each if _any_has(name, rows)] for each in (_USUAL, _OF_MODELS))
    if all(row.get("tokens_per_second") is not None for row in rows if row.get("samples_per_second") is not None):
        of_models = [name for name in of_models if name != "samples_per_second"]
    if any(below_floor(row) for row in rows):
        of_models.insert(0, "of_floor")
    named = [name for figure in part.config.figures.values() for name in figure.y if name in MEASURES]
    return list(dict.fromkeys([*(usual or _USUAL), *of_models, *named]))


def _any_has(measure: str, rows: Sequence[Row]) -> bool:
    return any(row.get(measure) is not None for row in rows)


def measure_heading(measure: str) -> str:
    """Return the name of a measure, and that it is not of all NPUs where it is not."""
    return f"{measure} (reported NPU)" if MEASURES[measure].of_one else measure


def measure_text(row: Row, measure: str) -> str:
    """A number of a row, with its deviation if it has one; empty: there is none."""
    value = row[measure]
    if value is None:
        return ""
    if measure == "of_floor" and below_floor(row):
        return f"{number(value)}: below the floor"
    if measure == "fits":
        if value and not is_tight_row(row):
            return "yes"
        return f"{'yes, tight' if value else 'no'}: {why_not(row)}"
    return spread_text(value, row.get(f"{measure}{DEVIATION}"))


def best_lines(bests: Iterable[Best], part: Part) -> Iterator[str]:
    """Yield the best points of ``part``, and the points that can't be it, with the reason."""
    for best in (each for each in bests if each.part == part.name):
        on = f" on {best.backend}" if best.backend else ""
        words = f"{number(best.value)} {best.measure.replace('_', ' ')}" if best.value is not None else ""
        equals = f"; as many with {some_of(best.equals, between='; ', more='; and')}" if best.equals else ""
        if best.as_seeds_spread:
            equals += f"; within the spread of seeds: {some_of(best.as_seeds_spread, between='; ', more='; and')}"
        tight = f"; {best.tight}" if best.tight else ""
        if best.sooner_next:
            others = some_of(best.sooner_next, between="; ", more="; and")
            tight += f"; from the second iteration on, others may be faster ({others}): use passes: 2"
        found = f"{best.point}, {words}{equals}{tight}" if best.point is not None else f"none, for {best.why_none}"
        yield f"best{on}: {found}"
        if best.left_out:
            told = (f"{each.point} ({each.reason})" for each in best.left_out)
            yield f"left out of the best{on}: {some_of(told, between='; ', more='; and')}"
