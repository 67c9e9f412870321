"""The congestion-unaware time is a lower bound for packets: of each message, and of one collective in one chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.star_network import Row, by_hand, play, star

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

PAIRS = [
    (CollectiveKind.ALL_REDUCE, "ring"),
    (CollectiveKind.ALL_REDUCE, "direct"),
    (CollectiveKind.ALL_REDUCE, "doubleBinaryTree"),
    (CollectiveKind.ALL_REDUCE, "rabenseifner"),
    (CollectiveKind.ALL_GATHER, "ring"),
    (CollectiveKind.REDUCE_SCATTER, "direct"),
    (CollectiveKind.ALL_TO_ALL, "direct"),
    (CollectiveKind.ALL_TO_ALL, "bruck"),
]
ROUNDING_PS = 1000  # the formula rounds each message to a picosecond


class Finish:
    """Notes when each rank is done."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.times: list[int] = []

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.times.append(time_ps)
        if len(self.times) == self.backend.npus:
            self.backend.stop()

    def heartbeat(self, time_ps: int, events: int) -> None: ...


def dumbbell(left: int, right: int, bottleneck_delay_ns: int) -> NetworkConfig:
    """Pairs on one side are near, the others far apart."""
    topology = {
        "kind": "dumbbell",
        "left": left,
        "right": right,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "bottleneck": {"rate": "100Gbps", "delay": f"{bottleneck_delay_ns}ns"},
        "switch": {"buffer": "1GB"},
    }
    return parse_network({"topology": topology, "transport": {"kind": "tcp"}})


def formula_ps(network: NetworkConfig, schedule: Any, size: int) -> list[int]:
    backend = create_backend("analytical", plan_network(network, EndpointModel()), seed=1, recorder=RecorderOptions())
    try:
        finish = Finish(backend)
        number, group = backend.register_schedule(schedule), backend.register_group(range(schedule.ranks))
        for rank in range(schedule.ranks):
            backend.launch(rank, number, group, 0, size)
        backend.run(finish, Limits())
        return finish.times
    finally:
        backend.close()


@settings(max_examples=25, deadline=None)
@given(
    npus=st.integers(2, 8),
    pair=st.sampled_from(PAIRS),
    size=st.integers(1, 300_000),
    gbps=st.sampled_from([25, 100, 400]),
    delay_ns=st.integers(0, 3000),
)
def test_packets_are_never_faster_than_the_formula(
    npus: int, pair: tuple[CollectiveKind, str], size: int, gbps: int, delay_ns: int
) -> None:
    network = star(npus, rate=f"{gbps}Gbps", delay=f"{delay_ns}ns")
    schedule = lookup(*pair, npus)
    packets = play(network, schedule, size)
    assert max(packets.done_ps(rank) for rank in range(npus)) >= max(formula_ps(network, schedule, size)) - ROUNDING_PS


@settings(max_examples=15, deadline=None)
@given(
    left=st.integers(1, 4),
    right=st.integers(1, 4),
    pair=st.sampled_from(PAIRS),
    size=st.integers(1, 300_000),
    delay_ns=st.integers(0, 20_000),
)
def test_nor_where_pairs_have_paths_of_unlike_delays(
    left: int, right: int, pair: tuple[CollectiveKind, str], size: int, delay_ns: int
) -> None:
    network = dumbbell(left, right, delay_ns)
    schedule = lookup(*pair, left + right)
    packets = play(network, schedule, size)
    first_ps = max(formula_ps(network, schedule, size))
    assert max(packets.done_ps(rank) for rank in range(left + right)) >= first_ps - ROUNDING_PS


def test_neighbours_of_a_dumbbell_are_not_charged_for_its_bottleneck() -> None:
    """Two NPUs on each side, 20 us between the sides: the formula knows who has to cross."""
    network = dumbbell(2, 2, 20_000)
    for sender, receiver, delay_ps in ((0, 1, 1_000_000), (0, 2, 21_000_000), (3, 2, 1_000_000)):
        assert formula_ps(network, by_hand(4, [Row(sender, receiver)]), 100_000)[-1] == 8_000_000 + delay_ps


@settings(max_examples=15, deadline=None)
@given(npus=st.integers(2, 6), size=st.integers(1, 200_000), delay_ns=st.integers(0, 2000))
def test_no_message_is_faster_than_its_bytes_and_the_delays(
    npus: int, size: int, delay_ns: int, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("flows")
    network = star(npus, delay=f"{delay_ns}ns")
    played = play(network, lookup(CollectiveKind.ALL_TO_ALL, "direct", npus), size, directory=folder)
    flows = played.table("flows")
    bound_ps = flows["bytes"].to_numpy(dtype=np.int64) * 80 + 2 * delay_ns * 1000
    assert ((flows["end_ps"] - flows["start_ps"]).to_numpy() >= bound_ps).all()
