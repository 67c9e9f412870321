"""Chakra's traces in JSON, of both forms: what they may be like, and what is said of those that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import InputError
from astra_ns3.workload.files.chakra.trace import ChakraTrace, is_chakra, read_chakra

BOM = b"\xef\xbb\xbf"


@pytest.fixture(name="path")
def file_of_json(tmp_path: Path) -> Path:
    return tmp_path / "one.json"


def graph(path: Path, *nodes: Any, **others: Any) -> ChakraTrace:
    path.write_text(json.dumps({"workload_graph": nodes, **others}), encoding="utf-8")
    return read_chakra(path)


def only(path: Path, **keys: Any) -> GraphNode:
    (node,) = graph(path, {"Id": 1, "NodeType": 7, **keys}).nodes(0)
    return node


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"version": ""}{"type": "COMP_NOD"}', r":1: node type 'COMP_NOD' is not one of .* did you mean 'COMP_NODE'"),
        ('{"version": ""}\n{"id": "x"}', r":2: is no node of a Chakra trace"),
        ('{"version": ""}\n{"id": 1', r":2: is not JSON"),
        ('{"version": ""}\n[1]', r":2: expected an object"),
        ('{"version": ""}\n{"id": 1, "id": 2}', r":2: key 'id' stands twice"),
    ],
)
def test_bad_json_is_named_with_its_line(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(InputError, match=r"one\.json" + message):
        list(read_chakra(path).nodes(0))


def test_all_unknown_keys_of_a_file_are_named_at_once(path: Path) -> None:
    bad = {"id": 1, "dataDep": ["0"], "attr": [{"name": "comm_size", "int64val": "5"}]}
    worse = {"id": 2, "dataDep": ["1"], "colour": "red"}
    path.write_text('{"version": ""}\n{"id": 0}\n' + json.dumps(bad) + "\n" + json.dumps(worse))
    with pytest.raises(InputError) as caught:
        list(read_chakra(path).nodes(0))
    assert str(caught.value) == (
        f"{path}:3: keys that no node of Chakra's has: 'dataDep' (2; did you mean 'dataDeps'), "
        "'attr.int64val' (1; did you mean 'int64Val'), 'colour' (1)"
    )


def test_keys_may_be_written_as_in_the_schema_too(path: Path) -> None:
    path.write_text('{"version": ""}{"id": 1, "data_deps": [0], "duration_micros": 3, "start_time_micros": "9"}')
    (node,) = read_chakra(path).nodes(0)
    assert (node.parents, node.duration_ps) == ((0,), 3_000_000)


@pytest.mark.parametrize(
    "text", ['{"version": "0.0.4"}{"id": 5, "type": "COMP_NODE"}', '{"workload_graph": [{"Id": 5, "NodeType": 4}]}']
)
def test_a_byte_order_mark_is_passed_over(path: Path, text: str) -> None:
    path.write_bytes(BOM + text.encode())
    assert is_chakra(path)
    (node,) = read_chakra(path).nodes(0)
    assert (node.number, node.kind) == (5, NodeKind.COMPUTE)


@pytest.mark.parametrize(
    "value", [[True, False], [1, 0], ["true", "false"], ["1", "0"], "[true, false]", "[True, False]", "1,0", "1 0"]
)
def test_dimensions_of_a_workload_graph_may_be_text(path: Path, value: Any) -> None:
    node = only(path, comm_type=0, comm_size="64", involved_dim=value)
    assert node.dimensions == (True, False)
    assert (node.collective, node.bytes) == (CollectiveKind.ALL_REDUCE, 64)


@pytest.mark.parametrize("value", ["ALL_TO_ALL", 6, "6", 6.0])
def test_a_collective_is_a_number_or_a_name(path: Path, value: Any) -> None:
    assert only(path, comm_type=value, comm_size=8).collective == CollectiveKind.ALL_TO_ALL


def test_a_collective_of_the_other_form_may_have_a_name_too(path: Path) -> None:
    attributes = [{"name": "comm_type", "stringVal": "REDUCE_SCATTER_BLOCK"}, {"name": "comm_size", "int64Val": "8"}]
    node = {"id": 1, "type": "COMM_COLL_NODE", "attr": attributes}
    path.write_text('{"version": ""}' + json.dumps(node), encoding="utf-8")
    (found,) = read_chakra(path).nodes(0)
    assert (found.collective, found.bytes) == (CollectiveKind.REDUCE_SCATTER, 8)


def test_values_of_a_workload_graph_may_be_text_or_null(path: Path) -> None:
    node = only(path, NodeType="COMP_NODE", runtime=2.5, is_cpu_op="false", num_ops="7", tensor_size=8.0, Name=None)
    assert (node.kind, node.duration_ps, node.on_host) == (NodeKind.COMPUTE, 2_500_000, False)
    assert (node.operations, node.tensor_bytes, node.name) == (7, 8, "")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (5, "node 2 of workload_graph: is 5, expected an object with Id, Name, NodeType, ..."),
        ({"Name": "a"}, "node 2 of workload_graph: is {'Name': 'a'}, expected an object with Id"),
        ({"Id": "x"}, "node 2 of workload_graph (Id 'x'): Id is 'x', expected a whole number from 0 to"),
        ({"Id": 1, "NodeType": "COMP"}, "NodeType is 'COMP', expected a number or INVALID_NODE, .*mean 'COMP_NODE'"),
        ({"Id": 1, "NodeType": 2**31}, "NodeType is 2147483648, expected at most 2147483647"),
        ({"Id": 1, "runtime": "long"}, "(Id 1): runtime is 'long', expected a whole number from 0 to"),
        ({"Id": 1, "runtime": -5}, "(Id 1): runtime is -5, expected"),
        ({"Id": 1, "data_deps": 0}, "data_deps is 0, expected a list of numbers of nodes"),
        ({"Id": 1, "data_deps": ["a"]}, "data_deps is 'a', expected a whole number"),
        ({"Id": 1, "comm_size": "big"}, "comm_size is 'big', expected a whole number"),
        ({"Id": 1, "comm_size": 10**30}, "comm_size is 1000000000000000000000000000000, expected a whole number"),
        ({"Id": 1, "NodeType": 7, "comm_type": "ALLREDUCE"}, "comm_type 'ALLREDUCE' is not one of .*mean 'ALL_REDUCE'"),
        ({"Id": 1, "NodeType": 7, "comm_type": -1}, "comm_type is -1, expected"),
        ({"Id": 1, "involved_dim": ["yes"]}, "involved_dim is ['yes'], expected a list of true and false"),
        ({"Id": 1, "involved_dim": 1}, "involved_dim is 1, expected a list of true and false"),
    ],
)
def test_a_bad_node_of_a_workload_graph_is_named(path: Path, node: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(graph(path, {"Id": 0}, node).nodes(0))
    assert str(caught.value).startswith(f"{path}: ")
    begin, _, end = message.partition(".*")
    assert begin in str(caught.value)
    assert end in str(caught.value)


def test_a_workload_graph_is_a_list_and_all_there_is(path: Path) -> None:
    path.write_text('{"workload_graph": {"Id": 1}}')
    with pytest.raises(InputError, match=r"workload_graph is \{'Id': 1\}, expected a list of nodes"):
        list(read_chakra(path).nodes(0))
    path.write_text('{"workload_graph": []}\n{"Id": 1}')
    with pytest.raises(InputError, match=r"one\.json:2: something follows workload_graph, expected the end of the"):
        list(read_chakra(path).nodes(0))


def test_keys_of_a_workload_graph_that_mean_nothing_are_one_warning(path: Path) -> None:
    first = {"Id": 0, "data_dep": [], "tid": 5, "rf_id": 6}
    trace = graph(path, first, {"Id": 1, "data_dep": [0], "colour": "red"}, author="me")
    assert trace.warnings == (
        f"{path}: keys that mean nothing here: 'data_dep' (2; did you mean 'data_deps'), 'colour' (1)",
    )
    assert graph(path, {"Id": 0, "tid": 5}).warnings == ()


@pytest.mark.parametrize("value", ["ANYTHING", 99, "ALL_REDUCE"])
def test_the_collective_of_a_send_is_ignored(path: Path, value: str | int) -> None:
    (node,) = graph(path, {"Id": 1, "NodeType": 5, "comm_type": value, "comm_dst": 1, "comm_size": 8}).nodes(0)
    assert node.kind == NodeKind.SEND
