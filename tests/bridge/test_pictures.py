"""Pictures and traces of runs on packets: every table that a run can leave is drawn, and all of it is in the trace."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import small_system
from support.trace import read_trace

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.request import RECORDABLE
from astra_ns3.report.pictures.kinds import IN_FILES
from astra_ns3.report.timeline.timeline import write_timeline
from astra_ns3.workload.files.astra_sim import parse_workload

LINK = {"rate": "100Gbps", "delay": "500ns"}
SMALL_SWITCH = {"buffer": "160KB", "pfc": {"priorities": [3]}}
NETWORKS: dict[str, dict[str, Any]] = {
    "roce": {
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": LINK, "switch": SMALL_SWITCH,
        },
        "transport": {"kind": "roce", "congestion_control": "dcqcn"},
        "observe": {"queue_pairs": ["rate", "window"], "pauses": True},
    },
    "tcp": {
        "topology": {"kind": "single-switch", "npus": 8, "npus_per_host": 2, "link": LINK, "switch": {"buffer": "1MB"}},
        "transport": {"kind": "tcp", "min_rto": "1ms"},
        "observe": {"connections": ["congestion_window", "rtt"]},
    },
}  # fmt: skip
LAYERS = "a -1 300 NONE 0 200 ALLTOALL 90000 100 ALLREDUCE 160000 50\n"


@pytest.fixture(scope="module", params=NETWORKS)
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> astra_ns3.Result:
    """A run of two layers and two passes with all that can be recorded."""
    network = NETWORKS[request.param]
    every = {"queues": ["all"], "queue_interval": "1us", "utilisation": ["all"], "utilisation_interval": "2us"}
    algorithms = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    return astra_ns3.run(
        workload=parse_workload(f"DATA\n2\n{LAYERS}{LAYERS.replace('a', 'b', 1)}", "two"),
        system=small_system(**{f"{name}-implementation": "direct" for name in algorithms}),
        network=parse_network({**network, "observe": {**network["observe"], **every}}),
        passes=2,
        record=RECORDABLE,
        output=tmp_path_factory.mktemp(request.param) / "out",
    )


def test_every_picture_that_the_tables_allow_is_drawn_without_a_warning(result: astra_ns3.Result) -> None:
    drawn = [kind.name for kind in IN_FILES if not kind.missing(result)]
    assert {"layers", "exposed", "timeline", "utilisation", "queues", "rates", "completion", "bandwidth"} <= set(drawn)
    for name in drawn:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            getattr(result.plot, name)().draw_without_rendering()


def test_the_utilisation_drawn_is_what_the_ports_sent(result: astra_ns3.Result) -> None:
    axes = result.plot.utilisation(width="double").axes[0]
    (image,) = axes.get_images()
    shown = image.get_array()
    assert shown is not None
    columns, until_us = shown.shape[1], image.get_extent()[1]
    factor = {"us": 1e6, "ms": 1e9}[axes.get_xlabel().split("(")[1].rstrip(")")]
    lasts_ps = np.full(columns, until_us * factor / columns)
    lasts_ps[-1] = result.finish_ps - lasts_ps[:-1].sum()
    wire_bytes = (shown * lasts_ps).sum() / 100 * 100e9 / 8e12
    assert wire_bytes == pytest.approx(result.utilisation["wire_bytes"].sum())
    assert shown.max() > 50


def test_all_that_was_recorded_is_in_the_trace(result: astra_ns3.Result, tmp_path: Path) -> None:
    made = write_timeline(result, tmp_path / "run.pftrace", most=10**6)
    trace = read_trace(made.path)
    npus = result.npus.set_index("npu")
    for npu in npus.index:
        computed = trace.on(f"NPU {npu}", "compute")
        took_ps = sum(each.notes["end_ps"] - each.notes["start_ps"] for each in computed)
        assert took_ps == round(npus.loc[npu, "compute_us"] * 1e6)
    of_track = {track: path[-1] for track, path in trace.tracks.items()}
    sent = [each for each in trace.slices if of_track[each.track] == "messages sent"]
    assert len(sent) == len(result.flows) == made.messages_shown == made.messages
    assert sorted(each.notes["end_ps"] for each in sent) == sorted(result.flows["end_ps"])
    phases = [each for each in trace.slices if of_track[each.track].startswith("phases")]
    assert len(phases) == len(result.phases)
    queued = {
        trace.tracks[track][1]: samples for track, samples in trace.counters.items() if of_track[track] == "queue"
    }
    longest = result.queues.groupby("port", observed=True)["queue_bytes"].max()
    assert {port.split(" to ")[0]: max(value for _, value in samples) for port, samples in queued.items()} == dict(
        longest
    )
    for samples in trace.counters.values():
        times = [time for time, _ in samples]
        assert times == sorted(set(times))


@pytest.mark.parametrize("result", ["roce"], indirect=True)
def test_pauses_in_the_trace_last_as_long_as_the_ports_count(result: astra_ns3.Result, tmp_path: Path) -> None:
    trace = read_trace(write_timeline(result, tmp_path / "run.pftrace").path)
    stopped: dict[str, int] = {}
    for each in trace.slices:
        if trace.tracks[each.track][-1] == "paused":
            port = trace.tracks[each.track][1].split(" to ")[0]
            stopped[port] = stopped.get(port, 0) + each.notes["end_ps"] - each.notes["start_ps"]
    counted = result.switches.set_index("port")["paused_ps"]
    assert stopped == dict(counted[counted > 0])
    assert stopped
