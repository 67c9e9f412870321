"""The configuration of a run as dotted keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.network.run_document import EventDocument, FileDocument, RunDocument, chosen

OPTIONS = (
    "backend",
    "seed",
    "passes",
    "report_npu",
    "comm_scale",
    "compute_scale",
    "compute_slowdown",
    "compat",
    "num_queues_per_dimension",
    "record",
    "hook",
    "limits",
)
OF_SCENARIO = "scenario"
FILES = ("workload", "system", "network")
INPUT_FILES = "input_files"
PARTS = (*OPTIONS, *FILES, INPUT_FILES, "in_force", "versions")
"""Keys of run.json that say how a run was made; its name, its date and what it cost are not among them."""
_NAMES = ("name", "layer")
_REDUCTION = "reduction"
"""The key of a switch that reduces."""
_OF_REDUCERS = "reducer_"
_INSIDE_NODES = ("network.topology.scale_up.link.rate", "network.topology.scale_up.injection.rate")
_UNITS_BPS = (10**9, 10**6, 10**3, 1)
_OF_JOB = (
    *("start_ps", "npus", "dimensions", "arrival_ps", "after", "after_passes", "end_ps", "priority"),
    *("restart_after_ps", "most_restarts", "fails_ps"),
)
"""When and where a job ran."""
_OF_PLACE = ("event", "drawn", "link", "switch", "npu")
"""Keys of an event that its name and its place in the list say."""
_LEFT_TO_THE_RUN = ("after", "arrival_ps", "restarts")
"""Keys of a job whose start, or also whose NPUs, the run decides and no file."""


def settings(metadata: RunDocument) -> JsonObject:
    """Dotted key -> value. A list of groups that have names goes by these, ``workload.layers.Embedding.update_ns``.

    A network whose switches don't reduce has no keys of reducers, and a run whose inputs name no files none of these.
    Rates inside nodes are those of the file, without the share of them that a model's device reaches.
    """
    parts = chosen(metadata, PARTS)
    told = [part for part in PARTS if part != INPUT_FILES or parts.get(part)]
    found = dict(entry for part in told for entry in flat(part, parts.get(part)))
    share = metadata.get("device_losses", {}).get("scale_up_efficiency", 1)
    for key in _INSIDE_NODES:
        if isinstance(rate_bps := found.get(key), int):
            found[key] = _whole_rate(rate_bps, share)
    if any(_REDUCTION in key.split(".") and value is not None for key, value in found.items()):
        return found
    return {key: value for key, value in found.items() if not key.rpartition(".")[2].startswith(_OF_REDUCERS)}


def _whole_rate(rate_bps: int, share: float) -> int:
    """Return the roundest rate whose share, as whole bits per second, is ``rate_bps``; else the nearest one."""
    for unit in _UNITS_BPS:
        whole = round(rate_bps / share / unit) * unit
        if round(whole * share) == rate_bps:
            return whole
    return round(rate_bps / share)


def surroundings(metadata: RunDocument, events: Sequence[EventDocument]) -> JsonObject:
    """Dotted key -> value of when and on which NPUs a job of several ran, and of what happened to its network.

    Events of the file go by their places, ``events.0.start_ps``, drawn ones by theirs, ``drawn.0.start_ps``.
    """
    found = {f"job.{name}": value for name, value in chosen(metadata.get("job") or {}, _OF_JOB).items()}
    for part, drawn in (("events", False), ("drawn", True)):
        own = [each for each in events if each.get("drawn", False) is drawn]
        for number, event in enumerate(own):
            keys = chosen(event, [name for name in event if name not in _OF_PLACE])
            found.update(flat(f"{part}.{number}", keys))
    return {key: value for key, value in found.items() if value is not None}


def of_scenarios(a: FileDocument | None, b: FileDocument | None) -> tuple[JsonObject, JsonObject]:
    """Return dotted key -> value of all that two scenarios' files say; nothing if a run has no such file."""
    if a is None or b is None:
        return {}, {}
    return dict(flat(OF_SCENARIO, a)), dict(flat(OF_SCENARIO, b))


def follows_from_seed(key: str, metadata: RunDocument) -> bool:
    """Return whether a key is of what chance, or the course of the run, decided, and no file."""
    of_run = any(name in (metadata.get("job") or {}) for name in _LEFT_TO_THE_RUN)
    return key == "seed" or key.startswith("drawn.") or (of_run and key.startswith("job."))


def flat(key: str, value: Json) -> Iterator[tuple[str, Json]]:
    """The values of a group and of those in it, by dotted key; an empty group or list is a value."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from flat(f"{key}.{name}", inner)
    elif isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        for name, entry in _named(value):
            yield from flat(f"{key}.{name}", entry)
    else:
        yield key, value


def _named(entries: list[Mapping[str, Json]]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The entries by their names if they have some, all different, which are left out then; else by their places."""
    for word in _NAMES:
        names = [str(entry.get(word)) for entry in entries]
        if all(word in entry for entry in entries) and len(set(names)) == len(names):
            for name, entry in zip(names, entries, strict=True):
                yield name, {key: value for key, value in entry.items() if key != word}
            return
    yield from ((str(index), entry) for index, entry in enumerate(entries))
