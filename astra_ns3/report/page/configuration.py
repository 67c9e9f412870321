"""The configuration in force, key by key, and which keys differ from their defaults."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.core.plain import Json
from astra_ns3.config.system import SystemConfig
from astra_ns3.frozen import dataclass
from astra_ns3.network.run_document import RunDocument, chosen
from astra_ns3.report.comparison.differences import ABSENT, Absent
from astra_ns3.report.comparison.settings import OPTIONS, flat, settings, surroundings
from astra_ns3.report.network_of import network_of
from astra_ns3.report.pictures.shown import Shown

Defaults = RunDocument
"""Option of a run -> its default."""


@dataclass(frozen=True)
class Key:
    """A dotted key, what it is in each run, and in which of them it is no default; None: that can't be told."""

    name: str
    values: tuple[Json | Absent, ...]
    changed: tuple[bool | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs have different values."""
        return any(value != self.values[0] for value in self.values)


def configuration(runs: Sequence[Shown], defaults: Defaults) -> dict[str, list[Key]]:
    """Part of the configuration -> its keys, in the order of run.json; the options of the run are one part."""
    found = [{**settings(shown.run.metadata), **surroundings(shown.run.metadata, ())} for shown in runs]
    changed = [_changed(shown.run.metadata, defaults) for shown in runs]
    parts: dict[str, list[Key]] = {}
    for name in dict.fromkeys(key for each in found for key in each):
        part = name.partition(".")[0]
        values = tuple(each.get(name, ABSENT) for each in found)
        marks = tuple(None if part not in each else name in each[part] for each in changed)
        parts.setdefault("options" if part in OPTIONS else part, []).append(Key(name, values, marks))
    return parts


def _changed(metadata: RunDocument, defaults: Defaults) -> dict[str, set[str]]:
    """Keys that differ from their default or have none, by part; a part of which that can't be told is left out."""
    found: dict[str, set[str]] = {}
    models: dict[str, ConfigModel | None] = {"network": network_of(metadata["network"]), "system": _system_of(metadata)}
    for part, model in models.items():
        if model is not None:
            given = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            found[part] = {key for key, _ in flat(part, given)}
    options = chosen(metadata, OPTIONS)
    for part, value in chosen(defaults, OPTIONS).items():
        usual = dict(flat(part, value))
        told = flat(part, options.get(part))
        found[part] = {key for key, value in told if key not in usual or usual[key] != value}
    return found


def _system_of(metadata: RunDocument) -> SystemConfig | None:
    try:
        return SystemConfig.model_validate(metadata["system"])
    except ValueError:  # of another version of this program
        return None
