"""Changes of a run's inputs: which of them holds where several levels of a study say something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.config.core.changing import Setting
from astra_ns3.config.core.plain import Json
from astra_ns3.frozen import dataclass
from astra_ns3.studies.keys import option_named


@dataclass(frozen=True)
class Change:
    """A value for what ``key`` names; ``line`` of the study's file, 0: unknown."""

    key: str
    value: Json
    line: int = 0

    @property
    def meaning(self) -> str:
        """Return the key that is changed, however it is spelled."""
        return option_named(self.key) or self.key.replace("-", "_")

    @property
    def setting(self) -> Setting:
        """Return the change within its file."""
        return Setting(tuple(self.key.split(".")[1:]), self.value, self.line)


Changes = Mapping[str, Change]
"""By :attr:`Change.meaning`."""


def in_force(levels: Iterable[Iterable[Change]]) -> dict[str, Change]:
    """Return what is left of all levels, the lowest first: a key hides itself, and the keys below it, on lower levels.

    Which file a run reads hides no change of its keys: these are made to whichever file is read.
    """
    found: dict[str, Change] = {}
    for level in levels:
        said = {change.meaning: change for change in level}
        hidden = tuple(f"{meaning}." for meaning in said if "." in meaning)
        found = {**{key: each for key, each in found.items() if not key.startswith(hidden)}, **said}
    return found
