"""The file of a scenario: which jobs and other traffic share a network, where and from when on, and what happens when.

Names of nodes are looked up where the network is known (:mod:`astra_ns3.scenario.events`), and so are placements
(:mod:`astra_ns3.scenario.placement`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain
from math import prod
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import Discriminator, Field, JsonValue, Tag, model_validator

from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.model import (
    ConfigModel,
    Count,
    Listed,
    Number,
    OnOff,
    PositiveBytes,
    PositiveTimePs,
    TimePs,
    checked,
    key_error,
    refuse_key,
    shown,
    validated,
)
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import SCENARIO, told_apart
from astra_ns3.config.scenario.arrivals import ArrivalsConfig
from astra_ns3.config.scenario.failures import FailuresConfig
from astra_ns3.config.scenario.keys import (
    FileBeside,
    LinkName,
    NodeName,
    NpuNumbers,
    RateOrShare,
    Seed,
    WorkloadBeside,
)
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.config.scenario.recovery import RecoveryConfig
from astra_ns3.config.scenario.times import Passes, RestartConfig, StartTime
from astra_ns3.config.scenario.traffic import MOST_ENTRIES, TrafficConfig
from astra_ns3.config.topology.switch import EcnConfig, PfcThresholds, Priority
from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass

FilePath = str | os.PathLike[str]
TARGETS = ("link", "switch", "npu", "nic")
"""Keys that name the target of an event; an event has one of them."""
STATES: Mapping[str, tuple[str, ...]] = {
    "link": ("up", "rate", "delay", "error-rate"),
    "nic": ("up", "rate", "delay", "error-rate", "storm"),
    "switch": ("up", "ecn", "buffer", "pfc"),
    "npu": ("up", "still", "slower", "control"),
}
"""The keys that an event may change, by its target."""
_FIELDS = {"delay": "delay_ps", "error-rate": "error_rate", "buffer": "buffer_bytes"}
ALL = "all"
"""As ``npu``: each of them."""
StateValue = bool | int | float | str | EcnConfig | PfcThresholds | dict[str, JsonValue] | None
MOST_EVENTS = 100_000
"""So often may events happen, all together."""


def _form(value: Json | Placement) -> str:
    return "rule" if isinstance(value, (Mapping, Placement)) else "list"


Npus = Annotated[Annotated[NpuNumbers, Tag("list")] | Annotated[Placement, Tag("rule")], Discriminator(_form)]


class JobConfig(ConfigModel):
    """A workload and a system on some of the network's NPUs."""

    name: Annotated[str, MinLen(1)]
    """Names the job's results."""
    workload: WorkloadBeside
    """The job's workload file, or the prefix or folder of a Chakra trace."""
    system: FileBeside
    """The job's system file."""
    changes: dict[str, JsonValue] = Field(alias="set", default_factory=dict)
    """Other values of keys of the two files, as with `--set`, each key with `workload.` or `system.` in front."""
    npus: Npus | None = None
    """Numbers of NPUs and ranges, as `[0, 4, "8-15"]`, in the order of the job's ranks, or a placement. No two jobs
    have an NPU in common. Absent: all, for a job alone."""
    start: StartTime = 0
    """When its programs begin: a time, or `{after: JOB}`, with `passes: K` for so many of JOB's passes, and `delay`."""
    end_ps: PositiveTimePs | None = Field(alias="end", default=None)
    """When it is stopped, wherever it is. Absent: never."""
    restart: RestartConfig | None = None
    """`{after: TIME, at-most: N}`: it begins again so long after its transport has given up. Absent: it doesn't."""
    passes: Passes = 1
    """How often it plays its workload. `forever`: until all jobs that have an end have ended."""
    seed: Seed | None = None
    """The seed of its random numbers. Absent: made of the run's `--seed` and its name."""
    dimensions: tuple[Count, ...] | None = None
    """Its logical grid, the innermost dimension first. Absent: cut from the network's."""
    compute_slowdown: FileBeside | None = Field(alias="compute-slowdown", default=None)
    """A file of what slows its NPUs down, by its ranks."""
    groups: FileBeside | None = None
    """A file of the communicators that its Chakra trace names, as with `--groups`."""
    priority: Priority | None = None
    """The RoCE priority of its messages, 0 to 7. Absent: that of the network's transport."""

    @property
    def count(self) -> int | None:
        """Return how many NPUs it has; None: all."""
        if self.npus is None:
            return None
        return self.npus.count if isinstance(self.npus, Placement) else len(self.npus)

    @model_validator(mode="after")
    @checked
    def _fits_together(self) -> None:
        for key in self.changes:
            refuse_key(
                key.partition(".")[0] not in ("workload", "system") or not all(key.split(".")[1:] or [""]),
                ("set", key),
                "is no key of the job's files, expected workload.KEY or system.KEY",
            )
        if self.dimensions is not None and self.count not in (None, prod(self.dimensions)):
            made = f"{list(self.dimensions)} make {prod(self.dimensions)} NPUs"
            raise key_error("dimensions", f"{made}, the job has {self.count}")


class EventConfig(ConfigModel):
    """A change of a link, a switch, an NPU or its NIC, from a time on: for ever, for a while, or periodically."""

    at_ps: TimePs = Field(alias="at")
    """When it happens."""
    for_ps: PositiveTimePs | None = Field(alias="for", default=None)
    """How long it lasts; then all is as before. Absent: for ever."""
    every_ps: PositiveTimePs | None = Field(alias="every", default=None)
    """Time after which it comes again, longer than `for`."""
    times: Annotated[Listed, Ge(2)] | None = None
    """How often it comes in all."""
    link: LinkName | None = None
    """Both ends, as `[leaf 0, spine 1]`, which is all links between the two; or the number of a link. An event has one
    of `link`, `switch`, `nic` and `npu`."""
    switch: NodeName | None = None
    """The switch, by name or number."""
    npu: Number | Literal["all"] | None = None
    """The NPU. Its host is down with the last of its NPUs. `all` goes with `control` alone."""
    nic: NodeName | None = None
    """The NPU whose links out of its server are meant, with those of all NICs that it shares. Or one port of a NIC, as
    `host3:1`, or of the switch that a shared NIC is on, as `switch4:0`."""
    up: OnOff | None = None
    """`false`: it goes down. `true`: it comes up again."""
    rate: RateOrShare | None = None
    """Another rate of a link or NIC, or a share of its own, as `50%`."""
    delay_ps: TimePs | None = Field(alias="delay", default=None)
    """Another delay of a link or NIC, one way."""
    error_rate: Annotated[float, Ge(0), Lt(1)] | None = Field(alias="error-rate", default=None)
    """Another probability that a frame is lost, of a link or NIC."""
    ecn: EcnConfig | None = None
    """Other thresholds of all ports of a switch that mark."""
    buffer_bytes: PositiveBytes | None = Field(alias="buffer", default=None)
    """Another size of the memory that all ports of a switch share."""
    pfc: PfcThresholds | None = None
    """Other thresholds of the pauses of a switch."""
    storm: OnOff | None = None
    """`true`: the NIC has its switch stop every lossless priority, as a broken NIC does."""
    still: OnOff | None = None
    """`true`: the NPU neither computes nor begins messages nor handles those that come. `for` is needed."""
    slower: Annotated[float, Ge(0.001), Le(1e6)] | None = None
    """The NPU's computations take so many times as long."""
    control: Annotated[dict[str, JsonValue], MinLen(1)] | None = None
    """Other numbers of the congestion control of what the NPU sends, as `{rate_ai: 100Mbps}`."""

    @model_validator(mode="after")
    @checked
    def _changes_one_thing(self) -> None:
        targets = [name for name in TARGETS if getattr(self, name) is not None]
        states = [key for key, value in self.states.items() if value is not None]
        if len(targets) != 1:
            found = " and ".join(targets) or "none of them"
            raise key_error(targets[1] if targets else "link", f"found {found}, expected one of {', '.join(TARGETS)}")
        (target,) = targets
        if not states:
            raise key_error(target, f"nothing changes, expected one of {', '.join(self.states)}")
        for key in states:
            takers = [name for name, keys in STATES.items() if key in keys]
            able = " or ".join(STATES[target])
            refuse_key(target not in takers, key, f"is of a {' or a '.join(takers)}, expected {able} of a {target}")
        refuse_key(
            bool(self.still) and self.for_ps is None, "still", "has no end, expected for: TIME beside it, or up: false"
        )
        other = [key for key in states if key != "control"]
        refuse_key(self.npu == ALL and bool(other), "npu", f"found all, with {' and '.join(other)}; expected one NPU")
        refuse_key(self.still is False, "still", "an NPU that moves needs no event, expected true")

    @property
    def states(self) -> Mapping[str, StateValue]:
        """Return what it may change, by the key."""
        return {key: getattr(self, _FIELDS.get(key, key)) for key in dict.fromkeys(chain(*STATES.values()))}

    @property
    def target(self) -> str:
        """Return which of :data:`TARGETS` it is of."""
        return next(name for name in TARGETS if getattr(self, name) is not None)

    @property
    def starts_ps(self) -> range:
        """Return when it happens."""
        if self.every_ps is None or self.times is None:
            return range(self.at_ps, self.at_ps + 1)
        return range(self.at_ps, self.at_ps + self.every_ps * self.times, self.every_ps)

    @model_validator(mode="after")
    @checked
    def _comes_again(self) -> None:
        if self.every_ps is None:
            refuse_key(self.times is not None, "times", "says how often, expected every: TIME beside it")
            return
        refuse_key(self.times is None, "every", "has no end, expected times: NUMBER beside it")
        if self.for_ps is None:
            raise key_error("every", "changes nothing the second time, expected for: TIME beside it")
        refuse_key(self.for_ps >= self.every_ps, "for", "is not below every, so that it would never be as it was")


class ScenarioConfig(ConfigModel):
    """A scenario's file."""

    network: FileBeside | None = None
    """The network file; `-n` goes before it. Absent: that of `-n`."""
    jobs: tuple[JobConfig, ...] = ()
    """The jobs. Needed, unless there are `arrivals` or `traffic`."""
    arrivals: ArrivalsConfig | None = None
    """A table of jobs that arrive and wait for NPUs: its path, or these keys. Absent: none."""
    traffic: Annotated[tuple[TrafficConfig, ...], MaxLen(MOST_ENTRIES)] = ()
    """Flows of others beside the jobs, or alone."""
    events: tuple[EventConfig, ...] = ()
    """Events of the network and its NPUs."""
    failures: FailuresConfig | None = None
    """Failures at random, by rates. Absent: nothing fails."""
    recovery: RecoveryConfig = RecoveryConfig()
    """How the network finds failures out, and when routes follow. Absent: all is known everywhere at once."""

    @model_validator(mode="after")
    @checked
    def _jobs_are_apart(self) -> None:
        names: set[str] = set()
        owner: dict[int, str] = {}
        for number, job in enumerate(self.jobs):
            refuse_key(job.name in names, ("jobs", number, "name"), f"found {job.name!r} twice, expected a new name")
            names.add(job.name)
            refuse_key(
                job.npus is None and (len(self.jobs) > 1 or self.arrivals is not None),
                ("jobs", number),
                f"job '{job.name}' has no npus, which are all of them; expected some, beside other jobs",
            )
            for npu in job.npus if isinstance(job.npus, tuple) else ():
                other = owner.setdefault(npu, job.name)
                refuse_key(
                    other != job.name, ("jobs", number, "npus"), f"NPU {npu} is of job '{other}', expected a free one"
                )

    @model_validator(mode="after")
    @checked
    def _traffic_has_names_and_an_end(self) -> None:
        names = {job.name for job in self.jobs}
        for number, entry in enumerate(self.traffic):
            refuse_key(
                entry.name in names, ("traffic", number, "name"), f"found {entry.name!r} twice, expected a new name"
            )
            names.add(entry.name)
            refuse_key(
                not (self.jobs or self.arrivals or entry.ends),
                ("traffic", number),
                f"'{entry.name}' never ends, and there is no job with which it could; expected end: TIME or flows: "
                "NUMBER",
            )

    @model_validator(mode="after")
    @checked
    def _events_can_be_counted(self) -> None:
        count = sum(len(event.starts_ps) for event in self.events)
        refuse_key(count > MOST_EVENTS, "events", f"come {count:,} times, expected at most {MOST_EVENTS:,}")


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario as it was read: what it says, and where each key stands."""

    config: ScenarioConfig
    document: Document

    def where(self, path: KeyPath) -> str:
        """Return ``file:line`` of a key, and the key."""
        return f"{self.document.where(path)}: key '{'.'.join(map(str, path))}'"


def read_scenario(given: FilePath | ScenarioFile | Mapping[str, Json]) -> ScenarioFile:
    """The scenario that a file holds, or that plain data describe, whose paths begin at the working folder.

    Raises InputError with file, line and key.
    """
    if isinstance(given, ScenarioFile):
        return given
    if isinstance(given, Mapping):
        document = Document("scenario", dict(given))
        return ScenarioFile(validated(ScenarioConfig, document), document)
    if not isinstance(given, (str, os.PathLike)):
        raise wrong(f"the scenario is {shown(given)}, expected the path of a file or a mapping as in one")
    with told_apart(given, SCENARIO):
        document = parse_yaml(read_text(given), os.fspath(given))
        return ScenarioFile(validated(ScenarioConfig, document), document)
