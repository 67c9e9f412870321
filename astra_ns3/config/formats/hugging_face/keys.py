"""The keys of a config.json, asked for by name; an error names the file and the key."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from astra_ns3.config.core.model import shown
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, nearest, refuse, wrong
from astra_ns3.frozen import dataclass, field


@dataclass(frozen=True)
class Keys:
    """``data`` of the file ``source``. A key that is null is taken as absent, as Hugging Face does."""

    source: str
    data: Mapping[str, Json]
    _asked: set[str] = field(default_factory=set)

    def plain(self, key: str, default: Json = None) -> Json:
        """Return the value as it stands there."""
        self._asked.add(key)
        return self.data.get(key, default)

    def has(self, key: str) -> bool:
        """Whether the key stands there and isn't null."""
        return self.plain(key) is not None

    def not_asked(self) -> list[str]:
        """Return the keys that nobody asked for so far, without those that are null, zero, false or empty."""
        return [key for key, value in self.data.items() if value and key not in self._asked]

    def count(self, key: str, default: int | None = None) -> int:
        """Return a whole number above 0; raises InputError if it is missing without a default, or is none."""
        return self._whole(key, default, 1, "above 0")

    def number(self, key: str, default: int | None = None) -> int:
        """Return a whole number from 0; raises InputError as :meth:`count` does."""
        return self._whole(key, default, 0, "from 0")

    def switch(self, key: str, default: bool) -> bool:
        """Return true or false; raises InputError for anything else."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"found {shown(value)}, expected true or false")
        return value

    def share(self, key: str, default: float) -> float:
        """Return a number from 0 to 1; raises InputError for anything else."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise self.error(key, f"found {shown(value)}, expected a number from 0 to 1")
        return float(value)

    def check_word(self, key: str, allowed: Collection[str]) -> None:
        """Raise InputError, with the nearest, for a word that is none of the allowed ones; the key may be absent."""
        found = self.plain(key)
        if found is not None and found not in allowed:
            expected = f"{', '.join(allowed)}{nearest(str(found), allowed)}"
            raise self.error(key, f"found {shown(found)}, expected one of {expected}")

    def error(self, key: str, words: str) -> InputError:
        """An error about a key."""
        return wrong(f"key '{key}': {words}", self.source)

    def refuse(self, condition: bool, key: str, words: str) -> None:
        """Raise :meth:`error` if ``condition`` holds."""
        if condition:
            raise self.error(key, words)

    def _whole(self, key: str, default: int | None, least: int, words: str) -> int:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"found {shown(value)}, expected a whole number {words}")
        return value

    def _value(self, key: str, default: Json) -> Json:
        value = self.plain(key)
        if value is not None:
            return value
        numbers = [name for name, other in self.data.items() if isinstance(other, (int, float))]
        refuse(default is None, f"key '{key}' is missing{nearest(key, numbers)}", self.source)
        return default
