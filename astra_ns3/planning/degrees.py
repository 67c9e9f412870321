"""All ways to cut a model over so many NPUs: degrees, schedules, stages of ZeRO, micro-batches, recomputing.

The model's file and its planning decide what they refuse; this module repeats none of that. Model limits: other keys of
``parallel`` stay as the file has them, such as ``context_by``, ``bucket`` and ``overlap``; ``layers_per_part`` does
where a choice cuts the model in as many parts. Other virtual stages cut the layers evenly. Virtual stages belong to
schedules that need several parts of the model on each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from math import gcd
from types import MappingProxyType

from astra_ns3.config.core.plain import Json
from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.model.training import SequenceTraining
from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.config.training_plan import Degrees
from astra_ns3.errors import InputError, check_known, refuse, wrong
from astra_ns3.frozen import dataclass, field
from astra_ns3.units import counted
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.keys_without_effect import reasons_without_effect
from astra_ns3.workload.models.planning import degrees_of, layers_of_parts, micro_batches_of
from astra_ns3.workload.models.workload import ModelWorkload
from astra_ns3.workload.training.schedules import SCHEDULES, Position, order_of

_ZERO_STAGES = (0, 1, 2, 3)
_RECOMPUTES = ("none", "selective", "full")
_RECOMPUTE = "training.recompute"
_OF_SHAPES = (
    *("parallel.tensor", "parallel.sequence", "parallel.context", "parallel.expert"),
    *("training.micro_batch", _RECOMPUTE),
)
_OF_ORDERS = ("parallel.pipeline", "parallel.schedule", "parallel.virtual_stages", "parallel.zero")
CHOSEN = (*_OF_SHAPES, *_OF_ORDERS)
"""The keys of a model's file that tell choices apart."""
# The schedule of a stage alone, which has none.
_ALONE = "1f1b"


@dataclass(frozen=True, eq=False)
class Shape:
    """Degrees inside a stage, and what an NPU does with a micro-batch: all that layers depend on.

    ``file``: the model's file that says so, of one stage; ``keys``: those that it was made with.
    """

    file: ModelFile
    keys: Mapping[str, Json]

    @property
    def recompute(self) -> str:
        """Return what is computed again."""
        training = self.file.training
        return training.recompute if isinstance(training, SequenceTraining) else "none"


@dataclass(frozen=True, eq=False)
class Cell:
    """A shape on a number of stages: ``data`` and the number of micro-batches follow."""

    shape: Shape
    degrees: Degrees
    micro_batches: int


@dataclass(frozen=True, eq=False)
class Choice:
    """A cell with the order of its pipeline, virtual stages and ZeRO's stage: one way to train the model."""

    cell: Cell
    schedule: str
    virtual_stages: int
    zero: int

    @property
    def name(self) -> str:
        """Return the choice in words; a degree of 1, and what is off, isn't named."""
        degrees, file = self.cell.degrees, self.cell.shape.file
        words = [f"tensor {degrees.tensor}{' sequence' * file.parallel.sequence}"] if degrees.tensor > 1 else []
        words += [f"context {degrees.context}"] if degrees.context > 1 else []
        if degrees.pipeline > 1:
            times = f" x {self.virtual_stages}" if self.virtual_stages > 1 else ""
            given = layers_given(file.parallel, degrees.pipeline * self.virtual_stages) or ()
            uneven = f" of {'+'.join(map(str, given))} layers" * (len({*given}) > 1)
            words.append(f"pipeline {degrees.pipeline}{times} {self.schedule}{uneven}")
        words += [f"expert {degrees.expert}"] if degrees.expert > 1 else []
        words += [f"data {degrees.data}"] if degrees.data > 1 else []
        words += [f"zero {self.zero}"] if self.zero else []
        words.append(f"micro-batch {file.training.micro_batch}")
        again = self.cell.shape.recompute
        return ", ".join(words if again == "none" else [*words, f"recompute {again}"])

    @property
    def keys(self) -> dict[str, Json]:
        """Return the keys of the model's file that say it."""
        stages = self.cell.degrees.pipeline
        given = layers_given(self.cell.shape.file.parallel, stages * self.virtual_stages)
        return {
            **self.cell.shape.keys,
            "parallel.pipeline": stages,
            "parallel.schedule": self.schedule,
            "parallel.virtual_stages": self.virtual_stages,
            "parallel.layers_per_part": None if given is None else list(given),
            "parallel.zero": self.zero,
        }


def cut_into(parallel: Parallel, stages: int, virtual: int) -> Parallel:
    """Return how a file is cut into so many stages, with its own layers of each part if it has as many parts."""
    given = layers_given(parallel, stages * virtual)
    return parallel.model_copy(update={"pipeline": stages, "virtual_stages": virtual, "layers_per_part": given})


def layers_given(parallel: Parallel, parts: int) -> tuple[int, ...] | None:
    """Return the layers of each of so many parts, as a file has them; None: they are cut evenly."""
    given = parallel.layers_per_part
    return None if given is None or len(given) != parts else given


def is_as_in(choice: Choice, workload: ModelWorkload) -> bool:
    """Return whether a choice has all degrees as a model's file has them, but for keys that change nothing there."""
    cut, training = workload.file.parallel, workload.file.training
    degrees, own = choice.cell.degrees, choice.cell.shape.file
    pairs = [
        (degrees.tensor, cut.tensor),
        (degrees.context, cut.context),
        (degrees.pipeline, cut.pipeline),
        (degrees.expert, cut.expert),
        (own.training.micro_batch, training.micro_batch),
        (own.parallel.sequence, cut.sequence and cut.tensor > 1),
        (choice.schedule, cut.schedule if cut.pipeline > 1 else _ALONE),
        (choice.virtual_stages, cut.virtual_stages if cut.pipeline > 1 else 1),
        (choice.zero, cut.zero if degrees.gradient > 1 else 0),
        (choice.cell.shape.recompute, getattr(training, "recompute", _RECOMPUTES[0])),
    ]
    return all(found == expected for found, expected in pairs)


@dataclass(frozen=True)
class Space:
    """All choices for a model on ``npus`` NPUs; each trains on as many samples an iteration, ``samples``.

    ``workload``: the model's file without degrees; ``given``: with its own; ``keys``: those of the file as it was given
    that were changed for that. ``held``: values of some keys of :data:`CHOSEN` that all choices have; ``places``: where
    these stand.
    """

    workload: ModelWorkload
    given: ModelWorkload
    npus: int
    samples: int
    keys: Mapping[str, Json]
    held: Mapping[str, Json] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)

    def is_own(self, choice: Choice) -> bool:
        """Return whether a choice is the plan of the model's file."""
        return is_as_in(choice, self.given)

    @property
    def few_copies(self) -> str:
        """Return that no choice has many copies of the model, as few numbers divide the samples; empty if some may."""
        copies = gcd(self.npus, self.samples)
        if copies == min(self.npus, self.samples):
            return ""
        most = "only 1 copy" if copies == 1 else f"at most {copies} copies"
        both = f"{counted(self.npus, 'NPU')} and {counted(self.samples, 'sample')} an iteration"
        return f"plans have {most} of the model (data): a number of copies divides {both}"

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Return all shapes that the model's file accepts."""
        return tuple(self._shapes())

    def _shapes(self) -> Iterator[Shape]:
        for tensor in divisors(self.npus):
            of_tensor: dict[str, Json] = {"parallel.tensor": tensor}
            if not self._holds(of_tensor, ("parallel.tensor",)) or self._shape(of_tensor) is None:
                continue
            for context in divisors(self.npus // tensor):
                for expert in self._experts(self.npus // tensor):
                    for sequence in (False, True) if tensor > 1 else (False,):
                        degrees: dict[str, Json] = {
                            "parallel.tensor": tensor,
                            "parallel.context": context,
                            "parallel.expert": expert,
                            "parallel.sequence": sequence,
                        }
                        yield from self._sized(degrees)

    def cells(self, shape: Shape) -> Iterator[Cell]:
        """Yield a shape on every number of stages that fits the NPUs and the samples."""
        file = shape.file
        for pipeline in divisors(self.npus // file.parallel.copy_npus):
            parallel = file.parallel.model_copy(update={"pipeline": pipeline})
            try:
                degrees = degrees_of(parallel, self.npus, self.workload.source)
                batches = micro_batches_of(file.training, degrees.data, self.workload.source)
            except InputError:
                continue
            yield Cell(shape, degrees, batches)

    def choices(self, cell: Cell, layers: int) -> Iterator[Choice]:
        """Yield the schedules, virtual stages and stages of ZeRO of a cell of so many layers."""
        zeros = _ZERO_STAGES if cell.degrees.gradient > 1 else (0,)
        for schedule, virtual in self._orders(cell, layers):
            taken = (zero for zero in zeros if self._takes(cell.degrees.pipeline, schedule, virtual, zero))
            found = (Choice(cell, schedule, virtual, zero) for zero in taken)
            yield from (each for each in found if not self.held or self._holds(each.keys, _OF_ORDERS))

    def _orders(self, cell: Cell, layers: int) -> Iterator[tuple[str, int]]:
        stages, batches, file = cell.degrees.pipeline, cell.micro_batches, cell.shape.file
        if stages == 1:
            yield _ALONE, 1
            return
        given = len(file.parallel.layers_per_part or ())
        for schedule in SCHEDULES:
            if fits(schedule, stages, 1, batches):
                if stages <= layers or stages == given:
                    yield schedule, 1
                continue
            for virtual in range(2, max(layers, given) // stages + 1):
                parts = stages * virtual
                if (parts == given or layers % parts == 0) and fits(schedule, stages, virtual, batches):
                    yield schedule, virtual

    def _experts(self, most: int) -> Iterator[int]:
        file = self.workload.file
        experts = file.model.experts if isinstance(file, TransformerFile) else None
        for expert in divisors(1 if experts is None else experts.count):
            if expert <= most:
                yield expert

    def _sized(self, degrees: Mapping[str, Json]) -> Iterator[Shape]:
        """Yield shapes of these degrees, by micro-batch and by what is computed again."""
        if not self._holds(degrees, _OF_SHAPES[:4]):
            return
        for micro_batch in divisors(self.samples):
            keys = {**degrees, "training.micro_batch": micro_batch}
            if not self._holds(keys, _OF_SHAPES[4:5]):
                continue
            shape = self._shape(keys)
            if shape is None:
                continue
            if self._holds({_RECOMPUTE: _RECOMPUTES[0]}, (_RECOMPUTE,)):
                yield shape
            if isinstance(shape.file.training, SequenceTraining):
                again = (self._shape({**keys, _RECOMPUTE: recompute}) for recompute in _RECOMPUTES[1:])
                some = (each for each in again if each is not None and _recomputes(each.file))
                yield from (each for each in some if self._holds(each.keys, (_RECOMPUTE,)))

    def _holds(self, keys: Mapping[str, Json], names: tuple[str, ...]) -> bool:
        """Whether these keys have the values that are held."""
        return all(keys[name] == self.held[name] for name in names if name in self.held)

    @cached_property
    def _takes(self) -> Callable[[int, str, int, int], bool]:
        """Whether the model's file accepts values of the keys of an order; each are tried once."""
        return cache(lambda *values: self._shape(dict(zip(_OF_ORDERS, values, strict=True))) is not None)

    def _shape(self, keys: Mapping[str, Json]) -> Shape | None:
        """Return the shape with these keys; None if the model's file refuses them."""
        try:
            return Shape(changed(self.workload, keys).file, {**self.keys, **keys})
        except InputError:
            return None


def space_of(
    workload: ModelWorkload,
    npus: int,
    held: Mapping[str, Json] = MappingProxyType({}),
    places: Mapping[str, str] = MappingProxyType({}),
) -> Space:
    """Return all choices for a model with the values that are ``held``, of keys of :data:`CHOSEN`.

    Raises InputError for another key, for parameter servers, for memory beyond the device, for ``layers_per_part`` that
    don't add up, and for samples that nobody can count. Samples of an iteration are those of ``global_batch``; without
    it those of the file's own degrees on so many NPUs.
    """
    file, source = workload.file, workload.source
    for key in held:
        check_known("key", key, CHOSEN, places.get(key, "hold"))
    refuse(
        file.parallel.servers > 0,
        f"key 'parallel.servers': found {file.parallel.servers}, expected 0: plans have no parameter servers",
        source,
    )
    away = file.uses_storage or file.uses_remote_memory
    refuse(
        away is not None, f"key '{away}': plans have all memory on the device, and no checkpoints; leave it out", source
    )
    if file.parallel.layers_per_part is not None:
        layers_of_parts(workload.totals().layers, file.parallel, source)
    try:
        data = degrees_of(file.parallel, npus, source).data
        samples = micro_batches_of(file.training, data, source) * file.training.micro_batch * data
    except InputError as error:
        if file.training.global_batch is None:
            raise wrong(f"{error}; or name training.global_batch, the samples of an iteration") from error
        samples = file.training.global_batch
    reset: dict[str, Json] = {
        "training.micro_batches": None,
        "training.global_batch": samples,
        "parallel.data": "auto",
    }
    alone: dict[str, Json] = {
        **dict.fromkeys(("parallel.tensor", "parallel.context", "parallel.pipeline", "parallel.expert"), 1),
        **dict.fromkeys(("parallel.virtual_stages", "training.micro_batch"), 1),
        "parallel.schedule": _ALONE,
        "parallel.zero": 0,
        "parallel.sequence": False,
    }
    if isinstance(file.training, SequenceTraining):
        alone[_RECOMPUTE] = "none"
    return Space(changed(workload, {**reset, **alone}), workload, npus, samples, {**alone, **reset}, held, places)


def _recomputes(file: ModelFile) -> bool:
    """Return whether computing again changes anything."""
    parallel = file.parallel
    return _RECOMPUTE not in reasons_without_effect(
        file, Degrees(parallel.tensor, parallel.context, parallel.expert, 1, parallel.expert)
    )


@cache
def divisors(number: int) -> tuple[int, ...]:
    """Return the divisors, ascending."""
    return tuple(each for each in range(1, number + 1) if number % each == 0)


@cache
def fits(schedule: str, stages: int, virtual: int, batches: int) -> bool:
    """Return whether a schedule takes so many stages, parts of the model on each, and micro-batches."""
    try:
        order_of(schedule, Position(0, stages, virtual, batches))
    except InputError:
        return False
    return True
