"""The floor under a run's time in words, from what run.json says of it."""

from __future__ import annotations

from astra_ns3.network.floor.floor import is_below
from astra_ns3.network.run_document import FloorDocument, RunDocument
from astra_ns3.units import format_time


def below_floor(metadata: RunDocument) -> FloorDocument | None:
    """Return what run.json says of the floor if the run lies below it, else None."""
    floor = metadata.get("floor")
    return floor if floor is not None and is_below(floor["share"]) else None


def floor_words(floor: FloorDocument) -> str:
    """Return what the lines need, and what share of that the result is."""
    return f"{floor['share']:.2g} of the {format_time(floor['time_ps'])} that {floor['where']} need"


def floor_rows(metadata: RunDocument) -> list[tuple[str, str]]:
    """Return a row of the summary's table for a run below its floor; none for others."""
    floor = below_floor(metadata)
    return [] if floor is None else [("below the floor", floor_words(floor))]


def allowed_rows(metadata: RunDocument) -> list[tuple[str, str]]:
    """Return a row of the summary's table that says how close to its floor a run came; none without a floor."""
    floor = metadata.get("floor")
    if floor is None or not floor["share"] or is_below(floor["share"]):
        return floor_rows(metadata)
    percent = 100 / floor["share"]
    what = f"the lines allow ({floor['where']})"
    if floor.get("kind") == "chain":
        what = f"any network allows ({floor['where']}: {format_time(floor['time_ps'])})"
    if "job" in metadata:
        what = f"{what[:-1]}; NPUs as the network numbers them)"
    waits = any("after" in job or "arrival_ps" in job for job in metadata.get("jobs", ()))
    left_out = ", without jobs' waits for each other" if waits else ""
    return [("speed", f"{percent:{'.0f' if percent >= 1 else '.1g'}}% of what {what}{left_out}")]
