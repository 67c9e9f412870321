"""Connections that lose everything for a while or for good, and sessions that get in each other's way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import NEEDS_HEADERS
from support.star_network import Played, Row, by_hand, launch_all, one_message, play, star

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import BackendError
from astra_ns3.network.api import EndpointModel, Limits, NetworkBackend
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

US = 1_000_000
BYTES = 2_000_000
SHORTEST_TIMEOUT = "100us"
FOREVER_US = 10**9

pytestmark = NEEDS_HEADERS


def outage(begin_us: int, end_us: int) -> Callable[[Any], None]:
    """A hook: in this time the switch has no buffer for anything, so it drops every frame."""

    def arrange(context: Any) -> None:
        ns, pointer = context.ns, context.ns.PointerValue()
        context.switches[0].GetAttribute("Buffer", pointer)
        buffer = pointer.GetObject()
        context.schedule(begin_us * US, lambda: buffer.SetAttribute("Capacity", ns.UintegerValue(1)))
        context.schedule(end_us * US, lambda: buffer.SetAttribute("Capacity", ns.UintegerValue(10**9)))

    return arrange


def interrupted(begin_us: int, end_us: int, folder: Path | None = None, **tcp: Any) -> Played:
    """One message of 2 MB, which would take 173 us, with the network out of order for a while."""
    observe = {"connections": ["timeouts", "retransmissions"]}
    timers = {"min_rto": SHORTEST_TIMEOUT, "connect_timeout": SHORTEST_TIMEOUT, **tcp}
    network = star(2, observe=observe, **timers)
    return play(network, one_message(), BYTES, directory=folder, on_built=outage(begin_us, end_us))


def timeout_times_us(played: Played) -> list[int]:
    """When each timeout was recorded, in whole microseconds after the first."""
    table = played.table("connections")
    times: list[int] = table.loc[table["quantity"] == "timeouts", "time_ps"].tolist()
    return [(time_ps - times[0]) // US for time_ps in times]


def test_after_an_outage_everything_arrives(tmp_path: Path) -> None:
    played = interrupted(20, 1000, tmp_path)
    assert played.table("flows")["bytes"].tolist() == [BYTES]
    assert played.statistics["dropped_frames"] > 0
    assert played.statistics["retransmissions"] > 0


def test_each_timeout_is_counted_although_they_follow_each_other(tmp_path: Path) -> None:
    """RFC 6298, 5.5: the timer doubles, 100, 200, 400, 800 us; the fourth is the first after the outage of 980."""
    played = interrupted(20, 1000, tmp_path)
    assert played.statistics["timeouts"] == 4
    assert timeout_times_us(played) == [0, 200, 600, 1400]


def test_lost_connection_requests_are_counted_as_timeouts_and_retransmissions(tmp_path: Path) -> None:
    """A SYN that is lost costs a connect timeout; requests leave after 100, 300, 700 and, with success, 1500 us."""
    played = interrupted(0, 1000, tmp_path)
    assert played.done_ps(1) > 1500 * US
    assert played.statistics["timeouts"] == 4
    assert played.statistics["retransmissions"] == 4


def test_a_connection_that_cannot_be_opened_is_an_error_not_a_hang() -> None:
    with pytest.raises(BackendError, match="from NPU 0 to NPU 1 could not be opened"):
        interrupted(0, FOREVER_US, connect_retries=3)


def test_a_connection_that_gives_up_is_an_error_not_a_hang() -> None:
    with pytest.raises(BackendError, match="from NPU 0 to NPU 1 was given up"):
        interrupted(20, FOREVER_US, data_retries=3)


def test_a_connection_that_gives_up_does_not_stand_in_the_way_of_the_next_run() -> None:
    before = play(star(2), one_message(), BYTES)
    with pytest.raises(BackendError):
        interrupted(20, FOREVER_US, data_retries=3)
    after = play(star(2), one_message(), BYTES)
    assert after.listener.done == before.listener.done
    assert after.ports == before.ports


def create(network: NetworkConfig) -> NetworkBackend:
    return create_backend("ns3", plan_network(network, EndpointModel()), seed=1, recorder=RecorderOptions())


def test_two_sessions_at_once_are_refused_and_the_first_goes_on() -> None:
    first = create(star(2))
    try:
        launch_all(first, one_message(), 1000)
        with pytest.raises(BackendError, match="isolated=True plays runs side by side"):
            create(star(2))
        done: list[int] = []

        class Listener:
            def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
                done.append(rank)

            def heartbeat(self, time_ps: int, events: int) -> None: ...

        first.run(Listener(), Limits())
        assert sorted(done) == [0, 1]
    finally:
        first.close()


@pytest.mark.parametrize(
    "rows",
    [[Row(0, 2)], [Row(2, 0)], [Row(0, 0)], [Row(0, 1, wait_step=0, wait_count=2)]],
    ids=["no such receiver", "no such sender", "to itself", "waits for more than comes"],
)
def test_a_schedule_that_cannot_be_played_is_refused(rows: list[Row]) -> None:
    network = create(star(2))
    try:
        with pytest.raises(BackendError):
            network.register_schedule(by_hand(2, rows))
    finally:
        network.close()


@pytest.mark.parametrize("members", [[0, 5], [1, 1]], ids=["no such NPU", "twice"])
def test_a_group_that_cannot_be_is_refused(members: list[int]) -> None:
    network = create(star(2))
    try:
        with pytest.raises(BackendError, match="group"):
            network.register_group(members)
    finally:
        network.close()
