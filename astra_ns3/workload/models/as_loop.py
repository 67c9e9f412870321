"""A model as a training loop of ASTRA-sim's text, where that can say it: copies of a model, split over tensor groups.

A block becomes as many layers as it has exchanges forward or backward, whichever are more, for a layer has one. Things
that the text can't say are refused. Others it says otherwise. The gradients of a block's weights, computed and sent,
stand in its first layer, beside whose last exchange they are computed. Work that follows a block's last exchange stands
before it. Loops have orders of their own: ``DATA`` computes and sends a layer's gradients of weights before those of
its input, and ``HYBRID_TRANSFORMER`` computes the former while the latter's exchange goes on. Models compute gradients
of inputs first, so they hide less, or other things. Times are rounded up to nanoseconds; nothing says what the update
takes.
"""

from __future__ import annotations

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Exchange, Group, Item, Operation, TrainingPlan
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.computing.clock import Clock
from astra_ns3.workload.models.workload import ModelWorkload

_INSTEAD = "a model file can be run itself, or written as chakra"


@dataclass(frozen=True)
class _Segment:
    """Computing, then an exchange (None: the block has no more)."""

    compute_ps: int = 0
    exchange: Exchange | None = None

    def as_pass(self) -> Pass:
        compute_ns = -(-self.compute_ps // PS_PER_NS)
        if self.exchange is None:
            return Pass(compute_ns)
        return Pass(compute_ns, self.exchange.kind, self.exchange.bytes)


def model_as_loop(workload: ModelWorkload, npus: int) -> Workload:
    """The loop of one iteration on so many NPUs; raises InputError, naming what the text has no words for."""
    plan, clock = workload.plan(npus), workload.clock()
    _check(plan)
    layers = tuple(layer for chunk in plan.chunks for block in chunk for layer in _layers(block, plan, clock))
    if plan.degrees.tensor == 1:
        return Workload("DATA", layers, source=plan.source)
    return Workload("HYBRID_TRANSFORMER", layers, source=plan.source, model_parallel_npus=plan.degrees.tensor)


def lost_as_loop(workload: ModelWorkload, npus: int) -> tuple[str, ...]:
    """A warning for each thing that the loop of :func:`model_as_loop` leaves out; raises InputError as that does."""
    plan, loop = workload.plan(npus), model_as_loop(workload, npus)
    lost = ["the update of weights isn't in it"] if any(block.parameters for block in plan.chunks[0]) else []
    if plan.degrees.gradient > 1 and plan.sharding.bucket_bytes is not None:
        lost.append("parallel.bucket isn't in it: each block's gradients are sent at once")
    if plan.degrees.gradient > 1 and not plan.sharding.overlap:
        lost.append("parallel.overlap off isn't in it: gradients are sent while the backward pass goes on")
    if any(block.summed_parameters for block in plan.chunks[0]):
        lost.append("the sum of normalisations' gradients over tensor groups isn't in it")
    lost += _other_order(plan)
    first = loop.layers[0].input_gradient
    if loop.loop == "DATA" and first.compute_ns:
        lost.append(
            f"{first.compute_ns} ns of layer {loop.layers[0].name}'s input gradient aren't computed in its loop"
        )
    return tuple(f"{plan.source}: ASTRA-sim's text: {what}" for what in lost)


def _other_order(plan: TrainingPlan) -> list[str]:
    """Say what a loop has in another order than the model, so that it hides other exchanges."""
    blocks = [block for chunk in plan.chunks for block in chunk]
    if plan.degrees.tensor == 1:
        if plan.degrees.gradient == 1 or not any(block.parameters and block.input_gradient for block in blocks[1:]):
            return []
        return ["it computes and sends gradients of weights before those of a layer's input, and so hides more of them"]
    if not any(map(_hides_otherwise, blocks)):
        return []
    return ["it hides exchanges of tensor groups behind gradients of weights otherwise than the model, so times differ"]


def _hides_otherwise(block: Block) -> bool:
    """Whether a loop, which waits for all exchanges but computes gradients of weights during the last, is unlike."""
    waited = [item.waited for item in block.input_gradient if isinstance(item, Exchange)]
    if not waited:
        return False
    *others, last = waited
    hides = not last and isinstance(block.input_gradient[-1], Exchange)
    return not all(others) or hides != bool(block.weight_gradient)


def _check(plan: TrainingPlan) -> None:
    for what, found, expected in (
        ("parallel.pipeline", plan.degrees.pipeline, 1),
        ("parallel.virtual_stages", plan.virtual_stages, 1),
        ("parallel.context", plan.degrees.context, 1),
        ("parallel.zero", plan.sharding.stage, 0),
        ("parallel.servers", plan.servers, 0),
        ("training.micro_batches", plan.micro_batches, 1),
    ):
        refuse(
            found != expected,
            f"{what}: found {found}, expected {expected}: ASTRA-sim's text can't say it; {_INSTEAD}",
            plan.source,
        )


def _layers(block: Block, plan: TrainingPlan, clock: Clock) -> list[Layer]:
    """The parts of a block."""
    if any(not isinstance(item, Operation) for item in block.again):
        raise _unsaid(plan, block, "an exchange while something is computed again")
    forward = _segments(block.forward, block, plan, clock)
    backward = _segments((*block.again, *block.input_gradient), block, plan, clock)
    weights = sum(segment.compute_ps for segment in _segments(block.weight_gradient, block, plan, clock))
    count = max(len(forward), len(backward))
    forward += [_Segment()] * (count - len(forward))
    backward = [_Segment()] * (count - len(backward)) + backward[::-1]
    names = (
        [block.name.replace(" ", "_")] if count == 1 else [f"{block.name}.{n}".replace(" ", "_") for n in range(count)]
    )
    shared = block.parameters + (block.expert_parameters if plan.degrees.expert == 1 else 0)
    gradient_bytes = shared * plan.elements.gradient
    sends = gradient_bytes and plan.degrees.gradient > 1
    first = Pass(
        -(-weights // PS_PER_NS),
        CollectiveKind.ALL_REDUCE if sends else None,
        gradient_bytes if sends else 0,
    )
    return [
        Layer(name, ahead.as_pass(), back.as_pass(), first if number == 0 else Pass(0))
        for number, (name, ahead, back) in enumerate(zip(names, forward, backward, strict=True))
    ]


def _segments(items: tuple[Item, ...], block: Block, plan: TrainingPlan, clock: Clock) -> list[_Segment]:
    """Cut behind each exchange; at least one."""
    found, compute_ps = [], 0
    for item in items:
        if isinstance(item, Operation):
            compute_ps += clock.time_ps(item)
        elif isinstance(item, Exchange) and item.group is Group.TENSOR:
            found.append(_Segment(compute_ps, item))
            compute_ps = 0
        else:
            raise _unsaid(plan, block, f"what goes on in its {item.group.value} group")
    if not found:
        return [_Segment(compute_ps)]
    last = found[-1]
    return [*found[:-1], _Segment(last.compute_ps + compute_ps, last.exchange)]


def _unsaid(plan: TrainingPlan, block: Block, what: str) -> InputError:
    return wrong(f"{block.name}: ASTRA-sim's text can't say {what}; {_INSTEAD}", plan.source)
