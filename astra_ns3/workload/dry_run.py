"""Which collectives a training loop issues, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.workload import Workload
from astra_ns3.network.records import PassKind
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.workload.loops import loop_of
from astra_ns3.workload.operations import Compute, Issue, Program, Wait
from astra_ns3.workload.parallelism import parallelism_of
from astra_ns3.workload.steps import Steps


_DIFFERENT_PASSES = 2
"""A first pass, and one that stands for all others: no loop tells them apart."""


RequestKind = tuple[CollectiveKind, int, tuple[int, ...] | None]
"""What decides how a collective is planned: its kind, its bytes, its dimensions."""


def request_kind(request: CollectiveRequest) -> RequestKind:
    """Equal for requests that are planned alike."""
    return request.kind, request.bytes, request.dimensions


def counted_requests(
    workload: Workload, passes: int, dimensions: Sequence[int] | None = None
) -> list[tuple[CollectiveRequest, int]]:
    """Each kind of collective that an NPU issues in ``passes`` passes, in the order of the first, and how often.

    Found in a first pass and one that stands for all others, so that it takes no longer for more of them. Arguments as
    for :func:`collective_requests`.
    """
    played = min(passes, _DIFFERENT_PASSES)
    counts: Counter[RequestKind] = Counter()
    first: dict[RequestKind, CollectiveRequest] = {}
    for request in collective_requests(workload, played, dimensions):
        key = request_kind(request)
        counts[key] += 1 if request.pass_number == 0 else passes - 1
        first.setdefault(key, request)
    return [(request, counts[key]) for key, request in first.items()]


def issued_at_once(
    workload: Workload, passes: int, dimensions: Sequence[int] | None = None
) -> list[tuple[CollectiveRequest, int]]:
    """Each kind of collective that an NPU issues before it computes or waits, and how often.

    Where a loop goes through a whole pass without a stop, it goes through all ``passes``. Arguments as for
    :func:`collective_requests`.
    """
    counts: Counter[RequestKind] = Counter()
    first: dict[RequestKind, CollectiveRequest] = {}
    for request in _first_requests(workload, min(passes, _DIFFERENT_PASSES), dimensions):
        key = request_kind(request)
        counts[key] += 1 if request.pass_number == 0 else passes - 1
        first.setdefault(key, request)
    return [(request, counts[key]) for key, request in first.items()]


def _first_requests(workload: Workload, passes: int, dimensions: Sequence[int] | None) -> list[CollectiveRequest]:
    """What is issued until the loop first computes or waits."""
    loop = loop_of(workload, passes)
    groups = None if dimensions is None else parallelism_of(workload, dimensions).layers
    program = loop(Steps(workload, passes, groups))
    found: list[CollectiveRequest] = []
    answer: Handle | None = None
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return found
        answer = None
        if isinstance(operation, Issue):
            found.append(operation.request)
            done = not operation.request.bytes
            answer = Handle(0, len(found) - 1, operation.request, 0, done=done)
        elif isinstance(operation, Wait) or (isinstance(operation, Compute) and operation.time_ps):
            return found


def collective_requests(
    workload: Workload, passes: int = 1, dimensions: Sequence[int] | None = None
) -> list[CollectiveRequest]:
    """Every collective that each NPU issues in ``passes`` passes, in program order; raises InputError.

    ``dimensions``: NPUs along each, before a cut (None: requests don't say over which they go).
    """
    loop = loop_of(workload, passes)
    groups = None if dimensions is None else parallelism_of(workload, dimensions).layers
    return _requests(loop(Steps(workload, passes, groups)))


def _requests(program: Program) -> list[CollectiveRequest]:
    requests: list[CollectiveRequest] = []
    answer: Handle | None = None
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return requests
        answer = None
        if isinstance(operation, Issue):
            requests.append(operation.request)
            answer = Handle(0, len(requests) - 1, operation.request, 0, done=True)


def unissued_collectives(workload: Workload, dimensions: Sequence[int] | None = None) -> list[str]:
    """A warning for each collective in the file that its training loop never issues, as ASTRA-sim ignores it too."""
    issued = {(request.layer, request.pass_kind) for request in collective_requests(workload, dimensions=dimensions)}
    warnings = []
    for index, layer in enumerate(workload.layers):
        passes = {
            PassKind.FORWARD: layer.forward,
            PassKind.INPUT_GRADIENT: layer.input_gradient,
            PassKind.WEIGHT_GRADIENT: layer.weight_gradient,
        }
        for kind, part in passes.items():
            if part.collective is not None and part.bytes and (index, kind) not in issued:
                warnings.append(
                    f"{workload.source}: loop {workload.loop} never issues the {kind.value} {part.collective.value} of "
                    f"layer '{layer.name}'"
                )
    return warnings
