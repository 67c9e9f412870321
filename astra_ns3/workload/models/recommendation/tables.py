"""The work of an NPU with its part of the tables, and the messages of all.

Three placements: D. Mudigere et al., "Software-Hardware Co-design for Fast and Scalable Training of Deep Learning
Recommendation Models", ISCA 2022, section 4. An NPU with whole tables sums rows for the samples of all NPUs and sends
each its own (all-to-all). With some columns of all tables likewise; with some rows, sums are partial and added on the
way (reduce-scatter), and gradients go to all (all-gather).
"""

from __future__ import annotations

import csv

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.model import shown
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.model.dlrm import DlrmFile, DlrmShape
from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.topology.base import MOST_NPUS
from astra_ns3.config.training_plan import Degrees, Exchange, Group, Item, Uneven
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.workload.models.sized_operations import gather

_INDEX_BYTES = 8
_COLUMNS = ["table", "npu"]


@dataclass(frozen=True)
class Tables:
    """Tables on so many NPUs. ``batch``: samples of each."""

    file: DlrmFile
    npus: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, file: DlrmFile, degrees: Degrees) -> Tables:
        """Raises InputError if columns don't divide by the NPUs, or a file says something else of the tables."""
        shape, npus = file.model, degrees.data
        refuse(
            bool(shape.placement == "column" and shape.embedding % npus),
            f"model.embedding is {shape.embedding}, expected a multiple of the {npus} NPUs for placement: column",
        )
        counts = tables_of_npus(shape, npus) if shape.placement == "table" else (shape.tables,) * npus
        return cls(file, npus, counts)

    @property
    def batch(self) -> int:
        """Samples of an NPU."""
        return self.file.training.micro_batch

    @property
    def _vector_bytes(self) -> int:
        """Bytes of a sum of one table's rows, or of an NPU's columns of it."""
        shape = self.file.model
        columns = shape.embedding // self.npus if shape.placement == "column" else shape.embedding
        return columns * self.file.training.value_bytes

    @property
    def parameters(self) -> int:
        """Parameters of the NPU that has most."""
        shape = self.file.model
        if shape.placement == "table":
            return max(self.counts) * shape.rows * shape.embedding
        if shape.placement == "row":
            return shape.tables * -(-shape.rows // self.npus) * shape.embedding
        return shape.tables * shape.rows * shape.embedding // self.npus

    @property
    def _split_evenly(self) -> bool:
        return len(set(self.counts)) == 1

    def looked_up(self, name: str, passes: int) -> tuple[Item, ...]:
        """Rows read (``passes`` 1), or read and written (2), for the samples of all NPUs, and their sums."""
        shape = self.file.model
        samples = self.npus * self.batch
        rows = samples * shape.pooling
        if shape.placement == "row":
            rows //= self.npus  # on average
        of_one = (passes * rows + samples) * self._vector_bytes
        each = tuple(gather(name, count * of_one) for count in self.counts)
        if self._split_evenly:
            return (each[0],)
        return (Uneven(Group.DATA, each),)

    def indices(self) -> tuple[Item, ...]:
        """Which rows each NPU needs, sent to those that have them; rows of a table are on all NPUs alike."""
        shape = self.file.model
        if not shape.sends_indices or self.npus == 1:
            return ()
        size = self.batch * shape.pooling * _INDEX_BYTES
        if shape.placement == "column":
            return (Exchange(CollectiveKind.ALL_GATHER, Group.DATA, shape.tables * size),)
        if shape.placement == "row" or self._split_evenly:
            return (Exchange(CollectiveKind.ALL_TO_ALL, Group.DATA, shape.tables * size),)
        rows = tuple(tuple(count * size for count in self.counts) for _ in range(self.npus))
        return (Exchange(CollectiveKind.ALL_TO_ALL, Group.DATA, shape.tables * size, counts=rows),)

    def sums(self) -> tuple[Item, ...]:
        """Every NPU gets the sums of all tables for its own samples; the rest of the block goes on meanwhile."""
        return self._exchanged(CollectiveKind.REDUCE_SCATTER, self.npus, back=False)

    def gradients(self) -> tuple[Item, ...]:
        """And back."""
        return self._exchanged(CollectiveKind.ALL_GATHER, 1, back=True)

    def _exchanged(self, of_rows: CollectiveKind, brought: int, *, back: bool) -> tuple[Item, ...]:
        """Return how vectors travel; of tables cut in rows by ``of_rows``, each bringing those of so many NPUs."""
        sizes = tuple(self.batch * count * self._vector_bytes for count in self.counts)
        if self.npus == 1:
            return ()
        if self.file.model.placement == "row":
            return (Exchange(of_rows, Group.DATA, brought * sizes[0], waited=False),)
        if self._split_evenly:
            return (Exchange(CollectiveKind.ALL_TO_ALL, Group.DATA, self.npus * sizes[0], waited=False),)
        rows = (sizes,) * self.npus if back else tuple((size,) * self.npus for size in sizes)
        most = max(map(sum, rows))
        return (Exchange(CollectiveKind.ALL_TO_ALL, Group.DATA, most, waited=False, counts=rows),)


def tables_of_npus(shape: DlrmShape, npus: int) -> tuple[int, ...]:
    """Tables of each NPU: dealt out in turn, or as the file says. Raises InputError with its line."""
    if shape.tables_of_npus is None:
        return tuple(shape.tables // npus + (npu < shape.tables % npus) for npu in range(npus))
    counts, seen = [0] * npus, set()
    for place, table, npu in _rows(shape.tables_of_npus):
        if table >= shape.tables or table in seen:
            found = (
                "stands twice" if table in seen else f"isn't one of the {shape.tables} tables, 0 to {shape.tables - 1}"
            )
            raise wrong(f"table {table} {found}", place)
        refuse(npu >= npus, f"npu is {npu}, expected one of the {npus} NPUs, 0 to {npus - 1}", place)
        seen.add(table)
        counts[npu] += 1
    if len(seen) < shape.tables:
        missing = next(table for table in range(shape.tables) if table not in seen)
        raise wrong(f"table {missing} is missing; expected a row for each of {shape.tables}", shape.tables_of_npus)
    return tuple(counts)


def least_data(file: ModelFile) -> int:
    """Return how many copies of a model there are at least: NPUs that a file gives tables to, else 1.

    Raises InputError with the file's line.
    """
    path, least = file.model.tables_of_npus if isinstance(file, DlrmFile) else None, 1
    for place, _, npu in [] if path is None else _rows(path):
        refuse(npu >= MOST_NPUS, f"npu is {npu}, expected at most {MOST_NPUS - 1}", place)
        least = max(least, npu + 1)
    return least


def _rows(path: str) -> list[tuple[str, int, int]]:
    """Place, table and NPU."""
    lines = csv.reader(read_text(path).splitlines())
    header = [name.strip() for name in next(lines)]
    refuse(header != _COLUMNS, f"{path}:1: found {shown(','.join(header))}, expected the columns {','.join(_COLUMNS)}")
    found = []
    for row in lines:
        cells = [cell.strip() for cell in row]
        where = f"{path}:{lines.line_num}"
        if not any(cells):
            continue
        refuse(
            len(cells) != len(_COLUMNS) or not all(cell.isascii() and cell.isdigit() for cell in cells),
            f"found {shown(','.join(row))}, expected two whole numbers: a table and its NPU",
            where,
        )
        found.append((where, int(cells[0]), int(cells[1])))
    return found
