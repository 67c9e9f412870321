"""Finds the micro-batches in a workload's rows: AICB repeats those of one stage for each micro-batch.

Rows before the first repetition belong to the whole iteration (gradient norms and the like), and so do optimizers
behind the last; what else is behind it goes with the last micro-batch (losses). Where there is one micro-batch nothing
is repeated, and the rows of the iteration are those that AICB calls so. Rows are alike if their names, collectives,
sizes and groups are; their compute times needn't be.

A micro-batch of an interleaved pipeline is cut in as many parts, one behind the other and alike. Rows before the first
go with it (embeddings), rows behind the last with that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.config.workload import Layer, Workload
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass

ONCE_BEFORE = (
    "norm",
    "layernorm",
    "grad_norm",
    "grad_gather",
    "grad_param_comm",
    "grad_param_compute",
    "param_gather",
    "embedding_grads",
    "moe_grad_norm",
)
"""The names that AICB has for rows that an iteration begins with, numbers behind a name left out."""
ONCE_BEHIND = ("optimizer",)
"""The names for rows that an iteration ends with."""
_DIGITS = "0123456789"


@dataclass(frozen=True)
class MicroBatches:
    """``count`` times ``length`` rows from ``begin`` on, of ``layers``; those from ``end`` on are the iteration's.

    ``cuts``: where each part of a micro-batch ends, counted from its first row; one if it isn't cut. ``uncut``: why it
    isn't, though the file has virtual stages; empty if there is nothing to tell.
    """

    begin: int
    length: int
    count: int
    end: int
    layers: int
    cuts: tuple[int, ...]
    uncut: str = ""

    @property
    def before(self) -> range:
        """The rows before the first micro-batch."""
        return range(self.begin)

    @property
    def behind(self) -> range:
        """The rows of the iteration behind the last micro-batch."""
        return range(self.end, self.layers)

    @property
    def parts(self) -> int:
        """In how many parts a micro-batch is cut."""
        return len(self.cuts)

    def rows(self, batch: int, part: int | None = None) -> range:
        """The rows of a micro-batch, or of a part of it."""
        first = self.begin + batch * self.length
        last = self.end if batch == self.count - 1 else first + self.length
        if part is None:
            return range(first, last)
        begin = first + (self.cuts[part - 1] if part else 0)
        return range(begin, last if part == self.parts - 1 else first + self.cuts[part])

    def document(self) -> dict[str, int | list[int]]:
        """As plain data for run.json; rows are numbered from 0, ``chunks`` are the first rows of the parts."""
        return {
            "rows": self.layers,
            "first": self.begin,
            "each": self.length,
            "micro_batches": self.count,
            "chunks": [self.rows(0, part).start for part in range(self.parts)],
            "with_the_last": self.end - self.begin - self.count * self.length,
            "behind": self.layers - self.end,
        }


def find_micro_batches(workload: Workload) -> MicroBatches:
    """The longest rows that stand there once for each micro-batch, one after the other; raises InputError."""
    layers, count = workload.layers, workload.micro_batches or 1
    names = [layer.name.rstrip(_DIGITS) for layer in layers]
    end = len(names)
    while end > 1 and names[end - 1] in ONCE_BEHIND:
        end -= 1
    if count == 1:
        begin = next((row for row in range(end) if names[row] not in ONCE_BEFORE), 0)
        length = end - begin
    else:
        begin, length = _repeated(_numbered(layers), count)
        refuse(
            not length,
            f"ga is {count}, expected rows that are repeated {count} times, once for each micro-batch",
            workload.source,
        )
        end = max(end, begin + count * length)
    cuts, uncut = _cuts(workload, layers[begin : begin + length], count)
    return MicroBatches(begin, length, count, end, len(names), cuts, uncut)


def _cuts(workload: Workload, rows: Sequence[Layer], count: int) -> tuple[tuple[int, ...], str]:
    """Where the parts of a micro-batch end, and why there is only one though the file has more."""
    whole, parts, stages = (len(rows),), workload.virtual_stages or 1, workload.pipeline_stages or 1
    if parts == 1 or stages == 1:
        return whole, ""
    if count % stages:
        return whole, f"ga is {count}, not a multiple of pp {stages}"
    kinds = _numbered(rows)
    begin, length = _repeated(kinds, parts)
    end = begin + parts * length
    besides = {*kinds[:begin].tolist(), *kinds[end:].tolist()}
    if not length or besides & set(kinds[begin:end].tolist()):
        return whole, (
            f"the {len(rows)} rows of a micro-batch aren't {parts} equal parts, not counting unlike rows (embeddings, "
            "losses) at its ends"
        )
    return (*(begin + length * part for part in range(1, parts)), len(rows)), ""


def _numbered(layers: Sequence[Layer]) -> npt.NDArray[np.int64]:
    """Equal numbers for rows that are alike."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(_alike(layer), len(numbers)) for layer in layers], dtype=np.int64)


def _alike(layer: Layer) -> object:
    return layer.name, *((part.collective, part.bytes, part.group) for part in layer.passes.values())


def _repeated(kinds: npt.NDArray[np.int64], count: int) -> tuple[int, int]:
    """Where the longest rows begin that stand ``count`` times one after the other, and how many; (0, 0) for none."""
    for length in range(len(kinds) // count, 0, -1):
        begin = _first_run(kinds[:-length] == kinds[length:], length * (count - 1))
        if begin is not None:
            return begin, length
    return 0, 0


def _first_run(equal: npt.NDArray[np.bool_], length: int) -> int | None:
    """Where ``length`` in a row are true for the first time."""
    ends = np.flatnonzero(np.diff(np.concatenate(([False], equal, [False])).astype(np.int8)))
    begins, lasts = ends[::2], ends[1::2]
    long_enough = np.flatnonzero(lasts - begins >= length)
    return int(begins[long_enough[0]]) if len(long_enough) else None
