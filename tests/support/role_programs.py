"""Loops of several roles, written out as lists of steps: what tests of communicators, messages and deadlocks play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.network.records import Label
from astra_ns3.playing.loops.loops import Loop
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Compute, Operation, Program, Receive, Send, Wait, WaitAny
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest, Handle


@dataclass(frozen=True)
class Await:
    """Wait for what the steps with these numbers posted: all, or any."""

    steps: tuple[int, ...]
    any: bool = False


Step = Operation | Await


def collective(
    communicator: Communicator | None = None,
    bytes: int = 1000,
    kind: CollectiveKind = CollectiveKind.ALL_REDUCE,
    **more: object,
) -> CollectiveRequest:
    label = Label(0, "layer", "forward")
    return CollectiveRequest(kind, bytes, label, communicator=communicator, **more)  # type: ignore[arg-type]


def wait(*steps: int) -> Await:
    return Await(steps)


def plain_workload(layers: int = 1) -> Workload:
    """Its loop is never asked for."""
    nothing = Pass(0)
    return Workload("MICRO", tuple(Layer(f"layer{n}", nothing, nothing, nothing, 0) for n in range(layers)))


def loop_of_steps(programs: Mapping[str, tuple[Sequence[int], Sequence[Step]]], *, reactive: bool = False) -> Loop:
    """``programs``: of each role its NPUs and what they do."""

    def program(steps: Steps, role: Role) -> Program:
        handles: dict[int, Handle] = {}
        for number, step in enumerate(programs[role.name][1]):
            if not isinstance(step, Await):
                handle = yield step
                if handle is not None:
                    handles[number] = handle
            elif step.any:
                yield WaitAny(tuple(handles[posted] for posted in step.steps))
            else:
                for posted in step.steps:
                    yield Wait(handles[posted])

    return Loop(program, lambda workload, grid: {name: ranks for name, (ranks, _) in programs.items()}, reactive)


def pipeline(micro_batches: int, npus: int, bytes: int, *, rendezvous: bool = False) -> Loop:
    """Two stages of ``npus`` NPUs each, one micro-batch after the other forward, one before the last backward (1F1B).

    At the end each stage reduces its gradients.
    """

    def program(steps: Steps, role: Role) -> Program:
        first, last = steps.roles["first"].communicator, steps.roles["last"].communicator
        is_first = role.name == "first"

        def tensor(batch: int, part: str) -> tuple[int, tuple[str, int], Label, bool]:
            return bytes, (part, batch), Label(number, 0, part, batch), rendezvous

        for number in steps.passes:
            posted = []
            for step in range(micro_batches + 1):
                if is_first:
                    if step < micro_batches:
                        yield Compute(Label(number, 0, "forward", step), 1_000_000)
                        posted.append((yield Send(last, *tensor(step, "forward"))))
                    if step > 0:
                        gradient = yield Receive(last, *tensor(step - 1, "input gradient"))
                        yield Wait(gradient)  # type: ignore[arg-type]
                        yield Compute(Label(number, 0, "weight gradient", step - 1), 2_000_000)
                elif step < micro_batches:
                    activation = yield Receive(first, *tensor(step, "forward"))
                    yield Wait(activation)  # type: ignore[arg-type]
                    yield Compute(Label(number, 0, "forward", step), 1_000_000)
                    yield Compute(Label(number, 0, "input gradient", step), 2_000_000)
                    posted.append((yield Send(first, *tensor(step, "input gradient"))))
            for handle in posted:
                yield Wait(handle)  # type: ignore[arg-type]
            label = Label(number, 0, "weight gradient")
            request = CollectiveRequest(CollectiveKind.ALL_REDUCE, bytes, label, communicator=role.communicator)
            reduced = yield request
            yield Wait(reduced)  # type: ignore[arg-type]

    return Loop(program, lambda workload, grid: {"first": range(npus), "last": range(npus, 2 * npus)})
