"""Chakra's traces read: nodes of all types, numbers of all kinds, files by prefix, folder and name, and bad ones."""

from __future__ import annotations

import base64
import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.graphs import chakra_bytes as raw

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import InputError
from astra_ns3.workload.files.chakra.attributes import AttributeReader
from astra_ns3.workload.files.chakra.compiled import FILE_DESCRIPTOR_SET
from astra_ns3.workload.files.chakra.groups import read_groups
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES, NODE_TYPES
from astra_ns3.workload.files.chakra.nodes import NodeReader
from astra_ns3.workload.files.chakra.trace import is_chakra, read_chakra
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.graphs.same_on_all import SameOnAll

MIB = 1 << 20


def only_node(folder: Path, content: bytes) -> GraphNode:
    (node,) = read_chakra(raw.write_traces(folder, [[content]])).nodes(0)
    return node


def test_the_compiled_schema_says_what_the_proto_file_says(repository: Path) -> None:
    from google.protobuf import descriptor_pb2

    text = (repository / "astra_ns3/workload/files/chakra/chakra.proto").read_text()
    text = re.sub(r"//.*", "", text)
    written = {
        name: set(re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body))
        for name, body in re.findall(r"^message (\w+) \{(.*?)\}$", text, re.DOTALL | re.MULTILINE)
    }
    file = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(FILE_DESCRIPTOR_SET)).file[0]
    types = descriptor_pb2.FieldDescriptorProto.Type
    compiled = {
        message.name: {
            (
                "repeated " if field.label == field.LABEL_REPEATED else "",
                field.type_name.split(".")[-1] or types.Name(field.type).removeprefix("TYPE_").lower(),
                field.name,
                str(field.number),
            )
            for field in message.field
        }
        for message in file.message_type
    }
    assert len(written) == 21
    assert compiled == written
    for enum, names in zip(file.enum_type, (NODE_TYPES, COLLECTIVE_TYPES), strict=True):
        assert [(value.name, value.number) for value in enum.value] == [(name, i) for i, name in enumerate(names)]
        assert all(f"  {name} = {number};" in text for number, name in enumerate(names))


def test_a_compute_node_has_its_time_its_operations_and_its_tensors(tmp_path: Path) -> None:
    content = raw.node(7, raw.COMPUTE, [3, 4], control=[4, 5], duration_us=12, num_ops=100, tensor_size=64)
    assert only_node(tmp_path, content) == GraphNode(
        7,
        "n7",
        NodeKind.COMPUTE,
        (3, 4, 5),
        duration_ps=12_000_000,
        operations=100,
        tensor_bytes=64,
        type_name="COMP_NODE",
    )


def test_a_collective_has_its_kind_size_group_dimensions_and_priority(tmp_path: Path) -> None:
    content = raw.node(
        1,
        raw.COLLECTIVE,
        comm_type=2,
        comm_size=MIB,
        pg_name="12",
        involved_dim=[True, False],
        comm_priority=3,
        is_cpu_op=False,
    )
    node = only_node(tmp_path, content)
    assert (node.kind, node.collective, node.bytes) == (NodeKind.COLLECTIVE, CollectiveKind.ALL_GATHER, MIB)
    assert (node.group, node.dimensions, node.priority, node.on_host) == ("12", (True, False), 3, False)


@pytest.mark.parametrize("kind", raw.INTEGER_KINDS)
def test_a_number_may_be_of_any_integer_kind(tmp_path: Path, kind: str) -> None:
    content = raw.node(1, raw.SEND, kind=kind, comm_dst=3, comm_size=1, comm_tag=1, is_cpu_op=1)
    node = only_node(tmp_path, content)
    expected = 1 if kind == "bool" else 3
    assert (node.peer if kind != "bool" else 1, node.bytes, node.tag, node.on_host) == (expected, 1, 1, True)


@given(
    number=st.integers(0, 2**64 - 1),
    parents=st.lists(st.integers(0, 2**64 - 1), max_size=60),
    control=st.lists(st.integers(0, 2**64 - 1), max_size=5),
    size=st.integers(0, 2**63 - 1),
)
def test_every_number_arrives(
    tmp_path_factory: pytest.TempPathFactory, number: int, parents: list[int], control: list[int], size: int
) -> None:
    content = raw.node(number, raw.COLLECTIVE, parents, control=control, comm_type=0, comm_size=size)
    node = only_node(tmp_path_factory.mktemp("trace"), content)
    assert (node.number, node.bytes) == (number, size)
    assert node.parents == tuple(dict.fromkeys([*parents, *control]))


def test_the_first_of_two_attributes_of_one_name_counts(tmp_path: Path) -> None:
    twice = [("comm_size", 5), ("comm_size", 6)]
    assert only_node(tmp_path, raw.node(0, raw.COLLECTIVE, attributes=twice, comm_type=0)).bytes == 5


@pytest.mark.parametrize("name", ["", "0", " 0 ", "00"])
def test_group_0_and_no_name_are_all_npus(tmp_path: Path, name: str) -> None:
    assert only_node(tmp_path, raw.node(0, raw.COLLECTIVE, comm_type=0, comm_size=8, pg_name=name)).group == ""


def test_a_group_may_be_given_as_a_number(tmp_path: Path) -> None:
    assert only_node(tmp_path, raw.node(0, raw.COLLECTIVE, comm_type=0, comm_size=8, pg_name=4)).group == "4"


@pytest.mark.parametrize(("duration_us", "fits"), [(0, True), (510, True), (511, True), (509, False), (1020, False)])
def test_two_durations_of_a_node_that_differ_by_more_than_rounding_are_refused(
    tmp_path: Path, duration_us: int, fits: bool
) -> None:
    content = raw.node(0, raw.COMPUTE, duration_us=duration_us, duration_ps=510_400_000)
    if fits:
        assert only_node(tmp_path, content).duration_ps == 510_400_000
        return
    with pytest.raises(InputError, match=f"duration_micros is {duration_us}, and duration_ps 510400000; expected one"):
        only_node(tmp_path, content)


@pytest.mark.parametrize("missing", ["comm_type", "comm_size"])
def test_a_collective_without_type_or_size_is_a_mark(tmp_path: Path, missing: str) -> None:
    attributes = {"comm_type": 0, "comm_size": 8, "is_cpu_op": True}
    del attributes[missing]
    node = only_node(tmp_path, raw.node(0, raw.COLLECTIVE, duration_us=3, attributes=attributes.items()))
    assert (node.kind, node.on_host, node.duration_ps) == (NodeKind.MARK, True, 3_000_000)


def test_the_collective_of_a_message_is_ignored(tmp_path: Path) -> None:
    node = only_node(tmp_path, raw.node(0, raw.RECEIVE, comm_src=1, comm_size=4, comm_type=6))
    assert (node.kind, node.collective, node.peer) == (NodeKind.RECEIVE, None, 1)


@pytest.mark.parametrize(("type_", "name"), [(8, "type 8"), (31, "type 31"), (-1, "type -1")])
def test_a_type_that_nobody_knows_is_named(tmp_path: Path, type_: int, name: str) -> None:
    node = only_node(tmp_path, raw.node(0, type_, duration_us=3))
    assert (node.kind, node.type_name, node.duration_ps) == (NodeKind.OTHER, name, 3_000_000)


@pytest.mark.parametrize(("number", "word"), [(3, "GATHER"), (4, "SCATTER"), (77, "collective 77")])
def test_a_collective_that_cannot_be_played_is_named(tmp_path: Path, number: int, word: str) -> None:
    node = only_node(tmp_path, raw.node(0, raw.COLLECTIVE, comm_type=number, comm_size=4))
    assert (node.kind, node.type_name) == (NodeKind.OTHER, word)


def test_a_barrier_needs_no_size(tmp_path: Path) -> None:
    node = only_node(tmp_path, raw.node(0, raw.COLLECTIVE, comm_type=9))
    assert (node.kind, node.collective, node.bytes) == (NodeKind.COLLECTIVE, CollectiveKind.BARRIER, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (raw.node(3, raw.COMPUTE, num_ops="many"), r"node 3 'n3': num_ops is 'many', expected a whole number"),
        (raw.node(3, raw.COMPUTE, kind="double", num_ops=1.5), r"node 3 'n3': num_ops is 1.5, expected a whole"),
        (raw.node(3, raw.COLLECTIVE, comm_type=0, comm_size=-1), r"node 3 'n3': comm_size is -1, expected 0 or more"),
        (raw.node(3, raw.SEND, comm_size=1), r"node 3 'n3': has no comm_dst, and sends to nobody"),
        (raw.node(3, raw.RECEIVE, comm_size=1), r"node 3 'n3': has no comm_src, and receives from nobody"),
        (raw.node(3, raw.COMPUTE, duration_us=2**60), r"node 3 'n3': duration_micros is 1152921504606846976, expected"),
        (raw.node(3, raw.COLLECTIVE, involved_dim=1), r"involved_dim is 1, expected a list of true and false"),
        (b"\x0b\x0c\x07", r"byte 8: message 2: it is no node of a Chakra trace"),
    ],
)
def test_what_is_wrong_with_a_node_is_said_with_its_file(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=r"job\.0\.et: .*" + message):
        only_node(tmp_path, content)


def test_a_whole_double_is_a_number(tmp_path: Path) -> None:
    assert only_node(tmp_path, raw.node(3, raw.COMPUTE, kind="double", num_ops=5e12)).operations == 5 * 10**12


def test_a_sender_must_be_the_rank_whose_file_it_is(tmp_path: Path) -> None:
    ranks = [[raw.node(0, raw.SEND, comm_src=1, comm_dst=1, comm_size=4)], []]
    trace = read_chakra(raw.write_traces(tmp_path, ranks))
    with pytest.raises(InputError, match=r"job\.0\.et: node 0 'n0': comm_src is 1, expected 0, whose file this is"):
        list(trace.nodes(0))


RANKS = [[raw.node(10 * rank, raw.COMPUTE, duration_us=rank)] for rank in range(12)]


@pytest.mark.parametrize("given_as", ["prefix", "prefix.et", "folder"])
def test_a_prefix_and_a_folder_are_all_ranks_in_order(tmp_path: Path, given_as: str) -> None:
    prefix = raw.write_traces(tmp_path / "traces", RANKS)
    path = {"prefix": prefix, "prefix.et": Path(f"{prefix}.et"), "folder": prefix.parent}[given_as]
    assert is_chakra(path)
    trace = read_chakra(path)
    assert trace.npus == 12
    assert [node.number for npu in range(12) for node in trace.nodes(npu)] == [10 * rank for rank in range(12)]
    assert trace.file_of(11).endswith("job.11.et")
    again = pickle.loads(pickle.dumps(trace))
    assert again == trace
    assert list(again.nodes(11)) == list(trace.nodes(11))


def test_one_file_is_one_npu_and_says_that_there_are_more(tmp_path: Path) -> None:
    prefix = raw.write_traces(tmp_path, RANKS)
    trace = read_chakra(f"{prefix}.3.et")
    assert trace.npus == 1
    assert [node.number for node in trace.nodes(0)] == [30]
    assert re.search(r"job\.3\.et: is one of 12 ranks, and played alone; all are .*job$", trace.warnings[0])


def test_a_rank_that_is_missing_is_named(tmp_path: Path) -> None:
    prefix = raw.write_traces(tmp_path, RANKS)
    Path(f"{prefix}.4.et").unlink()
    with pytest.raises(InputError, match=r"job\.4\.et: no such file, but there is one of rank 11"):
        read_chakra(prefix)


def test_a_folder_of_two_workloads_is_refused(tmp_path: Path) -> None:
    raw.write_traces(tmp_path, RANKS, "a")
    raw.write_traces(tmp_path, RANKS, "b")
    with pytest.raises(InputError, match=r"traces of 2 workloads; name one: .*a, .*b"):
        read_chakra(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty, expected a Chakra trace"),
        (b"MICRO\n1\nlayer -1 1\n", r"is text \('MICRO'\), not a Chakra trace"),
        (b"\x05\x0b\x00\x00\x00\x00", "is not a Chakra trace: its first message is no metadata"),
        (b"\xff" * 40, r"byte 0: a message of \d+ bytes begins here, but only 40 are left"),
        (b'{"schema": "1.0.2", "nodes": []}', r"is PyTorch's own execution trace \(schema 1.0.2\)"),
        (b'{"topology": 1}', r"begins with the key 'topology', expected version, attr or workload_graph"),
    ],
)
def test_what_is_no_trace_says_what_it_is(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "one.et"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"one\.et: " + message):
        read_chakra(path)


@pytest.mark.parametrize("pieces", [64, 65_536])
@pytest.mark.parametrize("cut", [1, 7, 15])
def test_a_file_that_was_cut_off_is_an_error_with_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int, pieces: int
) -> None:
    monkeypatch.setattr("astra_ns3.workload.files.chakra.binary.PIECE_BYTES", pieces)
    nodes = [raw.node(number, raw.COMPUTE, duration_us=5, num_ops=7) for number in range(20)]
    content = raw.trace(nodes)
    last = len(content) - len(nodes[-1]) - 1
    path = tmp_path / "one.et"
    path.write_bytes(content[:-cut])
    missing = rf"byte {last}: a message of {len(nodes[-1]) + 1} bytes begins here, but only \d+ are left"
    with pytest.raises(InputError, match=missing):
        list(read_chakra(path).nodes(0))


def test_a_folder_without_traces_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"is a folder without files named PREFIX\.<rank>\.et"):
        read_workload(tmp_path)


def test_pieces_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.et"
    nodes = [raw.node(n, raw.COMPUTE, range(n), name="x" * (n % 40) * 10) for n in range(100)]
    path.write_bytes(raw.trace(nodes))
    whole = list(read_chakra(path).nodes(0))
    monkeypatch.setattr("astra_ns3.workload.files.chakra.binary.PIECE_BYTES", 16)
    assert list(read_chakra(path).nodes(0)) == whole
    assert len(whole) == 100


NUMBERS = st.one_of(st.integers(0, 300), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]))


@st.composite
def some_nodes(draw: st.DrawFn) -> bytes:
    """A node of whatever is allowed, its fields in any order and some of them twice."""
    fields = [raw.field(1, draw(NUMBERS)), raw.field(2, draw(st.sampled_from([b"", b"n", b"\xff", "\u00e9".encode()])))]
    fields += [raw.field(3, draw(st.sampled_from([0, 4, 5, 6, 7, 9, -1])))]
    for number in (4, 5):
        parents = draw(st.lists(NUMBERS, max_size=4))
        packed = draw(st.booleans())
        fields += (
            [raw.field(number, b"".join(map(raw.varint, parents)))]
            if packed
            else [raw.field(number, parent) for parent in parents]
        )
    fields += [raw.field(7, draw(NUMBERS)), raw.field(6, 5), raw.field(99, b"more")]
    for name in draw(st.lists(st.sampled_from(["comm_size", "comm_src", "comm_dst", "comm_type", "x"]), max_size=4)):
        fields.append(raw.field(10, raw.attribute(name, draw(st.integers(-1, 9)))))
    return b"".join(draw(st.permutations(fields + draw(st.lists(st.sampled_from(fields), max_size=2)))))


def one_by_one(reader: NodeReader, contents: list[bytes]) -> list[GraphNode] | None:
    try:
        return [reader.read(content) for content in contents]
    except InputError:
        return None


@given(st.lists(some_nodes(), max_size=6))
def test_nodes_read_at_once_are_those_read_one_by_one(contents: list[bytes]) -> None:
    at_once = NodeReader(3, AttributeReader()).read_all(contents)
    slowly = one_by_one(NodeReader(3, AttributeReader()), contents)
    assert at_once in (None, slowly)


@pytest.mark.parametrize("missing", [None, frozenset([1, 3])])
def test_ordinary_nodes_are_read_at_once(missing: frozenset[int] | None) -> None:
    contents = [raw.node(0, raw.COMPUTE), raw.node(1, raw.COMPUTE, [0], duration_us=4, num_ops=3, tensor_size=4)]
    contents += [raw.node(2, raw.SEND, [0, 1, 0], control=[1, 9], comm_src=3, comm_dst=1, comm_size=8)] * 2
    contents += [raw.node(4, raw.COLLECTIVE, comm_type=0, comm_size=8, pg_name="5"), raw.node(0, 1, name=""), b""]
    at_once = NodeReader(3, AttributeReader(), missing).read_all(contents)
    assert at_once is not None
    assert at_once == one_by_one(NodeReader(3, AttributeReader(), missing), contents)
    assert at_once[2].parents == ((0, 1, 9) if missing is None else (0, 1))


def test_a_node_that_was_cut_off_is_never_read_with_the_next(tmp_path: Path) -> None:
    whole = raw.node(1, raw.COLLECTIVE, [5, 6, 7], duration_us=300, comm_type=2, comm_size=900, pg_name="12")
    after = [raw.node(8, raw.COMPUTE, [1], duration_us=2), raw.node(9, raw.SEND, comm_dst=2, comm_size=3)]
    for end in range(len(whole)):
        contents = [after[0], whole[:end], *after]
        at_once = NodeReader(3, AttributeReader()).read_all(contents)
        assert at_once in (None, one_by_one(NodeReader(3, AttributeReader()), contents))


@pytest.mark.parametrize("version", ["", "0.0.4"])
def test_both_versions_are_read_without_a_word(tmp_path: Path, version: str) -> None:
    path = tmp_path / "one.et"
    path.write_bytes(raw.trace([raw.node(0, raw.COMPUTE)], version))
    trace = read_chakra(path)
    assert trace.warnings == ()
    assert len(list(trace.nodes(0))) == 1


def test_another_version_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "one.et"
    path.write_bytes(raw.trace([raw.node(0, raw.COMPUTE)], "0.9"))
    assert "schema version '0.9'" in read_chakra(path).warnings[0]


JSON_OF_CHAKRA = """{"version": "0.0.4"}{
  "name": "F0", "type": "COMP_NODE", "durationMicros": "100"
}
{"id": "1", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "ctrlDeps": ["0"], "attr": [
  {"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "uint64Val": "1048576"},
  {"name": "involved_dim", "boolList": {"values": [true, true]}}]}"""


def test_the_json_form_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(JSON_OF_CHAKRA)
    assert is_chakra(path)
    first, second = read_chakra(path).nodes(0)
    assert (first.number, first.name, first.duration_ps) == (0, "F0", 100_000_000)
    assert (second.parents, second.bytes, second.dimensions) == ((0,), MIB, (True, True))


def test_a_workload_graph_in_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    nodes = [
        {"Id": 216, "Name": "a", "NodeType": 4, "runtime": 318, "data_deps": [], "is_cpu_op": True},
        {"Id": 217, "Name": "b", "NodeType": 7, "runtime": 28, "ctrlDeps": [3], "data_deps": [216], "is_cpu_op": False},
    ]
    path.write_text(json.dumps({"workload_graph": nodes}))
    first, second = read_chakra(path).nodes(0)
    assert (first.kind, first.duration_ps, first.on_host) == (NodeKind.COMPUTE, 318_000_000, True)
    assert (second.kind, second.parents) == (NodeKind.MARK, (216, 3))


def test_other_files_are_not_taken_for_traces(repository: Path) -> None:
    for path in (*(repository / "inputs/workload").rglob("*.txt"), *(repository / "inputs").rglob("*.json")):
        assert not is_chakra(path), path


def test_scaling_multiplies_sizes_and_what_computing_takes(tmp_path: Path) -> None:
    nodes = [
        raw.node(0, raw.COMPUTE, duration_us=10, num_ops=100, tensor_size=50),
        raw.node(1, raw.COLLECTIVE, comm_type=0, comm_size=3),
        raw.node(2, raw.COLLECTIVE, comm_type=0, comm_size=0),
    ]
    scaled = read_chakra(raw.write_traces(tmp_path, [nodes])).scaled(0.25, 2.0).scaled(1.0, 0.25)
    compute, collective, empty = scaled.nodes(0)
    assert (compute.duration_ps, compute.operations, compute.tensor_bytes) == (5_000_000, 50, 25)
    assert (collective.bytes, empty.bytes) == (1, 0)
    with pytest.raises(InputError, match="comm-scale is 0, expected a number above 0"):
        scaled.scaled(0)


def test_groups_keep_the_order_of_their_members(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text('{"1": [3, 0, 2], "two": [1]}')
    assert read_groups(path) == {"1": (3, 0, 2), "two": (1,)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "expected communicators by name"),
        ('{"1": [0], "1": [1]}', "key '1' stands twice"),
        ('{"1": [0], "01": [1]}', "communicator '01' is '1', which stands there already"),
        ('{"1": []}', "communicator '1' is \\[\\], expected a list of NPUs"),
        ('{"1": [0, 0]}', "communicator '1' has NPU 0 twice"),
        ('{"1": [0, true]}', "communicator '1' has member True, expected a number of an NPU"),
        ('{"1": [0', ":1: is not JSON"),
    ],
)
def test_bad_groups_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "groups.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"groups\.json.*" + message):
        read_groups(path)


def test_of_pytorchs_callers_only_earlier_ones_that_are_there_count(tmp_path: Path) -> None:
    schema_of_pytorch = raw.field(2, raw.attribute("schema", "1.0.1"))
    nodes = [
        raw.node(1, raw.COMPUTE, control=[9]),
        raw.node(2, raw.COMPUTE, [1], control=[2]),
        raw.node(3, raw.COMPUTE, [1], control=[2]),
        raw.node(4, raw.COMPUTE, [5], control=[5]),
        raw.node(5, raw.COMPUTE, control=[0]),
    ]
    content = b"".join(raw.varint(len(message)) + message for message in (schema_of_pytorch, *nodes))
    path = tmp_path / "one.et"
    path.write_bytes(content)
    trace = read_chakra(path)
    assert [node.parents for node in trace.nodes(0)] == [(), (1,), (1, 2), (5,), ()]
    (warning,) = trace.warnings
    assert warning.endswith(
        "control dependencies of PyTorch's nodes name 2 nodes that aren't there, and 2 times one that isn't earlier: "
        "these aren't waited for"
    )
    (line,) = SameOnAll(trace, 4).warnings
    assert line == f"{path}: is the trace of one rank, and all 4 NPUs play it, in whatever communicator; " + (
        warning.removeprefix(f"{path}: ")
    )


def test_a_file_alone_is_all_there_is_of_its_communicators(tmp_path: Path) -> None:
    node = raw.node(1, raw.COLLECTIVE, comm_type=0, comm_size=8, pg_name="7")
    prefix = raw.write_traces(tmp_path, [[node], [node]])
    assert [each.group for each in read_chakra(f"{prefix}.1.et").nodes(0)] == [""]
    assert [each.group for each in read_chakra(prefix).nodes(1)] == ["7"]


def test_communicators_beside_the_files_are_found(tmp_path: Path) -> None:
    prefix = raw.write_traces(tmp_path, [[], []])
    assert read_chakra(prefix).groups == {}
    Path(f"{prefix}.groups.json").write_text('{"01": [1, 0]}')
    assert read_chakra(prefix).groups == read_chakra(tmp_path).groups == {"1": (1, 0)}


@pytest.mark.parametrize("text", ['{"1": [' + "9" * 5000 + "]}", "[" * 100_000])
def test_a_monstrous_file_of_communicators_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "groups.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"4300 digits|nested too deeply"):
        read_groups(path)
