"""What every congestion control and every way of repair owes, whichever it is: RoCE's registries, one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
from support.roce_network import CONTROLS, LOSSLESS, RELIABILITIES, roce_star
from support.star_network import Played, by_hand, incast, one_message, play
from support.star_network import Row as Message

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.roce import Reliability
from astra_ns3.config.transports.roce_control import KINDS

RANKS = 8
MARKING = {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}
ALL_TO_ALL = lookup(CollectiveKind.ALL_TO_ALL, "direct", RANKS)
LEAST_PS_PER_BYTE = 80
"""A byte at 100 Gb/s, without headers."""


def congested(control: object, reliability: str = "go-back-n", *, lossless: bool = True, **keys: Any) -> NetworkConfig:
    """Eight hosts around a switch with too little memory for what they have in mind."""
    switch: dict[str, object] = {"buffer": "400KB", "ecn": MARKING}
    if lossless:
        switch["pfc"] = LOSSLESS
    return roce_star(
        RANKS,
        switch=switch,
        congestion_control=control,
        reliability={"kind": reliability, "timeout": "200us", "retries": 50},
        **keys,
    )


def check_each_arrived_once(played: Played, messages: int, bytes: int) -> pd.DataFrame:
    """Every message has one row, and none was faster than light."""
    flows = played.table("flows")
    assert len(flows) == messages
    assert not flows.duplicated(["collective", "chunk", "phase", "row"]).any()
    assert (flows["bytes"] == bytes).all()
    assert (flows["end_ps"] - flows["start_ps"]).min() >= bytes * LEAST_PS_PER_BYTE + 1_000_000
    return flows


def test_these_are_all_that_are_registered() -> None:
    assert set(CONTROLS) == set(KINDS)
    assert set(RELIABILITIES) == set(get_args(Reliability.model_fields["kind"].annotation))


@pytest.mark.parametrize("reliability", RELIABILITIES)
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("lossless", [True, False])
def test_an_all_to_all_completes_and_each_message_arrives_once(
    control: str, reliability: str, lossless: bool, tmp_path: Path
) -> None:
    network = congested(control, reliability, lossless=lossless, window="bdp")
    played = play(network, ALL_TO_ALL, RANKS * 50_000, repeat=2, directory=tmp_path)
    assert len(played.listener.done) == 2 * RANKS
    check_each_arrived_once(played, 2 * ALL_TO_ALL.messages, 50_000)
    if lossless:
        assert played.statistics["dropped_frames"] == played.statistics["retransmissions"] == 0


@pytest.mark.parametrize("queue_pairs", ["per-pair", "per-message"])
@pytest.mark.parametrize("control", CONTROLS)
def test_an_incast_of_many_messages_completes(control: str, queue_pairs: str, tmp_path: Path) -> None:
    rows = [Message(sender, 0, step) for step in range(5) for sender in range(1, RANKS)]
    played = play(congested(control, queue_pairs=queue_pairs), by_hand(RANKS, rows), 40_000, directory=tmp_path)
    flows = check_each_arrived_once(played, len(rows), 40_000)
    # A port sends one packet at a time: all of them take at least what their bytes take.
    assert flows["end_ps"].max() >= len(rows) * 40_000 * LEAST_PS_PER_BYTE
    opened = {"per-pair": RANKS - 1, "per-message": len(rows)}
    assert played.statistics["queue_pairs"] == opened[queue_pairs]
    # The messages of a queue pair arrive in order.
    if queue_pairs == "per-pair":
        for _, each in flows.groupby("source"):
            assert each.sort_values("end_ps")["row"].is_monotonic_increasing


@pytest.mark.parametrize("use", ["turns", "split"])
@pytest.mark.parametrize("reliability", RELIABILITIES)
@pytest.mark.parametrize("control", CONTROLS)
def test_several_queue_pairs_bring_each_message_once_whatever_is_lost(
    control: str, reliability: str, use: str, tmp_path: Path
) -> None:
    """Too little memory and no pauses: later messages overtake, and parts come long after the others."""
    keys = {"queue_pairs_per_pair": 3, "queue_pair_use": use, "window": "20KB"}
    network = congested(control, reliability, lossless=False, **keys)
    played = play(network, ALL_TO_ALL, RANKS * 20_000, repeat=4, directory=tmp_path)
    assert len(played.listener.done) == 4 * RANKS
    check_each_arrived_once(played, 4 * ALL_TO_ALL.messages, 20_000)
    assert played.statistics["queue_pairs"] == 3 * RANKS * (RANKS - 1)
    assert played.statistics["out_of_order_packets"] == 0


@pytest.mark.parametrize("use", ["turns", "split"])
def test_two_runs_with_several_queue_pairs_are_the_same(use: str, tmp_path: Path) -> None:
    tables = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        keys: dict[str, Any] = {"queue_pairs_per_pair": 3, "queue_pair_use": use}
        keys["observe"] = {"queue_pairs": ["rate", "cnps"]}
        network = congested("dcqcn", lossless=False, **keys)
        played = play(network, ALL_TO_ALL, RANKS * 30_000, seed=3, directory=tmp_path / name)
        assert set(played.table("queue_pairs")["queue_pair"]) == {0, 1, 2} if use == "split" else {0}
        tables.append((played.table("flows"), played.table("queue_pairs"), played.ports, played.finish_ps))
    assert tables[0][0].equals(tables[1][0])
    assert tables[0][1].equals(tables[1][1])
    assert tables[0][2:] == tables[1][2:]


@pytest.mark.parametrize("control", CONTROLS)
def test_two_runs_in_one_process_are_the_same(control: str, tmp_path: Path) -> None:
    """Marks, and PINT's samples, are random: from the seed alone."""
    tables = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        played = play(congested(control), ALL_TO_ALL, RANKS * 30_000, seed=3, directory=folder)
        tables.append((played.table("flows"), played.ports, played.finish_ps))
    assert tables[0][0].equals(tables[1][0])
    assert tables[0][1:] == tables[1][1:]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001])
def test_small_messages_go_through(control: str, size: int, tmp_path: Path) -> None:
    for queue_pairs in (1, 4):
        folder = tmp_path / str(queue_pairs)
        folder.mkdir()
        network = congested(control, queue_pairs_per_pair=queue_pairs, queue_pair_use="split")
        played = play(network, one_message(), size, directory=folder, stop_when_done=False)
        check_each_arrived_once(played, 1, max(1, size))
        assert played.statistics["queue_pairs"] == min(queue_pairs, max(1, size))


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("rate", ["1Gbps", "3200Gbps"])
def test_slow_and_fast_lines(control: str, rate: str) -> None:
    network = roce_star(5, rate=rate, switch={"ecn": MARKING}, congestion_control=control)
    played = play(network, incast(4), 100_000)
    assert sorted({rank for rank, _, _ in played.listener.done}) == list(range(5))
