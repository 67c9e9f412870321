"""The differences between two runs."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.frozen import asdict, dataclass
from astra_ns3.report.alignment import aligned
from astra_ns3.report.comparison.algorithms import OtherAlgorithm, algorithm_lines
from astra_ns3.report.comparison.differences import Group, Setting
from astra_ns3.report.comparison.text import difference_row, key_text, part_text, value_text
from astra_ns3.units import counted


def settings_text(name: str, settings: Sequence[Setting]) -> str:
    """Return rows of settings below a name; nothing if there are none."""
    rows = [(key_text(each.key), value_text(each.key, each.a), value_text(each.key, each.b)) for each in settings]
    return part_text(name, ("", "A", "B"), rows)


@dataclass(frozen=True)
class Comparison:
    """Settings and results in which two runs differ; what files say comes first, what only one run has later.

    ``of_npu``: the reported NPU of each. ``algorithms``: collectives that are played otherwise. ``notes``: how the runs
    ended, if not alike, and what only one of them recorded.
    """

    a: str
    b: str
    settings: tuple[Setting, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]
    of_npu: tuple[int, int] = (0, 0)
    algorithms: tuple[OtherAlgorithm, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.settings or self.notes or self.algorithms or any(group.differences for group in self.groups))

    @property
    def told_settings(self) -> Sequence[Setting]:
        """Return the settings for people; the others are counted."""
        return [each for each in self.settings if not (each.is_default or each.is_in_force_in_one)]

    @property
    def other_settings(self) -> Sequence[str]:
        """Return lines that count the others."""
        defaults = sum(each.is_default for each in self.settings)
        of_one = sum(each.is_in_force_in_one and not each.is_default for each in self.settings)
        lines = [f"and {counted(of_one, 'key')} in force in one run alone (--json has all)"] * (of_one > 0)
        return [*lines, *[f"and {counted(defaults, 'key')} of one run alone, at the default"] * (defaults > 0)]

    def document(self) -> JsonObject:
        """Plain data."""
        return {
            "a": self.a,
            "b": self.b,
            "equal": self.equal,
            "settings": [setting.document() for setting in self.settings],
            "algorithms": [asdict(each) for each in self.algorithms],
            "results": {
                group.name: [difference.document() for difference in group.differences] for group in self.groups
            },
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Return what a notebook shows: the text."""
        return self.text()

    def text(self) -> str:
        """The tables, for people."""
        parts = [aligned([("A", self.a), ("B", self.b)])]
        if self.equal:
            return "\n".join([*parts, "nothing differs"])
        parts += list(self.notes)
        parts.append(settings_text("settings", self.told_settings) or "settings: none differs")
        parts += [f"  {line}" for line in self.other_settings]
        lines = algorithm_lines(self.algorithms)
        parts += ["algorithms", *(f"  {line}" for line in lines)] if lines else []
        results = [
            part_text(
                self.heading(group.name),
                ("", "A", "B", "change", ""),
                [difference_row(one) for one in group.told],
            )
            for group in self.groups
        ]
        parts += [part for part in results if part] or ["results: none differs"]
        return "\n".join(parts)

    def heading(self, group: str) -> str:
        """Return a group's name, with the NPU whose computing and waiting stand below."""
        a, b = self.of_npu
        npu = f"NPU {a}" if a == b else f"NPU {a} in A, of NPU {b} in B"
        told = {"layers": f"layers of {npu}", "collectives": "collectives (durations overlap, and count waits)"}
        if any(one.name in ("compute", "exposed") for each in self.groups for one in each.differences):
            told["totals"] = f"totals (finish from the start of the run or job; compute and exposed of {npu})"
        return told.get(group, group)
