"""The floor under a run's time in words, from what run.json says of it, where a result lies below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from astra_ns3.network.floor.floor import is_below
from astra_ns3.units import format_time


def below_floor(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what run.json says of the floor if the run lies below it, else None."""
    floor = metadata.get("floor")
    return floor if floor is not None and is_below(floor["share"]) else None


def floor_words(floor: Mapping[str, Any]) -> str:
    """Return what the lines need, and what share of that the result is."""
    return f"{floor['share']:.2g} of the {format_time(floor['time_ps'])} that {floor['where']} need"


def floor_rows(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a row of the summary's table for a run below its floor; none for others."""
    floor = below_floor(metadata)
    return [] if floor is None else [("below the floor", floor_words(floor))]
