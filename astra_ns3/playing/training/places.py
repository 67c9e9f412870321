"""Who is who in a training: the stages, the communicators of their groups, and everybody's neighbours."""

from __future__ import annotations

from functools import cache

from astra_ns3.config.training_plan import Degrees, Group
from astra_ns3.frozen import dataclass
from astra_ns3.playing.programs.roles import EVERYBODY, Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.workload.grids.grid_cut import GridCut
from astra_ns3.workload.grids.training_grid import TrainingGrid


@dataclass(frozen=True)
class Among:
    """Over which dimensions of which communicator an exchange of a ``group`` of ``size`` NPUs goes."""

    communicator: Communicator
    dimensions: tuple[int, ...]
    size: int
    group: str


class Places:
    """The NPUs of a training with such ``degrees`` on a network of ``dimensions``; raises InputError.

    An NPU's place in its stage is its number less that of the stage's first.
    """

    def __init__(self, degrees: Degrees, dimensions: tuple[int, ...], source: str) -> None:
        self._degrees = degrees
        self._grid = TrainingGrid(degrees, dimensions, source)
        self.cut = GridCut(self._grid.sizes, self._grid.parts)
        self.among = cache(self._among)
        self.turned = cache(self._turned)

    def roles(self) -> tuple[Role, ...]:
        """A role for each stage."""
        names = [f"stage {stage}" for stage in range(self._degrees.pipeline)]
        names = names if len(names) > 1 else [EVERYBODY]
        return tuple(Role(name, Communicator(self._ranks(stage), name), stage) for stage, name in enumerate(names))

    def _among(self, group: Group, stage: int) -> Among | None:
        """For exchanges in a group of a stage; None if everybody is alone in theirs."""
        if self._degrees.size(group) == 1:
            return None
        own = self._grid.of(group)
        name = group.value if self._degrees.pipeline == 1 else f"{group.value} of stage {stage}"
        communicator = Communicator(self._ranks(stage), name, own.sizes)
        return Among(communicator, own.dimensions, self._degrees.size(group), group.value)

    def _turned(self, group: Group, stage: int, by: int) -> Communicator:
        """In each place of a stage the NPU that comes so many after the one of this place in its group's ring."""
        begin, _ = self._degrees.strides(group)
        size = self._degrees.size(group)
        owns = [(npu, place // begin % size) for place, npu in enumerate(self._ranks(stage))]
        ranks = [npu + ((own + by) % size - own) * begin for npu, own in owns]
        return Communicator(ranks, f"{group.value} of stage {stage}, {'next' if by > 0 else 'before'}")

    def places_in(self, group: Group) -> tuple[int, ...]:
        """The place in its group of the NPU in each place of a stage."""
        begin, _ = self._degrees.strides(group)
        return tuple(place // begin % self._degrees.size(group) for place in range(self._degrees.stage_npus))

    def ends(self) -> Among | None:
        """Each NPU of the first stage with the one in the same place of the last; None if there is one stage."""
        if self._degrees.pipeline == 1:
            return None
        own = self._grid.pairs()
        ranks = [*self._ranks(0), *self._ranks(self._degrees.pipeline - 1)]
        name = "first and last stage"
        return Among(Communicator(ranks, name, own.sizes), own.dimensions, 2, name)

    def _ranks(self, stage: int) -> range:
        return range(stage * self._degrees.stage_npus, (stage + 1) * self._degrees.stage_npus)
