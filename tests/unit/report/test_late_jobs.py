"""Tables of the ports that all jobs share, on the clock of a job that starts later: drawn, and never advised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.fake_backend import FakeBackend
from support.recorded_run import write_ports, write_table
from support.small_run import NPUS, small_network, small_system, small_workload
from support.trace import read_trace

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.cli.plot import plot_command
from astra_ns3.report.figures.figure import Heat
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.pictures.utilisation import KIND as UTILISATION
from astra_ns3.report.records import SinceStart, needed, table_of
from astra_ns3.report.timeline.timeline import left_out, write_timeline
from astra_ns3.report.timeline.usual import FILE

US = 1_000_000
START_PS = 25 * US
INTERVAL_PS = 10 * US
PORTS = {"host0": "switch0", "switch0:0": "host0"}


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """The folder of a job that starts at 25 us, beside tables of the network."""
    jobs = [
        Tenant("first", [0, 1], small_workload(), small_system()),
        Tenant("late", [2, 3], small_workload(), small_system(), start_ps=START_PS),
    ]
    folder = tmp_path / "run"
    astra_ns3.run_scenario(network=small_network(), tenants=jobs, backend=FakeBackend(NPUS), output=folder)
    write_table(
        folder,
        "queues",
        {
            "time_ps": [10 * US, 11 * US, 20 * US, 30 * US],
            "port": ["host0", "switch0:0", "host0", "host0"],
            "queue_bytes": [9_000, 500, 2_000, 3_000],
        },
    )
    write_table(
        folder,
        "utilisation",
        {"time_ps": [20 * US, 30 * US, 40 * US], "port": ["host0"] * 3, "wire_bytes": [1, 2, 3]},
    )
    write_table(folder, "pauses", {"time_ps": [24 * US], "port": ["switch0:0"], "paused_priorities": [8]})
    write_ports(folder, PORTS)
    run_file = folder / "job-late" / "run.json"
    told = json.loads(run_file.read_text(encoding="utf-8"))
    told["network"]["observe"] |= {"utilisation_interval": "10us"}
    run_file.write_text(json.dumps(told), encoding="utf-8")
    return folder / "job-late"


def test_what_held_before_a_job_stands_at_its_start_in_whichever_part_of_the_file_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.report.records._ROWS_IN_A_BATCH", 1)
    rows = {"time_ps": [1, 2, 9], "port": ["host0", "host1", "host0"], "queue_bytes": [100, 200, 300]}
    pq.write_table(pa.table(rows), tmp_path / "queues.parquet")
    found = list(SinceStart(tmp_path / "queues.parquet", 5, holds=True).batches(["time_ps", "port", "queue_bytes"]))
    told = [row for batch in found for row in zip(*(batch[name].tolist() for name in rows), strict=True)]
    assert sorted(told) == [(0, "host0", 100), (0, "host1", 200), (4, "host0", 300)]


def test_what_held_before_a_job_stands_at_its_start_and_other_times_count_from_there(late: Path) -> None:
    run = astra_ns3.Result.load(late)
    rows = {name: sorted(needed(run, name).tuples("port", "time_ps")) for name in ("queues", "utilisation", "pauses")}
    assert rows["queues"] == [("host0", 0), ("host0", 5 * US), ("switch0:0", 0)]
    assert rows["utilisation"] == [("host0", 5 * US), ("host0", 15 * US)]
    assert rows["pauses"] == [("switch0:0", 0)]
    assert dict(needed(run, "queues").tuples("port", "queue_bytes")) == {"host0": 3_000, "switch0:0": 500}
    assert [table.rows for name in rows if (table := table_of(run, name))] == [3, 2, 1]
    assert run.queues["time_ps"].tolist() == [-15 * US, -14 * US, -5 * US, 5 * US]


def test_pictures_and_the_timeline_of_a_late_job_show_the_ports_of_all_jobs(late: Path) -> None:
    run = astra_ns3.Result.load(late)
    listed = CliRunner().invoke(plot_command, [str(late)]).output
    drawn, _, advised = listed.partition("not recorded")
    assert "queues" in drawn
    assert "utilisation" in drawn
    assert "observe.queues" not in advised
    assert "observe.utilisation" not in advised
    assert not any("observe" in line for line in left_out(run))
    for folder in (late, late.parent):
        for kind in ("queues", "utilisation"):
            done = CliRunner().invoke(plot_command, [str(folder), kind, "-o", str(folder / f"{kind}.png")])
            assert done.exit_code == 0, done.output
    write_timeline(run)
    counters = read_trace(late / FILE).counters
    assert min(time for samples in counters.values() for time, _ in samples) == 0


@pytest.mark.parametrize(("end_us", "last_bytes"), [(70, 12_500), (45, 6_250)])
def test_a_late_job_s_utilisation_counts_intervals_and_their_rates_from_the_run_s_start(
    end_us: int, last_bytes: int, late: Path
) -> None:
    """The link is full all the time: with 100 Gb/s until 30 us, which is 5 us in the job, and then with 10 Gb/s.

    The job ends at 45 us; others may go on.
    """
    sent = [125_000, 12_500, last_bytes]
    write_table(
        late.parent, "utilisation", {"time_ps": [30 * US, 40 * US, 50 * US], "port": ["host0"] * 3, "wire_bytes": sent}
    )
    slower = {
        "event": 0,
        "name": "host 0 - switch 0",
        "link": 0,
        "start_ps": 30 * US,
        "end_ps": None,
        "rate_bps": 10**10,
    }
    for folder, keys in ((late, {"finish_ps": 20 * US}), (late.parent, {"events": [slower], "finish_ps": end_us * US})):
        told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        (folder / "run.json").write_text(json.dumps({**told, **keys}), encoding="utf-8")
    run = astra_ns3.Result.load(late)
    (image,) = run.plot.utilisation().axes[0].get_images()
    assert np.asarray(image.get_array()).tolist() == [[100, 100, 100]]
    assert list(image.get_extent()[:2]) == [-5, 25]
    figure = UTILISATION.section.make([Shown(run, "late", 0)], 100) if UTILISATION.section else None
    assert figure is not None
    (heat,) = figure.panels[0].series
    assert isinstance(heat, Heat)
    assert (np.asarray(heat.values).tolist(), heat.edges) == ([[100, 100, 100]], (-5, 25))
