"""Counts of how cases ended, by what they were made of."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from soak.play import Outcome
from soak.traits import Traits

_BY = ("topology", "transport", "control", "routing", "reliability")


@dataclass
class Summary:
    """Adds up the cases that were played."""

    ends: Counter[str] = field(default_factory=Counter)
    by: dict[str, dict[str, Counter[str]]] = field(default_factory=lambda: {key: defaultdict(Counter) for key in _BY})
    with_pfc: int = 0
    paused: int = 0
    faulty: int = 0
    packets: int = 0
    seconds: float = 0.0

    def add(self, traits: Traits, outcome: Outcome, *, faulty: bool) -> None:
        """Count a case."""
        self.ends[outcome.end] += 1
        self.with_pfc += traits.has_pfc
        self.paused += traits.has_pfc and outcome.paused
        self.faulty += faulty
        self.seconds += outcome.seconds
        self.packets += 0 if outcome.numbers is None else outcome.numbers["packets"]
        for key in _BY:
            counts = self.by[key][getattr(traits, key)]
            counts["runs"] += 1
            counts["paused"] += outcome.paused
            counts["faulty"] += faulty
            counts["deadlocks"] += outcome.end.startswith("deadlock")

    @property
    def runs(self) -> int:
        """How many cases there were."""
        return sum(self.ends.values())

    @property
    def paused_share(self) -> float:
        """Of the runs with PFC, the share in which a port was stopped."""
        return self.paused / self.with_pfc if self.with_pfc else 0.0

    def document(self) -> dict[str, object]:
        """The counts as plain data."""
        counts = {"runs": self.runs, "with_pfc": self.with_pfc, "paused": self.paused, "faulty": self.faulty}
        return {**counts, "ends": dict(self.ends), "by": {key: dict(found) for key, found in self.by.items()}}

    def lines(self) -> list[str]:
        """A table for people."""
        ends = ", ".join(f"{end} {count}" for end, count in self.ends.most_common())
        found = [
            f"{self.runs} runs in {self.seconds:.0f} s, {self.packets} packets: {ends}",
            f"{self.with_pfc} with PFC, of which {self.paused} paused ({100 * self.paused_share:.0f}%); "
            f"{self.faulty} with faults",
        ]
        for key in _BY:
            found.append(f"{key:<24}{'runs':>6}{'paused':>8}{'deadlocks':>11}{'faulty':>8}")
            for name, counts in sorted(self.by[key].items()):
                row = (counts["runs"], counts["paused"], counts["deadlocks"], counts["faulty"])
                found.append(f"  {name:<22}{row[0]:>6}{row[1]:>8}{row[2]:>11}{row[3]:>8}")
        return found
