"""The best plans on packets: as they are where that is cheap, else with fewer layers and micro-batches.

All degrees stay, so messages meet on the same lines. Where one layer on each part of the model and full stages are too
much, messages and computing shrink together. A smaller model says by how much packets take longer than flows; that
share of the plan's own time as flows is what packets are expected to take. Model limits: a queue pair that begins
slowly counts for more with smaller messages, and so do delays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from astra_ns3.config.core.plain import Json
from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.errors import AstraNs3Error, InputError
from astra_ns3.experiments.forecasting.forecast import forecast
from astra_ns3.experiments.tenant_inputs import load_tenants, parts_of
from astra_ns3.frozen import dataclass, field
from astra_ns3.planning.degrees import Choice, Space, fits
from astra_ns3.planning.request import BACKEND, PACKETS, PlanRequest
from astra_ns3.report.alignment import clock
from astra_ns3.whole_file import WHOLE_MODEL
from astra_ns3.workload.models.changes import changed

_LEAST_SCALE = 256
"""Messages and computing shrink to this part at most."""


@dataclass(frozen=True)
class Sized:
    """A model as it is played on packets. ``changes``: make it smaller, as a study names them; ``words``: how small."""

    changes: Mapping[str, Json] = field(default_factory=dict)
    words: str = WHOLE_MODEL


@dataclass(frozen=True)
class OnPackets:
    """A plan that is played on packets. ``sized``: None: left out, ``why`` says why.

    ``time_ps`` and ``flows_ps``: of the model as it is played, on packets and as flows; None: its run failed.
    """

    choice: Choice
    sized: Sized | None = None
    why: str = ""
    time_ps: int | None = None
    flows_ps: int | None = None

    @property
    def share(self) -> float | None:
        """Return what packets take over what flows take; None: not known."""
        return None if not self.time_ps or not self.flows_ps else self.time_ps / self.flows_ps

    @property
    def on(self) -> str:
        """Return on what the plan was played, or why it wasn't."""
        return self.sized.words if self.sized is not None and not self.why else self.why


def sized_for_packets(request: PlanRequest, space: Space, choice: Choice) -> OnPackets:
    """Return the largest model that packets are forecast to play within the request's limit; nothing is played."""
    sizes = list(_sizes(space, choice))
    known: dict[int, float] = {}

    def seconds(place: int) -> float:
        if place not in known:
            known[place] = _forecast(request, choice, sizes[place])
        return known[place]

    limit = request.packet_seconds
    try:
        if limit is None or seconds(0) <= limit:
            return OnPackets(choice, sizes[0])
        least = len(sizes) - 1
        if seconds(least) > limit:
            asked = clock(seconds(least))
            smaller = f"{asked} with {sizes[least].words}" if least else asked
            return OnPackets(choice, why=f"not played: forecast {smaller}, above {clock(limit)}")
    except AstraNs3Error as error:
        return OnPackets(choice, why=f"not played: {error}")
    small, large = least, 0
    while small - large > 1:
        middle = (small + large) // 2
        small, large = (middle, large) if seconds(middle) <= limit else (small, middle)
    return OnPackets(choice, sizes[small])


def _forecast(request: PlanRequest, choice: Choice, sized: Sized) -> float:
    """Return the CPU time that a run is forecast to take on packets; raises what refuses it."""
    points = request.expansion([], {choice: sized.changes}).points
    run = next(point.request for point in points if point.labels[BACKEND] == PACKETS)
    return forecast(parts_of(run, load_tenants(run))).warm_seconds


def _sizes(space: Space, choice: Choice) -> Iterator[Sized]:
    """Yield the model of a choice and smaller ones, each about half of the one before it."""
    least = Sized()
    yield least
    layers, batches = list(_layers(space, choice)), list(_batches(choice))
    whole = layers[0], batches[0]
    while len(layers) > 1 or len(batches) > 1:
        # Whichever is further above its least, so that work between and within passes shrinks alike.
        shrinks = layers if layers[0] * batches[-1] >= batches[0] * layers[-1] and len(layers) > 1 else batches
        (shrinks if len(shrinks) > 1 else layers).pop(0)
        sized = _sized(space, choice, whole, (layers[0], batches[0]))
        if sized is not None:
            yield sized
            least = sized
    scale = 1
    while scale < _LEAST_SCALE:
        scale *= 2
        words = [] if least.words == WHOLE_MODEL else [least.words]
        changes = {**least.changes, "comm_scale": 1 / scale, "compute_scale": 1 / scale}
        yield Sized(changes, ", ".join([*words, f"1/{scale} of each message"]))


def _layers(space: Space, choice: Choice) -> Iterator[int]:
    """Yield numbers of layers, falling, of which each part of the model has as many as now or fewer."""
    layers, parts = space.workload.totals().layers, choice.cell.degrees.pipeline * choice.virtual_stages
    yield layers
    if isinstance(space.workload.file, TransformerFile):
        yield from _halves(layers, parts)


def _batches(choice: Choice) -> Iterator[int]:
    """Yield numbers of micro-batches, falling, with which the schedule fills all stages."""
    stages, batches = choice.cell.degrees.pipeline, choice.cell.micro_batches
    yield batches
    for fewer in _halves(batches, stages if stages <= batches else 1):
        if fits(choice.schedule, stages, choice.virtual_stages, fewer):
            yield fewer


def _halves(number: int, unit: int) -> Iterator[int]:
    """Yield halves of a number and halves of these, each a multiple of ``unit``, down to it."""
    while number > unit:
        number = max(unit, number // 2 // unit * unit)
        yield number


def _sized(space: Space, choice: Choice, whole: tuple[int, int], chosen: tuple[int, int]) -> Sized | None:
    """Return a model of so many layers and micro-batches; None if the model's file refuses it."""
    (layers, batches), (fewer, some) = whole, chosen
    samples = space.samples // batches * some
    keys: dict[str, Json] = {} if some == batches else {"training.global_batch": samples}
    words = [] if fewer == layers else [f"{fewer} of {layers} layers"]
    words += [] if some == batches else [f"{samples:,} of {space.samples:,} samples"]
    keys |= {} if fewer == layers else {"model.layers": fewer, "parallel.layers_per_part": None}
    try:
        changed(space.workload, {**choice.keys, **keys}).plan(space.npus)
    except InputError:
        return None
    return Sized({f"workload.{key}": value for key, value in keys.items()}, ", ".join(words))


def order_of(played: Sequence[OnPackets], times_ps: Mapping[Choice, int]) -> list[Choice]:
    """Return the choices that packets have played, in the order of what packets are expected to take."""
    expected = {each.choice: expected_ps(each, times_ps[each.choice]) for each in played}
    return sorted((choice for choice, each in expected.items() if each is not None), key=lambda one: expected[one] or 0)


def expected_ps(played: OnPackets, time_ps: int) -> int | None:
    """Return what packets are expected to take of a plan that takes ``time_ps`` as flows; None: not known."""
    if played.share is None:
        return None
    assert played.time_ps is not None
    whole = played.sized is not None and not played.sized.changes
    return played.time_ps if whole else round(time_ps * played.share)
