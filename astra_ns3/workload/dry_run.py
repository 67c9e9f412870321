"""Which collectives a training loop issues, without running it."""

from __future__ import annotations

from astra_ns3.config.workload import Workload
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.workload.loops import program_of
from astra_ns3.workload.operations import Issue


def collective_requests(workload: Workload, passes: int = 1) -> list[CollectiveRequest]:
    """Every collective that each NPU issues in ``passes`` passes, in program order; raises InputError."""
    program = program_of(workload, passes)
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
