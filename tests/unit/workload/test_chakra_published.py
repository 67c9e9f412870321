"""What we write is what Chakra's published reader reads: taken apart by its numbers of fields, and by itself.

Its package, mlc-chakra, has many needs that no test has: ``pip install --no-deps mlc-chakra`` is enough.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from support.graphs import chakra_wire as wire
from support.graphs.made_graphs import Graphs
from support.graphs.written_nodes import WRITTEN

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.workload.files.chakra.schema import messages
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.chakra.writer import write_chakra

TYPES = {
    NodeKind.MEMORY_LOAD: 2,
    NodeKind.MEMORY_STORE: 3,
    NodeKind.COMPUTE: 4,
    NodeKind.SEND: 5,
    NodeKind.RECEIVE: 6,
    NodeKind.COLLECTIVE: 7,
}
COLLECTIVE_TYPES = {
    CollectiveKind.ALL_REDUCE: 0,
    CollectiveKind.REDUCE: 1,
    CollectiveKind.ALL_GATHER: 2,
    CollectiveKind.BROADCAST: 5,
    CollectiveKind.ALL_TO_ALL: 6,
    CollectiveKind.REDUCE_SCATTER: 7,
    CollectiveKind.BARRIER: 9,
}


def published() -> tuple[Any, Any]:
    """The published schema's module and its reader of files; skips where they are absent."""
    schema = pytest.importorskip("chakra.schema.protobuf.et_def_pb2", reason="mlc-chakra isn't installed")
    return schema, pytest.importorskip("chakra.src.third_party.utils.protolib")


def expected(node: GraphNode) -> wire.WireNode:
    """What the schema's words say that a node is."""
    attributes: list[tuple[str, str, object]] = [("is_cpu_op", "bool_val", node.on_host)]
    numbers = {
        "duration_ps": node.duration_ps if node.duration_ps % 1_000_000 else None,
        "num_ops": node.operations,
        "tensor_size": node.tensor_bytes,
        "comm_size": node.bytes,
        "comm_dst": node.peer if node.kind is NodeKind.SEND else None,
        "comm_src": node.peer if node.kind is NodeKind.RECEIVE else None,
        "comm_tag": node.tag if node.peer is not None else None,
        "comm_type": None if node.collective is None else COLLECTIVE_TYPES[node.collective],
        "comm_priority": node.priority or None,
    }
    attributes += [(name, "int64_val", value) for name, value in numbers.items() if value is not None]
    attributes += [("pg_name", "string_val", node.group)] if node.group else []
    attributes += [] if node.dimensions is None else [("involved_dim", "bool_list", node.dimensions)]
    return wire.WireNode(
        node.number,
        node.name,
        TYPES[node.kind],
        (),
        node.parents,
        (node.duration_ps + 500_000) // 1_000_000,
        tuple(sorted(attributes)),
    )


def in_order(node: wire.WireNode) -> wire.WireNode:
    return node._replace(attributes=tuple(sorted(node.attributes)))


@settings(max_examples=30)
@given(nodes=st.lists(WRITTEN, max_size=8))
def test_the_bytes_of_every_node_are_those_of_the_published_numbers_of_fields(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[GraphNode]
) -> None:
    path = tmp_path_factory.mktemp("written") / "job"
    (file,) = write_chakra(Graphs([nodes]), path).files
    first, *others = wire.messages(Path(file).read_bytes())
    assert wire.version(first) == "0.0.4"
    assert [in_order(wire.node(message)) for message in others] == [expected(node) for node in nodes]
    assert all(others)  # a message of no bytes is the end of the file for the published reader


@settings(max_examples=100)
@given(nodes=st.lists(WRITTEN, max_size=8))
def test_the_published_reader_reads_the_same_and_writes_what_we_read_again(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[GraphNode]
) -> None:
    schema, library = published()
    folder = tmp_path_factory.mktemp("written")
    (path,) = write_chakra(Graphs([nodes]), folder / "job").files
    metadata, found = schema.GlobalMetadata(), []
    with library.openFileRd(path) as file:
        assert library.decodeMessage(file, metadata)
        while library.decodeMessage(file, message := schema.Node()):
            found.append(message)
    assert metadata.version == "0.0.4"
    assert [_of_message(message) for message in found] == [expected(node) for node in nodes]
    with (folder / "theirs.0.et").open("wb") as file:
        for message in (metadata, *found):
            library.encodeMessage(file, message)
    text = "".join(map(json_format.MessageToJson, (metadata, *found)))  # as its jsonizer writes it
    (folder / "text.0.json").write_text(text, encoding="utf-8")
    ours = list(read_chakra(folder / "job").nodes(0))
    assert list(read_chakra(folder / "theirs").nodes(0)) == list(read_chakra(folder / "text").nodes(0)) == ours


def test_our_json_is_read_with_the_published_schema(tmp_path: Path) -> None:
    schema, _ = published()
    nodes = [GraphNode(3, "a", NodeKind.SEND, (1, 2), bytes=2**40, peer=1, tag=-4, type_name="COMM_SEND_NODE")]
    (path,) = write_chakra(Graphs([nodes]), tmp_path / "job", as_json=True).files
    text = Path(path).read_text(encoding="utf-8")
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(text)
    value, _ = decoder.raw_decode(text[end:].strip())
    assert _of_message(json_format.ParseDict(value, schema.Node())) == expected(nodes[0])


@pytest.mark.parametrize(
    ("ours", "theirs"), [("node", "Node"), ("metadata", "GlobalMetadata"), ("attribute", "AttributeProto")]
)
def test_every_field_has_its_published_name_number_and_type(ours: str, theirs: str) -> None:
    schema, _ = published()
    _same_fields(getattr(messages(), ours).DESCRIPTOR, getattr(schema, theirs).DESCRIPTOR)


def _same_fields(ours: Any, theirs: Any) -> None:
    assert {field.name for field in ours.fields} == {field.name for field in theirs.fields}
    for field in ours.fields:
        other = theirs.fields_by_name[field.name]
        assert (field.number, field.type, field.json_name) == (other.number, other.type, other.json_name)
        assert field.is_repeated == other.is_repeated
        if field.message_type is not None:
            _same_fields(field.message_type, other.message_type)
        if field.enum_type is not None:
            values = {value.name: value.number for value in other.enum_type.values}
            assert {value.name: value.number for value in field.enum_type.values} == values


def _of_message(message: Any) -> wire.WireNode:
    attributes = []
    for attribute in message.attr:
        field = attribute.WhichOneof("value")
        value = getattr(attribute, field)
        attributes.append((attribute.name, field, tuple(value.values) if field == "bool_list" else value))
    return wire.WireNode(
        message.id,
        message.name,
        message.type,
        tuple(message.ctrl_deps),
        tuple(message.data_deps),
        message.duration_micros,
        tuple(sorted(attributes)),
    )
