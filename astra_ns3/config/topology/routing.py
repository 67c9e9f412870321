"""Routing keys of a topology: which of several shortest paths a packet takes."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field, Strict, model_validator

from astra_ns3.config.core.model import ConfigModel, OnOff, PositiveTimePs, checked, key_error, refuse_key
from astra_ns3.units import PS_PER_SECOND, PS_PER_US

LARGEST_SEED = 2**32 - 1
# Odd, so that no two seeds of runs share a hash, and with its bits spread: switches differ in a few low bits alone.
_SPREAD = 0x9E3779B1

Number = Annotated[int, Strict(), Ge(0)]


class Pin(ConfigModel):
    """Path ``path`` for all that NPU ``sender`` sends to NPU ``receiver``; paths are numbered from 0.

    A node with c equal ports takes number ``path mod c`` of them and hands ``path div c`` to the next.
    """

    sender: Number
    """The NPU that sends."""
    receiver: Number
    """The NPU that receives."""
    path: Number
    """The number of the path, from 0. A node with c equally short ports takes number (path mod c), ascending, and hands
    (path div c) to the next."""


VALIANT = "valiant"
ADAPTIVE, FLOWLET = "adaptive", "flowlet"
PARTING = ("spray", ADAPTIVE, FLOWLET)
"""Kinds that may send packets of a flow on different ways."""


class RoutingConfig(ConfigModel):
    """How a switch chooses among equally short ways.

    ``ecmp``: by a hash of the flow, so that a flow stays on one path. ``spray``: packet by packet, in turn or at
    random. ``adaptive``: packet by packet, the port with the shortest queue. ``flowlet``: as adaptive, but only where a
    flow begins and after a pause of ``flowlet_gap`` (Kandula et al., CCR 2007; Vanini et al., NSDI 2017). ``pinned``:
    as the ``pins`` say; other pairs by hash. ``valiant``: a flow first goes to a router that a hash of it draws, and
    from there on (Valiant, SIAM J. Comput. 11(2), 1982). Hosts with several ports choose by hash, or as pinned.
    """

    kind: Literal["ecmp", "spray", "adaptive", "flowlet", "pinned", "valiant"] = "ecmp"
    """How a switch chooses: `ecmp` by a hash of the flow. `spray` and `adaptive` choose packet by packet, `adaptive`
    the port with least to send. `flowlet` does so anew after each pause of the flow, and `pinned` goes by `pins`.
    `valiant` sends a flow to a router drawn by its hash first; it needs `switch.credits` with enough lanes."""
    seed: Annotated[int, Strict(), Ge(0), Le(LARGEST_SEED)] | None = None
    """The seed of the hash; each switch mixes its own number in, so that levels don't choose alike. Absent: the run's
    seed's."""
    spray: Literal["round-robin", "random"] | None = None
    """Absent: in turn."""
    flowlet_gap_ps: PositiveTimePs | None = Field(alias="flowlet_gap", default=None)
    """A flow that paused so long may change its path; absent: 50 us."""
    weighted: OnOff = False
    """Ports of different rates take turns in proportion to their rates (weighted ECMP)."""
    pins: tuple[Pin, ...] = ()
    """The paths of `kind: pinned`. Pairs without a pin go by a hash."""

    @model_validator(mode="after")
    @checked
    def _keys_of_the_kind(self) -> None:
        for key, kind, given in (
            ("spray", "spray", self.spray is not None),
            ("flowlet_gap", "flowlet", self.flowlet_gap_ps is not None),
            ("pins", "pinned", bool(self.pins)),
        ):
            refuse_key(
                bool(given and self.kind != kind),
                key,
                f"has no effect with kind {self.kind}; leave it out or write kind: {kind}",
            )
        refuse_key(
            self.kind == "pinned" and not self.pins,
            "pins",
            "is missing; kind pinned needs entries {sender, receiver, path}",
        )
        pairs = [(pin.sender, pin.receiver) for pin in self.pins]
        for position, pair in enumerate(pairs):
            refuse_key(pair[0] == pair[1], "pins", f"entry {position}: NPU {pair[0]} sends itself nothing")
        if len(set(pairs)) < len(pairs):
            twice = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise key_error("pins", f"has two entries for sender {twice[0]} and receiver {twice[1]}")

    def hash_seed(self, run_seed: int) -> int:
        """The seed in use, 0 to 2**32 - 1: the one given, or one for each seed of a run; seed 1 has 0."""
        return (run_seed - 1) * _SPREAD % 2**32 if self.seed is None else self.seed

    def parts(self, frame_bytes: int, slowest_bps: int) -> bool:
        """Return whether packets of a queue pair may take different ways while it sends.

        With flowlets they don't, unless frames of these bytes that follow each other on the slowest line are a gap
        apart.
        """
        if self.kind != FLOWLET:
            return self.kind in PARTING
        return self.gap_ps * slowest_bps < frame_bytes * 8 * PS_PER_SECOND

    @property
    def shares_evenly(self) -> bool:
        """Return whether equally short ways get as much traffic, also where their rates differ."""
        return not self.weighted and self.kind not in (ADAPTIVE, FLOWLET)

    @property
    def gap_ps(self) -> int:
        """The flowlet gap in use."""
        return 50 * PS_PER_US if self.flowlet_gap_ps is None else self.flowlet_gap_ps
