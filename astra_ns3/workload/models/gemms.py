"""A model that is a table of products of matrices: data parallel, model parallel, or both.

The table has the columns of ASTRA-sim's generator of workloads, ``Layer``, ``m``, ``n`` and ``k``: in the sample that
its tutorial shows, ``k`` of a layer is ``n`` of the next, so a layer is m x n activations by n x k weights, and m the
rows of a sample. A tensor group splits the weights' columns: outputs are gathered, and gradients of inputs, to which
every column adds, all-reduced.
"""

from __future__ import annotations

import csv

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.model import shown
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.model.gemms import GemmsFile
from astra_ns3.config.training_plan import Block, Degrees, Exchange, Group
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.workload.models.parts import Parts, Totals
from astra_ns3.workload.models.piece import Piece, block_of
from astra_ns3.workload.models.sized_operations import Linear

_COLUMNS = ("Layer", "m", "n", "k")


@dataclass(frozen=True)
class Gemm:
    """``rows`` x ``inputs`` activations by ``inputs`` x ``outputs`` weights."""

    name: str
    rows: int
    inputs: int
    outputs: int


def gemms_parts(file: GemmsFile, degrees: Degrees) -> Parts:
    """A block for each row of the table."""
    gemms = read_gemms(file.model.table)
    body = tuple(_block(gemm, file, degrees, number == 0) for number, gemm in enumerate(gemms))
    value_bytes = file.training.micro_batch * file.training.value_bytes
    return Parts(body, output_bytes=tuple(gemm.rows * gemm.outputs * value_bytes for gemm in gemms))


def gemms_totals(file: GemmsFile) -> Totals:
    """The whole table; a sample is all of its rows once."""
    gemms = read_gemms(file.model.table)
    parameters = sum(gemm.inputs * gemm.outputs for gemm in gemms)
    flops = sum(2 * gemm.rows * gemm.inputs * gemm.outputs for gemm in gemms)
    return Totals(parameters, parameters, flops, len(gemms), "table of rows")


def read_gemms(path: str) -> tuple[Gemm, ...]:
    """The layers of a table; raises InputError with file, line and column."""
    lines = csv.reader(read_text(path).splitlines())
    header = [name.strip() for name in next(lines)]
    for name in _COLUMNS:
        if name not in header:
            raise wrong(f"{path}:1: column '{name}' is missing; columns: {', '.join(header)}{nearest(name, header)}")
    places = [header.index(name) for name in _COLUMNS]
    gemms = [
        _gemm([row[place].strip() if place < len(row) else "" for place in places], f"{path}:{lines.line_num}")
        for row in lines
        if any(cell.strip() for cell in row)
    ]
    refuse(not gemms, "has no layer", path)
    return tuple(gemms)


def _gemm(cells: list[str], where: str) -> Gemm:
    for name, cell in zip(_COLUMNS[1:], cells[1:], strict=True):
        refuse(
            not cell.isascii() or not cell.isdigit() or int(cell) < 1,
            f"{name} is {shown(cell)}, expected a whole number above 0",
            where,
        )
    return Gemm(cells[0], *map(int, cells[1:]))


def _block(gemm: Gemm, file: GemmsFile, degrees: Degrees, is_first: bool) -> Block:
    tensor, value = degrees.tensor, file.training.value_bytes
    refuse(
        bool(gemm.outputs % tensor),
        f"layer {gemm.name}: k is {gemm.outputs}, expected a multiple of parallel.tensor, {tensor}",
        file.model.table,
    )
    rows = gemm.rows * file.training.micro_batch
    product = Linear(gemm.name, rows, gemm.outputs // tensor, gemm.inputs, value)
    gathered: tuple[Exchange, ...] = ()
    summed: tuple[Exchange, ...] = ()
    if tensor > 1:
        gathered = (Exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, rows * gemm.outputs // tensor * value),)
        # It goes on while the gradient of the weights is computed.
        summed = (Exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, rows * gemm.inputs * value, waited=False),)
    piece = Piece(
        (product.forward, *gathered),
        () if is_first else (product.input_gradient, *summed),
        (product.weight_gradient,),
        parameters=gemm.inputs * gemm.outputs // tensor,
        kept_bytes=rows * gemm.inputs * value,
    )
    return block_of(gemm.name, (piece,))
