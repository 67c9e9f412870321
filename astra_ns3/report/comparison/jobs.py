"""The differences between two scenarios: job by job, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.frozen import dataclass, replace
from astra_ns3.report.alignment import aligned
from astra_ns3.report.comparison.compare import compare, differing
from astra_ns3.report.comparison.comparison import Comparison, settings_text
from astra_ns3.report.comparison.differences import Setting
from astra_ns3.report.comparison.settings import OF_SCENARIO, of_scenarios
from astra_ns3.report.records import place_of
from astra_ns3.report.tables import Records


@dataclass(frozen=True)
class JobsComparison:
    """Comparisons of the jobs that two scenarios have, by name; ``notes``: which jobs only one of them has.

    ``settings``: keys of the scenarios' files that differ.
    """

    a: str
    b: str
    jobs: Mapping[str, Comparison]
    notes: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()

    def document(self) -> JsonObject:
        """Plain data."""
        return {
            "a": self.a,
            "b": self.b,
            "equal": not (self.notes or self.settings) and all(each.equal for each in self.jobs.values()),
            "settings": [setting.document() for setting in self.settings],
            "jobs": {name: each.document() for name, each in self.jobs.items()},
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The tables of each job, for people."""
        own = settings_text("settings of the scenario", self.settings)
        parts = ["\n".join([aligned([("A", self.a), ("B", self.b)]), *self.notes, *([own] if own else [])])]
        return "\n\n".join([*parts, *(f"job {name}\n{each.text()}" for name, each in self.jobs.items())])


def compare_jobs(
    a: Records, jobs_a: Mapping[str, Records], b: Records, jobs_b: Mapping[str, Records]
) -> JobsComparison:
    """Return what differs between the jobs of scenarios ``a`` and ``b``, as :func:`compare` does, by their names."""
    both = {name: _own(compare(jobs_a[name], jobs_b[name])) for name in jobs_a if name in jobs_b}
    alone = [(jobs_a.keys() - jobs_b.keys(), "A"), (jobs_b.keys() - jobs_a.keys(), "B")]
    notes = [f"only {run} has job {name}" for names, run in alone for name in sorted(names)]
    settings = differing(*of_scenarios(a.scenario_keys, b.scenario_keys))
    return JobsComparison(place_of(a), place_of(b), both, tuple(notes), tuple(settings))


def _own(comparison: Comparison) -> Comparison:
    """Return the comparison of a job without what the scenarios' files say."""
    own = tuple(each for each in comparison.settings if not each.key.startswith(f"{OF_SCENARIO}."))
    return replace(comparison, settings=own)
