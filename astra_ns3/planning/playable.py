"""The choices of a space that can be played: planning may refuse what a model's file accepts.

Blocks are built and timed once for all choices of a cell. A choice that can't be has no bound; it is counted by what
is said of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from astra_ns3.config.training_plan import Block
from astra_ns3.errors import InputError, refuse
from astra_ns3.planning.degrees import Cell, Choice, Space
from astra_ns3.workload.computing.clock import named
from astra_ns3.workload.grids.training_grid import TrainingGrid
from astra_ns3.workload.models.keys_without_effect import reasons_without_effect
from astra_ns3.workload.models.model_kinds import MODEL_KINDS
from astra_ns3.workload.models.parts import Parts
from astra_ns3.workload.models.planning import check_weights_follow
from astra_ns3.workload.training.schedules import Position


class Playable:
    """The cells and choices of a space that can be played, and how many choices can't, as far as was asked."""

    def __init__(self, space: Space, dimensions: Sequence[int]) -> None:
        """``dimensions``: of the network, in which groups of NPUs have to fit."""
        self._space, self._dimensions = space, dimensions
        self._layers = space.workload.totals().layers
        self._left_out: Counter[str] = Counter()
        self.own_why = ""
        self.clock = space.workload.clock()

    @property
    def left_out(self) -> Mapping[str, int]:
        """Return how many choices can't be played, by what is said of them, the most first."""
        return dict(self._left_out.most_common())

    def cells(self) -> Iterator[tuple[Cell, Parts]]:
        """Yield each cell with the parts of the model that its NPUs have."""
        for shape in self._space.shapes:
            for cell in self._space.cells(shape):
                try:
                    parts = self._parts(cell)
                except InputError as error:
                    for choice in self._space.choices(cell, self._layers):
                        self._leave_out(choice, error)
                else:
                    yield cell, parts

    def choices(self, cell: Cell) -> Iterator[Choice]:
        """Yield the choices of such a cell."""
        for choice in self._space.choices(cell, self._layers):
            at = Position(0, cell.degrees.pipeline, choice.virtual_stages, cell.micro_batches)
            try:
                self._check_kernel(cell, (choice,))
                check_weights_follow(cell.shape.file, choice.schedule, at, self._space.workload.source)
            except InputError as error:
                self._leave_out(choice, error)
            else:
                yield choice

    def _leave_out(self, choice: Choice, error: InputError) -> None:
        self._left_out[str(error)] += 1
        if self._space.is_own(choice):
            self.own_why = str(error)

    def _check_kernel(self, cell: Cell, choices: Iterable[Choice]) -> None:
        """Raise InputError if degrees alone, other than the file's own, would change the kernel of attention."""
        refuse(
            changes_kernel(self._space, cell) and not any(map(self._space.is_own, choices)),
            f"parallel.context {cell.degrees.context}: a ring's attention keeps no scores, and "
            "model.fused_attention is off; set that on, or hold parallel.context",
            self._space.workload.source,
        )

    def _parts(self, cell: Cell) -> Parts:
        """Return the parts of the model; raises InputError if they can't be built, placed or timed."""
        file = cell.shape.file
        TrainingGrid(cell.degrees, self._dimensions, self._space.workload.source)
        self._check_kernel(cell, self._space.choices(cell, self._layers))
        with named(self._space.workload.source):
            parts = MODEL_KINDS[file.kind].parts(file, cell.degrees)
            for block in _unlike(parts.blocks):
                for operation in block.operations():
                    _ = self.clock.time_ps(operation)
        return parts


def changes_kernel(space: Space, cell: Cell) -> bool:
    """Return whether degrees that aren't held change the kernel of attention that the model's file has."""
    reasons = reasons_without_effect(cell.shape.file, cell.degrees)
    return "model.fused_attention" in reasons and "parallel.context" not in space.held


def _unlike(blocks: tuple[Block, ...]) -> list[Block]:
    """Return one of all blocks that share their passes."""
    return list({tuple(map(id, block.passes)): block for block in blocks}.values())
