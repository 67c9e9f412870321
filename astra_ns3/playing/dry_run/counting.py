"""The operations of a training loop's programs, counted without a run: once per role, however many NPUs have it.

A program that reacts to time is played as if everything were done at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.playing.dry_run.deadlock import message_pairs
from astra_ns3.playing.programs.operations import Access, Compute, Load, Operation, Receive, Send, Store, Waiting
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest


class RequestKind(NamedTuple):
    """All that a collective's plan depends on."""

    kind: CollectiveKind
    bytes: int
    dimensions: tuple[int, ...] | None
    communicator: Communicator | None
    counts: Parts | None = None
    relay: Relay | None = None
    pool: tuple[int, int] | None = None


def request_kind(request: CollectiveRequest) -> RequestKind:
    """Equal for requests that are planned alike."""
    return RequestKind(
        request.kind,
        request.bytes,
        request.dimensions,
        request.communicator,
        request.counts,
        request.relay,
        request.pool,
    )


Counts = list[tuple[CollectiveRequest, int]]
"""Each kind of collective, and how often it is issued."""


def counted_requests(programs: RolePrograms) -> Counts:
    """Each kind of collective that is issued, in the order of the first of each role, and how often.

    Found in a first pass and one that stands for all others, so that it takes no longer for more of them; a loop of the
    user's may tell passes apart, and is played through.
    """
    return _count(programs, lambda role: _operations(programs, role, programs.played_passes))


def issued_at_once(programs: RolePrograms) -> Counts:
    """Each kind of collective that is issued before its role computes or waits, and how often.

    Where a loop goes through a whole pass without a stop, it goes through all passes.
    """
    return _count(programs, lambda role: _first_operations(programs, role))


def expected_computation(programs: RolePrograms) -> tuple[int, int]:
    """For how long NPU 0 computes, and how many operations of all NPUs take time."""
    first_ps = operations = 0
    for role in programs.roles:
        time_ps = count = 0
        for operation in _operations(programs, role, programs.played_passes):
            if isinstance(operation, Compute) and operation.time_ps:
                times = programs.times(operation.label)
                time_ps += times * operation.time_ps
                count += times
        operations += count * len(role.ranks)
        if 0 in role.ranks:
            first_ps = time_ps
    return first_ps, operations


def computed_parts(programs: RolePrograms) -> set[tuple[int | str, str]]:
    """Return what some role computes: layers, each with the name of the pass."""
    return {
        (operation.label.layer, operation.label.part)
        for role in programs.roles
        for operation in _operations(programs, role, programs.played_passes)
        if isinstance(operation, Compute)
    }


_SECOND, _THIRD = 1, 2


def stops_in_each_pass(programs: RolePrograms) -> bool:
    """Return whether every role computes or waits in each pass. Otherwise passes would go on for ever in no time."""
    return all(_stops_in_second_pass(programs, role) for role in programs.roles)


def _stops_in_second_pass(programs: RolePrograms, role: Role) -> bool:
    begun = stops = False
    for operation in _operations(programs, role, _THIRD + 1, finishes=False):
        if isinstance(operation, Waiting) or (isinstance(operation, Compute) and operation.time_ps):
            stops = stops or begun
        if isinstance(operation, Compute | CollectiveRequest | Send | Receive):
            begun = begun or operation.label.iteration >= _SECOND
            if operation.label.iteration >= _THIRD:
                return stops
    return False


class PlannedMessages(NamedTuple):
    """Messages that go so many ``times`` between each of ``pairs``, source and destination."""

    pairs: tuple[tuple[int, int], ...]
    bytes: int
    rendezvous: bool
    times: int


def counted_messages(programs: RolePrograms) -> list[PlannedMessages]:
    """The messages of the roles, and how often each is sent."""
    counts: Counter[PlannedMessages] = Counter()
    for role, operation, times in _counted(programs):
        if isinstance(operation, Send):
            pairs = tuple(message_pairs(role, operation))
            counts[PlannedMessages(pairs, operation.bytes, operation.rendezvous, 0)] += times
    return [key._replace(times=count) for key, count in counts.items()]


class PlannedAccesses(NamedTuple):
    """Stores beyond the device, or loads from there, that each of ``npus`` does so many ``times``.

    ``remote``: in a remote memory; else on storage hosts.
    """

    npus: tuple[int, ...]
    bytes: int
    loads: bool
    remote: bool
    times: int


def counted_accesses(programs: RolePrograms) -> list[PlannedAccesses]:
    """The accesses of the roles to memory beyond the device, and how often each is done.

    Checkpoints after a time are left out: nobody knows how many there will be.
    """
    counts: Counter[PlannedAccesses] = Counter()
    for role, operation, times in _counted(programs):
        if isinstance(operation, Access) and not (isinstance(operation, Store) and operation.interval_ps):
            loads = isinstance(operation, Load)
            counts[PlannedAccesses(role.ranks, operation.bytes, loads, operation.remote, 0)] += times
    return [key._replace(times=count) for key, count in counts.items()]


def _counted(programs: RolePrograms) -> Iterator[tuple[Role, Send | Access, int]]:
    """Yield what roles send and access, and how often."""
    for role in programs.roles:
        for operation in _operations(programs, role, programs.played_passes):
            if isinstance(operation, Send | Access):
                yield role, operation, programs.times(operation.label)


def collective_requests(programs: RolePrograms) -> list[CollectiveRequest]:
    """Every collective that is issued in all passes, in program order of each role; raises InputError.

    One that several roles issue is there once.
    """
    requests: list[CollectiveRequest] = []
    told_by: dict[Communicator | None, Role] = {}
    for role in programs.roles:
        for operation in _operations(programs, role, programs.passes):
            if isinstance(operation, CollectiveRequest) and told_by.setdefault(operation.communicator, role) is role:
                requests.append(operation)
    return requests


def _count(programs: RolePrograms, operations_of: Callable[[Role], Iterator[Operation]]) -> Counts:
    """Count collectives, each communicator's in the first role that has a part in it."""
    counts: Counter[RequestKind] = Counter()
    first: dict[RequestKind, CollectiveRequest] = {}
    told_by: dict[Communicator | None, Role] = {}
    for role in programs.roles:
        for operation in operations_of(role):
            if isinstance(operation, CollectiveRequest) and told_by.setdefault(operation.communicator, role) is role:
                key = request_kind(operation)
                counts[key] += programs.times(operation.label)
                first.setdefault(key, operation)
    return [(request, counts[key]) for key, request in first.items()]


def _first_operations(programs: RolePrograms, role: Role) -> Iterator[Operation]:
    """The operations of a role until it first computes or waits."""
    for operation in _operations(programs, role, programs.played_passes, finishes=False):
        if isinstance(operation, Waiting) or (isinstance(operation, Compute) and operation.time_ps):
            return
        yield operation


def _operations(programs: RolePrograms, role: Role, passes: int, *, finishes: bool = True) -> Iterator[Operation]:
    """Yield the operations of a role. With ``finishes`` its collectives with data are done at once, else never."""
    program = programs.program(role, passes)
    answer: Handle | None = None
    number = 0
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(operation, CollectiveRequest):
            answer = Handle(0, number, operation, 0, done=finishes or not operation.bytes)
            number += 1
        elif isinstance(operation, Send | Receive):
            message = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label)
            answer = Handle(0, number, message, 0, done=finishes)
            number += 1
        elif isinstance(operation, Access):
            answer = Handle(0, number, operation.request(0), 0, done=finishes)
            number += 1
        yield operation
