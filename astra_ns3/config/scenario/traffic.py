"""Other traffic of a scenario: flows by chance, beside its jobs or alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import Field, model_validator

from astra_ns3.config.core.model import (
    ConfigModel,
    Count,
    PositiveTimePs,
    RateBps,
    TimePs,
    checked,
    key_error,
    refuse_key,
)
from astra_ns3.config.scenario.keys import FlowSizeWords, NpuNumbers, Seed
from astra_ns3.config.topology.switch import Priority

MOST_ENTRIES = 128
"""Each has connections of its own, and their numbers have room for so many."""
_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "poisson": ("rate", "load", "rack-local"),
    "incast": ("load", "senders", "interval"),
    "on-off": ("rate", "load", "on", "off", "rack-local"),
    "constant": ("rate", "load", "rack-local"),
}
"""Keys that a kind has, and not all others."""
_NEEDED: Mapping[str, tuple[str, ...]] = {"incast": ("senders",), "on-off": ("on", "off")}
_HOW_MUCH: Mapping[str, tuple[str, ...]] = {"incast": ("load", "interval")}


class TrafficConfig(ConfigModel):
    """Flows between some NPUs, which jobs may have too."""

    name: Annotated[str, MinLen(1)]
    """Names its results. No job has this name."""
    kind: Literal["poisson", "incast", "on-off", "constant"]
    """The generator, as of `generate flows`."""
    sizes: FlowSizeWords
    """One size, `web-search`, `hadoop`, `storage`, or a file of sizes."""
    load: Annotated[float, Gt(0), Le(1)] | None = None
    """The share of the cut's rate that the flows' bytes across the cut take on average."""
    cut: Annotated[str, MinLen(1)] | None = None
    """The links that `load` counts: those out of `hosts`, of `racks`, or of a tier of switches. Absent: hosts."""
    rate_bps: RateBps | None = Field(alias="rate", default=None)
    """The mean rate of each NPU; with on-off, while it is on."""
    rack_local: Annotated[float, Ge(0), Le(1)] | None = Field(alias="rack-local", default=None)
    """The share of flows that stay in the sender's rack; not with `incast`. Absent: as chance has it."""
    npus: NpuNumbers | None = None
    """Numbers of the NPUs that take part, and ranges; jobs may have them, too. Absent: all."""
    start_ps: TimePs = Field(alias="start", default=0)
    """When it begins."""
    end_ps: PositiveTimePs | None = Field(alias="end", default=None)
    """No flow starts from this time on. Absent: never."""
    flows: Annotated[Count, Le(100_000_000)] | None = None
    """Most flows. Absent: no limit."""
    seed: Seed | None = None
    """The seed of its random numbers. Absent: made of the run's seed and its name."""
    priority: Priority | None = None
    """The RoCE priority of its flows, 0 to 7. Absent: that of the network's transport."""
    senders: Count | None = None
    """How many send at once, with `incast`."""
    interval_ps: PositiveTimePs | None = Field(alias="interval", default=None)
    """Time between bursts, with `incast`; `load` may stand instead."""
    on_ps: PositiveTimePs | None = Field(alias="on", default=None)
    """How long an NPU sends on average, with `on-off`."""
    off_ps: PositiveTimePs | None = Field(alias="off", default=None)
    """How long an NPU is silent on average, with `on-off`."""

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.end_ps is not None or self.flows is not None

    @model_validator(mode="after")
    @checked
    def _has_the_keys_of_its_kind(self) -> None:
        given = {
            "load": self.load,
            "rate": self.rate_bps,
            "rack-local": self.rack_local,
            "senders": self.senders,
            "interval": self.interval_ps,
            "on": self.on_ps,
            "off": self.off_ps,
        }
        own = _OF_KIND[self.kind]
        for key, value in given.items():
            refuse_key(value is not None and key not in own, key, f"is nothing that kind: {self.kind} has")
        for key in _NEEDED.get(self.kind, ()):
            refuse_key(given[key] is None, key, f"is missing, which kind: {self.kind} needs")
        ways = _HOW_MUCH.get(self.kind, ("load", "rate"))
        named = [key for key in ways if given[key] is not None]
        if len(named) != 1:
            found = " and ".join(named) or "neither of them"
            raise key_error(named[1] if named else "load", f"found {found}, expected {' or '.join(ways)}")
        refuse_key(self.cut is not None and self.load is None, "cut", "is what load is relative to, expected load, too")

    @model_validator(mode="after")
    @checked
    def _takes_some_time(self) -> None:
        late = self.end_ps is not None and self.end_ps <= self.start_ps
        refuse_key(late, "end", "is not after start")
        alone = self.npus is not None and len(self.npus) == 1
        refuse_key(alone, "npus", "is one NPU, expected at least two")
