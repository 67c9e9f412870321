"""Writes graphs as Chakra's traces: a file for each NPU, and ASTRA-sim's file of communicators."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, NamedTuple, Protocol

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import wrong
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.chakra import names
from astra_ns3.workload.files.chakra.groups import GROUPS_SUFFIX
from astra_ns3.workload.files.chakra.schema import Message, messages
from astra_ns3.workload.files.chakra.target import Together, check_target

VERSION = "0.0.4"

_TYPES = {kind: number for number, kind in names.KINDS.items() if kind is not NodeKind.MARK}
_COLLECTIVES = {kind: names.COLLECTIVE_TYPES.index(word) for word, kind in reversed(list(names.COLLECTIVES.items()))}


class Writable(Protocol):
    """The content that is written of graphs, each part as in
    :class:`~astra_ns3.config.graph_workload.GraphWorkload`."""

    @property
    def npus(self) -> int:
        """How many NPUs there are graphs for."""

    @property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """Members of each communicator."""

    def nodes(self, npu: int) -> Iterable[GraphNode]:
        """The nodes of an NPU."""


class Written(NamedTuple):
    """A summary of what was written. ``rounded``: nodes whose duration only we read to the picosecond, others in
    microseconds."""

    files: tuple[str, ...]
    groups: str | None
    nodes: int
    rounded: int


def write_chakra(
    workload: Writable, prefix: str | os.PathLike[str], *, as_json: bool = False, rank: int | None = None
) -> Written:
    """Write ``PREFIX.<rank>.et``, or ``.json``, and ``PREFIX.groups.json`` if there are communicators.

    ``rank``: whose file the only one of a workload is, of a job that has more. All files are written before the first
    takes its name. Chakra's durations are whole microseconds; one that isn't is rounded, and stands there exactly in an
    attribute of ours, ``duration_ps``. An ID is the node's own. Raises InputError for what a trace can't say (a node
    with a start time, a collective that has no number there), and if files of another workload stand there that would
    be read with these.
    """
    name, suffix = os.fspath(prefix), "json" if as_json else "et"
    check_target(name, suffix, workload.npus if rank is None else None, groups=bool(workload.groups))
    put = _put_json if as_json else _put
    files, nodes, rounded = [], 0, 0
    with Together() as target:
        for npu in range(workload.npus):
            path = f"{name}.{npu if rank is None else rank}.{suffix}"
            with target.open(path) as file:
                put(file, messages().metadata(version=VERSION))
                for node in workload.nodes(npu):
                    put(file, _message(node, path))
                    nodes += 1
                    rounded += node.duration_ps % PS_PER_US != 0
            files.append(path)
        groups = _write_groups(workload, name, target)
    return Written(tuple(files), groups, nodes, rounded)


def _write_groups(workload: Writable, prefix: str, target: Together) -> str | None:
    if not workload.groups:
        return None
    path = f"{prefix}{GROUPS_SUFFIX}"
    with target.open(path) as file:
        file.write(json.dumps({name: list(ranks) for name, ranks in workload.groups.items()}).encode() + b"\n")
    return path


def _put(file: IO[bytes], message: Message) -> None:
    content = message.SerializeToString(deterministic=True)
    file.write(_varint(len(content)) + content)


def _put_json(file: IO[bytes], message: Message) -> None:
    from google.protobuf import json_format

    file.write(json_format.MessageToJson(message).encode() + b"\n")


def _varint(number: int) -> bytes:
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    return bytes([*content, number])


def _message(node: GraphNode, path: str) -> Message:
    message = messages().node(id=node.number, name=node.name, type=_type_of(node, path))
    message.data_deps.extend(node.parents)
    message.duration_micros = (node.duration_ps + PS_PER_US // 2) // PS_PER_US
    for name, value in _attributes(node, path):
        attribute = message.attr.add(name=name)
        if isinstance(value, bool):
            attribute.bool_val = value
        elif isinstance(value, int):
            attribute.int64_val = value
        elif isinstance(value, str):
            attribute.string_val = value
        else:
            attribute.bool_list.values.extend(value)
    return message


def _type_of(node: GraphNode, path: str) -> int:
    if node.start_ps:
        raise wrong(f"node {node.number} '{node.name[:60]}': starts at a time, which no Chakra trace can say", path)
    if node.type_name in names.NODE_TYPES:
        return names.NODE_TYPES.index(node.type_name)
    if node.kind in _TYPES:
        return _TYPES[node.kind]
    if node.type_name in names.COLLECTIVE_TYPES or node.type_name.startswith("collective "):
        return names.COLLECTIVE
    if node.type_name.startswith("type "):
        return int(node.type_name.removeprefix("type "))
    if node.kind is NodeKind.MARK:
        return names.METADATA
    raise wrong(
        f"node {node.number} '{node.name[:60]}': is of type '{node.type_name}', which no Chakra trace can say", path
    )


def _attributes(node: GraphNode, path: str) -> Iterator[tuple[str, int | str | tuple[bool, ...]]]:
    yield "is_cpu_op", node.on_host
    if node.duration_ps % PS_PER_US:
        yield "duration_ps", node.duration_ps
    for name, value in (("num_ops", node.operations), ("tensor_size", node.tensor_bytes), ("comm_size", node.bytes)):
        if value is not None:
            yield name, value
    if node.kind in (NodeKind.SEND, NodeKind.RECEIVE) and node.peer is not None:
        yield ("comm_dst" if node.kind is NodeKind.SEND else "comm_src"), node.peer
        yield "comm_tag", node.tag
    collective = _collective_number(node, path)
    if collective is not None:
        yield "comm_type", collective
    if node.group:
        yield "pg_name", node.group
    if node.dimensions is not None:
        yield "involved_dim", node.dimensions
    if node.priority:
        yield "comm_priority", node.priority


def _collective_number(node: GraphNode, path: str) -> int | None:
    if node.type_name in names.COLLECTIVE_TYPES:
        return names.COLLECTIVE_TYPES.index(node.type_name)
    if node.type_name.startswith("collective "):
        return int(node.type_name.removeprefix("collective "))
    if node.collective is None:
        return None
    if node.collective is CollectiveKind.POINT_TO_POINT:
        raise wrong(
            f"node {node.number} '{node.name[:60]}': is a point_to_point collective, which Chakra writes as a "
            "send and a receive",
            path,
        )
    return _COLLECTIVES[node.collective]
