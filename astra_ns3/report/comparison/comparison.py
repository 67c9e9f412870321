"""What differs between two runs."""

from __future__ import annotations

from dataclasses import dataclass

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.report.alignment import aligned
from astra_ns3.report.comparison.differences import Group, Setting
from astra_ns3.report.comparison.text import difference_row, part_text, value_text


@dataclass(frozen=True)
class Comparison:
    """Settings and results in which two runs differ; those that both runs have come first.

    ``notes``: how the runs ended, if not alike, and what only one of them recorded.
    """

    a: str
    b: str
    settings: tuple[Setting, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.settings or self.notes or any(group.differences for group in self.groups))

    def document(self) -> JsonObject:
        """Plain data."""
        return {
            "a": self.a,
            "b": self.b,
            "equal": self.equal,
            "settings": [setting.document() for setting in self.settings],
            "results": {
                group.name: [difference.document() for difference in group.differences] for group in self.groups
            },
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The tables, for people."""
        parts = [aligned([("A", self.a), ("B", self.b)])]
        if self.equal:
            return "\n".join([*parts, "nothing differs"])
        parts += list(self.notes)
        rows = [
            (setting.key, value_text(setting.key, setting.a), value_text(setting.key, setting.b))
            for setting in self.settings
        ]
        parts.append(part_text("settings", ("", "A", "B"), rows) or "settings: none differs")
        results = [
            part_text(group.name, ("", "A", "B", "change", ""), [difference_row(one) for one in group.differences])
            for group in self.groups
        ]
        parts += [part for part in results if part] or ["results: none differs"]
        return "\n".join(parts)
