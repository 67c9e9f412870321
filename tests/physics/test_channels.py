"""Channels of a collective library on each backend: when they end, what they send, and who plays them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from oracles.channel_times import Ring
from support.roce_network import roce_star
from support.star_network import Listener, launch_all, one_message

from astra_ns3.collectives.channel_exchange import (
    ExchangeCut,
    Peers,
    all_rounds,
    channel_exchange,
    channel_shift,
)
from astra_ns3.collectives.channel_ring import ChannelCut, channel_ring
from astra_ns3.collectives.channel_tree import channel_tree
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import replace
from astra_ns3.network.api import ChannelCosts, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.instance import TenantBits
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.scenario.tenant_network import TenantNetwork

BACKENDS = ("ns3", "flow", "analytical-queues")
ALL_REDUCE = CollectiveKind.ALL_REDUCE
NPUS = 4
MESSAGE, PS_PER_BYTE = 10_000, 80  # 100 Gb/s
HEADER_SHARE = 0.1
"""Of packets, at most: RoCE's headers and gaps beside 1,000 bytes of data."""
START_PS, FAR_PS, NEAR_PS, COPY_BYTES_PER_MS = 3_000_000, 2_000_000, 700_000, 1_000_000
COPY_PS = MESSAGE * 1_000_000_000 // COPY_BYTES_PER_MS


@dataclass(frozen=True)
class Played:
    """What came of phases that were launched together."""

    done_ps: dict[int, int]
    sent: list[int]
    carried: int
    directory: Path | None = None

    @property
    def end_ps(self) -> int:
        return max(self.done_ps.values())


def costs(servers: Sequence[int], *, copy_bytes_per_ms: int = COPY_BYTES_PER_MS, **more: Any) -> ChannelCosts:
    usual = ChannelCosts(
        tuple(servers),
        START_PS,
        near_ps=NEAR_PS,
        far_ps=FAR_PS,
        near_copy_bytes_per_ms=copy_bytes_per_ms,
        far_copy_bytes_per_ms=copy_bytes_per_ms,
    )
    return replace(usual, **more)


def play(
    name: str,
    schedule: Schedule,
    bytes: int,
    channels: Sequence[ChannelCosts],
    *,
    members: Sequence[int] | None = None,
    npus: int = NPUS,
    cores: int = 1,
    directory: Path | None = None,
) -> Played:
    """Play a schedule in some channels, all launched at time 0, on hosts around one switch."""
    recorder = RecorderOptions(directory, flows=directory is not None)
    backend = create_backend(name, plan_network(roce_star(npus)), seed=1, recorder=recorder, cores=cores)
    played = members or range(schedule.ranks)
    listener = Listener()
    try:
        number = backend.register_schedule(schedule)
        for instance, channel in enumerate(channels):
            group = backend.register_channel(played, channel)
            backend.launch_all([(npu, number, group, instance, bytes) for npu in played])
        backend.run(listener, Limits())
        assert len(listener.done) == len(channels) * len(played)
        carried = backend.carried()
        return Played(
            {npu: max(time for who, _, time in listener.done if who == npu) for npu in played},
            [backend.sent_bytes(npu) for npu in range(npus)],  # type: ignore[attr-defined]
            0 if carried is None else int(carried.bytes.sum()),
            directory,
        )
    finally:
        backend.close()


def message_ps(name: str) -> int:
    """From one host to another, alone, by the backend's own account."""
    backend = create_backend(name, plan_network(roce_star(2)), seed=1, recorder=RecorderOptions())
    listener = Listener()
    try:
        launch_all(backend, one_message(), MESSAGE)
        backend.run(listener, Limits())
        return listener.done_ps(1)
    finally:
        backend.close()


def ring_of(name: str, cut: ChannelCut) -> Ring:
    messages = 2 * (NPUS - 1) * cut.loops * cut.slices
    line_ps = round(MESSAGE * PS_PER_BYTE * (1 if name == "analytical-queues" else 1 + HEADER_SHARE))
    return Ring(messages, cut.slices, START_PS, message_ps(name), line_ps, COPY_PS, FAR_PS)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("loops", [1, 3])
def test_a_ring_between_servers_takes_what_its_kernel_copies(name: str, loops: int) -> None:
    """Two slices a chunk keep the kernel busy: all messages are copied one after the other, and nothing else counts."""
    cut = ChannelCut(loops, 2)
    ring = ring_of(name, cut)
    played = play(name, channel_ring(ALL_REDUCE, NPUS, cut), NPUS * loops * 2 * MESSAGE, [costs(range(NPUS))])
    # Both first messages may share the line, which delays the first of them by no more than the other one's time.
    assert ring.copying_ps() <= played.end_ps <= ring.copying_ps() + ring.line_ps
    assert set(played.done_ps.values()) == {played.end_ps}


@pytest.mark.parametrize("name", BACKENDS)
def test_a_ring_of_one_slice_waits_for_line_and_kernel_in_turn(name: str) -> None:
    cut = ChannelCut(2, 1)
    ring = ring_of(name, cut)
    assert ring.end_ps() == ring.alternating_ps()
    played = play(name, channel_ring(ALL_REDUCE, NPUS, cut), NPUS * 2 * MESSAGE, [costs(range(NPUS))])
    # Acknowledgements of RoCE stand before a packet now and then.
    acks_ps = 0 if name == "analytical-queues" else ring.messages * 84 * PS_PER_BYTE
    assert ring.alternating_ps() <= played.end_ps <= ring.alternating_ps() + acks_ps


@pytest.mark.parametrize("name", BACKENDS)
def test_slots_that_are_enough_change_little(name: str) -> None:
    """With as many places as messages there are no signals; with four, signals come long before they are waited for."""
    bytes, channel = NPUS * 3 * 2 * MESSAGE, [costs(range(NPUS))]
    plenty, four, three = (
        play(name, channel_ring(ALL_REDUCE, NPUS, ChannelCut(3, 2, slots)), bytes, channel).end_ps
        for slots in (None, 4, 3)
    )
    # A signal, of a packet of a byte, stands before data on a line at most once for each message.
    assert plenty <= four <= plenty * 1.02
    assert plenty <= three


@pytest.mark.parametrize("name", BACKENDS)
def test_inside_a_server_copying_hides_the_way(name: str) -> None:
    """A message of 10 us to copy is under way for less: a near chain of one slice takes copying and latency alone."""
    schedule = channel_ring(ALL_REDUCE, NPUS, ChannelCut())
    near = play(name, schedule, NPUS * MESSAGE, [costs([0] * NPUS)])
    messages = 2 * (NPUS - 1)
    assert message_ps(name) < COPY_PS
    assert near.end_ps == START_PS + messages * (COPY_PS + NEAR_PS)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(("near", "far"), [(1000, 1000), (1067, 2000), (300, 1031)])
def test_bytes_on_the_wire_are_counted_once_each(name: str, near: int, far: int, tmp_path: Path) -> None:
    servers = (0, 0, 1, 1)
    channel = costs(servers, near_wire_per_mille=near, far_wire_per_mille=far)
    schedule = channel_ring(ALL_REDUCE, NPUS, ChannelCut(2, 1, 3))
    played = play(name, schedule, NPUS * 2 * MESSAGE, [channel], directory=tmp_path if name == "ns3" else None)
    messages = 2 * (NPUS - 1) * 2
    signals = messages - 3
    # Ranks 0 and 2 send inside their server, 1 and 3 to the other one.
    expected = [messages * MESSAGE * (near if rank % 2 == 0 else far) // 1000 + signals for rank in range(NPUS)]
    assert played.sent == expected
    assert played.carried == sum(expected)  # which the floor of a run is reckoned from
    if played.directory is not None:
        flows = pd.read_parquet(played.directory / "flows.parquet")
        assert int(flows["bytes"].sum()) == sum(expected)
        assert len(flows) == NPUS * (messages + signals)


@pytest.mark.parametrize(("servers", "expected"), [((0, 0), 30_000), ((0, 1), 200_000)])
def test_one_message_has_its_bytes_on_the_wire(servers: tuple[int, int], expected: int) -> None:
    channel = costs(servers, near_wire_per_mille=300, far_wire_per_mille=2000)
    played = play("analytical-queues", one_message(), 100_000, [channel])
    assert played.sent == [expected, 0, 0, 0]
    assert played.carried == expected


@pytest.mark.parametrize("name", BACKENDS)
def test_channels_of_a_pair_share_its_lines_and_not_its_kernels(name: str) -> None:
    """Copying binds: four channels together take what one does, but for the time on the line."""
    schedule, bytes = channel_ring(ALL_REDUCE, NPUS, ChannelCut(2, 2)), NPUS * 2 * 2 * MESSAGE
    one = play(name, schedule, bytes, [costs(range(NPUS))])
    four = play(name, schedule, bytes, [costs(range(NPUS), channel=number) for number in range(4)])
    ring = ring_of(name, ChannelCut(2, 2))
    assert one.end_ps <= four.end_ps <= one.end_ps + 8 * ring.line_ps
    assert four.sent == [4 * sent for sent in one.sent]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_relayed_message_takes_the_way_to_its_gate_besides(name: str) -> None:
    """2 servers of 2. The last ranks' messages go to the first rank of their server, as its kernel copies; then on."""
    way_ps = message_ps(name)
    near_ps = max(way_ps, COPY_PS) + NEAR_PS
    far_ps = way_ps + COPY_PS + FAR_PS
    channel = [costs((0, 0, 1, 1))]
    relayed = play(name, channel_shift(NPUS, ExchangeCut(1, 1, 8), (0, 1)), MESSAGE, channel)
    direct = play(name, channel_shift(NPUS, ExchangeCut(1, 1, 8)), MESSAGE, channel)
    assert relayed.done_ps[0] == relayed.end_ps == START_PS + near_ps + far_ps
    assert direct.end_ps == START_PS + max(near_ps, far_ps)
    # The first ranks send what is theirs, and what they hand on.
    assert relayed.sent == [2 * MESSAGE, MESSAGE, 2 * MESSAGE, MESSAGE]
    assert direct.sent == [MESSAGE] * NPUS


@pytest.mark.parametrize("name", BACKENDS)
def test_a_gate_holds_no_more_than_its_slots(name: str) -> None:
    """One place: a slice is sent when the one before has been copied and a signal of that has come by the gate."""
    slices, channel = 5, [costs((0, 0, 1, 1))]
    one, many = (
        play(name, channel_shift(NPUS, ExchangeCut(1, slices, slots), (0, 1)), slices * MESSAGE, channel).end_ps
        for slots in (1, 8)
    )
    way_ps = message_ps(name)
    slice_ps = max(way_ps, COPY_PS) + NEAR_PS + way_ps + COPY_PS + FAR_PS
    assert one >= START_PS + slices * slice_ps
    assert many < START_PS + slices * slice_ps * 0.7


@pytest.mark.parametrize("cores", [2])
def test_channels_are_played_alike_on_two_cores(cores: int, tmp_path: Path) -> None:
    for number, schedule in enumerate(
        (
            channel_ring(ALL_REDUCE, 8, ChannelCut(2, 2, 4)),
            channel_tree(ALL_REDUCE, (-1, 0, 0, 1, 1, 2, 2, 3), 12, 4),
            channel_exchange(Peers(8, all_rounds(8)), ExchangeCut(3, 4, 2)),
            channel_exchange(Peers(8, tuple((1, near) for near in range(4)), 4, (0, 1, 2, 3)), ExchangeCut(3, 4, 2)),
        )
    ):
        channels = [
            costs((0, 0, 0, 0, 1, 1, 1, 1), copy_bytes_per_ms=20_000_000, channel=each, near_wire_per_mille=400)
            for each in range(2)
        ]
        tables = []
        for count in (1, cores):
            folder = tmp_path / f"{number}-{count}"
            folder.mkdir()
            found = play("ns3", schedule, 8 * 40_000, channels, npus=8, cores=count, directory=folder)
            tables.append((found.done_ps, found.sent, pd.read_parquet(folder / "flows.parquet")))
        one, two = tables
        assert one[:2] == two[:2]
        pd.testing.assert_frame_equal(one[2], two[2])


@pytest.mark.parametrize("name", BACKENDS)
def test_any_npus_play_a_channel_s_ranks(name: str) -> None:
    """In any order, on any hosts of a switch: it takes as long."""
    schedule, bytes = channel_ring(ALL_REDUCE, NPUS, ChannelCut(2, 2)), NPUS * 2 * 2 * MESSAGE
    usual = play(name, schedule, bytes, [costs(range(NPUS))], npus=8)
    other = play(name, schedule, bytes, [costs(range(NPUS))], npus=8, members=[6, 1, 7, 3])
    assert sorted(other.done_ps) == [1, 3, 6, 7]
    assert other.end_ps == usual.end_ps
    assert [npu for npu, sent in enumerate(other.sent) if sent] == [1, 3, 6, 7]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_tenant_s_channel_is_played_by_its_own_npus(name: str) -> None:
    schedule, bytes = channel_ring(ALL_REDUCE, NPUS, ChannelCut(2, 2)), NPUS * 2 * 2 * MESSAGE
    alone = play(name, schedule, bytes, [costs(range(NPUS))], npus=8)
    backend = create_backend(name, plan_network(roce_star(8)), seed=1, recorder=RecorderOptions())
    listener = Listener()
    try:
        tenant = TenantNetwork(backend, 1, range(4, 8), 0, TenantBits(2))
        number = tenant.register_schedule(schedule)
        group = tenant.register_channel(range(NPUS), costs(range(NPUS)))
        for rank in range(NPUS):
            tenant.launch(rank, number, group, 0, bytes)
        backend.run(listener, Limits())
        assert sorted(npu for npu, _, _ in listener.done) == [4, 5, 6, 7]
        assert max(listener.times_ps) == alone.end_ps
        sent = [backend.sent_bytes(npu) for npu in range(8)]  # type: ignore[attr-defined]
        assert sent == [0] * 4 + alone.sent[:4]
    finally:
        backend.close()
