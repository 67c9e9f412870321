"""Which collectives a training loop issues, without running it."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.workload import Workload
from astra_ns3.network.records import PassKind
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.workload.loops import loop_of
from astra_ns3.workload.operations import Issue, Program
from astra_ns3.workload.parallelism import parallelism_of
from astra_ns3.workload.steps import Steps


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
