"""What RoCE's congestion controls but DCQCN do to shares and queues: two long flows, and incasts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from oracles.roce_times import HEADERS, TELEMETRY, Star, buffered, wire
from support.roce_network import LOSSLESS, Flow, arrived_bytes, jain, play_flows, roce_star, sampled_queue
from support.star_network import Played

MS = 10**9
US = 10**6
PAYLOAD = 1000
FRAME = buffered(PAYLOAD + HEADERS)
MESSAGE = 20_000
PORT = "switch0:0"
DELAY_PS = US
ETA = 0.95
STEP_BYTES = 65_000
"""DCTCP's K at 10 Gb/s is 65 packets (SIGCOMM 2010, section 3.4); above C x RTT / 7 here."""


@dataclass(frozen=True)
class Setting:
    """A congestion control, the switch's marking, the line, and when all is settled."""

    control: Mapping[str, object]
    ecn: Mapping[str, object] | None = None
    gbps: int = 100
    late_ps: int = MS
    settled_ps: int = 4 * MS
    end_ps: int = 10 * MS
    extra: int = 0
    """Bytes of telemetry on each data packet."""
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rate_bps(self) -> int:
        return self.gbps * 10**9


STEP = {"kmin": STEP_BYTES, "kmax": STEP_BYTES}
HPCC_KEYS = {"window_scales_with_rate": True}
SETTINGS = {
    # Its paper's windows pace, so the window scales with the rate; rate_ai for some ten flows (section 3.3).
    "hpcc": Setting({"kind": "hpcc", "rate_ai": "250Mbps"}, extra=TELEMETRY, keys=HPCC_KEYS),
    "hpcc-pint": Setting({"kind": "hpcc-pint", "rate_ai": "250Mbps"}, extra=2, keys=HPCC_KEYS),
    "dctcp": Setting({"kind": "dctcp"}, STEP, keys={"window": 200_000}),
    "dctcp by rate": Setting({"kind": "dctcp", "parameters": "paper", "window": False}, STEP, keys={"window": "none"}),
    "swift": Setting({"kind": "swift", "parameters": "paper", "base_target": "10us"}),
    # 10 Gb/s as in its paper, where a round trip is shorter than a segment; it takes some 20 ms to come back.
    "timely": Setting(
        {"kind": "timely", "parameters": "paper", "segment": 0},
        gbps=10,
        late_ps=10 * MS,
        settled_ps=40 * MS,
        end_ps=100 * MS,
    ),
}
LEAST_USE = {"hpcc": 0.94, "hpcc-pint": 0.94, "dctcp": 0.99, "dctcp by rate": 0.93, "swift": 0.99, "timely": 0.9}
"""Of the line. HPCC aims at eta; DCTCP by rate and TIMELY empty the queue with each cut."""
TWO_EQUAL_SHARES = 0.99
"""Jain's index of two flows: their rates differ by a fifth at most."""


def long_flows(folder: Path, setting: Setting, senders: int, late_ps: int = 0) -> Played:
    """Hosts 1, 2, ... send all the time to host 0; all but the first begin late."""
    switch: dict[str, object] = {"buffer": "64MB", "pfc": LOSSLESS}
    network = roce_star(
        senders + 1,
        rate=f"{setting.gbps}Gbps",
        delay=f"{DELAY_PS}ps",
        switch=switch if setting.ecn is None else {**switch, "ecn": setting.ecn},
        observe={"queues": [PORT], "queue_interval": "1us"},
        congestion_control=setting.control,
        **setting.keys,
    )
    messages = setting.gbps * setting.end_ps // 8000 // MESSAGE
    flows = [Flow(host, 0, MESSAGE, messages, late_ps if host > 1 else 0) for host in range(1, senders + 1)]
    played = play_flows(network, flows, folder, until_ps=setting.end_ps)
    assert played.statistics["dropped_frames"] == 0
    return played


def settled_use(played: Played, setting: Setting) -> float:
    """Share of the time in which the port sent data, once all is settled: headers, preamble and gap counted."""
    packets = sum(settled_shares(played, setting)) // PAYLOAD
    bits = packets * wire(PAYLOAD + HEADERS + setting.extra) * 8
    return bits * 10**12 / setting.rate_bps / (setting.end_ps - setting.settled_ps)


def settled_shares(played: Played, setting: Setting) -> list[int]:
    """Bytes of each sender, once all is settled."""
    return arrived_bytes(played, setting.settled_ps, setting.end_ps)


def settled_queue(played: Played, setting: Setting) -> pd.Series[int]:
    """The port's queue, once all is settled."""
    return sampled_queue(played, PORT, setting.settled_ps, setting.end_ps, US)


@pytest.mark.parametrize("name", SETTINGS)
def test_two_flows_have_equal_shares_though_one_was_first(name: str, tmp_path: Path) -> None:
    setting = SETTINGS[name]
    played = long_flows(tmp_path, setting, 2, setting.late_ps)
    alone = arrived_bytes(played, setting.late_ps // 2, setting.late_ps)
    assert alone[1] == 0
    line_bytes = setting.rate_bps * setting.late_ps // 2 / 8e12 * PAYLOAD / wire(PAYLOAD + HEADERS + setting.extra)
    assert alone[0] > 0.93 * line_bytes
    assert jain(settled_shares(played, setting)) > TWO_EQUAL_SHARES
    assert LEAST_USE[name] < settled_use(played, setting) < 1.001


@pytest.mark.parametrize("name", ["hpcc", "hpcc-pint"])
def test_hpcc_alone_uses_eta_of_the_line(name: str, tmp_path: Path) -> None:
    """Eta, and rate_ai for each round trip; switches count frames, so preamble and gap are above it."""
    setting = SETTINGS[name]
    frame = FRAME + setting.extra
    use = settled_use(long_flows(tmp_path, setting, 1), setting)
    # PINT's utilisation is rounded to powers of 1.05.
    rounding = 1.05 if name == "hpcc-pint" else 1.0
    assert 0.99 * ETA / rounding < use < (ETA + 250e6 / setting.rate_bps) * (frame + 20) / frame * rounding**0.5


@pytest.mark.parametrize("senders", [8, 16])
@pytest.mark.parametrize("name", ["hpcc", "hpcc-pint"])
def test_hpcc_keeps_the_queue_near_zero(name: str, senders: int, tmp_path: Path) -> None:
    """Below the line's rate paced flows queue a packet each at most: those that arrive at the same time."""
    setting = SETTINGS[name]
    played = long_flows(tmp_path, setting, senders)
    queue = settled_queue(played, setting)
    assert queue.max() <= senders * (FRAME + setting.extra)
    assert queue.mean() < senders * (FRAME + setting.extra) / 4
    assert settled_use(played, setting) > LEAST_USE[name]
    assert jain(settled_shares(played, setting)) > 0.95
    # The windows that all open with are what queued before that: a bandwidth-delay product each.
    assert played.ports[PORT]["highest_queue_bytes"] > senders * 40_000


@pytest.mark.parametrize("threshold", [STEP_BYTES, 300_000])
@pytest.mark.parametrize("senders", [8, 16])
def test_dctcp_keeps_the_queue_near_k(threshold: int, senders: int, tmp_path: Path) -> None:
    """It swings about K by a packet or two of each flow, the line never idles (SIGCOMM 2010, section 3.3)."""
    ecn = {"kmin": threshold, "kmax": threshold}
    setting = Setting(SETTINGS["dctcp"].control, ecn, keys={"window": "bdp"})
    played = long_flows(tmp_path, setting, senders)
    queue = settled_queue(played, setting)
    assert queue.mean() == pytest.approx(threshold, rel=0.05)
    assert threshold - 2 * senders * FRAME < queue.min()
    assert queue.max() < threshold + 2 * senders * FRAME
    assert settled_use(played, setting) > 0.999
    assert jain(settled_shares(played, setting)) > 0.9


def swift_queue_bytes(senders: int, rate_bps: int, base_target_us: float) -> float:
    """Where the delay is the target: flows share the line, so each has a window of C x delay / N packets."""
    spread = 100 * US / (1 / math.sqrt(0.1) - 1 / math.sqrt(100))
    delay = base = base_target_us * US + 1 * US  # one switch
    for _ in range(100):
        cwnd = rate_bps * delay / 8e12 / wire(PAYLOAD + HEADERS) / senders
        delay = base + max(0.0, spread / math.sqrt(cwnd) - spread / math.sqrt(100))
    idle = Star(rate_bps, DELAY_PS).round_trip_ps(PAYLOAD)
    return (delay - idle) * rate_bps / 8e12 * FRAME / wire(PAYLOAD + HEADERS)


@pytest.mark.parametrize("senders", [2, 8, 16])
@pytest.mark.parametrize("base_target_us", [6, 10, 25])
def test_swift_rests_where_the_delay_is_its_target(senders: int, base_target_us: int, tmp_path: Path) -> None:
    setting = Setting({"kind": "swift", "parameters": "paper", "base_target": f"{base_target_us}us"})
    played = long_flows(tmp_path, setting, senders)
    expected = swift_queue_bytes(senders, setting.rate_bps, base_target_us)
    # Windows swing about it by ai, and what is in flight is a whole number of packets of each flow.
    assert settled_queue(played, setting).mean() == pytest.approx(expected, abs=senders * FRAME + 0.02 * expected)
    assert jain(settled_shares(played, setting)) > 0.99
    assert settled_use(played, setting) > 0.995


@pytest.mark.parametrize("senders", [8, 16])
def test_timely_keeps_the_delay_near_t_low(senders: int, tmp_path: Path) -> None:
    """Rates grow below t_low, 50 us, and fall with a rising delay above it; t_high, 500 us, is never reached.

    What it holds is a delay: shares have no fixed point ("ECN or Delay", CoNEXT 2016), so none are asked for.
    """
    setting = SETTINGS["timely"]
    played = long_flows(tmp_path, setting, senders)
    queue = settled_queue(played, setting)
    t_low_bytes = 50 * US * setting.rate_bps / 8e12
    assert queue.quantile(0.9) < 1.1 * t_low_bytes
    assert 0.8 * t_low_bytes < queue.max() < 2 * t_low_bytes
    assert settled_use(played, setting) > 0.85


@pytest.mark.parametrize("senders", [2, 8, 16])
def test_static_windows_fill_the_queue_with_what_the_lines_do_not_hold(senders: int, tmp_path: Path) -> None:
    window = 60_000
    setting = Setting({"kind": "static-window"}, keys={"window": window})
    played = long_flows(tmp_path, setting, senders)
    line = Star(setting.rate_bps, DELAY_PS)
    on_the_way = line.round_trip_ps(PAYLOAD) / line.data_ps(PAYLOAD)
    expected = (senders * window / PAYLOAD - on_the_way) * FRAME
    # The packet that the port is sending doesn't wait, and a sampled queue is a whole number of packets.
    assert settled_queue(played, setting).mean() == pytest.approx(expected, abs=2 * FRAME)
    assert jain(settled_shares(played, setting)) > 0.999
