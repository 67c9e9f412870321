"""MSCCL's XML algorithms, read and checked; :mod:`astra_ns3.collectives.msccl_run` makes schedules of them.

What is read::

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
from dataclasses import dataclass, field
from xml.parsers import expat

from astra_ns3.config.core.collective_kind import CollectiveKind, parse_kind
from astra_ns3.errors import InputError, Where, nearest, wrong

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
_PARENTS = {"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}
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
    reader = _Reader(source)
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, attributes: reader.start(
        _Element(source, parser.CurrentLineNumber, tag, attributes)
    )
    parser.EndElementHandler = reader.end
    # An algorithm needs no document type, and one could make a small file grow without end.
    parser.StartDoctypeDeclHandler = lambda *_: reader.refuse_doctype(parser.CurrentLineNumber)
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise wrong(f"is not XML: {expat.ErrorString(error.code)}", Where(source, error.lineno)) from error
    return reader.program()


@dataclass(frozen=True)
class _Element:
    source: str
    line: int
    tag: str
    attributes: Mapping[str, str]

    def integer(self, name: str, least: int, default: int | None = None) -> int:
        """A whole number from ``least`` on."""
        word = self.attributes.get(name)
        if word is None and default is not None:
            return default
        if word is None:
            raise self.error(f"attribute '{name}' is missing")
        try:
            value = int(word) if len(word) < len(str(_LARGEST)) + 2 else None
        except ValueError:
            value = None
        if value is None or not least <= value <= _LARGEST:
            raise self.error(f"{name} is '{word[:40]}', expected a whole number from {least} to {_LARGEST}")
        return value

    def word(self, name: str, allowed: tuple[str, ...] | list[str], default: str | None = None) -> str:
        """One of ``allowed``."""
        word = self.attributes.get(name, default)
        if word is None:
            raise self.error(f"attribute '{name}' is missing")
        if word not in allowed:
            raise self.error(f"{name} '{word[:40]}' is not one of {', '.join(allowed)}{nearest(word, allowed)}")
        return word

    def error(self, what: str) -> InputError:
        return wrong(f"<{self.tag}>: {what}", Where(self.source, self.line))


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[str] = []
        self._algo: _Element | None = None
        self._gpus: dict[int, Gpu] = {}
        self._gpu = -1
        self._block = -1

    def start(self, element: _Element) -> None:
        parent = self._open[-1] if self._open else ""
        if element.tag not in _PARENTS or _PARENTS[element.tag] != parent:
            where = f"in <{parent}>" if parent else "at the top"
            raise element.error(f"is not expected {where}; expected algo > gpu > tb > step")
        self._open.append(element.tag)
        if element.tag == "algo":
            self._algo = element
        else:
            {"gpu": self._start_gpu, "tb": self._start_block, "step": self._start_step}[element.tag](element)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def refuse_doctype(self, line: int) -> None:
        raise wrong("<!DOCTYPE>: is not allowed in an algorithm", Where(self._source, line))

    def program(self) -> MscclProgram:
        """What has been read, as a whole."""
        assert self._algo is not None, "expat refuses a text without an element"
        algo = self._algo
        ranks = algo.integer("ngpus", 1)
        if sorted(self._gpus) != list(range(ranks)):
            raise algo.error(f"ngpus is {ranks}, so gpu ids must be 0 to {ranks - 1}; found {sorted(self._gpus)[:8]}")
        try:
            kind = parse_kind(algo.attributes.get("coll", ""))
        except InputError as error:
            raise algo.error(f"coll: {error}") from error
        if kind not in COLLECTIVES:
            raise algo.error(f"coll: {kind.name.lower()} is not done by MSCCL's algorithms")
        name = algo.attributes.get("name") or self._source
        in_place = algo.integer("inplace", 0, default=0) > 0
        return MscclProgram(name, kind, in_place, [self._gpus[rank] for rank in range(ranks)])

    def _start_gpu(self, element: _Element) -> None:
        self._gpu = element.integer("id", 0)
        if self._gpu in self._gpus:
            raise element.error(f"id {self._gpu} has been given before, in line {self._gpus[self._gpu].line}")
        chunks = {buffer: element.integer(f"{buffer}_chunks", 0) for buffer in _BUFFERS}
        self._gpus[self._gpu] = Gpu(element.line, chunks)

    def _start_block(self, element: _Element) -> None:
        blocks = self._gpus[self._gpu].blocks
        self._block = element.integer("id", 0)
        if self._block in blocks:
            raise element.error(f"id {self._block} has been given before, in line {blocks[self._block].line}")
        peers = element.integer("send", -1), element.integer("recv", -1)
        if self._gpu in peers:
            raise element.error(f"GPU {self._gpu} has itself as a peer")
        blocks[self._block] = ThreadBlock(element.line, *peers, element.integer("chan", 0, default=0))

    def _start_step(self, element: _Element) -> None:
        block = self._gpus[self._gpu].blocks[self._block]
        number = element.integer("s", 0)
        if number != len(block.steps):
            raise element.error(f"s is {number}, expected {len(block.steps)}")
        kind = element.word("type", _TYPES)
        for kinds, peer, what in ((SENDING, block.send, "sends"), (RECEIVING, block.receive, "receives")):
            if kind in kinds and peer < 0:
                raise element.error(
                    f"type '{kind}' {what}, but the thread block of line {block.line} has no peer for it"
                )
        depends = element.integer("depid", -1, default=-1), element.integer("deps", -1, default=-1)
        step = MscclStep(
            element.line,
            kind,
            (element.word("srcbuf", _BUFFERS, "i"), element.integer("srcoff", -1, default=0)),
            (element.word("dstbuf", _BUFFERS, "o"), element.integer("dstoff", -1, default=0)),
            element.integer("cnt", 0, default=1),
            None if -1 in depends else depends,
        )
        block.steps.append(step)
