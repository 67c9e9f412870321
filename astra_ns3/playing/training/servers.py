"""Parameter servers: NPUs that keep the weights, update them by what workers send, and send them back.

Each server has an equal part of every bucket, whole elements each. Synchronous, it waits for all workers' gradients of
a bucket, adds them up and sends everybody the new weights. Asynchronous, it updates by one worker's and answers that
worker, whoever comes first, and no worker waits for another. A worker needs the weights that came of its last gradients
before its next pass through a layer. Source: M. Li et al., "Scaling Distributed Machine Learning with the Parameter
Server", OSDI 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod

from astra_ns3.config.training_plan import Block, Degrees, Exchange, Group, Operation, OperationKind, TrainingPlan
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.network.records import Label
from astra_ns3.playing.programs.operations import Program, Receive, Send, WaitAny
from astra_ns3.playing.programs.roles import Role
from astra_ns3.playing.training.places import Among, Places
from astra_ns3.playing.training.sharding import Bucket, Shards
from astra_ns3.playing.training.stage_run import GRADIENT, UPDATE, WEIGHTS, StageRun, post, wait
from astra_ns3.playing.training.stage_script import StageScript
from astra_ns3.playing.training.step_maker import Computing, StepMaker
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import Handle
from astra_ns3.units import counted
from astra_ns3.workload.grids.grid_cut import GridCut

SERVERS = "servers"
"""The name under which waiting for messages between workers and servers is told."""


@dataclass(frozen=True)
class Part:
    """A server's part of a bucket. ``layer``: the first whose gradients are in it, by which it is called; ``tag``: of
    its messages; ``update``: what the server computes for the gradients that it waits for together."""

    layer: int
    tag: int
    gradient_bytes: int
    weight_bytes: int
    update: Computing


class ServedShards(Shards):
    """Weights that workers have whole, and that servers update."""

    def buckets(self, blocks: Sequence[Block]) -> tuple[Bucket, ...]:
        """Buckets of a part of the model, in the order in which their gradients are complete."""
        return tuple(Bucket(block, count, None, None) for block, count in self.cut(blocks, lambda own: own.parameters))

    def gathers(self, block: Block) -> tuple[Exchange, ...]:
        """None: workers have all weights."""
        return ()

    def update(self, blocks: Sequence[Block]) -> Operation:
        """Nothing is left for workers."""
        return Operation("update", OperationKind.OPTIMIZER)


@dataclass(frozen=True, eq=False)
class ServedPrograms(TrainingPrograms):
    """A role for each worker and for each server. Raises InputError for what servers can't serve."""

    @cached_property
    def cut(self) -> GridCut:
        """The network's dimensions as they are."""
        return GridCut(self.dimensions, (1,) * len(self.dimensions))

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """Workers, then servers."""
        self._check()
        names = [f"worker {number}" for number in range(self.workers)]
        names += [f"server {number}" for number in range(self.plan.servers)]
        return tuple(Role(name, Communicator([npu], name), npu) for npu, name in enumerate(names))

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.plan.degrees.npus

    @property
    def reactive(self) -> bool:
        """Whether servers answer whoever comes first."""
        return self.plan.asynchronous

    @property
    def servers(self) -> tuple[Role, ...]:
        """The roles of servers."""
        return self.roles[self.workers :]

    @cached_property
    def scripts(self) -> tuple[StageScript, ...]:
        """The script of each worker in an iteration."""
        maker = StepMaker(_Alone(self.plan), 0, self.clock, self.plan.source)
        return (StageScript(self.plan, 0, self.roles[:1], ServedShards(self.plan, maker)),)

    @cached_property
    def parts(self) -> dict[Bucket, Part]:
        """The part that a server does for each bucket, in the order in which workers send them."""
        plan, script = self.plan, self.scripts[0]
        together = 1 if plan.asynchronous else self.workers
        parts: dict[Bucket, Part] = {}
        for planned in script.order:
            for block in reversed(script.chunks[planned.work.chunk]) if planned.reduces else ():
                for bucket in block.buckets:
                    own = -(-bucket.parameters // plan.servers)
                    gradient, weight = own * plan.elements.gradient, own * plan.elements.weight
                    sent = plan.sent_bytes(gradient), plan.sent_bytes(weight)
                    moved = together * gradient + 2 * (weight + own * plan.elements.optimizer)
                    update = Operation("update", OperationKind.OPTIMIZER, bytes=moved)
                    update_ps = self.clock.time_ps(update)
                    parts[bucket] = Part(block.layer, len(parts), *sent, Computing(update_ps))
        return parts

    def program(self, role: Role, passes: int | None = None) -> Program:
        """A new run through the program of a worker or a server, in so many iterations (None: all)."""
        iterations = self.passes if passes is None else passes
        if role.number < self.workers:
            return WorkerRun(self, role).program(iterations)
        run = ServerRun([worker.communicator for worker in self.roles[: self.workers]], tuple(self.parts.values()))
        return run.asynchronous(iterations) if self.plan.asynchronous else run.synchronous(iterations)

    def _check(self) -> None:
        plan = self.plan
        refuse(
            bool(plan.degrees != Degrees(data=plan.degrees.data) or plan.sharding.stage),
            "parameter servers, with other parallelism than of data, or ZeRO, expected data alone",
            plan.source,
        )
        npus = prod(self.dimensions)
        refuse(
            self.workers + plan.servers != npus,
            f"{self.workers} workers and {plan.servers} servers, but the network has {counted(npus, 'NPU')}",
            plan.source,
        )


class _Alone(Places):
    """Workers, who exchange nothing with each other."""

    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__(plan.degrees, (plan.degrees.npus,), plan.source)
        self._source = plan.source

    def _among(self, group: Group, stage: int) -> Among | None:
        refuse(
            self._degrees.size(group) > 1,
            f"an exchange in groups '{group.value}', which workers of servers haven't",
            self._source,
        )
        return None


class WorkerRun(StageRun):
    """One worker's: gradients go to all servers, each begins with another one, and weights are awaited from them."""

    def __init__(self, programs: ServedPrograms, role: Role) -> None:
        super().__init__(programs.scripts[0])
        self._parts = programs.parts
        first = role.number % len(programs.servers)
        self._servers = [server.communicator for server in (*programs.servers[first:], *programs.servers[:first])]

    def _hand_in(self, label: Label, bucket: Bucket) -> Program:
        part = self._parts[bucket]
        for server in self._servers:
            sent = Send(server, part.gradient_bytes, (GRADIENT, part.tag), label, group=SERVERS)
            self._sent.append((yield from post(sent)))
        for server in self._servers:
            answer = Receive(
                server, part.weight_bytes, (WEIGHTS, part.tag), label._replace(part=WEIGHTS), group=SERVERS
            )
            self._weights.setdefault(part.layer, []).append((yield from post(answer)))


class ServerRun:
    """A server's: ``parts`` in the order in which workers send them."""

    def __init__(self, workers: Sequence[Communicator], parts: Sequence[Part]) -> None:
        self._workers = workers
        self._parts = parts
        self._sent: list[Handle] = []

    def synchronous(self, passes: int) -> Program:
        """Each part, when all workers' gradients are there."""
        for number in range(passes):
            for part in self._parts:
                handles = []
                for worker in self._workers:
                    handles.append((yield from post(self._gradient(number, part, worker))))
                yield from wait(handles)
                yield part.update.operation(Label(number, part.layer, UPDATE))
                for worker in self._workers:
                    yield from self._answer(number, part, worker)
        yield from wait(self._sent)

    def asynchronous(self, passes: int) -> Program:
        """Each worker's parts, in the order in which they come."""
        to_come = [((number, part) for number in range(passes) for part in self._parts) for _ in self._workers]
        awaited: dict[int, tuple[int, Part, Handle]] = {}
        for worker in range(len(self._workers)):
            yield from self._await(awaited, worker, to_come[worker])
        while awaited:
            yield WaitAny(tuple(handle for _, _, handle in awaited.values()))
            for worker, (number, part, handle) in list(awaited.items()):
                if handle.done:
                    del awaited[worker]
                    yield part.update.operation(Label(number, part.layer, UPDATE))
                    yield from self._answer(number, part, self._workers[worker])
                    yield from self._await(awaited, worker, to_come[worker])
        yield from wait(self._sent)

    def _await(
        self, awaited: dict[int, tuple[int, Part, Handle]], worker: int, to_come: Iterator[tuple[int, Part]]
    ) -> Program:
        """Be ready for what a worker sends next, if it does."""
        for number, part in to_come:
            handle = yield from post(self._gradient(number, part, self._workers[worker]))
            awaited[worker] = number, part, handle
            return

    def _answer(self, number: int, part: Part, worker: Communicator) -> Program:
        label = Label(number, part.layer, WEIGHTS)
        self._sent.append((yield from post(Send(worker, part.weight_bytes, (WEIGHTS, part.tag), label, group=SERVERS))))

    def _gradient(self, number: int, part: Part, worker: Communicator) -> Receive:
        return Receive(
            worker, part.gradient_bytes, (GRADIENT, part.tag), Label(number, part.layer, GRADIENT), group=SERVERS
        )
