"""MSCCL's XML algorithms, read and checked; :mod:`astra_ns3.collectives.msccl_run` makes schedules of them.

The reader knows::

    <algo name ngpus coll inplace>           coll: allreduce allgather reduce_scatter alltoall broadcast reduce
      <gpu id i_chunks o_chunks s_chunks>    one for each rank
        <tb id send recv chan>               a thread block: peers (-1: none) and the channel between them
          <step s type srcbuf srcoff dstbuf dstoff cnt depid deps>    type: s r rcs rrc rrs rrcs cpy re nop

Other attributes (``proto``, ``nchannels``, ``nchunksperloop``, ``outofplace``, ``minBytes``, ``maxBytes``, ``hasdep``)
tune a GPU's kernel and don't change which message waits for which; they are not looked at. ``inplace="1"`` makes the
input a part of the output buffer, or the output a part of the input buffer. Broadcast and reduce have root 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from astra_ns3.config.core.collective_kind import CollectiveKind, parse_kind
from astra_ns3.config.core.xml_tree import WHERE, xml_tree
from astra_ns3.errors import InputError, nearest, wrong
from astra_ns3.frozen import dataclass, field

COLLECTIVES = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
    CollectiveKind.BROADCAST,
    CollectiveKind.REDUCE,
)
RECEIVING = frozenset({"r", "rcs", "rrc", "rrs", "rrcs"})
SENDING = frozenset({"s", "rcs", "rrs", "rrcs"})
#: Those that add what comes in to what stands in the source buffer.
REDUCING = frozenset({"rrc", "rrs", "rrcs"})
STORING = frozenset({"r", "rcs", "rrc", "rrcs"})
_LOCAL = frozenset({"cpy", "re", "nop"})
_TYPES = sorted(RECEIVING | SENDING | _LOCAL)
_BUFFERS = ("i", "o", "s")
_EXPECTED = "expected algo > gpu > tb > step"
_LARGEST = 1 << 20


@dataclass(frozen=True)
class MscclStep:
    """One instruction. ``depends``: (thread block, step) of the same GPU that must be done before."""

    line: int
    type: str
    source: tuple[str, int]
    destination: tuple[str, int]
    count: int
    depends: tuple[int, int] | None


@dataclass(frozen=True)
class ThreadBlock:
    """Instructions that run one after the other; ``send`` and ``receive`` are peers or -1."""

    line: int
    send: int
    receive: int
    channel: int
    steps: list[MscclStep] = field(default_factory=list)


@dataclass(frozen=True)
class Gpu:
    """``chunks``: size of each buffer; ``blocks``: thread blocks by id."""

    line: int
    chunks: Mapping[str, int]
    blocks: dict[int, ThreadBlock] = field(default_factory=dict)


@dataclass(frozen=True)
class MscclProgram:
    """``gpus[rank]``; ``in_place``: input and output buffer overlap."""

    name: str
    kind: CollectiveKind
    in_place: bool
    gpus: list[Gpu]


def read_msccl(text: str, source: str) -> MscclProgram:
    """The program that ``text`` holds; raises InputError with ``source``, line and element."""
    algo = _Element(xml_tree(text, source, "an algorithm"))
    algo.refuse(algo.node.tag != "algo", f"is not expected at the top; {_EXPECTED}")
    gpus: dict[int, Gpu] = {}
    for element in algo.parts("gpu"):
        number = element.new_id(gpus)
        gpus[number] = _gpu(element, number)
    ranks = algo.integer("ngpus", 1)
    algo.refuse(
        sorted(gpus) != list(range(ranks)),
        f"ngpus is {ranks}, so gpu ids must be 0 to {ranks - 1}; found {sorted(gpus)[:8]}",
    )
    try:
        kind = parse_kind(algo.node.get("coll", ""))
    except InputError as error:
        raise algo.error(f"coll: {error}") from error
    algo.refuse(kind not in COLLECTIVES, f"coll: {kind.name.lower()} is not done by MSCCL's algorithms")
    in_place = algo.integer("inplace", 0, default=0) > 0
    return MscclProgram(algo.node.get("name") or source, kind, in_place, [gpus[rank] for rank in range(ranks)])


@dataclass(frozen=True)
class _Element:
    node: Element

    @property
    def line(self) -> int:
        return int(self.node.get(WHERE, "").rpartition(":")[2])

    def parts(self, tag: str) -> list[_Element]:
        """The elements in this one, which are all called ``tag``."""
        found = [_Element(child) for child in self.node]
        for each in found:
            each.refuse(each.node.tag != tag, f"is not expected in <{self.node.tag}>; {_EXPECTED}")
        return found

    def new_id(self, known: Mapping[int, Gpu | ThreadBlock]) -> int:
        """The id, which none of ``known`` has."""
        number = self.integer("id", 0)
        if number in known:
            raise self.error(f"id {number} has been given before, in line {known[number].line}")
        return number

    def integer(self, name: str, least: int, default: int | None = None) -> int:
        """A whole number from ``least`` on."""
        word = self.node.get(name)
        if word is None and default is not None:
            return default
        if word is None:
            raise self.error(f"attribute '{name}' is missing")
        try:
            value = int(word) if len(word) < len(str(_LARGEST)) + 2 else None
        except ValueError:
            value = None
        if value is None or not least <= value <= _LARGEST:
            raise self.error(f"{name} is '{word}', expected a whole number from {least} to {_LARGEST}")
        return value

    def word(self, name: str, allowed: tuple[str, ...] | list[str], default: str | None = None) -> str:
        """One of ``allowed``."""
        word = self.node.get(name, default)
        if word is None:
            raise self.error(f"attribute '{name}' is missing")
        if word not in allowed:
            raise self.error(f"{name} '{word}' is not one of {', '.join(allowed)}{nearest(word, allowed)}")
        return word

    def error(self, what: str) -> InputError:
        return wrong(f"<{self.node.tag}>: {what}", self.node.get(WHERE, ""))

    def refuse(self, condition: bool, what: str) -> None:
        if condition:
            raise self.error(what)


def _gpu(element: _Element, number: int) -> Gpu:
    gpu = Gpu(element.line, {buffer: element.integer(f"{buffer}_chunks", 0) for buffer in _BUFFERS})
    for each in element.parts("tb"):
        block = each.new_id(gpu.blocks)
        gpu.blocks[block] = _block(each, number)
    return gpu


def _block(element: _Element, gpu: int) -> ThreadBlock:
    peers = element.integer("send", -1), element.integer("recv", -1)
    element.refuse(gpu in peers, f"GPU {gpu} has itself as a peer")
    block = ThreadBlock(element.line, *peers, element.integer("chan", 0, default=0))
    for step in element.parts("step"):
        block.steps.append(_step(step, block))
    return block


def _step(element: _Element, block: ThreadBlock) -> MscclStep:
    number = element.integer("s", 0)
    element.refuse(number != len(block.steps), f"s is {number}, expected {len(block.steps)}")
    kind = element.word("type", _TYPES)
    for kinds, peer, what in ((SENDING, block.send, "sends"), (RECEIVING, block.receive, "receives")):
        element.refuse(
            kind in kinds and peer < 0,
            f"type '{kind}' {what}, but the thread block of line {block.line} has no peer for it",
        )
    element.parts("")
    depends = element.integer("depid", -1, default=-1), element.integer("deps", -1, default=-1)
    return MscclStep(
        element.line,
        kind,
        (element.word("srcbuf", _BUFFERS, "i"), element.integer("srcoff", -1, default=0)),
        (element.word("dstbuf", _BUFFERS, "o"), element.integer("dstoff", -1, default=0)),
        element.integer("cnt", 0, default=1),
        None if -1 in depends else depends,
    )
