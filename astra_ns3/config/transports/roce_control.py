"""Congestion controls of RoCE and their parameters, by the names that the papers use.

A parameter that a file leaves out comes from a named set of numbers, by default ``scaled``: see
:mod:`astra_ns3.transport.roce.control_sets`. The C++ classes read the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, get_args

from annotated_types import Ge, Gt, Le
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from astra_ns3.config.core.model import (
    Bytes,
    ConfigModel,
    Count,
    Number,
    OnOff,
    OrName,
    PositiveTimePs,
    RateBps,
    TimePs,
    checked,
    key_error,
    kind_of,
    shown,
)
from astra_ns3.units import exact_time, parse_any
from astra_ns3.user_code import UserPart, user_part

_NO_NUMBERS = ("kind", "parameters")
OWN = "FILE:CLASS"
"""How messages call a user's own control."""

_QUEUES_BELOW_ETA = 0.986
"""Fitted: docs/flow.md."""
Fraction = Annotated[float, Gt(0), Le(1)]
"""A share, above 0 and at most 1."""
Window = Literal["bdp", "none"]


class RoceControl(ConfigModel):
    """A congestion control's keys, the window that it starts with, and the bytes that packets carry for it."""

    kind: str
    default_window: ClassVar[Window] = "none"
    telemetry_bytes: ClassVar[int] = 0
    """On each data packet."""
    ack_telemetry_bytes: ClassVar[int] = 0
    window_scales: ClassVar[bool] = False
    """Its window shrinks with the rate unless the transport says otherwise."""
    needs_ecn: ClassVar[bool] = False
    needs_cnps: ClassVar[bool] = False
    flow_start_cost: ClassVar[float] = 0.0
    """For flows without packets: round trips that a new queue pair loses for each factor e that its rate falls by."""
    flow_rise_round_trips: ClassVar[float] = 0.0
    """For flows without packets: round trips until it sends at a rate that has become higher; 0: none."""
    flow_errors_percent: ClassVar[tuple[int, int] | None] = None
    """For flows without packets: the least and the largest error of a finish time that was found: docs/flow.md."""
    by_delay: ClassVar[bool] = False
    """It slows a sender whose packets take longer than a target."""
    flow_held_back: ClassVar[bool] = True
    """For flows without packets: the network may slow a queue pair even where it neither pauses nor has a window."""
    of_the_fabric: ClassVar[frozenset[str]] = frozenset()
    """Numbers that switches and NICs follow, not the control itself."""
    lasting: ClassVar[frozenset[str]] = frozenset()
    """Numbers that say which form it has, and stay as they are while it is played."""

    def flow_headroom(self, numbers: Mapping[str, float]) -> float:
        """For flows without packets: the share of a line that it never fills; ``numbers``: its own in force."""
        return 0.0

    def moves_rate(self, numbers: Mapping[str, float]) -> bool:
        """Whether its rate is ever another than the line's."""
        return True

    def moves_window(self, numbers: Mapping[str, float]) -> bool:
        """Whether it has a window of its own, whatever the transport's."""
        return False

    @property
    def owns_window(self) -> bool:
        """Whether :meth:`moves_window` holds, or may hold of a class of the user's, by the set and the keys alone."""
        return False

    def flow_window_step(self, numbers: Mapping[str, float]) -> float:
        """For flows without packets: packets that its window grows by in each round trip; 0: it stays as it is."""
        return 0.0

    def reads_round_trip(self, numbers: Mapping[str, float]) -> bool:
        """Whether it asks for the path's round-trip time."""
        return False

    def unread(self, numbers: Mapping[str, float]) -> Iterable[tuple[str, str]]:
        """Keys of its own that nothing reads beside the other numbers, and why."""
        return ()

    @property
    def set_name(self) -> str:
        """The set that its numbers come from."""
        return "scaled"

    def given(self) -> dict[str, float]:
        """The numbers that the file gives, by name: picoseconds, bits per second, bytes, 0 or 1."""
        values = {field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()}
        return {name: float(value) for name, value in values.items() if name not in _NO_NUMBERS and value is not None}

    def names_with_units(self) -> dict[str, str]:
        """Return each number's key in a file and its name with the unit."""
        fields = type(self).model_fields.items()
        names = {field.alias or name: name for name, field in fields}
        return {key: name for key, name in names.items() if key not in _NO_NUMBERS}

    @classmethod
    def contradiction(cls, numbers: Mapping[str, float]) -> tuple[str, str] | None:
        """The key of a number that contradicts another, and why; ``numbers`` may lack some."""
        return None

    @model_validator(mode="after")
    @checked
    def _consistent(self) -> None:
        found = self.contradiction(self.given())
        if found is not None:
            raise key_error(*found)


class _FromSet(RoceControl):
    """A control of ours with numbers: those that a file leaves out come from a set."""

    parameters: str = "scaled"

    @property
    def set_name(self) -> str:
        """The set that its numbers come from."""
        return self.parameters


class _Fixed(RoceControl):
    def moves_rate(self, numbers: Mapping[str, float]) -> bool:
        """Never."""
        return False


class NoControl(_Fixed):
    """Line rate always; only PFC and the window slow a queue pair."""

    kind: Literal["none"] = "none"
    flow_held_back: ClassVar[bool] = False


class StaticWindow(_Fixed):
    """Line rate, and never more in flight than the transport's window."""

    kind: Literal["static-window"] = "static-window"
    default_window: ClassVar[Window] = "bdp"


class Dcqcn(_FromSet):
    """DCQCN: a CNP cuts the rate by alpha / 2; a timer and a byte counter raise it again."""

    kind: Literal["dcqcn"] = "dcqcn"
    flow_errors_percent: ClassVar[tuple[int, int]] = (-75, 25)
    needs_ecn: ClassVar[bool] = True
    needs_cnps: ClassVar[bool] = True
    parameters: Literal["scaled", "paper", "hpcc", "nvidia"] = "scaled"
    """The set of numbers for keys that are absent. Keys tell theirs for a line of B = 100 Gb/s, a round trip of T = 5
    us and packets of 1,000 bytes."""
    rate_ai_bps: RateBps | None = Field(alias="rate_ai", default=None)
    """Step of additive increase. `scaled`: B x `increase_timer` / 2.75 ms, so that 250 steps regain half of the
    line."""
    rate_hai_bps: RateBps | None = Field(alias="rate_hai", default=None)
    """Step of hyper increase. `scaled`: five times `rate_ai`, the ratio of the authors' 200 and 40 Mb/s."""
    g: Fraction | None = None
    """Gain of alpha's average."""
    alpha_timer_ps: PositiveTimePs | None = Field(alias="alpha_timer", default=None)
    """Without a CNP for so long, alpha falls. `scaled`: 1.1 `cnp_interval`, as the paper's 55 beside 50 us."""
    decrease_timer_ps: TimePs | None = Field(alias="decrease_timer", default=None)
    """The rate is cut at the beats of this clock if a CNP came in between; 0: at each CNP."""
    increase_timer_ps: PositiveTimePs | None = Field(alias="increase_timer", default=None)
    """Time between increases of the rate. `scaled`: as `alpha_timer`."""
    byte_counter_bytes: Bytes | None = Field(alias="byte_counter", default=None)
    """Bytes sent that count as one increase event; 0: no byte counter. `scaled`: 10 MB x B / 40 Gb/s x `increase_timer`
    / 55 us, the paper's ratio of counter and timer."""
    fast_recovery_times: Count | None = None
    """Steps of fast recovery before additive increase."""
    clamp_target_rate: OnOff | None = None
    """Whether each cut lowers the target rate too, also during fast recovery."""
    rate_on_first_cnp: Fraction | None = None
    """The first CNP sets the rate to this share of the line's. `paper`: the authors' configuration."""


class Timely(_FromSet):
    """TIMELY: the gradient of the round-trip time sets the rate."""

    kind: Literal["timely"] = "timely"
    by_delay: ClassVar[bool] = True
    flow_errors_percent: ClassVar[tuple[int, int]] = (-38, 25)
    parameters: Literal["scaled", "paper", "hpcc"] = "scaled"
    """The set of numbers for keys that are absent. Keys tell theirs for a line of B = 100 Gb/s, a round trip of T = 5
    us and packets of 1,000 bytes."""
    rate_ai_bps: RateBps | None = Field(alias="rate_ai", default=None)
    """Step of additive increase. `scaled`: B / 250, about four of the paper's steps each round trip."""
    rate_hai_bps: RateBps | None = Field(alias="rate_hai", default=None)
    """Step of hyper increase. `scaled`: B / 50."""
    ewma: Fraction | None = None
    """Weight of the newest difference of round trips. `paper`: the authors' configuration."""
    beta: Fraction | None = None
    """Factor of a decrease."""
    t_low_ps: PositiveTimePs | None = Field(alias="t_low", default=None)
    """Round trip below which the rate always rises. `scaled`: 2.5 `minimum_rtt`."""
    t_high_ps: PositiveTimePs | None = Field(alias="t_high", default=None)
    """Round trip above which the rate always falls. `scaled`: 25 `minimum_rtt`."""
    minimum_rtt_ps: TimePs | None = Field(alias="minimum_rtt", default=None)
    """The gradient is divided by this; 0: by the path's own. `scaled`: T, at least 20 us. `paper`: the authors'
    configuration."""
    hai_after: Count | None = None
    """Increases in a row after which the rate grows by ``rate_hai``."""
    hai_below_t_low: OnOff | None = None
    """Whether increases below ``t_low`` count among them."""
    segment_bytes: Bytes | None = Field(alias="segment", default=None)
    """Bytes between two updates; 0: one update a round trip. Use 0 beyond 10 Gb/s: with 16 KB a fast line reacts many
    times to one cause."""
    max_decrease: Fraction | None = None
    """The largest share of the rate that one update takes away; 1: all of it. `scaled`: Swift's. With the paper's rule
    a gradient above 1.25 leaves nothing."""

    def reads_round_trip(self, numbers: Mapping[str, float]) -> bool:
        """Unless ``minimum_rtt`` stands in for it."""
        return not numbers["minimum_rtt"]

    @classmethod
    def contradiction(cls, numbers: Mapping[str, float]) -> tuple[str, str] | None:
        """``t_low`` above ``t_high``."""
        low, high = numbers.get("t_low"), numbers.get("t_high")
        if low is None or high is None or low <= high:
            return None
        return "t_low", f"{exact_time(int(low))} is above t_high, {exact_time(int(high))}"


class Dctcp(_FromSet):
    """DCTCP for RDMA: once a window the share of marked packets updates alpha; a marked window cuts by alpha / 2."""

    kind: Literal["dctcp"] = "dctcp"
    flow_errors_percent: ClassVar[tuple[int, int]] = (-25, 25)
    default_window: ClassVar[Window] = "bdp"
    needs_ecn: ClassVar[bool] = True
    lasting: ClassVar[frozenset[str]] = frozenset({"window"})
    parameters: Literal["scaled", "paper", "hpcc"] = "scaled"
    """The set of numbers for keys that are absent. Keys tell theirs for a line of B = 100 Gb/s, a round trip of T = 5
    us and packets of 1,000 bytes."""
    window: OnOff | None = None
    """Whether it moves the window, as RFC 8257 does, or the rate."""
    g: Fraction | None = None
    """Gain of alpha's average."""
    rate_ai_bps: RateBps | None = Field(alias="rate_ai", default=None)
    """Step of increase where the rate is moved. `scaled`: payload / T, a packet more each round trip, as in the
    paper."""
    minimum_window_bytes: Bytes | None = Field(alias="minimum_window", default=None)
    """The least window; 0: two packets."""

    def moves_rate(self, numbers: Mapping[str, float]) -> bool:
        """Unless it moves the window."""
        return not numbers["window"]

    def moves_window(self, numbers: Mapping[str, float]) -> bool:
        """As RFC 8257 does, where asked for."""
        return bool(numbers["window"])

    @property
    def owns_window(self) -> bool:
        """As the key says, else the set."""
        return self.parameters != "hpcc" if self.window is None else self.window

    def flow_window_step(self, numbers: Mapping[str, float]) -> float:
        """As TCP's congestion avoidance."""
        return 1.0 if numbers["window"] else 0.0

    def unread(self, numbers: Mapping[str, float]) -> Iterable[tuple[str, str]]:
        """The number of the way that isn't chosen."""
        by_window = bool(numbers["window"])
        key, state = ("rate_ai", "on") if by_window else ("minimum_window", "off")
        return [(key, f"while congestion_control.window is {state}")]


class _Utilisation(_FromSet):
    default_window: ClassVar[Window] = "bdp"
    window_scales: ClassVar[bool] = True
    parameters: Literal["scaled", "paper", "hpcc"] = "scaled"
    """The set of numbers for keys that are absent. Keys tell theirs for a line of B = 100 Gb/s, a round trip of T = 5
    us and packets of 1,000 bytes."""
    rate_ai_bps: RateBps | None = Field(alias="rate_ai", default=None)
    """Step of additive increase. `scaled`: (1 - eta) B / 50, the paper's rule for 50 flows."""
    eta: Fraction | None = None
    """The utilisation that is aimed at."""
    max_stage: Number | None = None
    """Additive steps before a multiplicative one. `hpcc-pint` has none in `scaled`: they take long if a queue pair
    sends less than a packet in each round trip."""
    fast_react: OnOff | None = None
    """Whether acknowledgements between two updates of the reference rate change the rate too."""

    def flow_headroom(self, numbers: Mapping[str, float]) -> float:
        """Beside ``eta``, what the short queues take that data and acknowledgements make where they meet."""
        return 1 - numbers["eta"] * _QUEUES_BELOW_ETA


class Hpcc(_Utilisation):
    """HPCC: telemetry of each hop holds the bytes in flight below ``eta`` times what the path can take."""

    kind: Literal["hpcc"] = "hpcc"
    flow_errors_percent: ClassVar[tuple[int, int]] = (-52, 10)
    flow_start_cost: ClassVar[float] = 2.0
    flow_rise_round_trips: ClassVar[float] = 8.0
    telemetry_bytes: ClassVar[int] = 42
    ack_telemetry_bytes: ClassVar[int] = 42
    lasting: ClassVar[frozenset[str]] = frozenset({"multiple_rates"})
    multiple_rates: OnOff | None = None
    """Whether each hop has a reference rate of its own; the lowest counts."""
    base_rtt_ps: TimePs | None = Field(alias="base_rtt", default=None)
    """The base round trip; 0: the path's own."""

    def reads_round_trip(self, numbers: Mapping[str, float]) -> bool:
        """Unless ``base_rtt`` stands in for it."""
        return not numbers["base_rtt"]


class HpccPint(_Utilisation):
    """HPCC with one encoded number a packet in place of every hop's telemetry."""

    kind: Literal["hpcc-pint"] = "hpcc-pint"
    flow_errors_percent: ClassVar[tuple[int, int]] = (-38, 7)
    telemetry_bytes: ClassVar[int] = 2
    ack_telemetry_bytes: ClassVar[int] = 2
    of_the_fabric: ClassVar[frozenset[str]] = frozenset({"log_base", "sampling"})
    log_base: Annotated[float, Gt(1), Le(2)] | None = None
    """The number is rounded to powers of it."""
    sampling: Fraction | None = None
    """Probability that a packet carries the number."""


class Swift(_FromSet):
    """Swift: the round-trip time against a target that grows with hops and with small windows; windows in packets."""

    kind: Literal["swift"] = "swift"
    by_delay: ClassVar[bool] = True
    flow_errors_percent: ClassVar[tuple[int, int]] = (-32, 25)
    default_window: ClassVar[Window] = "bdp"
    flow_start_cost: ClassVar[float] = 0.5
    parameters: Literal["scaled", "paper"] = "scaled"
    """The set of numbers for keys that are absent. Keys tell theirs for a line of B = 100 Gb/s, a round trip of T = 5
    us and packets of 1,000 bytes."""
    base_target_ps: PositiveTimePs | None = Field(alias="base_target", default=None)
    """The target delay without hops. `scaled`: 1.5 T, so half a round trip of room for queues; the paper's set is our
    choice."""
    per_hop_ps: TimePs | None = Field(alias="per_hop", default=None)
    """Target delay added for each hop. `scaled`: 1/25 of `base_target`, the paper's ratio."""
    ai: Annotated[float, Gt(0)] | None = None
    """Packets that the window grows by each round trip."""
    beta: Fraction | None = None
    """Factor of a decrease."""
    max_mdf: Fraction | None = None
    """The largest decrease at once."""
    fs_range_ps: TimePs | None = Field(alias="fs_range", default=None)
    """Range of the target's flow scaling. `scaled`: four times `base_target`, the paper's ratio."""
    fs_min_cwnd: Annotated[float, Gt(0)] | None = None
    """Window, in packets, at which flow scaling is largest."""
    fs_max_cwnd: Annotated[float, Gt(0)] | None = None
    """Window, in packets, from which flow scaling is 0."""
    min_cwnd: Annotated[float, Gt(0)] | None = None
    """The least window, in packets."""
    max_cwnd: Annotated[float, Ge(0)] | None = None
    """The largest window, in packets; 0: what the line sends in the longest target delay of a large window."""
    retransmit_reset: Count | None = None
    """Timeouts in a row after which the window is the least one."""

    def moves_window(self, numbers: Mapping[str, float]) -> bool:
        """Always; packets are paced only below a window of one."""
        return True

    @property
    def owns_window(self) -> bool:
        """Always."""
        return True

    def flow_window_step(self, numbers: Mapping[str, float]) -> float:
        """Its additive increase."""
        return numbers["ai"]

    def reads_round_trip(self, numbers: Mapping[str, float]) -> bool:
        """For the most that a window may be."""
        return True

    def unread(self, numbers: Mapping[str, float]) -> Iterable[tuple[str, str]]:
        """The ends of a range that isn't there."""
        return () if numbers["fs_range"] else [(key, "with an fs_range of 0") for key in ("fs_min_cwnd", "fs_max_cwnd")]

    @classmethod
    def contradiction(cls, numbers: Mapping[str, float]) -> tuple[str, str] | None:
        """Windows whose least is above their most."""
        least, most = numbers.get("fs_min_cwnd"), numbers.get("fs_max_cwnd")
        if least is not None and most is not None and least >= most:
            return "fs_min_cwnd", f"{least} is not below fs_max_cwnd, {most}"
        least, most = numbers.get("min_cwnd"), numbers.get("max_cwnd")
        if least is not None and most and least > most:
            return "min_cwnd", f"{least} is above max_cwnd, {most}"
        return None


def _own_kind(value: str) -> str:
    if user_part(value, compiled=True) is None:
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
    number = parse_any(value)
    if number is None:
        raise ValueError(f"'{name}' is {shown(value)}, expected a number, or one with a unit of rate, time or size")
    return float(number)


class OwnControl(RoceControl):
    """A class of the user's: ``FILE.hpp:Class`` is compiled at start, ``FILE.py:Class`` is called from C++."""

    needs_cnps: ClassVar[bool] = True
    kind: Annotated[str, AfterValidator(_own_kind)]
    """`FILE.hpp:Class` or `FILE.py:Class`; the path begins at the working folder."""
    parameters: Annotated[dict[str, float], BeforeValidator(_base_units)] = Field(default_factory=dict)
    """Numbers for the class, by any names: numbers, on or off, or rates, times and sizes with a unit. They arrive in
    bits per second, picoseconds and bytes."""

    @property
    def owns_window(self) -> bool:
        """It may set one."""
        return True

    @property
    def path(self) -> str:
        """Path of the file, as given."""
        return self._part.file

    @property
    def class_name(self) -> str:
        """Name of the class in it; in C++ it may have its namespace before it."""
        return self._part.name

    @property
    def _part(self) -> UserPart:
        part = user_part(self.kind, compiled=True)
        assert part is not None
        return part

    def given(self) -> dict[str, float]:
        """The parameters as the file has them, in base units."""
        return dict(self.parameters)

    def names_with_units(self) -> dict[str, str]:
        """Units of a user's numbers are the user's affair."""
        return {key: key for key in self.parameters}


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

KINDS: tuple[str, ...] = tuple(
    tag.tag for model in get_args(get_args(RoceControlConfig)[0]) for tag in get_args(model)[1:] if tag.tag != OWN
)
"""Names of our own controls."""


def has_own_window(control: RoceControl, numbers: Mapping[str, float]) -> bool:
    """Return whether the window is the control's, whatever the transport's: it moves it, or is a user's and may."""
    return isinstance(control, OwnControl) or control.moves_window(numbers)
