"""The buffers of an MSCCL program's GPUs: which chunk of which buffer is which cell, what is in it first and last.

A value is (block, ranks whose parts are summed, one bit each), with blocks numbered as in
:mod:`astra_ns3.collectives.promise`.
"""

from __future__ import annotations

from astra_ns3.collectives.msccl_xml import MscclProgram
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import Where, refuse

Cell = tuple[str, int]
#: Block, ranks whose parts are summed.
Value = tuple[int, int]


def chunks_per_part(program: MscclProgram, source: str) -> int:
    """Chunks of one rank's part of the data, or of all the data if it isn't parted; the same on all GPUs."""
    parts = set()
    ranks, kind = len(program.gpus), program.kind
    for gpu in program.gpus:
        inputs, outputs = gpu.chunks["i"], gpu.chunks["o"]
        if kind is CollectiveKind.ALL_GATHER:
            sizes = {inputs * ranks, outputs}
        elif kind is CollectiveKind.REDUCE_SCATTER:
            sizes = {inputs, outputs * ranks}
        else:
            sizes = {inputs, outputs}
        # A program in place declares one of the two buffers only.
        if program.in_place:
            sizes = {max(sizes)}
        size = sizes.pop()
        split = (
            ranks
            if kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL)
            else 1
        )
        refuse(
            bool(sizes or not size or size % split),
            f"<gpu>: i_chunks {inputs} and o_chunks {outputs} don't fit an {kind.name.lower()} of {ranks} ranks",
            Where(source, gpu.line),
        )
        parts.add(size // split)
    refuse(len(parts) > 1, "<gpu>: GPUs differ in the number of chunks", Where(source, program.gpus[0].line))
    return parts.pop()


class MscclMemory:
    """Cells of one GPU."""

    def __init__(self, program: MscclProgram, rank: int, part: int) -> None:
        self._kind = program.kind
        self._in_place = program.in_place
        self._rank = rank
        self._ranks = len(program.gpus)
        self._part = part
        self._scratch = program.gpus[rank].chunks["s"]
        self._cells: dict[Cell, Value] = {self.cell("i", offset): value for offset, value in self._inputs().items()}

    def size(self, buffer: str) -> int:
        """Chunks of a buffer."""
        if buffer == "s":
            return self._scratch
        parted = {CollectiveKind.ALL_GATHER: "i", CollectiveKind.REDUCE_SCATTER: "o"}.get(self._kind) == buffer
        whole = self._kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL)
        return self._part * self._ranks if whole and not parted else self._part

    def cell(self, buffer: str, offset: int) -> Cell:
        """The cell of a chunk; in place, input and output share cells."""
        if not self._in_place or buffer == "s":
            return buffer, offset
        if self._kind is CollectiveKind.ALL_GATHER and buffer == "i":
            return "o", self._rank * self._part + offset
        if self._kind is CollectiveKind.REDUCE_SCATTER and buffer == "o":
            return "i", self._rank * self._part + offset
        return ("i" if self._kind is CollectiveKind.REDUCE_SCATTER else "o"), offset

    def read(self, cell: Cell) -> Value | None:
        """The value in a cell, None if nothing."""
        return self._cells.get(cell)

    def write(self, cell: Cell, value: Value) -> None:
        """Replace what is in a cell."""
        self._cells[cell] = value

    def wrong_output(self) -> tuple[int, Value, Value | None] | None:
        """The first chunk of the output that isn't right: offset, expected, found."""
        for offset, expected in self._outputs().items():
            found = self.read(self.cell("o", offset))
            if found != expected:
                return offset, expected, found
        return None

    def _inputs(self) -> dict[int, Value]:
        size, mine = self.size("i"), 1 << self._rank
        if self._kind is CollectiveKind.BROADCAST and self._rank != 0:
            return {}
        first = self._rank * size if self._kind in (CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL) else 0
        return {offset: (first + offset, mine) for offset in range(size)}

    def _outputs(self) -> dict[int, Value]:
        kind, part, everyone = self._kind, self._part, (1 << self._ranks) - 1
        chunks = range(self.size("o"))
        if kind is CollectiveKind.ALL_REDUCE or (kind is CollectiveKind.REDUCE and self._rank == 0):
            return {offset: (offset, everyone) for offset in chunks}
        if kind is CollectiveKind.REDUCE:
            return {}
        if kind is CollectiveKind.REDUCE_SCATTER:
            return {offset: (self._rank * part + offset, everyone) for offset in chunks}
        if kind is CollectiveKind.ALL_GATHER:
            return {offset: (offset, 1 << offset // part) for offset in chunks}
        if kind is CollectiveKind.ALL_TO_ALL:
            own, mine = part * self._ranks, self._rank * part
            return {offset: (offset // part * own + mine + offset % part, 1 << offset // part) for offset in chunks}
        return {offset: (offset, 1) for offset in chunks}
