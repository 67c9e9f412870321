"""Which collectives a training loop issues, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.workload import Workload
from astra_ns3.network.records import PassKind
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.user_code import user_part
from astra_ns3.workload.loops import loop_of
from astra_ns3.workload.operations import Compute, Issue, Operation, Wait
from astra_ns3.workload.parallelism import parallelism_of
from astra_ns3.workload.steps import Steps

_NAMED_LAYERS = 3

_DIFFERENT_PASSES = 2
"""A first pass, and one that stands for all others: no loop of ours tells them apart."""


RequestKind = tuple[CollectiveKind, int, tuple[int, ...] | None]
"""What decides how a collective is planned: its kind, its bytes, its dimensions."""


def request_kind(request: CollectiveRequest) -> RequestKind:
    """Equal for requests that are planned alike."""
    return request.kind, request.bytes, request.dimensions


def counted_requests(
    workload: Workload, passes: int, dimensions: Sequence[int] | None = None
) -> list[tuple[CollectiveRequest, int]]:
    """Each kind of collective that an NPU issues in ``passes`` passes, in the order of the first, and how often.

    Found in a first pass and one that stands for all others, so that it takes no longer for more of them; a loop of the
    user's may tell passes apart, and is played through. Arguments as for :func:`collective_requests`.
    """
    played = _played_passes(workload, passes)
    counts: Counter[RequestKind] = Counter()
    first: dict[RequestKind, CollectiveRequest] = {}
    for request in collective_requests(workload, played, dimensions):
        key = request_kind(request)
        counts[key] += _times(request.pass_number, played, passes)
        first.setdefault(key, request)
    return [(request, counts[key]) for key, request in first.items()]


def _played_passes(workload: Workload, passes: int) -> int:
    """How many passes show what all of them do."""
    return min(passes, _DIFFERENT_PASSES) if user_part(workload.loop) is None else passes


def _times(number: int, played: int, passes: int) -> int:
    """For how many of ``passes`` passes a played one stands: the last for all that are not."""
    return 1 if number < played - 1 else passes - played + 1


def issued_at_once(
    workload: Workload, passes: int, dimensions: Sequence[int] | None = None
) -> list[tuple[CollectiveRequest, int]]:
    """Each kind of collective that an NPU issues before it computes or waits, and how often.

    Where a loop goes through a whole pass without a stop, it goes through all ``passes``. Arguments as for
    :func:`collective_requests`.
    """
    counts: Counter[RequestKind] = Counter()
    first: dict[RequestKind, CollectiveRequest] = {}
    played = _played_passes(workload, passes)
    for request in _first_requests(workload, played, dimensions):
        key = request_kind(request)
        counts[key] += _times(request.pass_number, played, passes)
        first.setdefault(key, request)
    return [(request, counts[key]) for key, request in first.items()]


def planned_computation(workload: Workload, passes: int, dimensions: Sequence[int] | None = None) -> tuple[int, int]:
    """For how long an NPU computes in ``passes`` passes, and in how many operations that take time.

    Arguments as for :func:`collective_requests`.
    """
    time_ps = operations = 0
    played = _played_passes(workload, passes)
    for operation in _operations(workload, played, dimensions):
        if isinstance(operation, Compute) and operation.time_ps:
            times = _times(operation.pass_number, played, passes)
            time_ps += times * operation.time_ps
            operations += times
    return time_ps, operations


def _first_requests(workload: Workload, passes: int, dimensions: Sequence[int] | None) -> Iterator[CollectiveRequest]:
    """What is issued until the loop first computes or waits."""
    for operation in _operations(workload, passes, dimensions, finishes=False):
        if isinstance(operation, Issue):
            yield operation.request
        elif isinstance(operation, Wait) or (isinstance(operation, Compute) and operation.time_ps):
            return


def collective_requests(
    workload: Workload, passes: int = 1, dimensions: Sequence[int] | None = None
) -> list[CollectiveRequest]:
    """Every collective that each NPU issues in ``passes`` passes, in program order; raises InputError.

    ``dimensions``: NPUs along each, before a cut (None: requests don't say over which they go).
    """
    operations = _operations(workload, passes, dimensions)
    return [operation.request for operation in operations if isinstance(operation, Issue)]


def _operations(
    workload: Workload, passes: int, dimensions: Sequence[int] | None, *, finishes: bool = True
) -> Iterator[Operation]:
    """What an NPU's program does; collectives with data are done at once, or, unless it ``finishes`` them, never."""
    loop = loop_of(workload, passes)
    groups = None if dimensions is None else parallelism_of(workload, dimensions).layers
    program = loop(Steps(workload, passes, groups))
    answer: Handle | None = None
    for number in count():
        try:
            operation = program.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(operation, Issue):
            request = operation.request
            answer = Handle(0, number, request, 0, done=finishes or not request.bytes)
        yield operation


def unissued_collectives(workload: Workload, dimensions: Sequence[int] | None = None) -> list[str]:
    """A warning for each kind of collective that the file has and its loop never issues; ASTRA-sim ignores it too."""
    issued = {(request.layer, request.pass_kind) for request in collective_requests(workload, dimensions=dimensions)}
    unissued: dict[tuple[str, str], list[str]] = {}
    for index, layer in enumerate(workload.layers):
        passes = {
            PassKind.FORWARD: layer.forward,
            PassKind.INPUT_GRADIENT: layer.input_gradient,
            PassKind.WEIGHT_GRADIENT: layer.weight_gradient,
        }
        for kind, part in passes.items():
            if part.collective is not None and part.bytes and (index, kind) not in issued:
                unissued.setdefault((kind.value, part.collective.value), []).append(layer.name)
    return [
        f"{workload.source}: loop {workload.loop} never issues the {kind} {collective} of {_layers(names)}"
        for (kind, collective), names in unissued.items()
    ]


def _layers(names: Sequence[str]) -> str:
    """The layers in words: one by its name, of several how many they are and the first."""
    if len(names) == 1:
        return f"layer '{names[0]}'"
    shown = ", ".join(f"'{name}'" for name in names[:_NAMED_LAYERS])
    return f"{len(names)} layers: {shown}{', ...' if len(names) > _NAMED_LAYERS else ''}"
