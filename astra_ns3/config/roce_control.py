"""Congestion controls of RoCE and their parameters, by the names that the papers use; the defaults are the papers'.

Sources: DCQCN, Zhu et al., SIGCOMM 2015; TIMELY, Mittal et al., SIGCOMM 2015; DCTCP, RFC 8257; HPCC, Li et al.,
SIGCOMM 2019; PINT, Ben Basat et al., SIGCOMM 2020; Swift, Kumar et al., SIGCOMM 2020. Where a paper leaves a number
open, the authors' public configuration has it. The C++ classes read the same names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from astra_ns3.config.model import (
    Bytes,
    ConfigModel,
    Count,
    Number,
    OnOff,
    OrName,
    PositiveTimePs,
    RateBps,
    TimePs,
    key_error,
    kind_of,
    shown,
)
from astra_ns3.errors import InputError
from astra_ns3.units import PS_PER_US, exact_time, parse_bytes, parse_rate, parse_time_ps

_MBPS = 10**6
_FILE_AND_CLASS = re.compile(r"(?P<path>.+\.(?:hpp|hh|h|py)):(?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)")
OWN = "FILE:CLASS"
"""How messages call a user's own control."""

Fraction = Annotated[float, Gt(0), Le(1)]
"""A share, above 0 and at most 1."""
Window = Literal["bdp", "none"]


class RoceControl(ConfigModel):
    """What all controls tell the rest: the window they start with, the bytes packets carry for them."""

    default_window: ClassVar[Window] = "none"
    telemetry_bytes: ClassVar[int] = 0
    """On each data packet."""
    ack_telemetry_bytes: ClassVar[int] = 0
    window_scales: ClassVar[bool] = False
    """Its window shrinks with the rate unless the transport says otherwise."""
    needs_ecn: ClassVar[bool] = False
    of_the_fabric: ClassVar[frozenset[str]] = frozenset()
    """Numbers that switches and NICs follow, not the control itself."""

    def native_parameters(self) -> dict[str, float]:
        """Its numbers by name for C++: picoseconds, bits per second, bytes, 0 or 1."""
        values = {field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()}
        return {name: float(value) for name, value in values.items() if name not in {"kind", *self.of_the_fabric}}


class NoControl(RoceControl):
    """Line rate always; only PFC and the window slow a queue pair."""

    kind: Literal["none"] = "none"


class StaticWindow(RoceControl):
    """Line rate, and never more in flight than the transport's window."""

    kind: Literal["static-window"] = "static-window"
    default_window: ClassVar[Window] = "bdp"


class Dcqcn(RoceControl):
    """DCQCN: a CNP cuts the rate by alpha / 2; a timer and a byte counter raise it again."""

    kind: Literal["dcqcn"] = "dcqcn"
    needs_ecn: ClassVar[bool] = True
    rate_ai_bps: RateBps = Field(alias="rate_ai", default=40 * _MBPS)
    rate_hai_bps: RateBps = Field(alias="rate_hai", default=200 * _MBPS)
    g: Fraction = 1 / 256
    alpha_timer_ps: PositiveTimePs = Field(alias="alpha_timer", default=55 * PS_PER_US)
    """Without a CNP for so long, alpha falls."""
    decrease_timer_ps: TimePs = Field(alias="decrease_timer", default=0)
    """The rate is cut at the beats of this clock if a CNP came in between; 0: at each CNP."""
    increase_timer_ps: PositiveTimePs = Field(alias="increase_timer", default=55 * PS_PER_US)
    byte_counter_bytes: Bytes = Field(alias="byte_counter", default=10_000_000)
    """Bytes sent that count as one increase event; 0: no byte counter."""
    fast_recovery_times: Count = 5
    clamp_target_rate: OnOff = True
    """Whether each cut lowers the target rate too, also during fast recovery."""
    rate_on_first_cnp: Fraction = 1.0
    """The first CNP sets the rate to this share of the line's."""


class Timely(RoceControl):
    """TIMELY: the gradient of the round-trip time sets the rate."""

    kind: Literal["timely"] = "timely"
    rate_ai_bps: RateBps = Field(alias="rate_ai", default=10 * _MBPS)
    rate_hai_bps: RateBps = Field(alias="rate_hai", default=50 * _MBPS)
    ewma: Fraction = 0.875
    beta: Fraction = 0.8
    t_low_ps: PositiveTimePs = Field(alias="t_low", default=50 * PS_PER_US)
    t_high_ps: PositiveTimePs = Field(alias="t_high", default=500 * PS_PER_US)
    minimum_rtt_ps: TimePs = Field(alias="minimum_rtt", default=20 * PS_PER_US)
    """What the gradient is divided by; 0: the path's own."""
    hai_after: Count = 5
    """Increases in a row after which the rate grows by ``rate_hai``."""
    hai_below_t_low: OnOff = False
    """Whether increases below ``t_low`` count among them."""
    segment_bytes: Bytes = Field(alias="segment", default=16_384)
    """Bytes between two updates; 0: one update a round trip."""

    @model_validator(mode="after")
    def _ordered(self) -> Timely:
        if self.t_low_ps > self.t_high_ps:
            raise key_error("t_low", f"{exact_time(self.t_low_ps)} is above t_high, {exact_time(self.t_high_ps)}")
        return self


class Dctcp(RoceControl):
    """DCTCP for RDMA: once a window the share of marked packets updates alpha; a marked window cuts by alpha / 2."""

    kind: Literal["dctcp"] = "dctcp"
    default_window: ClassVar[Window] = "bdp"
    needs_ecn: ClassVar[bool] = True
    window: OnOff = True
    """Whether it moves the window, as RFC 8257 does, or the rate."""
    g: Fraction = 1 / 16
    rate_ai_bps: RateBps = Field(alias="rate_ai", default=1000 * _MBPS)
    minimum_window_bytes: Bytes = Field(alias="minimum_window", default=0)
    """0: two packets."""


class _Utilisation(RoceControl):
    default_window: ClassVar[Window] = "bdp"
    window_scales: ClassVar[bool] = True
    rate_ai_bps: RateBps = Field(alias="rate_ai", default=50 * _MBPS)
    eta: Fraction = 0.95
    max_stage: Number = 5
    fast_react: OnOff = True
    """Whether acknowledgements between two updates of the reference rate change the rate too."""


class Hpcc(_Utilisation):
    """HPCC: telemetry of each hop holds the bytes in flight below ``eta`` times what the path can take."""

    kind: Literal["hpcc"] = "hpcc"
    telemetry_bytes: ClassVar[int] = 42
    ack_telemetry_bytes: ClassVar[int] = 42
    multiple_rates: OnOff = False
    """Whether each hop has a reference rate of its own; the lowest counts."""
    base_rtt_ps: TimePs = Field(alias="base_rtt", default=0)
    """0: the path's own."""


class HpccPint(_Utilisation):
    """HPCC with one encoded number a packet in place of every hop's telemetry."""

    kind: Literal["hpcc-pint"] = "hpcc-pint"
    telemetry_bytes: ClassVar[int] = 2
    ack_telemetry_bytes: ClassVar[int] = 2
    of_the_fabric: ClassVar[frozenset[str]] = frozenset({"log_base", "sampling"})
    log_base: Annotated[float, Gt(1), Le(2)] = 1.05
    """The number is rounded to powers of it."""
    sampling: Fraction = 1.0
    """Probability that a packet carries the number."""


class Swift(RoceControl):
    """Swift: the round-trip time against a target that grows with hops and with small windows; windows in packets."""

    kind: Literal["swift"] = "swift"
    default_window: ClassVar[Window] = "bdp"
    base_target_ps: PositiveTimePs = Field(alias="base_target", default=25 * PS_PER_US)
    per_hop_ps: TimePs = Field(alias="per_hop", default=PS_PER_US)
    ai: Annotated[float, Gt(0)] = 1.0
    beta: Fraction = 0.8
    max_mdf: Fraction = 0.5
    fs_range_ps: TimePs = Field(alias="fs_range", default=100 * PS_PER_US)
    fs_min_cwnd: Annotated[float, Gt(0)] = 0.1
    fs_max_cwnd: Annotated[float, Gt(0)] = 100.0
    min_cwnd: Annotated[float, Gt(0)] = 0.01
    max_cwnd: Annotated[float, Ge(0)] = 0.0
    """0: what the line sends in the longest target delay of a large window."""
    retransmit_reset: Count = 5
    """Timeouts in a row after which the window is the least one."""

    @model_validator(mode="after")
    def _ordered(self) -> Swift:
        if self.fs_min_cwnd >= self.fs_max_cwnd:
            raise key_error("fs_min_cwnd", f"{self.fs_min_cwnd} is not below fs_max_cwnd, {self.fs_max_cwnd}")
        if self.max_cwnd and self.min_cwnd > self.max_cwnd:
            raise key_error("min_cwnd", f"{self.min_cwnd} is above max_cwnd, {self.max_cwnd}")
        return self


def _own_kind(value: str) -> str:
    if not _FILE_AND_CLASS.fullmatch(value):
        raise ValueError(f"found {shown(value)}, expected FILE.hpp:Class or FILE.py:Class")
    return value


def _base_units(values: object) -> object:
    """Numbers of a user's own control: plain ones, on or off, and rates, times and sizes with a unit."""
    if not isinstance(values, Mapping):
        return values
    return {str(name): _base_unit(str(name), value) for name, value in values.items()}


def _base_unit(name: str, value: object) -> object:
    if not isinstance(value, str):
        return float(value) if isinstance(value, bool) else value
    for parse in (parse_rate, parse_time_ps, parse_bytes):
        try:
            return float(parse(value))
        except InputError:
            continue
    raise ValueError(f"'{name}' is {shown(value)}, expected a number, or one with a unit of rate, time or size")


class OwnControl(RoceControl):
    """A class of the user's: ``FILE.hpp:Class`` is compiled at start, ``FILE.py:Class`` is called from C++."""

    kind: Annotated[str, AfterValidator(_own_kind)]
    parameters: Annotated[dict[str, float], BeforeValidator(_base_units)] = Field(default_factory=dict)

    @property
    def path(self) -> str:
        """Path of the file, as given."""
        return self._matched("path")

    @property
    def class_name(self) -> str:
        """Name of the class in it; in C++ it may have its namespace before it."""
        return self._matched("name")

    def _matched(self, part: str) -> str:
        match = _FILE_AND_CLASS.fullmatch(self.kind)
        return match[part] if match else ""

    def native_parameters(self) -> dict[str, float]:
        """The parameters as the file has them, in base units."""
        return dict(self.parameters)


KINDS: tuple[str, ...] = tuple(
    str(model.model_fields["kind"].default)
    for model in (NoControl, StaticWindow, Dcqcn, Timely, Dctcp, Hpcc, HpccPint, Swift)
)
"""Names of our own controls."""


def _kind(value: object) -> str | None:
    kind = kind_of(value)
    return OWN if kind is not None and ":" in kind else kind


RoceControlConfig = Annotated[
    Annotated[NoControl, Tag("none")]
    | Annotated[StaticWindow, Tag("static-window")]
    | Annotated[Dcqcn, Tag("dcqcn")]
    | Annotated[Timely, Tag("timely")]
    | Annotated[Dctcp, Tag("dctcp")]
    | Annotated[Hpcc, Tag("hpcc")]
    | Annotated[HpccPint, Tag("hpcc-pint")]
    | Annotated[Swift, Tag("swift")]
    | Annotated[OwnControl, Tag(OWN)],
    Discriminator(_kind),
    OrName(),
]
"""Every congestion control, told apart by ``kind``; its name alone stands for its defaults."""
