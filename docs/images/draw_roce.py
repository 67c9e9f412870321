"""Draws the figures of docs/roce.md from runs that it makes: ``python docs/images/draw_roce.py``.

Long flows into host 0 of one switch, each handed over as many small messages. Needs matplotlib, which the extra "plots"
brings; takes some 20 seconds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import LimitReached
from astra_ns3.network.api import Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

HERE = Path(__file__).resolve().parent
US, MS = 10**6, 10**9
MESSAGE_BYTES = 5000
PORT = "switch0:0"
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2")
DOTS_PER_INCH = 110

DCQCN_ECN = {"kmin": "5KB", "kmax": "200KB", "pmax": 0.01}
"""Of the paper (Y. Zhu et al., SIGCOMM 2015), for 40 Gb/s."""


@dataclass(frozen=True)
class Setting:
    """Flows from hosts 1, 2, ... to host 0 over one switch."""

    name: str
    control: str | Mapping[str, object]
    gbps: int = 100
    senders: int = 2
    ecn: Mapping[str, object] | None = None
    join_ps: int = 0
    """Flow i begins at i times this."""
    end_ps: int = 4 * MS
    queue_interval: str = "1us"
    keys: Mapping[str, object] = field(default_factory=dict)

    def network(self) -> dict[str, object]:
        """The network file; the control has its paper's numbers where nothing else is said."""
        control = {"kind": self.control} if isinstance(self.control, str) else self.control
        numbers = {} if self.control == "none" else {"parameters": "paper"}
        switch: dict[str, object] = {"buffer": "32MiB", "pfc": {"priorities": [3]}}
        return {
            "topology": {
                "kind": "single-switch",
                "npus": self.senders + 1,
                "link": {"rate": f"{self.gbps}Gbps", "delay": "1us"},
                "switch": switch if self.ecn is None else {**switch, "ecn": self.ecn},
            },
            "transport": {"kind": "roce", "congestion_control": {**numbers, **control}, **self.keys},
            "observe": {"queues": [PORT], "queue_interval": self.queue_interval, "queue_pairs": ["rate"]},
        }


@dataclass(frozen=True)
class Played:
    """The tables of a run."""

    flows: pd.DataFrame
    queues: pd.DataFrame
    rates: pd.DataFrame


def messages_in_a_row(count: int) -> Schedule:
    """Rank 0 hands rank 1 so many messages at once."""
    zeros = np.zeros(count, dtype=np.int32)
    return Schedule(
        name="messages in a row",
        ranks=2,
        blocks=1,
        sender=zeros,
        receiver=zeros + 1,
        step=np.arange(count, dtype=np.int32),
        first_block=zeros,
        block_count=zeros + 1,
        reduces=zeros.astype(np.bool_),
        wait_step=zeros - 1,
        wait_count=zeros,
    )


def play(setting: Setting) -> Played:
    """Run it to its end."""
    with tempfile.TemporaryDirectory() as folder:
        backend: Any = create_backend(
            "ns3",
            plan_network(parse_network(setting.network())),
            seed=1,
            recorder=RecorderOptions(Path(folder), True),
        )
        # More than its line can carry, so no flow ever runs dry.
        schedule = messages_in_a_row(setting.gbps * setting.end_ps // 8000 // MESSAGE_BYTES)
        number = backend.register_schedule(schedule)
        for sender in range(1, setting.senders + 1):
            group = backend.register_group([sender, 0])

            def launch(_: int, sender: int = sender, group: int = group) -> None:
                for member in (sender, 0):
                    backend.launch(member, number, group, sender, MESSAGE_BYTES)

            if sender > 1 and setting.join_ps:
                backend.call_later(sender, (sender - 1) * setting.join_ps, launch)
            else:
                launch(0)
        try:
            backend.run(Idle(), Limits(simulated_ps=setting.end_ps))
        except LimitReached:
            pass
        finally:
            backend.close()
        read = [pd.read_parquet(Path(folder) / f"{name}.parquet") for name in ("flows", "queues", "queue_pairs")]
    return Played(*read)


class Idle:
    """Nothing follows from what is done."""

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        """A flow has ended."""

    def heartbeat(self, time_ps: int, events: int) -> None:
        """Time goes by."""


def queue_at(played: Played, times_ps: Sequence[int] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The queue's bytes at those times; a row of the table holds until the next."""
    rows = played.queues
    place = np.searchsorted(rows["time_ps"].to_numpy(), times_ps, side="right") - 1
    return np.where(place >= 0, rows["queue_bytes"].to_numpy()[place], 0)


def throughput_gbps(played: Played, sender: int, edges_ps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Payload of a sender that arrived in each bin."""
    flows = played.flows[played.flows["source"] == sender]
    sums, _ = np.histogram(flows["end_ps"], bins=edges_ps, weights=flows["bytes"])
    return sums * 8000 / np.diff(edges_ps)


def save(figure: Any, name: str) -> None:
    """As a picture of few colours, which takes a third of the bytes."""
    from PIL import Image

    target = HERE / f"roce-{name}.png"
    figure.savefig(target, dpi=DOTS_PER_INCH)
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(48).save(target, optimize=True)


def draw_dcqcn() -> None:
    """Rates and queue of two flows, from the beginning."""
    setting = Setting("dcqcn", "dcqcn", gbps=40, ecn=DCQCN_ECN, end_ps=60 * MS, queue_interval="20us")
    played = play(setting)
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    rates, queue = figure.subplots(2, 1, sharex=True)
    for sender in (1, 2):
        rows = played.rates[played.rates["source"] == sender]
        rates.step(
            rows["time_ps"] / MS, rows["value"] / 1e9, where="post", color=COLOURS[sender - 1], label=f"flow {sender}"
        )
    rates.axhline(setting.gbps / 2, color="#888888", linewidth=0.8, linestyle=":")
    rates.set_ylabel("rate (Gb/s)")
    rates.set_ylim(0, setting.gbps)
    rates.legend(loc="upper right", frameon=False)
    times = np.arange(0, setting.end_ps, 20 * US)
    queue.plot(times / MS, queue_at(played, times) / 1000, color=COLOURS[0], linewidth=0.8)
    queue.set_ylabel("queue (KB)")
    queue.set_xlabel("time (ms)")
    queue.set_ylim(0, 220)
    queue.set_xlim(0, setting.end_ps / MS)
    save(figure, "dcqcn")


STEP = {"kmin": "65KB", "kmax": "65KB"}
INCAST = (
    Setting("none: PFC alone", "none"),
    Setting("DCQCN", "dcqcn", ecn={"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}),
    Setting("TIMELY", {"kind": "timely", "segment": 0}),
    Setting("DCTCP", "dctcp", ecn=STEP),
    Setting("HPCC", {"kind": "hpcc", "rate_ai": "25Mbps"}),
    Setting("Swift, base_target 10 us", {"kind": "swift", "base_target": "10us"}),
)


def draw_incast() -> None:
    """The queue of 16 flows that begin at once, with each control."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    for setting, panel in zip(INCAST, panels, strict=True):
        setting = Setting(setting.name, setting.control, senders=16, ecn=setting.ecn, end_ps=30 * MS)
        played = play(setting)
        times = np.arange(0, setting.end_ps, 10 * US)
        queue = queue_at(played, times)
        panel.plot(times / MS, np.maximum(queue, 100) / 1000, color=COLOURS[0], linewidth=0.8)
        panel.set_yscale("log")
        panel.set_ylim(1, 50_000)
        panel.set_xlim(0, setting.end_ps / MS)
        panel.grid(axis="y", linewidth=0.4)
        settled = times >= setting.end_ps // 2
        median = np.median(queue[settled]) / 1000
        panel.set_title(f"{setting.name}\nmedian of the second half {median:,.1f} KB", fontsize=9)
    for panel in panels[3:]:
        panel.set_xlabel("time (ms)")
    for panel in panels[::3]:
        panel.set_ylabel("queue (KB)")
    save(figure, "incast")


FAIRNESS = (
    Setting("DCQCN, 40 Gb/s", "dcqcn", 40, 4, DCQCN_ECN, 50 * MS, 200 * MS, "1ms"),
    Setting("DCTCP, 100 Gb/s", "dctcp", 100, 4, STEP, 2 * MS, 8 * MS),
    Setting("HPCC, 100 Gb/s", {"kind": "hpcc", "rate_ai": "250Mbps"}, 100, 4, None, 2 * MS, 8 * MS),
    Setting("Swift, 100 Gb/s", {"kind": "swift", "base_target": "10us"}, 100, 4, None, 2 * MS, 8 * MS),
)


def draw_fairness() -> None:
    """What each of four flows gets that join one after the other."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for setting, panel in zip(FAIRNESS, panels, strict=True):
        played = play(setting)
        edges = np.linspace(0, setting.end_ps, 161)
        for sender in range(1, setting.senders + 1):
            rates = throughput_gbps(played, sender, edges)
            panel.step(
                edges[:-1] / MS, rates, where="post", color=COLOURS[sender - 1], linewidth=1, label=f"flow {sender}"
            )
        panel.set_ylim(0, setting.gbps)
        panel.set_xlim(0, setting.end_ps / MS)
        last = (edges[:-1] + edges[1:]) / 2 >= setting.end_ps - setting.join_ps // 2
        shares = [throughput_gbps(played, sender, edges)[last].mean() for sender in range(1, setting.senders + 1)]
        jain = sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
        panel.set_title(f"{setting.name}; Jain's index of the last eighth {jain:.3f}", fontsize=9)
    for panel in panels[2:]:
        panel.set_xlabel("time (ms)")
    for panel in panels[::2]:
        panel.set_ylabel("throughput (Gb/s)")
    panels[0].legend(loc="upper right", frameon=False)
    save(figure, "fairness")


def main() -> None:
    """Draw all of them."""
    draw_dcqcn()
    draw_incast()
    draw_fairness()


if __name__ == "__main__":
    main()
