"""Small trainings, a clock that knows what they take, and a network to play them on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.training_plan import (
    Block,
    Degrees,
    Exchange,
    Group,
    Operation,
    OperationKind,
    Ring,
    TrainingPlan,
    Uneven,
)
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import Label, RunRecords
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.programs.operations import Compute, Receive, Send, Wait
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.system.file import parse_system
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest
from support.fake_backend import FakeBackend

SHORT = {"forward": "f", "input gradient": "i", "weight gradient": "w", "recompute": "again"}


class FlopClock:
    """A flop is a picosecond, and a byte is one; what is asked is counted."""

    def __init__(self) -> None:
        self.asked: list[Operation] = []

    def time_ps(self, operation: Operation) -> int:
        self.asked.append(operation)
        return max(operation.flops, operation.bytes)

    def memory_bound(self, operation: Operation) -> bool:
        return operation.bytes > operation.flops


def takes(time_ps: int, name: str = "operation") -> Operation:
    """An operation of so long."""
    return Operation(name, OperationKind.MATMUL, flops=time_ps)


def block(name: str, forward_ps: int = 0, input_ps: int = 0, weight_ps: int = 0, parameters: int = 0) -> Block:
    """A layer that only computes."""
    return Block(name, (takes(forward_ps),), (takes(input_ps),), (takes(weight_ps),), parameters=parameters)


def plan_of(degrees: Degrees, chunks: Sequence[Sequence[Block]], **keys: Any) -> TrainingPlan:
    """A training whose stages send each other 1,000 bytes."""
    return TrainingPlan("small", "small.yaml", degrees, tuple(map(tuple, chunks)), **{"boundary_bytes": 1000, **keys})


def programs_of(plan: TrainingPlan, passes: int = 1, dimensions: Sequence[int] | None = None) -> TrainingPrograms:
    """On a network of one dimension, unless others are given."""
    return TrainingPrograms.of(plan, FlopClock(), passes, dimensions or (plan.degrees.npus,))


def training_system(dimensions: int, policy: str = "FIFO", splits: int = 1) -> SystemConfig:
    """Rings, ``splits`` chunks a collective; an all-reduce over several dimensions scatters, then gathers."""
    keys: dict[str, Any] = {"scheduling-policy": policy, "preferred-dataset-splits": splits}
    keys["collective-optimization"] = "localBWAware"
    for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all"):
        keys[f"{kind}-implementation"] = ["direct" if kind == "all-to-all" else "ring"] * dimensions
    return parse_system(keys)


def play(
    plan: TrainingPlan,
    passes: int = 1,
    dimensions: Sequence[int] | None = None,
    *,
    ideal: bool = False,
    policy: str = "FIFO",
    splits: int = 1,
) -> RunRecords:
    """``ideal``: whatever is sent is there at once; ``policy`` and ``splits``: of the system."""
    programs = programs_of(plan, passes, dimensions)
    cost = (lambda bytes: 0) if ideal else (lambda bytes: 1_000 + bytes)
    network = FakeBackend(prod(programs.dimensions), message_ps=cost, endpoint=EndpointModel(0))
    driver = ProgramsDriver(network, training_system(len(programs.dimensions), policy, splits), programs)
    driver.run()
    return driver.records()


def trace(programs: TrainingPrograms, stage: int = 0) -> list[str]:
    """What a stage does: ``compute f0.1`` (layer, micro-batch), ``issue i1.0 REDUCESCATTER 8``, ``wait i1.0``,
    ``send activation.0``, ``compute update``, ...; what is sent is done at once, nothing else is."""
    program = programs.program(programs.roles[stage])
    answer: Handle | None = None
    steps: list[str] = []
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return steps
        answer = None
        if isinstance(operation, Compute):
            steps.append(f"compute {_named(operation.label)}")
        elif isinstance(operation, Wait):
            steps.append(f"{'tail' if operation.tail else 'wait'} {_named(operation.handle.request.label)}")
        elif isinstance(operation, CollectiveRequest):
            steps.append(f"issue {_named(operation.label)} {operation.kind.value} {operation.bytes}")
            answer = Handle(0, 0, operation, 0, done=False)
        elif isinstance(operation, Send | Receive):
            steps.append(f"{type(operation).__name__.lower()} {_named(operation.label)}")
            message = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label)
            answer = Handle(0, 0, message, 0, done=False)


def lines(text: str) -> list[str]:
    """Steps written one after the other, with semicolons or line ends between."""
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


def _named(label: Label) -> str:
    part = SHORT.get(label.part, f"{label.part} ")
    layer = "" if isinstance(label.layer, str) else label.layer
    batch = "" if label.micro_batch is None else f".{label.micro_batch}"
    return f"{part}{layer}{batch}".replace(" .", ".").strip()


def layer_of_all_kinds(parameters: int, compute_ps: int) -> Block:
    """Computes 5 times so long in a micro-batch, and once or twice more: the second expert of two takes longer.

    On two NPUs in tensor, context and expert groups each it sends 4 bytes a parameter: an all-gather of half a byte
    each and a reduce-scatter of one in tensor groups, forward and backward; half a byte through a ring,
    backward two quarters, all the way home; two all-to-alls of a byte, of which half stays.
    """
    gather = Exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, parameters // 2)
    scatter = Exchange(CollectiveKind.REDUCE_SCATTER, Group.TENSOR, parameters)
    send = Exchange(CollectiveKind.ALL_TO_ALL, Group.EXPERT, parameters)
    half = takes(compute_ps // 2)
    home = Ring(Group.CONTEXT, half, 0, home_bytes=parameters // 4)
    experts = Uneven(Group.EXPERT, (takes(compute_ps), takes(2 * compute_ps)))
    return Block(
        "layer",
        forward=(gather, Ring(Group.CONTEXT, half, parameters // 2), scatter, send, experts, send),
        again=(takes(compute_ps),),
        input_gradient=(gather, home, replace(scatter, waited=False)),
        weight_gradient=(takes(2 * compute_ps),),
        parameters=parameters,
        expert_parameters=parameters,
    )
