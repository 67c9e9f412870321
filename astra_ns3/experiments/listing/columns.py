"""Columns of a list of runs: some by short names, and any dotted key of run.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING

from astra_ns3.config.core.plain import Json, dotted_keys
from astra_ns3.errors import nearest, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import BY_ENDING, EXACT_BY_KEY

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.experiments.listing.finding import FoundRun

_SECONDS = "_seconds"
_LIST_BETWEEN = " "
_MOST_TOLD = 12
_OF_NPU = ("compute_ps", "exposed_ps")
_PARTIAL = ("finish_ps", "of_floor", *_OF_NPU)
NOTE = "note"
"""The column that tells why a point is no run of its own."""
KIND = "kind"
"""The key that names a group's kind."""
TOKENS = "tokens_per_second"
"""The column of what models train on."""


@dataclass(frozen=True)
class Column:
    """``heading``: over it; ``key``: its name where values are bare numbers, with the unit; ``value``: of a run."""

    heading: str
    key: str
    value: Callable[[FoundRun], Json]

    @property
    def in_seconds(self) -> bool:
        """Whether its numbers are seconds."""
        return self.key.endswith(_SECONDS)

    @property
    def in_units(self) -> str:
        """A value with a unit, if numbers have one that the name doesn't say."""
        ending = self.key.removeprefix(self.heading)
        return {"_ps": "2ms", "_bytes": "4GB"}.get(ending, "") if ending != self.key else ""

    @property
    def grows(self) -> bool:
        """Whether its numbers grow while a run is simulated, so those of an unfinished run can't be compared."""
        return self.key in _PARTIAL

    def shown(self, run: FoundRun) -> str:
        """The value for people; a dash for none."""
        value = self.value(run)
        form = next((form for ending, form in BY_ENDING.items() if self.key.endswith(ending)), None)
        form = form or EXACT_BY_KEY.get(self.key.rpartition(".")[2])
        if value is None:
            return "-"
        if self.key == TOKENS:
            return f"{value:,}{self._mark(run)}"
        if form is not None and isinstance(value, int) and not isinstance(value, bool):
            try:
                return f"{form(value)}{self._mark(run)}"
            except (OverflowError, ValueError):  # of a damaged file
                return str(value)[:_MOST_TOLD]
        return printable(plain(value))

    def _mark(self, run: FoundRun) -> str:
        """Return what stands beside a value: of a job from its start on, of one try, or below what lines can reach."""
        if self.key in (*_OF_NPU, TOKENS) and at(run.metadata, "job.restarts"):
            return " (last try)"
        from astra_ns3.network.floor.floor import is_below

        share = at(run.metadata, "floor.share")
        below = self.key == "finish_ps" and isinstance(share, (int, float)) and is_below(share)
        late = self.key == "finish_ps" and at(run.metadata, "job.start_ps")
        return f"{' (from its start)' if late else ''}{' (below the floor)' if below else ''}"


def printable(text: str) -> str:
    """``text`` with question marks for letters that a terminal would act upon or can't show."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def plain(value: Json) -> str:
    """A value as a word: switches on and off, lists with blanks between their entries, of a group with a kind that."""
    if value is None:
        return ""
    if isinstance(value, Mapping) and isinstance(value.get(KIND), str):
        return plain(value[KIND])
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return _LIST_BETWEEN.join(map(plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def at(data: Json, key: str) -> Json:
    """Return the value at a dotted key of plain data, or None; ``-`` and ``_`` alike, lists by number or name."""
    for word in key.split("."):
        if isinstance(data, Mapping):
            data = data.get(word, next((each for name, each in data.items() if _alike(name, word)), None))
        elif isinstance(data, list):
            named = [each for each in data if isinstance(each, Mapping) and each.get("name") == word]
            numbered = data[int(word) : int(word) + 1] if word.isascii() and word.isdigit() and len(word) < 10 else []
            data = next(iter((*named, *numbered)), None)
        else:
            return None
    return data


def columns_of(names: Iterable[str], runs: Sequence[FoundRun]) -> list[Column]:
    """The columns that words name: of :data:`COLUMNS`, or keys that some run has; raises InputError for any other."""
    return [column_of(name, runs) for name in names]


def column_of(name: str, runs: Sequence[FoundRun]) -> Column:
    """As :func:`columns_of`, of one word."""
    short = name.lower().replace("-", "_")
    if short in COLUMNS:
        return COLUMNS[short]
    if runs and all(at(run.metadata, name) is None for run in runs):
        known = list(dict.fromkeys(key for run in runs for key in dotted_keys(run.metadata)))
        if not any(_alike(key, name) for key in known):
            raise wrong(
                f"column '{name}' is none of {', '.join(COLUMNS)}, and no run has such a key"
                f"{nearest(name, (*COLUMNS, *known))}"
            )
    return Column(name, name, lambda run: at(run.metadata, name))


def _alike(name: str, word: str) -> bool:
    return str(name).replace("-", "_") == word.replace("-", "_")


def _key(heading: str, key: str, name: str | None = None) -> Column:
    return Column(heading, name or heading, lambda run: at(run.metadata, key))


def _time(heading: str, key: str) -> Column:
    """Return the column of a time, which a job that never started doesn't have."""
    return Column(heading, key, lambda run: None if _never_started(run) else at(run.metadata, key))


def _never_started(run: FoundRun) -> bool:
    """Whether a run is a job that waited for its start until the end."""
    job = run.metadata.get("job")
    return isinstance(job, Mapping) and job.get("start_ps", 0) is None


def _source(run: FoundRun) -> str | None:
    source = at(run.metadata, "workload.source")
    return PurePath(source).name if isinstance(source, str) else None


def _tokens(run: FoundRun) -> int | None:
    """Return what a model trains on in a second."""
    found = at(run.metadata, "throughput.tokens_per_second")
    return round(found) if isinstance(found, float) and isfinite(found) else None


def is_complete(run: FoundRun) -> bool:
    """Whether a run was played to its end."""
    return at(run.metadata, "complete") is True


def _state(run: FoundRun) -> str | None:
    if is_complete(run):
        return "complete"
    kind = at(run.metadata, "stopped.kind")
    return kind if isinstance(kind, str) else "incomplete"


COLUMNS: Mapping[str, Column] = {
    column.heading: column
    for column in (
        Column("folder", "folder", lambda run: run.folder),
        _key("name", "run_name"),
        Column("workload", "workload", _source),
        _key("loop", "workload.loop"),
        _key("npus", "npus"),
        _key("backend", "backend"),
        _key("compat", "compat"),
        _key("seed", "seed"),
        _key("passes", "passes"),
        Column("state", "state", _state),
        _time("finish", "finish_ps"),
        Column("of_floor", "of_floor", lambda run: at(run.metadata, "floor.share")),
        _time("compute", "compute_ps"),
        _time("exposed", "exposed_ps"),
        Column(TOKENS, TOKENS, _tokens),
        _key("messages", "statistics.messages"),
        _key("packets", "statistics.packets"),
        _key("events", "statistics.events"),
        _key("wall", "timing.wall_seconds", "wall_seconds"),
        _key("memory", "memory.peak_bytes", "memory_bytes"),
        _key("date", "started"),
        Column(NOTE, NOTE, lambda run: run.note or None),
    )
}
"""By the name that one writes."""
USUAL = ("folder", "name", "workload", "npus", "backend", "state", "finish", "exposed", "date")
"""The columns if none are asked for."""
