"""Traces for Perfetto, read back with its own definitions: whole, in order, and with the times of the tables."""

from __future__ import annotations

import builtins
import json
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recorded_tables import US, full_folder, run_folder, write_accounts, write_messages, write_ports
from support.small_run import small_run
from support.trace import Trace, read_trace

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.report.pictures.kind import Choice
from astra_ns3.report.pictures.kinds import IN_FILES, kind_of
from astra_ns3.report.timeline import perfetto, programs
from astra_ns3.report.timeline.programs import Lanes
from astra_ns3.report.timeline.timeline import left_out, write_timeline
from astra_ns3.workload.files.astra_sim import parse_workload

PS_PER_NS = 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which everything was recorded."""
    return full_folder(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def trace(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return traced(folder, tmp_path_factory.mktemp("trace"))


def traced(folder: Path, where: Path, **options: Any) -> Trace:
    made = write_timeline(astra_ns3.Result.load(folder), where / "run.pftrace", **options)
    assert made.bytes == made.path.stat().st_size
    found = read_trace(made.path)
    assert len(found.slices) == made.written.slices
    assert len(found.instants) == made.written.instants
    assert sum(map(len, found.counters.values())) == made.written.samples
    assert len(found.tracks) == made.written.tracks
    return found


def test_every_operation_is_on_its_npus_track_with_its_own_times(folder: Path, trace: Trace) -> None:
    operations = astra_ns3.Result.load(folder).operations
    tracks = {"compute": "compute", "wait": "waits"}
    expected = Counter(
        (f"NPU {row.npu}", tracks[str(row.kind)], f"{row.layer}, {row.part}", row.start_ps, row.end_ps)
        for row in operations.itertuples()
        if row.kind in tracks
    )
    found = Counter(
        (*trace.tracks[each.track], each.name, each.notes["start_ps"], each.notes["end_ps"])
        for each in trace.slices
        if trace.tracks[each.track][-1] in tracks.values()
    )
    assert found == expected
    issued = [each for each in trace.instants if trace.tracks[each.track][-1] == "issues"]
    issues = operations[operations["kind"] == "issue"]
    assert sorted(each.notes["start_ps"] for each in issued) == sorted(issues["start_ps"])
    assert {each.notes["collective"] for each in issued} == set(issues["collective"])


def test_every_phase_is_there_with_its_own_times(folder: Path, trace: Trace) -> None:
    columns = ["npu", "collective", "chunk", "phase", "dimension", "queued_ps", "start_ps", "end_ps"]
    phases = astra_ns3.Result.load(folder).phases[columns]
    found = Counter(
        (
            int(group.removeprefix("NPU ")),
            *(each.notes[name] for name in ("collective", "chunk", "phase")),
            int(track.removeprefix("phases, dimension ")),
            *(each.notes[name] for name in ("queued_ps", "start_ps", "end_ps")),
        )
        for each in trace.slices
        for group, track in [trace.tracks[each.track][:2]] * (trace.tracks[each.track][-1].startswith("phases"))
    )
    assert found == Counter(tuple(row) for row in phases.to_numpy().tolist())


@pytest.mark.parametrize("cells", [1, 10**6])
def test_a_collective_lasts_on_an_npu_from_its_first_queue_to_its_last_phase(
    cells: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "MOST_CELLS", cells)  # one NPU at a time, or all
    found = traced(folder, tmp_path)
    phases = astra_ns3.Result.load(folder).phases
    spans = phases.groupby(["npu", "collective"]).agg({"queued_ps": "min", "end_ps": "max"})
    for npu in phases["npu"].unique():
        expected = {
            (key, queued, end)
            for key, (queued, end) in zip(spans.loc[npu].index, spans.loc[npu].to_numpy(), strict=True)
        }
        shown = found.on(f"NPU {npu}", "collectives")
        assert {tuple(each.notes[name] for name in ("collective", "start_ps", "end_ps")) for each in shown} == expected


def test_nanoseconds_are_picoseconds_rounded_down_at_both_ends(trace: Trace) -> None:
    assert len(trace.slices) > 50
    for each in trace.slices:
        assert (each.start_ns, each.end_ns) == (each.notes["start_ps"] // PS_PER_NS, each.notes["end_ps"] // PS_PER_NS)


def test_picoseconds_that_are_no_nanoseconds_are_rounded_down_and_kept(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    write_messages(path, [(0, 1, 1_999, 2_001), (0, 1, 2_001, 2_999)])
    first, second = traced(path, tmp_path).on("NPU 0", "messages sent")
    assert (first.start_ns, first.end_ns, second.start_ns, second.end_ns) == (1, 2, 2, 2)
    assert (first.notes["start_ps"], first.notes["end_ps"]) == (1_999, 2_001)
    assert first.track == second.track


def test_an_arrow_leads_from_each_message_sent_to_where_it_was_received(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    spans = [(0, 1, 0, 2 * US), (0, 2, 0, 3 * US), (1, 2, US, 4 * US), (3, 0, 2 * US, 9 * US)]
    write_messages(path, spans)
    found = traced(path, tmp_path)
    sent = {each.flows: each for each in found.slices if each.flows}
    received = {each.ended_flows: each for each in found.instants if each.ended_flows}
    assert len(sent) == len(spans)
    assert sent.keys() == received.keys()
    assert all(len(flows) == 1 for flows in sent)
    ends = [
        (found.tracks[sent[flow].track], found.tracks[received[flow].track], sent[flow].notes["start_ps"],
         sent[flow].notes["end_ps"], received[flow].start_ns * PS_PER_NS)
        for flow in sent
    ]  # fmt: skip
    assert sorted(ends) == sorted(
        ((f"NPU {a}", "messages sent"), (f"NPU {b}", "messages received"), start, end, end)
        for a, b, start, end in spans
    )


def test_the_accounts_stand_in_for_the_flows_and_say_where_the_time_went(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    write_messages(path, [(0, 1, 0, US)])
    write_accounts(path, [(0, 0, {"turn_ps": 7, "propagation_ps": 5}), (0, 50, {"lost_ps": 9})])
    first, second = traced(path, tmp_path).on("NPU 0", "messages sent")
    assert {key: first.notes[key] for key in ("turn_ps", "propagation_ps")} == {"turn_ps": 7, "propagation_ps": 5}
    assert "turn_ps" not in second.notes
    assert second.notes["lost_ps"] == 9


@pytest.mark.parametrize(("most", "shown"), [(0, 0), (1, 1), (7, 7), (99, 99), (100, 100), (5000, 100)])
def test_of_too_many_messages_some_are_shown_evenly_and_the_trace_says_so(
    most: int, shown: int, tmp_path: Path
) -> None:
    path = run_folder(tmp_path)
    write_messages(path, [(0, 1, place * US, (place + 1) * US) for place in range(100)])
    found = traced(path, tmp_path, most=most)
    starts = [each.notes["row"] for each in found.on("NPU 0", "messages sent")]
    assert len(starts) == shown
    gaps = {after - before for before, after in pairwise(starts)}
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
    notes = [each.name for each in found.instants_on("run", "notes")]
    assert notes == ([] if shown == 100 else [f"{shown} of 100 messages are shown"])


def test_counters_have_the_utilisation_of_each_interval_and_nothing_between(trace: Trace) -> None:
    # 125,000 bytes are what 100 Gb/s send in 10 us.
    assert trace.counter("network", "host0 to switch0", "utilisation") == [(0, 100.0), (10_000, 50.0), (20_000, 0.0)]
    assert trace.counter("network", "switch0:1 to host1", "utilisation") == [(10_000, 20.0), (20_000, 0.0)]
    assert trace.counter("network", "switch0:1 to host1", "queue") == [(10_000, 5000), (20_000, 0)]
    units = {trace.tracks[track][-1]: unit for track, unit in trace.units.items()}
    assert units == {"utilisation": "%", "queue": "bytes"}


def test_the_interval_in_which_a_run_ends_counts_as_far_as_it_was_played(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    (path / "run.json").write_text(json.dumps({**document, "finish_ps": 12 * US}), encoding="utf-8")
    write_ports(path, "utilisation", "wire_bytes", [(10 * US, "host0", 12_500), (20 * US, "host0", 12_500)])
    shown = traced(path, tmp_path).counter("network", "host0 to switch0", "utilisation")
    assert shown == [(0, 10.0), (10_000, 50.0), (20_000, 0.0)]


def test_a_gap_without_rows_is_a_time_without_use(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    write_ports(path, "utilisation", "wire_bytes", [(10 * US, "host0", 12_500), (40 * US, "host0", 12_500)])
    shown = traced(path, tmp_path).counter("network", "host0 to switch0", "utilisation")
    assert shown == [(0, 10.0), (10_000, 0.0), (30_000, 10.0), (40_000, 0.0)]


def test_counters_go_forward_in_the_file_too(folder: Path, tmp_path: Path) -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    made = write_timeline(astra_ns3.Result.load(folder), tmp_path / "run.pftrace")
    times: dict[int, int] = {}
    samples = 0
    for packet in pb.Trace.FromString(made.path.read_bytes()).packet:
        if packet.track_event.type == packet.track_event.TYPE_COUNTER:
            samples += 1
            assert times.get(packet.track_event.track_uuid, -1) < packet.timestamp
            times[packet.track_event.track_uuid] = packet.timestamp
    assert samples == made.written.samples > 5


def test_pauses_are_slices_and_the_runs_end_ends_them(folder: Path, trace: Trace) -> None:
    (paused,) = trace.on("network", "host0 to switch0", "paused")
    assert (paused.name, paused.notes) == ("priority 3", {"start_ps": 2 * US, "end_ps": 6 * US})
    (until_the_end,) = trace.on("network", "host2 to switch0", "paused")
    finish_ps = astra_ns3.Result.load(folder).finish_ps
    assert until_the_end.notes == {"start_ps": 7 * US, "end_ps": max(finish_ps, 7 * US)}


def test_priorities_that_change_begin_a_new_slice(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    write_ports(path, "pauses", "paused_priorities", [(1_000, "host1", 8), (3_000, "host1", 12), (9_000, "host1", 0)])
    first, second = traced(path, tmp_path).on("network", "host1 to switch0", "paused")
    assert (first.name, first.start_ns, first.end_ns) == ("priority 3", 1, 3)
    assert (second.name, second.start_ns, second.end_ns) == ("priority 2, 3", 3, 9)


def test_a_bare_run_has_its_collectives_and_says_what_to_record(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    result = astra_ns3.Result.load(path)
    shown = traced(path, tmp_path).on("run", "collectives")
    collectives = result.collectives
    assert sorted(each.notes["collective"] for each in shown) == sorted(collectives["collective"])
    starts = {each.notes["collective"]: each.notes["start_ps"] for each in shown}
    assert starts == dict(zip(collectives["collective"], (collectives["start_us"] * 1e6).round(), strict=True))
    assert "--record timeline" in left_out(result)
    assert "--record flows" in left_out(result)


@pytest.mark.parametrize("pfc", [None, {"priorities": [3]}])
def test_pauses_are_asked_for_only_where_something_can_pause(pfc: object, tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    document["network"]["topology"]["switch"]["pfc"] = pfc
    (path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    result = astra_ns3.Result.load(path)
    assert ("observe.pauses in the network file" in left_out(result)) == (pfc is not None)
    write_ports(path, "queues", "queue_bytes", [])
    (queues,) = (kind for kind in IN_FILES if kind.name == "queues")
    assert bool(queues.advice(result)) == (pfc is not None)


def test_two_traces_of_a_run_are_the_same_file(folder: Path, tmp_path: Path) -> None:
    result = astra_ns3.Result.load(folder)
    first, second = (write_timeline(result, tmp_path / name).path.read_bytes() for name in ("a", "b"))
    assert first == second


def test_tables_of_many_row_groups_with_other_dictionaries_are_read_alike(tmp_path: Path) -> None:
    rows = [(10 * US * (place + 1), f"host{place % 3}", 1000 + place) for place in range(50)]
    texts = []
    for size in (1, 7, 50):
        path = run_folder(tmp_path / str(size))
        write_ports(path, "queues", "queue_bytes", rows)
        _rewrite(path / "queues.parquet", size)
        texts.append(write_timeline(astra_ns3.Result.load(path), tmp_path / "t").path.read_bytes())
    assert texts[0] == texts[1] == texts[2]


def _rewrite(path: Path, rows: int) -> None:
    """In row groups of so many rows, each with a dictionary of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path).cast(
        pa.schema([("time_ps", pa.int64()), ("port", pa.string()), ("queue_bytes", pa.int64())])
    )
    schema = pq.read_schema(path)
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, len(table), rows):
            part = table.slice(begin, rows)
            port = part.column("port").combine_chunks().dictionary_encode()
            writer.write_table(part.set_column(1, "port", port).cast(schema))


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=60), st.sampled_from(["any", "start", "end"])
)
def test_nothing_overlaps_on_a_lane_and_in_order_no_lane_is_too_many(spans: list[tuple[int, int]], order: str) -> None:
    slices = [(start, start + length) for start, length in spans]
    if order != "any":
        slices.sort(key=lambda span: (span[order == "end"], span))
    numbers = iter(range(1000))
    lanes = Lanes(lambda: next(numbers))
    placed: dict[int, list[tuple[int, int]]] = {}
    for start, end in slices:
        placed.setdefault(lanes.track(start, end), []).append((start, end))
    for on_lane in placed.values():
        assert all(before[1] <= after[0] for before, after in pairwise(on_lane))
    if order != "any" and all(length for _, length in spans):
        at_once = max((sum(a <= time < b for a, b in slices) for time, _ in slices), default=0)
        assert len(placed) == at_once


def test_the_command_writes_into_the_folder_and_says_what_it_shows(tmp_path: Path, command: Any) -> None:
    path = run_folder(tmp_path)
    write_messages(path, [(0, 1, place, place + 5) for place in range(30)])
    status, out, _ = command("timeline", str(path), "--messages", "10")
    assert status == 0
    assert len(read_trace(path / "timeline.pftrace").on("NPU 0", "messages sent")) == 10
    assert f"written to {path / 'timeline.pftrace'}" in out
    assert "10 of 30 messages are shown" in out
    assert "more is shown with --record timeline" in out


def test_the_command_tells_in_json(tmp_path: Path, command: Any) -> None:
    path = run_folder(tmp_path)
    target = tmp_path / "here.pftrace"
    status, out, _ = command("timeline", str(path), "-o", str(target), "--json")
    told = json.loads(out)
    assert (status, told["exit_status"], told["written"]) == (0, 0, str(target))
    assert told["bytes"] == target.stat().st_size
    assert told["slices"] == len(read_trace(target).slices)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, command: Any) -> None:
    path = run_folder(tmp_path)
    status, _, err = command("timeline", str(path), "-o", str(tmp_path / "none" / "x.pftrace"))
    assert status == 2
    assert err.count("\n") == 1
    assert "none/x.pftrace: cannot be written" in err


def test_a_table_that_is_no_parquet_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    (path / "flows.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"flows\.parquet: cannot be read"):
        write_timeline(astra_ns3.Result.load(path), tmp_path / "x.pftrace")
    assert not list(tmp_path.glob("*.pftrace*"))
    assert not list(tmp_path.glob(".*.partial"))


def test_a_name_that_promises_another_format_is_refused(tmp_path: Path, command: Any) -> None:
    status, _, err = command("timeline", str(run_folder(tmp_path)), "-o", str(tmp_path / "x.json"))
    assert (status, err.count("\n")) == (2, 1)
    assert "x.json: a trace for Perfetto ends in .pftrace" in err
    assert not list(tmp_path.glob("x.json*"))


def test_a_missing_protobuf_says_how_to_install_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perfetto.trace_class.cache_clear()
    really = builtins.__import__

    def refuse(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("google"):
            raise ImportError(name)
        return really(name, *rest, **named)

    for name in [name for name in sys.modules if name.startswith("google.protobuf")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match="'pip install protobuf' gives it"):
        write_timeline(astra_ns3.Result.load(folder), tmp_path / "x.pftrace")
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_kinds_are_those_of_perfetto() -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    event, packet = pb.TrackEvent, pb.TracePacket
    ours = (perfetto.SLICE_BEGIN, perfetto.SLICE_END, perfetto.INSTANT, perfetto.COUNTER)
    assert ours == (event.TYPE_SLICE_BEGIN, event.TYPE_SLICE_END, event.TYPE_INSTANT, event.TYPE_COUNTER)
    flags = (packet.SEQ_INCREMENTAL_STATE_CLEARED, packet.SEQ_NEEDS_INCREMENTAL_STATE)
    assert flags == (perfetto.STATE_CLEARED, perfetto.NEEDS_STATE)
    assert perfetto.ORDERED_BY_RANK == pb.TrackDescriptor.EXPLICIT
    assert perfetto.UNIT_BYTES == pb.CounterDescriptor.UNIT_SIZE_BYTES


def test_pictures_and_traces_say_which_dimension_of_the_network_groups_split(tmp_path: Path) -> None:
    layer = "a -1 100 ALLREDUCE 4000 100 ALLREDUCE 4000 100 ALLREDUCE 4000 0\n"
    workload = parse_workload(f"HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n{layer}", "split")
    options = {**small_run(), "workload": workload}
    result = astra_ns3.run(**options, record=["timeline"], output=tmp_path / "out")
    parts = ["dimension 0, part 1 of 2", "dimension 0, part 2 of 2"]
    assert result.metadata["dimensions"] == parts
    assert set(result.phases["dimension"]) == {0, 1}
    make = kind_of("timeline").make
    assert make is not None
    names = {series.name for panel in make(result, Choice()).panels for series in panel.series}
    assert {f"phases, {part} (at most 1)" for part in parts} <= names
    tracks = {track[-1] for track in traced(tmp_path / "out", tmp_path).tracks.values()}
    assert {f"phases, {part}" for part in parts} <= tracks
    assert "dimensions" not in astra_ns3.run(**small_run()).metadata
