"""From a message of a Chakra trace to a node of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import InputError, check_known, wrong
from astra_ns3.units import LARGEST_INTEGER, PS_PER_US
from astra_ns3.workload.files.chakra import names
from astra_ns3.workload.files.chakra.attributes import AttributeReader, Common, Values
from astra_ns3.workload.files.chakra.columns import read_columns
from astra_ns3.workload.files.chakra.schema import Broken, messages

LONGEST_DURATION_US = LARGEST_INTEGER // PS_PER_US


class NodeReader:
    """Makes nodes of the messages of one file; ``rank``: whose file it is (None: a file alone, of whatever rank).

    ``attributes``: shared by all files of a workload, in which the same ones stand. ``missing``: control dependencies
    that don't count, with those on later nodes (None: all count).
    """

    def __init__(self, rank: int | None, attributes: AttributeReader, missing: frozenset[int] | None = None) -> None:
        self._rank = rank
        self._missing = missing
        self._attributes = attributes
        self._message, self._broken = messages().played_node, messages().decode_error

    def read_all(self, contents: list[bytes]) -> list[GraphNode] | None:
        """The nodes that messages are, at once; None if something is odd, and :meth:`read` must say what."""
        columns = read_columns(contents)
        if columns is None:
            return None
        known, texts = self._attributes.common, self._attributes.texts
        rank, missing, new = self._rank, self._missing, tuple.__new__
        nodes = []
        for number, name, type_, control, data, duration_us, attributes in zip(*columns, strict=True):
            common = known.get((type_, attributes)) or self._find_common(type_, attributes)
            if common is None or duration_us > LONGEST_DURATION_US:
                return None
            kind, duration_ps, sender, rest = common
            if sender is not None and rank not in (None, sender):
                return None
            if duration_ps is None:
                duration_ps = duration_us * PS_PER_US
            elif _differ(duration_us, duration_ps):
                return None
            if control or len(data) > 1:
                data = _parents(number, data, control, missing)
            word = texts.get(name) or self._attributes.text(name)
            # By far the quickest way to make a named tuple, and this is done for every node.
            nodes.append(new(GraphNode, (number, word, kind, data, duration_ps, *rest)))
        return nodes

    def read(self, content: bytes) -> GraphNode:
        """The node that a message is; raises InputError with the node, Broken if it is none."""
        try:
            message = self._message.FromString(content)  # a new one: what one message has held, it never gives back
        except self._broken as error:
            raise Broken("it is no node of a Chakra trace") from error
        kind, duration_us, name = message.type, message.duration_micros, message.name.decode("utf-8", "replace")
        try:
            values = self._attributes.read_all(tuple(message.attr))
            if duration_us > LONGEST_DURATION_US:
                raise wrong(f"duration_micros is {duration_us}, expected at most {LONGEST_DURATION_US}")
            if kind == names.SEND and "comm_src" in values:
                self._check_sender(values["comm_src"])
            parents = _parents(message.id, tuple(message.data_deps), tuple(message.ctrl_deps), self._missing)
            duration_ps = values.get("duration_ps", duration_us * PS_PER_US)
            if _differ(duration_us, duration_ps):
                both = f"duration_micros is {duration_us}, and duration_ps {duration_ps}"
                raise wrong(f"{both}; expected one duration: change both, or leave duration_ps out")
            return _MAKERS.get(kind, _other)(kind, message.id, name, parents, duration_ps, values)
        except Broken:
            raise
        except InputError as error:
            raise wrong(f"node {message.id} '{name[:60]}': {error}") from error

    def _find_common(self, type_: int, attributes: tuple[bytes, ...]) -> Common | None:
        """The parts that nodes alike have in common; None if there is something wrong with them."""
        try:
            values = self._attributes.read_all(attributes)
            kind, _, _, *rest = _MAKERS.get(type_, _other)(type_, 0, "", (), 0, values)[2:]
        except InputError:
            return None
        sender = values.get("comm_src") if type_ == names.SEND else None
        common = Common(kind, values.get("duration_ps"), sender, tuple(rest))
        return self._attributes.keep(type_, attributes, common)

    def _check_sender(self, sender: int) -> None:
        if self._rank not in (None, sender):
            raise wrong(f"comm_src is {sender}, expected {self._rank}, whose file this is")


def _differ(duration_us: int, duration_ps: int) -> bool:
    """Return whether two durations of a node differ by more than rounding; 0 us: it has only the exact one."""
    return duration_us > 0 and abs(duration_us * PS_PER_US - duration_ps) >= PS_PER_US


def _parents(
    number: int, data: tuple[int, ...], control: tuple[int, ...], missing: frozenset[int] | None
) -> tuple[int, ...]:
    """Parents of a node by data and by control, each once; with ``missing``, of control only nodes that are there and
    come before."""
    if missing is not None:
        control = tuple(caller for caller in control if caller < number and caller not in missing)
    parents = data + control if control else data
    return parents if len(parents) < 2 else tuple(dict.fromkeys(parents))


def _compute(
    kind: int, number: int, name: str, parents: tuple[int, ...], duration_ps: int, values: Values
) -> GraphNode:
    get = values.get
    return GraphNode(
        number,
        name,
        names.KINDS[kind],
        parents,
        duration_ps,
        get("num_ops"),
        get("tensor_size"),
        get("is_cpu_op", False),
        None,
        None,
        "",
        None,
        None,
        0,
        0,
        0,
        names.NODE_TYPES[kind],
    )


def _message(
    kind: int, number: int, name: str, parents: tuple[int, ...], duration_ps: int, values: Values
) -> GraphNode:
    get = values.get
    sends = kind == names.SEND
    end = "comm_dst" if sends else "comm_src"
    peer = get(end)
    if peer is None:
        raise wrong(f"has no {end}, and {'sends to' if sends else 'receives from'} nobody")
    return GraphNode(
        number,
        name,
        NodeKind.SEND if sends else NodeKind.RECEIVE,
        parents,
        duration_ps,
        on_host=get("is_cpu_op", False),
        bytes=get("comm_size"),
        peer=peer,
        tag=get("comm_tag", 0),
        priority=get("comm_priority", 0),
        type_name=names.NODE_TYPES[kind],
    )


def _collective(
    kind: int, number: int, name: str, parents: tuple[int, ...], duration_ps: int, values: Values
) -> GraphNode:
    get = values.get
    what, bytes_ = get("comm_type"), get("comm_size")
    if isinstance(what, str):
        check_known("comm_type", what, names.COLLECTIVE_TYPES)
    word = names.NODE_TYPES[kind] if what is None else names.collective_name(what)
    collective = names.COLLECTIVES.get(word)
    if collective is CollectiveKind.BARRIER and bytes_ is None:
        bytes_ = 0
    if what is None or bytes_ is None:
        played = NodeKind.MARK  # what the host did to start a collective that another node is, as PyTorch's traces have
    else:
        played = NodeKind.OTHER if collective is None else NodeKind.COLLECTIVE
    return GraphNode(
        number,
        name,
        played,
        parents,
        duration_ps,
        on_host=get("is_cpu_op", False),
        collective=collective,
        bytes=bytes_,
        group=get("pg_name", ""),
        dimensions=get("involved_dim"),
        priority=get("comm_priority", 0),
        type_name=word,
    )


def _other(kind: int, number: int, name: str, parents: tuple[int, ...], duration_ps: int, values: Values) -> GraphNode:
    return GraphNode(
        number,
        name,
        NodeKind.OTHER,
        parents,
        duration_ps,
        values.get("num_ops"),
        values.get("tensor_size"),
        values.get("is_cpu_op", False),
        type_name=names.type_name(kind),
    )


_Maker = Callable[[int, int, str, tuple[int, ...], int, Values], GraphNode]

_MAKERS: Mapping[int, _Maker] = {
    names.INVALID: _compute,
    names.METADATA: _compute,
    names.LOAD: _compute,
    names.STORE: _compute,
    names.COMPUTE: _compute,
    names.SEND: _message,
    names.RECEIVE: _message,
    names.COLLECTIVE: _collective,
}
