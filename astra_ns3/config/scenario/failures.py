"""Keys of a scenario that have links, switches, NICs and NPUs fail at random, by rates."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from annotated_types import Gt
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from astra_ns3.config.core.model import (
    ConfigModel,
    PositiveTimePs,
    TimePs,
    as_value_error,
    checked,
    key_error,
    refuse_key,
    shown,
)
from astra_ns3.config.core.plain import Json
from astra_ns3.config.scenario.keys import Seed
from astra_ns3.errors import wrong
from astra_ns3.units import exact_time, parse_time_ps

KINDS = ("link", "switch", "nic", "npu")
"""Kinds of devices that fail, by their keys."""
PS_PER_HOUR = 3600 * 10**12
HOURS_PER_DAY = 24
_LONG = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(h|days?)", re.ASCII)


def _mtbf(value: Json) -> int:
    """Return a time between failures in ps: with a unit of time, or in hours or days, which no simulated time has."""
    long = _LONG.fullmatch(value.strip()) if isinstance(value, str) else None
    if long is not None:
        return round(float(long[1]) * PS_PER_HOUR * (1 if long[2] == "h" else HOURS_PER_DAY))
    if not isinstance(value, str):
        raise wrong(f"found {shown(value)}, expected a time, as 50000h, 90days or 2ms")
    return parse_time_ps(value)


LongTimePs = Annotated[
    int,
    BeforeValidator(as_value_error(_mtbf)),
    Gt(0),
    WithJsonSchema({"type": "string", "examples": ["50000h", "90days", "2ms"]}),
]


class Repair(ConfigModel):
    """A time until repair that is drawn, exponentially distributed."""

    mean_ps: PositiveTimePs = Field(alias="mean")
    """The mean time of a repair."""


class DeviceFailures(ConfigModel):
    """How often each device of a kind fails, and for how long."""

    rate: Annotated[float, Gt(0)] | None = None
    """Failures of one device a day."""
    mtbf_ps: LongTimePs | None = Field(alias="mtbf", default=None)
    """Mean time from a repair of a device to its next failure."""
    repair: PositiveTimePs | Repair | None = None
    """How long a failure lasts: a time, or `{mean: TIME}`, exponentially distributed. Absent: for ever."""

    @property
    def per_ps(self) -> float:
        """Return failures of one device in a picosecond."""
        if self.mtbf_ps is not None:
            return 1 / self.mtbf_ps
        assert self.rate is not None
        return self.rate / (HOURS_PER_DAY * PS_PER_HOUR)

    @model_validator(mode="after")
    @checked
    def _has_one_rate(self) -> None:
        refuse_key(
            (self.rate is None) == (self.mtbf_ps is None), "rate", "expected one of rate (failures a day) and mtbf"
        )


class FailuresConfig(ConfigModel):
    """Failures at random: of each kind of devices so many, all independent of each other."""

    rates: Literal["llama-3"] | None = None
    """A published set of rates; what the file says of a kind goes before it. Absent: none."""
    scale: Annotated[float, Gt(0)] = 1.0
    """Every rate is so many times as high."""
    seed: Seed | None = None
    """The seed of the draws. Absent: made of the run's seed."""
    from_ps: TimePs = Field(alias="from", default=0)
    """No failure happens before this time."""
    until_ps: PositiveTimePs = Field(alias="until")
    """No failure begins then or later; one that has begun goes on."""
    repair: PositiveTimePs | Repair | None = None
    """How long failures of the published set last. Absent: for ever."""
    link: DeviceFailures | None = None
    """Failures of links."""
    switch: DeviceFailures | None = None
    """Failures of switches."""
    nic: DeviceFailures | None = None
    """Failures of NICs."""
    npu: DeviceFailures | None = None
    """Failures of NPUs."""

    @property
    def given(self) -> dict[str, DeviceFailures]:
        """Return what the file says of each kind of device."""
        return {kind: own for kind in KINDS if (own := getattr(self, kind)) is not None}

    @model_validator(mode="after")
    @checked
    def _something_fails(self) -> None:
        if self.until_ps <= self.from_ps:
            words = f"found {exact_time(self.until_ps)}, expected after from, which is {exact_time(self.from_ps)}"
            raise key_error("until", words)
        refuse_key(
            self.rates is None and not self.given,
            "until",
            f"nothing fails, expected rates or one of {', '.join(KINDS)}",
        )
        refuse_key(
            self.repair is not None and self.rates is None, "repair", "is of the failures of rates, which is not there"
        )
