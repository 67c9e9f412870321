"""A training loop as a graph: what its programs do, node after node, for every NPU.

A program is one thread: what it computes waits for all that it has waited for before, and for what it computed last. A
collective or a message starts where the thread is. The time that an update takes is a node of the host's that follows
its collective. An all-to-all with counts is a message for each. *Model limits*: these aren't cut in chunks and take no
slots; updates of one NPU come one after the other there, in a loop side by side. Where groups
of NPUs end inside a dimension, a loop has a queue for each part of it, a graph one for all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.workload import Workload
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.records import Label
from astra_ns3.playing.dry_run.deadlock import check_programs, peer_of
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.programs.operations import Access, Compute, Operation, Receive, Send, Wait, WaitAny
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.policies import HIGHEST_PRIORITY, USUAL_POLICIES
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest
from astra_ns3.system.uneven import uneven_schedule
from astra_ns3.units import format_time

# The tag of messages that an all-to-all with counts is made of.
_UNEVEN = "counts"
# The priority of a node whose loop says HIGHEST: above all that counting reaches.
_BEFORE_OTHERS = HIGHEST_PRIORITY * 2 // 5


def _shape(dimensions: tuple[int, ...]) -> str:
    return "x".join(map(str, dimensions))


@dataclass(frozen=True)
class UnrolledLoop:
    """The doings of ``programs``. Raises InputError where no graph can say them.

    ``policy``: a system file's, of collectives whose loop names none; it counts only beside some whose loop does.
    """

    programs: RolePrograms
    policy: str = "LIFO"
    format: str = "unrolled"

    def __post_init__(self) -> None:
        refuse(
            bool(self.programs.reactive),
            "what its loop does next depends on time, which no graph can say",
            self.source,
        )
        check_programs(self.programs)

    @classmethod
    def of(cls, workload: Workload, passes: int, dimensions: tuple[int, ...], policy: str = "LIFO") -> UnrolledLoop:
        """The loop of a workload on a grid of ``dimensions``."""
        return cls(Programs.of(workload, passes, dimensions), policy)

    @property
    def source(self) -> str:
        """The file of the loop."""
        return self.programs.source

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The network's."""
        return self.programs.dimensions

    @property
    def npus(self) -> int:
        """Number of NPUs in the grid."""
        return self.programs.grid.npus

    @property
    def first_npus(self) -> tuple[int, ...]:
        """The first NPU of each role."""
        return tuple(role.ranks[0] for role in self.programs.roles)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Whether it is played otherwise than the loop."""
        return (*self._other_queues(), *self._other_messages())

    def other_updates(self) -> tuple[str, ...]:
        """A warning if updates of an NPU may meet: a graph has one after the other."""
        total_ps = max(self._updates_that_meet_ps(role) for role in self.programs.roles)
        if not total_ps:
            return ()
        return (
            f"{self.source}: updates behind collectives that go on at once (up to {format_time(total_ps)} of an NPU) "
            "are one after the other in the graph, side by side in the loop",
        )

    def _updates_that_meet_ps(self, role: Role) -> int:
        """Sum of update times of a role's collectives that are issued while another such one isn't waited for."""
        outstanding: dict[int, int] = {}
        meeting: dict[int, int] = {}
        for operation, handle in _operations(self.programs, role):
            if isinstance(operation, CollectiveRequest) and handle is not None:
                update_ps = self.update_ps(operation)
                if update_ps:
                    outstanding[handle.collective] = update_ps
                    meeting |= outstanding if len(outstanding) > 1 else {}
            elif isinstance(operation, Wait | WaitAny):
                for waited in operation.handles:
                    outstanding.pop(waited.collective, None)
        return sum(meeting.values())

    def _other_messages(self) -> tuple[str, ...]:
        if (_UNEVEN, 0) not in self._tags:
            return ()
        return (
            f"{self.source}: all-to-alls with counts (uneven experts or tables) are messages in the graph, not cut in "
            "chunks and without slots, since no collective of a graph can say counts",
        )

    def _other_queues(self) -> tuple[str, ...]:
        if self.programs.grid.sizes == self.dimensions:
            return ()
        aligned = self.programs.cut.aligned
        advice = "" if aligned is None else f"; on a network of {_shape(aligned)} it has the loop's queues"
        return (
            f"{self.source}: its groups of NPUs end inside a dimension of {_shape(self.dimensions)}: as a graph they "
            "wait in one queue (not with collectives: nccl), in the loop they don't, so the graph may take "
            f"longer{advice}",
        )

    @cached_property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """Members of every communicator that collectives name, numbered from 1."""
        return {str(number): ranks for (_, ranks), number in self._numbers.items()}

    def file_of(self, npu: int) -> str:
        """The loop's file and the NPU."""
        return f"{self.source}: NPU {npu}"

    def nodes(self, npu: int) -> Iterator[GraphNode]:
        """The program of an NPU as nodes, numbered from 0."""
        role = self.programs.role_of[npu]
        thread = _Thread(self, npu, role, role.ranks.index(npu))
        for operation, handle in _operations(self.programs, role):
            yield from thread.nodes(operation, handle)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> UnrolledLoop:
        """The graph of the scaled loop."""
        return replace(self, programs=self.programs.scaled(comm_scale, compute_scale))

    def group_of(self, npu: int, request: CollectiveRequest) -> str:
        """The name of the communicator of an NPU's collective, "" where its dimensions say it."""
        members = self._members(npu, request)
        return "" if members is None else str(self._numbers[_name_of(request), members])

    def members_of(self, npu: int, request: CollectiveRequest) -> tuple[int, ...]:
        """The NPUs among which an NPU's collective goes, in their places."""
        grid = self.programs.grid.of(request.communicator)
        dimensions = grid.wide if request.dimensions is None else request.dimensions
        return next(tuple(members) for members in grid.cosets(dimensions) if npu in members)

    def update_ps(self, request: CollectiveRequest) -> int:
        """Return the time behind a collective before it counts as done; 0 without data or partners."""
        layer = request.label.layer
        if not request.bytes or not isinstance(layer, int):
            return 0
        grid = self.programs.grid.of(request.communicator)
        dimensions = grid.wide if request.dimensions is None else request.dimensions
        return self.programs.updates_ps[layer] if any(grid.sizes[number] > 1 for number in dimensions) else 0

    def tag_of(self, tag: Hashable) -> int:
        """The number that stands for a message's tag."""
        return self._tags[tag]

    def _members(self, npu: int, request: CollectiveRequest) -> tuple[int, ...] | None:
        """The NPUs of a collective; None for what runs along whole dimensions of the world."""
        grid = self.programs.grid
        whole = grid.sizes == self.dimensions and (request.communicator is None or request.communicator.sizes is None)
        if request.communicator is None and (whole or request.dimensions is None):
            return None
        if request.dimensions is None:
            assert request.communicator is not None
            return request.communicator.ranks
        own = grid.of(request.communicator)
        return next(tuple(members) for members in own.cosets(request.dimensions) if npu in members)

    @cached_property
    def _numbers(self) -> dict[tuple[str, tuple[int, ...]], int]:
        """The number of each communicator: several of the same members, as experts and gradients may have, stay so."""
        found: dict[tuple[str, tuple[int, ...]], int] = {}
        for role in self.programs.roles:
            kinds: set[tuple[Communicator | None, tuple[int, ...] | None]] = set()
            for operation, _ in _operations(self.programs, role):
                if isinstance(operation, CollectiveRequest):
                    if (operation.communicator, operation.dimensions) in kinds:
                        continue
                    kinds.add((operation.communicator, operation.dimensions))
                    for npu in role.ranks:
                        members = self._members(npu, operation)
                        if members is not None:
                            found.setdefault((_name_of(operation), members), len(found) + 1)
        return found

    @cached_property
    def counts_priorities(self) -> bool:
        """Whether some collectives count in an order that their loop gives, so that all must say where they stand."""
        issued = (
            operation.policy
            for role in self.programs.roles
            for operation, _ in _operations(self.programs, role)
            if isinstance(operation, CollectiveRequest)
        )
        return any(policy in USUAL_POLICIES for policy in issued)

    def schedule_of(self, request: CollectiveRequest) -> tuple[Schedule, int]:
        """The messages of an all-to-all with counts, and the bytes of their blocks."""
        key = id(request.counts), id(request.relay)
        if key not in self._schedules:
            self._schedules[key] = request, uneven_schedule(request)
        return self._schedules[key][1]

    @cached_property
    def _schedules(self) -> dict[tuple[int, int], tuple[CollectiveRequest, tuple[Schedule, int]]]:
        return {}

    @cached_property
    def _tags(self) -> dict[Hashable, int]:
        found: dict[Hashable, int] = {}
        for role in self.programs.roles:
            for operation, _ in _operations(self.programs, role):
                if isinstance(operation, Send | Receive):
                    found.setdefault(operation.tag, len(found))
                elif isinstance(operation, CollectiveRequest) and operation.counts is not None:
                    steps = 1 if operation.relay is None else self.schedule_of(operation)[0].step.max(initial=0) + 1
                    for step in range(steps):
                        found.setdefault((_UNEVEN, step), len(found))
        return found


class _Thread:
    """The nodes of one NPU's program: ``_after`` are those that whatever comes next waits for."""

    def __init__(self, loop: UnrolledLoop, npu: int, role: Role, place: int) -> None:
        self._loop, self._npu, self._role, self._place = loop, npu, role, place
        self._layers = loop.programs.layer_names
        self._after: tuple[int, ...] = ()
        self._next = 0
        self._counter = 0
        self._ends: dict[int, tuple[int, ...]] = {}  # of each collective or message, by its handle's number

    def nodes(self, operation: Operation, handle: Handle | None) -> Iterator[GraphNode]:
        """The nodes of the next operation."""
        if isinstance(operation, Compute):
            time_ps = operation.time_ps if operation.times_ps is None else operation.times_ps[self._place]
            if time_ps:
                node = GraphNode(self._number(), self._name(operation.label), NodeKind.COMPUTE, self._after)
                self._after = (node.number,)
                yield node._replace(duration_ps=time_ps)
        elif isinstance(operation, CollectiveRequest):
            assert handle is not None
            yield from self._collective(operation, handle)
        elif isinstance(operation, Send | Receive):
            assert handle is not None
            yield self._message(operation, handle)
        elif isinstance(operation, Wait | WaitAny):
            refuse(
                len(operation.handles) > 1,
                "waits for one of several collectives, which no graph can say",
                self._loop.source,
            )
            ends = self._ends.get(operation.handle.collective, ())
            self._after = (*self._after, *(end for end in ends if end not in self._after))

    def _collective(self, request: CollectiveRequest, handle: Handle) -> Iterator[GraphNode]:
        label, dimensions = request.label, request.dimensions
        if request.counts is not None:
            yield from self._uneven(request, handle)
            return
        group = self._loop.group_of(self._npu, request)
        number = self._number()
        yield GraphNode(
            number,
            self._name(label),
            NodeKind.COLLECTIVE,
            self._after,
            collective=request.kind,
            bytes=request.bytes,
            group=group,
            dimensions=None
            if group or dimensions is None
            else tuple(number in dimensions for number in range(len(self._loop.dimensions))),
            priority=self._priority(request),
        )
        self._ends[handle.collective] = (number,)
        update_ps = self._loop.update_ps(request)
        if update_ps:
            update = self._number()
            name = f"{self._name(label)} update"
            yield GraphNode(update, name, NodeKind.COMPUTE, (number,), update_ps, on_host=True)
            self._ends[handle.collective] = (update,)

    def _uneven(self, request: CollectiveRequest, handle: Handle) -> Iterator[GraphNode]:
        """The messages of an all-to-all with counts, for which graphs have no word."""
        schedule, unit_bytes = self._loop.schedule_of(request)
        members = self._loop.members_of(self._npu, request)
        own = members.index(self._npu)
        sent, received = schedule.sent_by(own), schedule.received_by(own)
        name = self._name(request.label)
        numbers: list[int] = []
        came: dict[int, list[int]] = defaultdict(list)
        columns = received.step, received.sender, received.block_count, _moments(received)
        for step, peer, size, moment in zip(*(each.tolist() for each in columns), strict=True):
            numbers.append(self._number())
            came[step].append(numbers[-1])
            bytes_ = size * unit_bytes
            tag = self._loop.tag_of((_UNEVEN, moment))
            yield GraphNode(numbers[-1], name, NodeKind.RECEIVE, self._after, bytes=bytes_, peer=members[peer], tag=tag)
        columns = sent.wait_step, sent.receiver, sent.block_count, _moments(sent)
        for step, peer, size, moment in zip(*(each.tolist() for each in columns), strict=True):
            numbers.append(self._number())
            after = self._after if step < 0 else tuple(came[step])
            tag = self._loop.tag_of((_UNEVEN, moment))
            bytes_ = size * unit_bytes
            yield GraphNode(numbers[-1], name, NodeKind.SEND, after, bytes=bytes_, peer=members[peer], tag=tag)
        self._ends[handle.collective] = tuple(numbers)

    def _message(self, operation: Send | Receive, handle: Handle) -> GraphNode:
        refuse(bool(operation.rendezvous), "sends by rendezvous, which no node of a graph can say", self._loop.source)
        number = self._number()
        self._ends[handle.collective] = (number,)
        return GraphNode(
            number,
            self._name(operation.label),
            NodeKind.SEND if isinstance(operation, Send) else NodeKind.RECEIVE,
            self._after,
            bytes=operation.bytes,
            peer=peer_of(self._role, operation, self._place),
            tag=self._loop.tag_of(operation.tag),
        )

    def _priority(self, request: CollectiveRequest) -> int:
        """The number that the policy gives; 0, which says nothing, only where no collective has one."""
        policy = self._loop.policy if request.policy is None and self._loop.counts_priorities else request.policy
        if policy is None:
            return 0
        if policy == "HIGHEST":
            return _BEFORE_OTHERS
        if isinstance(policy, int):
            return policy
        priority, self._counter = USUAL_POLICIES[policy](self._counter, request)
        return priority if priority < 0 else priority + 1

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _name(self, label: Label) -> str:
        layer = self._layers[label.layer] if isinstance(label.layer, int) else str(label.layer)
        name = f"{layer} {label.part} {label.iteration}"
        return name if label.micro_batch is None else f"{name} micro-batch {label.micro_batch}"


def _moments(rows: Schedule) -> npt.NDArray[np.int32]:
    """The step in which each row is sent or waited for: two messages of a pair in any order have different ones."""
    return np.maximum(np.maximum(rows.step, rows.wait_step), 0)


def _name_of(request: CollectiveRequest) -> str:
    return "" if request.communicator is None else request.communicator.name


def _operations(programs: RolePrograms, role: Role) -> Iterator[tuple[Operation, Handle | None]]:
    """The operations of a role's program, with the handle of each collective and message."""
    program = programs.program(role)
    handle: Handle | None = None
    number = 0
    while True:
        try:
            operation = program.send(handle)
        except StopIteration:
            return
        handle = None
        if isinstance(operation, CollectiveRequest):
            handle = Handle(0, number, operation, 0, done=not operation.bytes)
        elif isinstance(operation, Send | Receive):
            message = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label)
            handle = Handle(0, number, message, 0, done=False)
        elif isinstance(operation, Access):
            raise wrong("stores or loads beyond the device, which graphs of ours can't say", programs.source)
        number += handle is not None
        yield operation, handle
