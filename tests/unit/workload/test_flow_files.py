"""Lists of flows as files: which format it is, what each says, and what is wrong with a bad one, all of it at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError
from astra_ns3.units import PS_PER_SECOND
from astra_ns3.workload.files.flows.reading import flow_format, holds_flows, read_flows
from astra_ns3.workload.files.flows.writing import WRITERS, write_flows
from astra_ns3.workload.files.workload_formats import read_workload

CSV = """# two flows, and one that waits for both
source,destination,bytes,start,after
0,1,2MB,10us,
1,2,1500,,
2,0,1KiB,0,0;1
"""
HPCC = """2 \n3 5 3 100 1000000 2.000000123\n5 3 3 100 77 2.5\n"""
MATRIX = """Nodes 16
Connections 4
Triggers 2
1->2 id 1 start 0 size 2000000 send_done_trigger 1
2->3 id 2 trigger 1 size 100 recv_done_trigger 2
3->4 id 3 start 1000000 size 7 send_done_trigger 2
4->5 id 4 trigger 2 size 8
trigger id 1 oneshot
trigger id 2 barrier count 2
"""


def flows_of(folder: Path, text: str) -> FlowList:
    file = folder / "flows.txt"
    file.write_text(text, encoding="utf-8")
    return read_flows(file)


def rows(flows: FlowList) -> list[tuple[int, ...]]:
    columns = (flows.sources, flows.destinations, flows.sizes_bytes, flows.starts_ps)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        flows_of(folder, text)
    return str(caught.value).replace(str(folder / "flows.txt"), "FILE")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CSV, "flows CSV"),
        (HPCC, "HPCC flow.txt"),
        (MATRIX, "htsim connection matrix"),
        ("0\n", "HPCC flow.txt"),
        ("1->0 id 1 start 0 size 2\n", "htsim connection matrix"),
        ("DATA\n1\n", None),
        ("HYBRID_DLRM 4\n8\n", None),
        ("3 1 2\n2\n", None),
        ("topology: {kind: ring}\n", None),
        ("", None),
    ],
)
def test_formats_are_told_by_what_is_in_the_file(text: str, name: str | None) -> None:
    found = flow_format(text)
    assert (found.name if found else None) == name


def test_a_workload_file_may_be_a_list_of_flows(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(CSV, encoding="utf-8")
    assert isinstance(read_workload(tmp_path / "a"), FlowList)


def test_a_csv_takes_units_empty_starts_and_several_parents(tmp_path: Path) -> None:
    flows = flows_of(tmp_path, CSV)
    assert rows(flows) == [(0, 1, 2_000_000, 10_000_000), (1, 2, 1500, 0), (2, 0, 1024, 0)]
    assert [flows.gate_of(flow) for flow in range(3)] == [-1, -1, 0]
    assert flows.gates.members.tolist() == [0, 1]
    assert flows.npus == 3


def test_columns_of_a_csv_may_stand_in_any_order_and_quoted(tmp_path: Path) -> None:
    flows = flows_of(tmp_path, 'bytes,destination,source\n"1KB",1,0\n')
    assert rows(flows) == [(0, 1, 1000, 0)]


def test_hpccs_seconds_are_exact_to_the_picosecond(tmp_path: Path) -> None:
    flows = flows_of(tmp_path, HPCC)
    assert rows(flows) == [(3, 5, 1_000_000, 2 * PS_PER_SECOND + 123_000), (5, 3, 77, 5 * PS_PER_SECOND // 2)]
    assert flows.warnings == ()


def test_hpccs_lines_beyond_the_count_are_left_out_with_a_warning(tmp_path: Path) -> None:
    flows = flows_of(tmp_path, "1\n0 1 3 100 5 0.0\n1 0 3 100 5 0.0\n")
    assert len(flows) == 1
    assert "1 line more than the 1 flow" in flows.warnings[0]


def test_starts_finer_than_a_picosecond_are_rounded_with_a_warning(tmp_path: Path) -> None:
    flows = flows_of(tmp_path, "2\n0 1 3 100 5 1.00000000000049\n1 0 1 100 5 1e-9\n")
    assert flows.starts_ps.tolist() == [PS_PER_SECOND, 1000]
    assert len(flows.warnings) == 2  # and two priority groups


def test_a_connection_matrix_has_starts_in_picoseconds_and_triggers(tmp_path: Path) -> None:
    flows = flows_of(tmp_path, MATRIX)
    assert rows(flows) == [(1, 2, 2_000_000, 0), (2, 3, 100, 0), (3, 4, 7, 1_000_000), (4, 5, 8, 0)]
    assert flows.npus == 16
    assert [flows.gate_of(flow) for flow in range(4)] == [-1, 0, -1, 1]
    assert flows.gates.needed.tolist() == [1, 2]
    offsets = flows.gates.offsets.tolist()
    assert [flows.gates.members[a:b].tolist() for a, b in pairwise(offsets)] == [[0], [1, 2]]


def test_messages_share_the_connection_of_their_id_and_start_in_microseconds(tmp_path: Path) -> None:
    """As uet-htsim reads them: ``msg`` with or without a number, behind ``id``, and on any line of the connection."""
    flows = flows_of(
        tmp_path,
        "Nodes 3\nConnections 5\nTriggers 1\n"
        "0->1 id 1 start 0 size 40860 send_done_trigger 1\n"
        "0->1 id 1 msg start 3 size 10\n"
        "0->1 id 1 msg 7 trigger 1 size 20\n"
        "1->2 id 2 start 4 size 30 msg\n"
        "2->1 start 5 size 40\n"
        "trigger id 1 oneshot\n",
    )
    assert flows.connections is not None
    assert flows.connections.tolist() == [0, 0, 0, 0, 0]
    us = PS_PER_SECOND // 1_000_000
    assert rows(flows) == [(0, 1, 40860, 0), (0, 1, 10, 3 * us), (0, 1, 20, 0), (1, 2, 30, 4 * us), (2, 1, 40, 5 * us)]
    assert [flows.gate_of(flow) for flow in range(5)] == [-1, -1, 0, -1, -1]
    assert flows.warnings == ()
    assert flows_of(tmp_path, "0->1 id 1 msg start 2.5 size 1\n").starts_ps.tolist() == [2 * us]
    assert "finer than a microsecond" in flows_of(tmp_path, "0->1 id 1 msg start 2.5 size 1\n").warnings[0]


def test_connections_are_counted_for_each_two_nodes_and_only_messages_share_one(tmp_path: Path) -> None:
    lines = ("0->1 id 9", "0->1 id 4", "1->0 id 5", "0->1 id 9 msg", "0->1", "0->1 id 4 msg", "0->1")
    text = "\n".join(f"{line} start 0 size 1" for line in lines)
    found = flows_of(tmp_path, text).connections
    assert found is not None
    assert found.tolist() == [0, 1, 0, 0, 2, 1, 3]
    assert flows_of(tmp_path, MATRIX).connections is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source,destination,size\n0,1,2\n", "FILE:1: column 'size' is unknown; allowed: source, destination, bytes"),
        ("source,destination\n0,1\n", "FILE:1: the header lacks bytes"),
        ("source;destination;bytes\n0;1;5\n", "FILE:1: the header has no commas, which separate columns; expected sou"),
        ("Source\tDestination\tBytes\n0\t1\t5\n", "FILE:1: the header has no commas"),
        ("source,destination,bytes,bytes\n", "FILE:1: the header names a column twice"),
        ("source,destination,bytes\n0,1\n", "FILE:2: found 2 columns, expected 3: source, destination, bytes"),
        ("source,destination,bytes\n0,0,1\n", "FILE:2: goes from NPU 0 to itself"),
        ("source,destination,bytes\nx,1,1\n", "FILE:2: source is 'x', expected a whole number"),
        ("source,destination,bytes\n0,1,1XB\n", "FILE:2: '1XB' is not a size"),
        ("source,destination,bytes\n0,1,0\n", "FILE:2: has 0 bytes"),
        ("source,destination,bytes,start\n0,1,1,5\n", "FILE:2: '5' has no unit"),
        ("source,destination,bytes,start,after\n0,1,1,0,x\n", "FILE:2: after is 'x'"),
        ("source,destination,bytes,start,after\n0,1,1,0,5\n", "FILE:2: flow 0 waits for flow 5"),
        ("source,destination,bytes\n", "FILE: has no flows"),
        ("2\n0 1 3 100 5 0.0\n", "FILE:2: ends after 1 flow, the first line says 2"),
        ("1\n0 1 3 100 5\n", "FILE:2: found 5 words, expected 6"),
        ("1\n0 1 3 100 5 soon\n", "FILE:2: start is 'soon'"),
        ("1\n0 1 3 100 5 2e9000\n", "FILE:2: start is '2e9000'"),
        ("Nodes 4\nConnections 1\n", "FILE:2: ends after 0 connections, its head says 1"),
        ("1->2 size 5\n", "FILE:1: expected either a start or a trigger"),
        ("1->2 start 0\n", "FILE:1: has no size"),
        ("1->2 start 0 size 0\n", "FILE:1: has size 0"),
        ("1->2 start 0 sise 5\n", "FILE:1: unknown word 'sise'; allowed: id, start, size"),
        (
            "1->2 id 1 start 0 size 5\n1->2 id 1 start 0 size 5\n",
            "FILE:2: has id 1, as line 1; expected another, or 'msg'",
        ),
        (
            "1->2 id 1 start 0 size 5\n2->1 id 1 msg start 0 size 5\n",
            "FILE:2: is a message on connection 1, which line 1",
        ),
        (f"1->2 id 1 msg start {10**13} size 5\n", "FILE:1: starts after more than 106 days"),
        ("1->2 trigger 3 size 5\n", "FILE:1: trigger 3 is named and stands nowhere"),
        ("Nodes 4\nbogus\n", "FILE:2: found 'bogus', expected a connection"),
        ("1->2 trigger 1 size 5\ntrigger id 1 oneshot\n", "FILE:1: flow 0 can never start"),
        ("1->2 start 0 size 5\ntrigger id 1 barrier\n", "FILE:2: trigger 1 is a barrier without a count"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_reason(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(tmp_path, text)


def test_all_that_is_wrong_with_a_file_is_told_in_one_line(tmp_path: Path) -> None:
    said = refusal(tmp_path, "source,destination,bytes\n0,0,1\n0,1,1\n1,x,1\n" + "0,1,-\n" * 5)
    assert "\n" not in said
    assert said.startswith("FILE:2: goes from NPU 0 to itself; line 4: destination is 'x'")
    assert said.endswith("(and 3 more)")


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_what_is_written_is_read_back_alike(tmp_path: Path, kind: str) -> None:
    flows = FlowList.of([0, 1, 2], [1, 2, 0], [10, 2**40, 3], [0, 123_456_789, 7])
    write_flows(flows, str(tmp_path / "out"), kind)
    assert rows(read_flows(tmp_path / "out")) == rows(flows)


@pytest.mark.parametrize("kind", ["csv", "htsim"])
def test_what_waits_is_written_and_read_back(tmp_path: Path, kind: str) -> None:
    flows = FlowList.of([0, 1, 2, 3], [1, 2, 0, 1], [10, 20, 30, 40], [0] * 4, [(), (0,), (0,), (1, 2)])
    write_flows(flows, str(tmp_path / "out"), kind)
    again = read_flows(tmp_path / "out")
    assert [again.gate_of(flow) for flow in range(4)] == [-1, 0, 0, 1]
    assert again.gates.members.tolist() == [0, 1, 2]


def test_hpcc_cannot_say_that_flows_wait(tmp_path: Path) -> None:
    flows = FlowList.of([0, 1], [1, 0], [1, 1], [0, 0], [(), (0,)])
    with pytest.raises(InputError, match=r"flow\.txt can't say"):
        write_flows(flows, str(tmp_path / "out"), "hpcc")


def test_a_csv_with_other_words_is_told_which_columns_there_are(tmp_path: Path) -> None:
    file = tmp_path / "flows.csv"
    file.write_text("src,dst,size,start\n0,1,5,0\n", encoding="utf-8")
    assert holds_flows(file)
    with pytest.raises(InputError, match="column 'src' is unknown, so is 'dst'"):
        read_flows(file)
