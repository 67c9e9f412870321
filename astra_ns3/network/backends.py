"""The abilities of each backend, by its name. Code asks for an ability, never for a backend by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from astra_ns3.frozen import dataclass, replace

if TYPE_CHECKING:  # help and reports ask this, and need no network
    import numpy as np
    import numpy.typing as npt

    from astra_ns3.config.core.compatibility import Compatibility
    from astra_ns3.network.plan import AnyPlan

    Numbers = npt.NDArray[np.int64]
    Nodes = npt.NDArray[np.int32]


Ideal = Callable[["Nodes", "Nodes", "Numbers"], "Numbers"]
"""From sources, destinations and sizes of messages to what each takes alone, in ps."""


@dataclass(frozen=True)
class BackendCosts:
    """CPU time that a launch and a message take on a backend.

    ``seconds_per_launch``: Python's part when one NPU starts and ends a phase of a chunk. Packets part NPUs that begin
    in step; by formula most stay in step, and are played as one. ``seconds_per_message``: at its ends, and by formula
    on its way; that of packets is in :class:`~astra_ns3.transport.transport.TransportCosts`.
    """

    seconds_per_launch: float
    seconds_per_message: float


_OF_NPUS = frozenset({"still", "slower"})
_OF_NETWORK = (
    *("up", "rate_bps", "delay_ps", "error_rate", "storm"),
    *("ecn", "buffer_bytes", "pfc_alpha", "control"),
)
PACKETS, BY_FORMULA = BackendCosts(15e-6, 0.65e-6), BackendCosts(5.5e-6, 0.45e-6)


def _unknown(_plan: AnyPlan, _rules: Compatibility) -> None:
    return None


@dataclass(frozen=True)
class Abilities:
    """The abilities of a backend; by default what is taken for granted of a user's own.

    ``packets``: messages travel as packets where the network has such, so that there are transports, queues, and
    records of all these. ``needs_packets``: it plays no other network. ``accounts``: it tells where a message's time
    went. ``fills``: without packets, tables of ports and messages that it fills all the same, and keys of ``observe``
    that it heeds. ``rules_of_delays``: it knows other simulators' rules of a message's delays. ``drawn_paths``: chance
    has a say in which paths flows take. ``shared_lines``: messages on one line slow each other down. ``ideal``: what
    messages take alone; None where nobody knows. ``heeds``: what may change while it plays, by the names in
    :class:`~astra_ns3.topology.changes.State`, where ``pfc_alpha`` stands for all of PFC; of an NPU ``still``,
    ``slower`` and ``control``. ``words``: how messages travel, for
    people who choose a backend.
    """

    packets: bool = True
    needs_packets: bool = False
    accounts: bool = True
    fills: frozenset[str] = frozenset()
    rules_of_delays: bool = False
    drawn_paths: bool = False
    shared_lines: bool = True
    ideal: Callable[[AnyPlan, Compatibility], Ideal | None] = _unknown
    costs: BackendCosts = PACKETS
    heeds: frozenset[str] = frozenset({*_OF_NPUS, *_OF_NETWORK})
    words: str = ""


def _of_packets(plan: AnyPlan, _: Compatibility) -> Ideal | None:
    from astra_ns3.network.ideal.packets import PacketIdeal

    return None if plan.of_packets is None else PacketIdeal(plan.of_packets)


def _of_grid(queues: bool) -> Callable[[AnyPlan, Compatibility], Ideal]:
    def ideal(plan: AnyPlan, rules: Compatibility) -> Ideal:
        from astra_ns3.network.ideal.grid_ideal import GridIdeal

        return GridIdeal(
            plan.queued_grid if queues else plan.grid,
            queues,
            rules.charge_highest_dimension,
            rules.charge_lowest_dimension,
            rules.truncate_delays,
            plan.endpoint.rendezvous_bytes,
        )

    return ideal


_ANALYTICAL = Abilities(
    packets=False,
    accounts=False,
    rules_of_delays=True,
    shared_lines=False,
    ideal=_of_grid(False),
    costs=BY_FORMULA,
    heeds=_OF_NPUS,
    words="messages never meet",
)

ABILITIES: Mapping[str, Abilities] = {
    "ns3": Abilities(needs_packets=True, drawn_paths=True, ideal=_of_packets),
    "flow": Abilities(
        packets=False,
        needs_packets=True,
        fills=frozenset({"accounts", "account_hops", "utilisation"}),
        drawn_paths=True,
        ideal=_of_packets,
        costs=BackendCosts(5.5e-6, 3e-6),
        heeds=frozenset({*_OF_NPUS, "up", "rate_bps", "delay_ps"}),
        words="flows share the links of the graph",
    ),
    "analytical": _ANALYTICAL,
    "analytical-queues": replace(
        _ANALYTICAL,
        shared_lines=True,
        ideal=_of_grid(True),
        costs=BackendCosts(5.5e-6, 0.75e-6),
        words="a link serves one at a time",
    ),
}


def backends_in_words() -> str:
    """Return the names of all backends, with how messages travel on each."""
    *most, last = (f'"{name}"' + (f" ({each.words})" if each.words else "") for name, each in ABILITIES.items())
    return f"{', '.join(most)} or {last}"


def abilities_of(backend: object) -> Abilities:
    """Return what the backend of a name can do, or a user's own."""
    return ABILITIES.get(backend, Abilities()) if isinstance(backend, str) else Abilities()
