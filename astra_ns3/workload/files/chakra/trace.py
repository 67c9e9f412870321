"""A workload of Chakra's traces, and what its reading refuses."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path

from astra_ns3.config.core.scales import check_scales
from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.errors import InputError, failing, refuse, wrong
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.units import LARGEST_INTEGER, counted
from astra_ns3.workload.files.chakra.attributes import AttributeReader
from astra_ns3.workload.files.chakra.binary import offset_of, read_first, read_pieces
from astra_ns3.workload.files.chakra.callers import Callers, find_callers, is_of_pytorch
from astra_ns3.workload.files.chakra.files import are_rank_files, find_rank_files
from astra_ns3.workload.files.chakra.groups import GROUPS_SUFFIX, Groups, read_groups
from astra_ns3.workload.files.chakra.json_form import json_messages, json_warnings
from astra_ns3.workload.files.chakra.nodes import NodeReader
from astra_ns3.workload.files.chakra.schema import Broken, Message, messages

KNOWN_VERSIONS = ("", "0.0.4")
_HEAD_BYTES = 512
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*("|\})')
_JSON_GRAPHS = (b'"version"', b'"attr"', b'"workload_graph"', b'"schema"')


@dataclass(frozen=True)
class ChakraTrace:
    """The graphs of all ranks, NPU i having that of rank i; a :class:`~astra_ns3.config.graph_workload.GraphWorkload`.

    Holds paths alone; nodes are read from the files whenever they are asked for.
    """

    source: str
    files: tuple[str, ...]
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    alone: bool = False
    """One file, of whatever rank: who sends in it isn't looked at, and it is all there is of each communicator."""
    keeps_groups: bool = False
    """Whether nodes of a file alone name their communicators: to be written again, not to be played."""
    missing_callers: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The control dependencies of each file of PyTorch's that name no node."""
    comm_scale: float = 1.0
    compute_scale: float = 1.0
    format: str = "Chakra"

    @cached_property
    def _attributes(self) -> AttributeReader:
        return AttributeReader()

    @property
    def npus(self) -> int:
        """A file is an NPU."""
        return len(self.files)

    def file_of(self, npu: int) -> str:
        """The file with the nodes of an NPU."""
        return self.files[npu]

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        """The nodes of an NPU as its file has them; raises InputError with file and node, or byte."""
        path = self.files[npu]
        reader = NodeReader(None if self.alone else npu, self._attributes, self.missing_callers.get(path))
        nodes: Iterator[GraphNode] = chain.from_iterable(_node_lists(path, reader))
        if self.alone and not self.keeps_groups:
            nodes = (node._replace(group="") if node.group else node for node in nodes)
        if self.comm_scale == 1 and self.compute_scale == 1:
            return nodes
        return (_scaled(node, self.comm_scale, self.compute_scale) for node in nodes)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> ChakraTrace:
        """Sizes of collectives and messages times ``comm_scale``, what computing takes times ``compute_scale``.

        That is durations, and for the roofline operations and bytes of tensors, each cut to a whole number; what was
        to be sent stays at least one byte.
        """
        check_scales(comm_scale, compute_scale)
        return replace(self, comm_scale=self.comm_scale * comm_scale, compute_scale=self.compute_scale * compute_scale)


def read_chakra(
    path: str | os.PathLike[str], groups: str | os.PathLike[str] | None = None, *, keep_groups: bool = False
) -> ChakraTrace:
    """The trace at ``path``: a prefix, a folder or a file; ``groups``: ASTRA-sim's file of communicators.

    Without one, ``PREFIX.groups.json`` is read if it is there. Of each rank only the beginning is read, of PyTorch's
    all; raises InputError if that is no trace. ``keep_groups``: those of a file alone too, which are then not played.
    """
    found = find_rank_files(path)
    metadata = {file: _metadata(file) for file in found.paths}
    versions = {str(message.version) for message in metadata.values()}
    callers = {file: _callers(file) for file, message in metadata.items() if is_of_pytorch(message)}
    warnings = [
        f"{os.fspath(path)}: schema version {version[:20]!r} is not one we know; read as {KNOWN_VERSIONS[-1]}"
        for version in sorted(versions - set(KNOWN_VERSIONS))
    ]
    if found.siblings > 0:
        prefix, taken = found.paths[0].rsplit(".", 2)[0], "written" if keep_groups else "played"
        warnings.append(f"{found.paths[0]}: is one of {found.siblings + 1} ranks, and {taken} alone; all are {prefix}")
    return ChakraTrace(
        source=os.fspath(path),
        files=found.paths,
        groups={} if found.alone and not keep_groups else _groups(found.paths[0], groups),
        warnings=(*warnings, *_about_json(found.paths), *_about_callers(callers)),
        alone=found.alone,
        keeps_groups=keep_groups,
        missing_callers={file: found.missing for file, found in callers.items()},
    )


def _groups(first: str, groups: str | os.PathLike[str] | None) -> Groups:
    if groups is not None:
        return read_groups(groups)
    beside = first.rsplit(".", 2)[0] + GROUPS_SUFFIX
    return read_groups(beside) if Path(beside).is_file() else {}


def _about_json(paths: Iterable[str]) -> list[str]:
    """The first warning of files in JSON, and how many more there are."""
    found = [line for path in paths if _JSON.match(_head(path)) for line in json_warnings(path)]
    return (
        [found[0] + (f" (and such keys in {counted(len(found) - 1, 'more file')})" if len(found) > 1 else "")]
        if found
        else []
    )


def _callers(path: str) -> Callers:
    contents = (content for found in _pieces(path) for content in found)
    next(contents)
    try:
        return find_callers(contents)
    except messages().decode_error:
        return Callers(frozenset(), 0)  # reading the nodes will say where


def _about_callers(callers: Mapping[str, Callers]) -> list[str]:
    odd = {file: found for file, found in callers.items() if found.missing or found.late}
    if not odd:
        return []
    missing, late = sum(len(found.missing) for found in odd.values()), sum(found.late for found in odd.values())
    files = f" in {len(odd)} files" if len(odd) > 1 else ""
    return [
        f"{next(iter(odd))}: control dependencies of PyTorch's nodes name {missing} nodes that aren't there, and "
        f"{late} times one that isn't earlier{files}: these aren't waited for"
    ]


def is_chakra(path: Path) -> bool:
    """Whether a path is to be read as a Chakra trace: by its name, or by what is in the file."""
    if path.suffix == ".et" or are_rank_files(path):
        return True
    if not path.is_file():
        return False
    head = _head(os.fspath(path))
    if _JSON.match(head):
        return any(key in head for key in _JSON_GRAPHS)
    return not _is_text(head) and _begins_as_metadata(os.fspath(path))


def _node_lists(path: str, reader: NodeReader) -> Iterator[Iterable[GraphNode]]:
    before = 0
    for found in _pieces(path):
        number, before = before, before + len(found)
        if number == 0:  # metadata, which isn't a node
            number, found = 1, found[1:]
        yield reader.read_all(found) or _one_by_one(path, reader, found, number)


def _one_by_one(path: str, reader: NodeReader, contents: list[bytes], number: int) -> Iterator[GraphNode]:
    """The same slowly, ``number`` messages being before these; whatever is wrong is found here."""
    for content in contents:
        number += 1
        try:
            node = reader.read(content)
        except Broken as error:
            place = offset_of(path, number - 1)
            raise wrong(f"byte {place}: message {number}: {error}", path) from error
        except InputError as error:
            raise wrong(str(error), path) from error
        yield node


def _pieces(path: str) -> Iterator[list[bytes]]:
    if _JSON.match(_head(path)):
        yield from ([message] for message in json_messages(path))
        return
    for _, found in read_pieces(path):
        yield found


def _scaled(node: GraphNode, comm_scale: float, compute_scale: float) -> GraphNode:
    return node._replace(
        bytes=max(1, _times(node, node.bytes, comm_scale)) if node.bytes else node.bytes,
        duration_ps=_times(node, node.duration_ps, compute_scale),
        operations=None if node.operations is None else _times(node, node.operations, compute_scale),
        tensor_bytes=None if node.tensor_bytes is None else _times(node, node.tensor_bytes, compute_scale),
    )


def _times(node: GraphNode, number: int, scale: float) -> int:
    product = number * scale
    if product > LARGEST_INTEGER:
        raise wrong(f"node {node.number} ('{node.name}'): {number} times the scale {scale:g} is too large")
    return int(product)


def _metadata(path: str) -> Message:
    """A file's first message; raises InputError if the file is none of Chakra's."""
    head = _head(path)
    refuse(not head, "is empty, expected a Chakra trace", path)
    if _JSON.match(head):
        content = next(json_messages(path))
    elif _is_text(head):
        line = head.decode("utf-8", "replace").splitlines()[0][:40]
        raise wrong(f"is text ('{line}'), not a Chakra trace, which is protobuf or its JSON", path)
    else:
        content = read_first(path)
    try:
        return messages().metadata.FromString(content)
    except messages().decode_error as error:
        raise wrong("is not a Chakra trace: its first message is no metadata", path) from error


def _begins_as_metadata(path: str) -> bool:
    try:
        content = read_first(path)
        return content[:1] in (b"", b"\n", b"\x12") and bool(messages().metadata.FromString(content) is not None)
    except (InputError, messages().decode_error):
        return False


def _head(path: str) -> bytes:
    with failing((OSError, ValueError), "cannot be read", path), Path(path).open("rb") as file:
        return file.read(_HEAD_BYTES)


def _is_text(head: bytes) -> bool:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)  # the last letter may be cut in two
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and all(letter >= " " or letter in "\t\n\r\f" for letter in text)
