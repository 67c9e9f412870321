"""The configuration of a run as dotted keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.network.run_document import RunDocument, chosen

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
    "network_changes",
)
FILES = ("workload", "system", "network")
PARTS = (*OPTIONS, *FILES, "in_force", "versions")
"""Keys of run.json that say how a run was made; its name, its date and what it cost are not among them."""
_NAMES = ("name", "layer")


def settings(metadata: RunDocument) -> JsonObject:
    """Dotted key -> value. A list of groups that have names goes by these, ``workload.layers.Embedding.update_ns``."""
    parts = chosen(metadata, PARTS)
    return dict(entry for part in PARTS for entry in flat(part, parts.get(part)))


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
