"""The numbers of a run: each from a run made by hand, against sums done by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.studies import result_of
from support.study_points import COSTS

from astra_ns3.studies.measures import MEASURES, measures_digest, measures_of
from astra_ns3.studies.run_study import measured_today
from astra_ns3.studies.store import Store
from astra_ns3.studies.tables import framed
from astra_ns3.studies.task import PointOutcome

SWITCH = """port,link_to,sent_frames,highest_queue_bytes,pauses,paused_ps
host0,switch0,10,300,1,2000000
switch0:0,host0,10,900,0,1500000
"""
COLLECTIVES = """collective,kind,npus,bytes,end_us,bus_bandwidth_gbytes_per_s
0,ALLREDUCE,4,100,1,10.0
1,ALLGATHER,4,75,1,20.0
2,ALLREDUCE,4,900,,
3,POINTTOPOINT,2,900,1,0.1
"""
UTILISATION = " time (us) ,dim1 util,dim2 util,\n10,100.0,50.0,\n20,50.0,0.0,\n"
STATISTICS = {
    "events": 7, "messages": 3, "packets": 30, "retransmissions": 4, "timeouts": 1, "dropped_frames": 2,
    "lost_frames": 5, "marked_frames": 6, "pauses": 1, "cnps": 8, "nacks": 9, "out_of_order_packets": 11,
}  # fmt: skip


def measured(folder: Path, **more: Any) -> dict[str, Any]:
    files = {
        "switch.csv": SWITCH,
        "collectives.csv": COLLECTIVES,
        "made_dimension_utilization.csv": UTILISATION,
    }
    result = result_of(
        folder,
        files,
        finish_ps=3_500_000,
        compute_ps=1_500_000,
        exposed_ps=2_000_000,
        npus=2,
        collectives=3,
        statistics=STATISTICS,
        timing={"setup_seconds": 0.5, "wall_seconds": 2.0},
        memory={"peak_bytes": 1000},
        **more,
    )
    return measures_of(result)


def test_totals_and_counters_are_those_of_the_run(tmp_path: Path) -> None:
    found = measured(tmp_path)
    expected = {
        "finish_us": 3.5, "compute_us": 1.5, "exposed_us": 2.0, "npus": 2, "collectives": 3, "messages": 3,
        "packets": 30, "retransmissions": 4, "timeouts": 1, "drops": 7, "ecn_marks": 6, "pauses": 1, "cnps": 8,
        "nacks": 9, "out_of_order_packets": 11, "events": 7, "setup_wall_seconds": 0.5, "run_wall_seconds": 2.0,
        "peak_memory_bytes": 1000,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_ports_are_summed_or_the_highest_taken(tmp_path: Path) -> None:
    found = measured(tmp_path)
    assert (found["paused_us"], found["max_queue_bytes"]) == (3.5, 900)


def test_bus_bandwidth_is_the_mean_by_size_of_collectives_that_have_ended(tmp_path: Path) -> None:
    """The size of an all-gather is what each of its NPUs has after it; a message's wait is no bandwidth."""
    assert measured(tmp_path)["bus_bandwidth_gbytes_per_s"] == pytest.approx((100 * 10 + 300 * 20) / 400)


def test_utilisation_is_the_mean_over_windows_and_dimensions(tmp_path: Path) -> None:
    assert measured(tmp_path)["dimension_utilisation_percent"] == pytest.approx((75 + 25) / 2)


def test_slowdowns_are_over_messages_with_an_ideal_time(tmp_path: Path) -> None:
    """100 messages of slowdown 1 to 100, and one within a host, which has no ideal time."""
    tmp_path.mkdir(exist_ok=True)
    rows = {"start_ps": [5] * 101, "end_ps": [5 + 10 * k for k in range(1, 101)] + [99], "ideal_ps": [10] * 100 + [0]}
    rows["bytes"] = [*range(1, 101), 7]
    pq.write_table(pa.table(rows), tmp_path / "flows.parquet")
    found = measured(tmp_path, more_files=["flows.parquet"])
    assert [found[f"slowdown_{name}"] for name in ("p50", "p95", "p99", "max")] == [50, 95, 99, 100]
    # Thirds of 34, 33 and 33 messages.
    assert [found[f"slowdown_{name}_p50"] for name in ("short", "middle", "long")] == [17, 51, 84]
    assert [found[f"slowdown_{name}_p999"] for name in ("short", "middle", "long")] == [34, 67, 100]


def test_flows_that_slowdowns_leave_out_are_counted(tmp_path: Path) -> None:
    """Of a list, and of two entries of traffic beside a job."""
    assert measured(tmp_path / "a", flows={"started": 9, "delivered": 7})["undelivered_flows"] == 2
    counts: tuple[dict[str, int], ...] = ({}, {"started": 325, "delivered": 280}, {"started": 5, "delivered": 5})
    jobs = [{"finish_ps": 1, "ended_by": "others", **each} for each in counts]
    assert measured(tmp_path / "b", jobs=jobs)["undelivered_flows"] == 45
    assert measured(tmp_path / "c")["undelivered_flows"] is None


def test_a_run_without_packets_has_none_of_their_numbers(tmp_path: Path) -> None:
    found = measures_of(result_of(tmp_path, {}))
    without = [name for name, value in found.items() if value is None]
    assert {"packets", "pauses", "paused_us", "max_queue_bytes", "slowdown_p99", "out_of_order_packets"} <= set(without)
    assert found["finish_us"] == 0


def test_a_table_can_be_written_whatever_its_labels_are(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"a": 1, "b": 1, "c": "x", "d": 0.5, "e": None},
        {"a": 2, "b": None, "c": 2, "d": 1, "e": None},
    ]
    frame = framed(rows, ("a", "b", "c", "d", "e"))
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    assert [str(kind) for kind in frame.dtypes[["a", "b", "d"]]] == ["int64", "Int64", "float64"]
    assert list(frame["c"]) == ["x", "2"]
    assert frame.to_csv(index=False).splitlines() == ["a,b,c,d,e", "1,1,x,0.5,", "2,,2,1.0,"]


def test_every_measure_has_words_and_a_unit_in_its_name() -> None:
    endings = {"us": "_us", "B": "_bytes", "%": "_percent", "s": "_seconds", "10^9 B/s": "_gbytes_per_s"}
    for name, kind in MEASURES.items():
        assert kind.words
        assert not kind.unit or name.endswith(endings[kind.unit]), name
    assert set(COSTS) < set(MEASURES)


def test_numbers_of_other_measures_are_made_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    result_of(store.point_folder("a" * 64), {}, finish_ps=5_000_000)
    old = PointOutcome("a" * 64, "done", None, {"finish_us": 1.0, "gone": 2.0}, {}, {}, "another")
    store.write(old)
    new = measured_today({"a" * 64: old}, store, write=True)["a" * 64]
    assert (new.measures["finish_us"], "gone" in new.measures) == (5.0, False)
    assert new.measured_with == measures_digest()
    assert store.outcome("a" * 64) == new
    kept = replace(old, measured_with=measures_digest())
    assert measured_today({"a" * 64: kept}, store) == {"a" * 64: kept}


def test_a_point_that_could_not_be_finished_is_not_written_down_as_failed_although_its_run_is_there(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    result_of(store.point_folder("a" * 64), {}, finish_ps=5_000_000)  # the disk was full when point.json was written
    told = PointOutcome(
        "a" * 64, "failed", {"kind": "Unplayed", "message": "a full disk", "exit_status": 1}, {}, {}, {}
    )
    assert measured_today({"a" * 64: told}, store, write=True) == {"a" * 64: told}
    assert store.outcome("a" * 64) is None


def test_a_point_without_a_run_keeps_its_numbers(tmp_path: Path) -> None:
    old = PointOutcome("a" * 64, "failed", None, {"finish_us": 1.0}, {}, {})
    assert measured_today({"a" * 64: old}, Store(tmp_path)) == {"a" * 64: old}


def test_a_point_that_an_earlier_program_finished_is_still_read(tmp_path: Path) -> None:
    store, old = Store(tmp_path), PointOutcome("a" * 64, "done", None, {}, {}, {})
    store.write(old)
    file = store.point_folder("a" * 64) / "point.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    del document["measured_with"]
    file.write_text(json.dumps(document), encoding="utf-8")
    assert store.outcome("a" * 64) == old
