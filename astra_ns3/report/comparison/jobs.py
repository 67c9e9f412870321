"""The differences between two scenarios: job by job, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.frozen import dataclass
from astra_ns3.report.alignment import aligned
from astra_ns3.report.comparison.compare import compare
from astra_ns3.report.comparison.comparison import Comparison
from astra_ns3.report.records import place_of
from astra_ns3.report.tables import Records


@dataclass(frozen=True)
class JobsComparison:
    """Comparisons of the jobs that two scenarios have, by name; ``notes``: which jobs only one of them has."""

    a: str
    b: str
    jobs: Mapping[str, Comparison]
    notes: tuple[str, ...] = ()

    def document(self) -> JsonObject:
        """Plain data."""
        return {
            "a": self.a,
            "b": self.b,
            "equal": not self.notes and all(each.equal for each in self.jobs.values()),
            "jobs": {name: each.document() for name, each in self.jobs.items()},
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The tables of each job, for people."""
        parts = ["\n".join([aligned([("A", self.a), ("B", self.b)]), *self.notes])]
        return "\n\n".join([*parts, *(f"job {name}\n{each.text()}" for name, each in self.jobs.items())])


def compare_jobs(
    a: Records, jobs_a: Mapping[str, Records], b: Records, jobs_b: Mapping[str, Records]
) -> JobsComparison:
    """Return what differs between the jobs of scenarios ``a`` and ``b``, as :func:`compare` does, by their names."""
    both = {name: compare(jobs_a[name], jobs_b[name]) for name in jobs_a if name in jobs_b}
    alone = [(jobs_a.keys() - jobs_b.keys(), "A"), (jobs_b.keys() - jobs_a.keys(), "B")]
    notes = [f"only {run} has job {name}" for names, run in alone for name in sorted(names)]
    return JobsComparison(place_of(a), place_of(b), both, tuple(notes))
