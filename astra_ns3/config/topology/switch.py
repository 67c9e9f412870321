"""Keys of switches and NICs in a network file: rates, buffers, ECN, PFC, credits, how a port chooses a queue.

Model's sources: IEEE 802.1Q (priorities, PFC), the InfiniBand Architecture Specification, volume 1, 7.9 (credits),
DCQCN (Zhu et al., SIGCOMM 2015) for RED-like marking, Choudhury and Hahne's dynamic thresholds (1998) for alpha.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag, model_validator

from astra_ns3.config.core.model import (
    Bytes,
    ConfigModel,
    Count,
    PositiveBytes,
    RateBps,
    TimePs,
    checked,
    refuse_key,
    shown,
)
from astra_ns3.errors import wrong
from astra_ns3.units import PS_PER_MS, exact_rate, format_rate

if TYPE_CHECKING:
    from typing_extensions import Self

ETHERNET_HEADER_BYTES = 14
"""The least that tells a switch where a frame goes."""
LARGEST_HEAD_BYTES = 65_536
"""No packet is longer."""
PRIORITIES = 8
"""Classes of traffic that a port keeps apart; 7 is the highest."""

Priority = Annotated[int, Strict(), Ge(0), Lt(PRIORITIES)]
Share = Annotated[float, Gt(0), Le(64)]
"""The alpha of a dynamic threshold: a queue may hold so many times what is still free."""


class EcnConfig(ConfigModel):
    """ECN marking by the length of a port's queue: none up to kmin, all above kmax, linear to ``pmax`` between.

    ``kmin`` equal to ``kmax`` is the step of DCTCP (RFC 8257, section 3.1).
    """

    kmin_bytes: Bytes = Field(alias="kmin")
    """The queue up to which nothing is marked. `kmin` equal to `kmax` is DCTCP's step."""
    kmax_bytes: PositiveBytes = Field(alias="kmax")
    """The queue above which everything is marked."""
    pmax: Annotated[float, Strict(), Gt(0), Le(1)] = 1.0
    """The probability of a mark just below `kmax`. It grows linearly from `kmin` on."""
    at: Literal["enqueue", "dequeue"] | None = None
    """When the queue is looked at; absent: at enqueue for TCP, at dequeue for RoCE."""

    @model_validator(mode="after")
    @checked
    def _ordered(self) -> None:
        refuse_key(
            self.kmin_bytes > self.kmax_bytes, "kmin", f"{self.kmin_bytes} bytes is above kmax, {self.kmax_bytes} bytes"
        )


class EcnRate(EcnConfig):
    """Marking of the ports of exactly one rate."""

    rate_bps: RateBps = Field(alias="rate")
    """The rate of the ports that these thresholds hold for."""


class PfcConfig(ConfigModel):
    """Priority flow control: an ingress queue that holds more than its share pauses its sender (IEEE 802.1Q, 36).

    An ingress queue may use its reserve, then ``alpha`` times what is free of the shared part, then its headroom.
    """

    priorities: Annotated[tuple[Priority, ...], Field(min_length=1, max_length=PRIORITIES)] = (3,)
    """The priorities that are lossless."""
    alpha: Share = 0.125
    """The share of an ingress queue: so many times what is free of the buffer, without headrooms and reserves."""
    reference_rate_bps: RateBps | None = Field(alias="reference_rate", default=None)
    """Faster ports have alpha doubled for each halving that brings their rate down to this one, until it is 1."""
    headroom_bytes: Bytes | None = Field(alias="headroom", default=None)
    """Memory for what may still arrive after a pause was sent, of each port and lossless priority. Absent: 2 x delay x
    rate / 8, three of the largest frames on the line, and 84 bytes of the pause frame. Delay and rate are
    the highest that a scenario's events give the line."""
    headroom_factor: Annotated[float, Gt(0), Le(1000)] | None = None
    """Headroom is so many times rate x delay of the port, instead of the exact sum."""
    reserve_bytes: Bytes = Field(alias="reserve", default=4096)
    """Memory that each port and lossless priority has for itself."""
    resume_offset_bytes: Bytes = Field(alias="resume_offset", default=3072)
    """How far below the threshold of the pause a queue has to fall before its sender may go on."""
    watchdog_ps: TimePs = Field(alias="watchdog", default=PS_PER_MS)
    """A pause that lasts longer counts as one storm, and a warning names the port, the priority and the longest pause.
    A circle of such ports is a deadlock and ends the run. 0: never."""

    @model_validator(mode="after")
    @checked
    def _consistent(self) -> None:
        refuse_key(
            len(set(self.priorities)) < len(self.priorities),
            "priorities",
            f"{list(self.priorities)} names a priority twice",
        )
        refuse_key(
            self.headroom_bytes is not None and self.headroom_factor is not None,
            "headroom_factor",
            "stands beside headroom, which says all; leave one of them out",
        )

    def alpha_of(self, rate_bps: int) -> float:
        """Alpha of a port of that rate."""
        alpha = self.alpha
        while self.reference_rate_bps is not None and rate_bps > self.reference_rate_bps and alpha < 1:
            alpha, rate_bps = alpha * 2, rate_bps // 2
        return alpha


class PfcThresholds(ConfigModel):
    """Numbers of priority flow control that may change during a run; what is absent stays."""

    alpha: Share | None = None
    """Another `alpha` of `switch.pfc`."""
    headroom_bytes: Bytes | None = Field(alias="headroom", default=None)
    """Another `headroom` of `switch.pfc`."""
    reserve_bytes: Bytes | None = Field(alias="reserve", default=None)
    """Another `reserve` of `switch.pfc`."""
    resume_offset_bytes: Bytes | None = Field(alias="resume_offset", default=None)
    """Another `resume_offset` of `switch.pfc`."""

    @model_validator(mode="after")
    @checked
    def _says_something(self) -> None:
        nothing = all(value is None for _, value in self)
        refuse_key(nothing, "alpha", "found none of alpha, headroom, reserve, resume_offset; expected at least one")


class CreditsConfig(ConfigModel):
    """Credit-based links: a port sends only what the far end's buffer has room for, lane by lane.

    A lane is a priority of a port. A frame starts in the lane of its priority, and goes on by the next lane where its
    route changes lanes.
    """

    bytes_: Annotated[PositiveBytes, Le(2**31 - 1)] = Field(alias="bytes", default=131_072)
    """Buffer of each lane of each link. A buffer below the largest frame is refused, and a warning names one below a
    round trip's worth. The default is the most that InfiniBand's counters can grant: 2,048 blocks of 64 bytes."""
    update_ps: TimePs = Field(alias="update", default=0)
    """Time from when bytes have left the buffer until the credit for them is on the way back."""
    lanes: Annotated[int, Strict(), Ge(1), Le(PRIORITIES)] = 1
    """Lanes of each priority in use: the priority itself and those above it. The last must be 7 or less."""
    change: Literal["hop", "date-line"] = "hop"
    """Where a frame changes to the next lane: at each `hop` between switches, or at the `date-line` of a ring, torus or
    mesh."""
    watchdog_ps: TimePs = Field(alias="watchdog", default=PS_PER_MS)
    """A lane that waits longer for credit counts as one storm. A circle of such lanes is a deadlock and ends the run.
    0: never."""


class ReductionConfig(ConfigModel):
    """A switch that reduces: it combines what the members of a group send, piece by piece, and sends the sum on.

    The part that reduces hangs on the switch by a line of its own, and each group has connections of its own to it.
    """

    rate_bps: RateBps | None = Field(alias="rate", default=None)
    """How fast the switch takes in what it reduces, and how fast it sends sums: of all groups together. Absent: twice
    the rates of all its ports together, so that its ports alone limit it."""
    latency_ps: TimePs = Field(alias="latency", default=0)
    """Time that a piece spends there besides, half of it on the way in and half on the way out."""
    groups: Annotated[Count, Le(65_536)] = 64
    """How many groups may have the switch in their trees."""
    piece_bytes: PositiveBytes = Field(alias="piece", default=65_536)
    """Bytes that are combined and sent on together. Trees have larger pieces where there would be more than 128 and
    the buffer holds two."""
    buffer_bytes: PositiveBytes = Field(alias="buffer", default=1_048_576)
    """Room for pieces of one group that the switch has not sent on yet; a member waits where there is none."""

    @model_validator(mode="after")
    @checked
    def _a_piece_fits(self) -> None:
        refuse_key(
            self.buffer_bytes < self.piece_bytes,
            "buffer",
            f"found {self.buffer_bytes} bytes, expected room for a piece, {self.piece_bytes} bytes",
        )


class SchedulerConfig(ConfigModel):
    """Which priority a port serves next: the highest, or by deficit weighted round robin (Shreedhar, Varghese 1995)."""

    kind: Literal["strict", "dwrr"] = "strict"
    """Which priority a port serves: `strict`, the highest (7) first, or `dwrr`, deficit weighted round robin."""
    weights: Annotated[tuple[Count, ...], Field(min_length=PRIORITIES, max_length=PRIORITIES)] | None = None
    """Weights of priorities 0 to 7; only and always with dwrr."""

    @model_validator(mode="after")
    @checked
    def _weights_belong_to_dwrr(self) -> None:
        refuse_key(
            self.kind == "dwrr" and self.weights is None,
            "weights",
            f"is missing; dwrr needs {PRIORITIES} whole numbers, for priorities 0 to 7",
        )
        refuse_key(
            self.kind == "strict" and self.weights is not None,
            "weights",
            "has no effect with kind strict; leave it out or write kind: dwrr",
        )


def _form(value: object) -> str:
    if isinstance(value, (str, bool)):
        return "word"
    return "list" if isinstance(value, (list, tuple)) else "one"


def _word(value: object) -> object:
    """YAML reads ``off`` as false."""
    word = "off" if value is False else value
    if word not in ("scaled", "off"):
        raise ValueError(f"found {shown(value)}, expected scaled, off, or keys: kmin, kmax, pmax")
    return word


Ecn = Annotated[
    Annotated[EcnConfig, Tag("one")]
    | Annotated[tuple[EcnRate, ...], Field(min_length=1), Tag("list")]
    | Annotated[Literal["scaled", "off"], BeforeValidator(_word), Tag("word")],
    Discriminator(_form),
]
"""Marking of all ports alike, or of each by its rate; ``scaled``: as :mod:`astra_ns3.transport.marking` chooses."""


class SwitchConfig(ConfigModel):
    """A switch: the buffer that all its ports share, its marking, its pauses (absent: none), how and when it sends."""

    buffer_bytes: PositiveBytes = Field(alias="buffer")
    """The memory that all ports of the switch share. A frame that doesn't fit is dropped."""
    alpha: Share | None = None
    """The dynamic threshold of queues that aren't lossless: each may hold so many times what is free. Absent: the whole
    pool."""
    ecn: Ecn | None = None
    """When ports mark frames: one group of keys, a list of groups by rate, `scaled` (thresholds by rule) or `off`.
    Absent: `scaled` if RoCE's congestion control waits for marks, else `off`."""
    pfc: PfcConfig | None = None
    """Priority flow control. Absent: no pauses, and frames that don't fit are lost. `{}` is all defaults."""
    credits: CreditsConfig | None = None
    """Links by credit, in place of drops and pauses. Absent: none. `{}` is all defaults. `pfc`, `alpha` and
    `cut_through` are refused beside it."""
    reduction: ReductionConfig | None = None
    """Reduction inside the switch, for the algorithms sharp, nvls and fred. Absent: none. `{}` is all defaults."""
    scheduler: SchedulerConfig = SchedulerConfig()
    """Which priority a port serves next."""
    cut_through_bytes: Annotated[Bytes, Ge(ETHERNET_HEADER_BYTES), Le(LARGEST_HEAD_BYTES)] | None = Field(
        alias="cut_through", default=None
    )
    """Bytes of a frame that must be there before the switch sends it on, at least 14. Absent: the whole frame."""

    @model_validator(mode="after")
    @checked
    def _one_entry_per_rate(self) -> None:
        rates = [entry.rate_bps for entry in self.ecn] if isinstance(self.ecn, tuple) else []
        for rate in rates:
            refuse_key(rates.count(rate) > 1, "ecn", f"has two entries for ports of {format_rate(rate)}")

    @model_validator(mode="after")
    @checked
    def _credits_alone(self) -> None:
        for key, given in (("pfc", self.pfc), ("alpha", self.alpha), ("cut_through", self.cut_through_bytes)):
            refuse_key(
                self.credits is not None and given is not None,
                key,
                "stands beside credits, which lose nothing, pause nobody and store each frame; leave one of them out",
            )

    @property
    def watchdog_ps(self) -> int:
        """Time after which a stopped port is looked at; 0: never, or nothing stops a port."""
        stops = self.pfc or self.credits
        return stops.watchdog_ps if stops is not None else 0

    @property
    def is_lossless(self) -> bool:
        """Whether it keeps any priority from losing frames."""
        return self.pfc is not None or self.credits is not None

    def keeps(self, priority: int) -> bool:
        """Whether frames of a priority are never dropped for lack of room."""
        return self.credits is not None or (self.pfc is not None and priority in self.pfc.priorities)

    @property
    def marking(self) -> tuple[EcnConfig, ...]:
        """The thresholds in the file; none where the program chooses."""
        if self.ecn is None or isinstance(self.ecn, str):
            return ()
        return self.ecn if isinstance(self.ecn, tuple) else (self.ecn,)

    def marking_also_at(self, rates_bps: Mapping[int, int]) -> Self:
        """Return the switch with the marking of a rate also at another; other ports may have the first."""
        if not isinstance(self.ecn, tuple):
            return self
        listed = {entry.rate_bps for entry in self.ecn}
        more = [
            entry.model_copy(update={"rate_bps": rates_bps[entry.rate_bps]})
            for entry in self.ecn
            if rates_bps.get(entry.rate_bps, entry.rate_bps) not in listed
        ]
        return self.model_copy(update={"ecn": (*self.ecn, *more)})

    def ecn_of(self, rate_bps: int) -> EcnConfig | None:
        """How ports of that rate mark; None: not at all, or as the program chooses.

        Raises InputError if only other rates are listed.
        """
        if isinstance(self.ecn, str):
            return None
        if not isinstance(self.ecn, tuple):
            return self.ecn
        for entry in self.ecn:
            if entry.rate_bps == rate_bps:
                return entry
        known = ", ".join(format_rate(entry.rate_bps) for entry in self.ecn)
        raise wrong(
            f"switch.ecn has no entry for ports of {format_rate(rate_bps)}; it has {known}: add one with "
            f"'rate: {exact_rate(rate_bps)}', or have thresholds without a list for ports of all rates"
        )


class NicConfig(ConfigModel):
    """A host's network card: the buffer of its one queue (absent: unlimited)."""

    buffer_bytes: PositiveBytes | None = Field(alias="buffer", default=None)
    """The queue of the card. Absent: unlimited."""
