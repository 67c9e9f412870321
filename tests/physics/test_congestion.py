"""What congestion control does to a queue: long flows into one port."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from oracles.tcp_times import HEADERS, Star, buffered
from support.star_network import Played, incast, play, star

from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS

SENDERS = 4
SIZE = 8_000_000
WINDOW_BYTES = 500_000
LINE = Star(100 * 10**9, 500_000)
SEGMENT = 1460
FRAMES_PER_WINDOW = WINDOW_BYTES // SEGMENT
FRAME = buffered(HEADERS + SEGMENT)
PORT = "switch0:0"


def long_flows(folder: Path, congestion_control: str, threshold: str | None = None) -> Played:
    """Four senders of 8 MB each to one port."""
    marking = None if threshold is None else {"kmin": threshold, "kmax": threshold}
    observe = {"queues": [PORT], "queue_interval": "5us"}
    network = star(
        SENDERS + 1, congestion_control=congestion_control, ecn=marking, window=WINDOW_BYTES, observe=observe
    )
    return play(network, incast(SENDERS), SIZE, directory=folder)


def settled(played: Played) -> pd.Series[int]:
    """Samples of the queue between the first third of the run and its last twentieth."""
    queues = played.table("queues")
    inside = queues["time_ps"].between(played.finish_ps // 3, played.finish_ps * 19 // 20)
    samples: pd.Series[int] = queues.loc[inside, "queue_bytes"]
    assert len(samples) > 50
    return samples


@pytest.mark.parametrize(("threshold", "bytes"), [("100KB", 100_000), ("300KB", 300_000)])
def test_dctcp_holds_the_queue_near_the_marking_threshold(threshold: str, bytes: int, tmp_path: Path) -> None:
    """RFC 8257: the queue swings below K and goes above it by about a segment per flow and round trip."""
    played = long_flows(tmp_path, "Dctcp", threshold)
    samples = settled(played)
    assert 0.5 * bytes < samples.mean() < 1.1 * bytes
    assert samples.min() > 0  # the line never idles
    assert samples.max() < bytes + 4 * SENDERS * FRAME
    assert played.statistics["dropped_frames"] == 0


def test_new_reno_without_marks_fills_the_queue_with_its_windows(tmp_path: Path) -> None:
    """Nothing is dropped or marked, so each flow keeps its window on the way; what the lines don't hold, queues."""
    played = long_flows(tmp_path, "NewReno")
    windows = SENDERS * FRAMES_PER_WINDOW * FRAME
    on_the_lines = LINE.round_trip_ps(SEGMENT) // LINE.line_ps(HEADERS + SEGMENT) * FRAME
    highest = played.ports[PORT]["highest_queue_bytes"]
    assert windows - 2 * on_the_lines < highest <= windows
    assert settled(played).mean() > 0.9 * windows
    assert played.ports[PORT]["marked_frames"] == 0


def test_a_smaller_threshold_means_a_shorter_round_trip(tmp_path: Path) -> None:
    queues = []
    for threshold in ("50KB", "200KB"):
        folder = tmp_path / threshold
        folder.mkdir()
        queues.append(settled(long_flows(folder, "Dctcp", threshold)).mean())
    assert queues[0] < queues[1] / 2


@pytest.mark.parametrize("congestion_control", CONGESTION_CONTROLS)
def test_every_congestion_control_delivers_all_bytes_on_a_lossless_network(
    congestion_control: str, tmp_path: Path
) -> None:
    network = star(3, congestion_control=congestion_control, ecn={"kmin": "100KB", "kmax": "100KB"})
    played = play(network, incast(2), 300_000, directory=tmp_path)
    assert played.table("flows")["bytes"].tolist() == [300_000] * 2
    assert played.statistics["retransmissions"] == 0
    assert played.statistics["timeouts"] == 0
    assert played.statistics["dropped_frames"] == 0


@pytest.mark.parametrize("congestion_control", CONGESTION_CONTROLS)
def test_every_congestion_control_delivers_all_bytes_in_spite_of_losses(
    congestion_control: str, tmp_path: Path
) -> None:
    network = star(5, congestion_control=congestion_control, buffer="40KB", min_rto="1ms")
    played = play(network, incast(4), 100_000, directory=tmp_path)
    assert sorted(played.table("flows")["source"].tolist()) == [1, 2, 3, 4]
    assert played.statistics["dropped_frames"] > 0
    assert played.statistics["retransmissions"] > 0
