"""Training loops as generators, one program for each role; ours are ASTRA-sim 1.0's loops of the same names.

In these all NPUs have one role. In each a layer's forward pass first waits for its own weight-gradient collective of
the pass before, nothing else couples passes, and the end waits for all that is outstanding.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import get_args

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Workload
from astra_ns3.errors import located, nearest, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.playing.loops.simai_loop import simai_transformer, stages
from astra_ns3.playing.loops.steps import FORWARD, INPUT_GRADIENT, MOVE, WEIGHT_GRADIENT, Steps
from astra_ns3.playing.programs.operations import Operation, Program
from astra_ns3.playing.programs.roles import Role, RolesOf, one_role
from astra_ns3.user_code import (
    FORM,
    UserFunction,
    UserPart,
    a_kind_of,
    check_user_file,
    load_pure_part,
    told,
    user_part,
)
from astra_ns3.workload.loops.loop_kinds import LOOPS, check_loop

MOST_OWN_PASSES = 100_000
"""Passes of such a loop may differ, so all of them are played to see what it issues: seconds for so many."""
_OPERATIONS = get_args(Operation)


@dataclass(frozen=True)
class Loop:
    """``program(steps, role)``: what the NPUs of a role do. It isn't told which NPU it runs on, so they do the same.

    ``roles``: who has which role. ``reactive``: what is issued may depend on time (on which of several handles is done
    first, or when), so that nothing can be said of it before; collectives should then have a key. All others are
    fixed, and proved free of deadlock before they run. ``passes_alike``: what the second pass does, all later ones do.
    """

    program: Callable[[Steps, Role], Program]
    roles: RolesOf = one_role
    reactive: bool = False
    passes_alike: bool = True


def micro(steps: Steps, role: Role) -> Program:
    """Issue layer 0's weight-gradient collective once per pass, all at time 0; no compute.

    If passes never end, each waits for the one before.
    """
    for number in steps.passes:
        yield from steps.issue(number, 0, WEIGHT_GRADIENT)
        if steps.endless:
            yield from steps.wait(0, WEIGHT_GRADIENT)
    yield from steps.drain()


def data_parallel(steps: Steps, role: Role) -> Program:
    """Forward: compute, layer after layer.

    Backward, from the last layer: compute the weight gradient, issue that collective, compute the input gradient (not
    for layer 0).
    """
    for number in steps.passes:
        for layer in steps.forwards:
            yield from steps.forward_compute(number, layer)
            yield MOVE
        for layer in steps.backwards:
            yield from steps.compute(number, layer, WEIGHT_GRADIENT)
            yield from steps.issue(number, layer, WEIGHT_GRADIENT)
            yield MOVE
            if layer > 0:
                yield from steps.compute(number, layer, INPUT_GRADIENT)
                yield MOVE
    yield from steps.drain()


def distributed_inference(steps: Steps, role: Role) -> Program:
    """Forward passes only, as those of ``MODEL``."""
    for number in steps.passes:
        yield from steps.blocking_forwards(number, steps.forwards)
    yield from steps.drain()


def model_parallel(steps: Steps, role: Role) -> Program:
    """Forward: compute, issue the collective, wait for it.

    Backward: compute the input gradient, issue that collective (not for layer 0), compute the weight gradient, wait for
    the input-gradient collective.
    """
    for number in steps.passes:
        yield from steps.blocking_forwards(number, steps.forwards)
        for layer in steps.backwards:
            yield from _backward(steps, number, layer, input_gradient=layer > 0, weight_gradient=False)
    yield from steps.drain()


def hybrid(steps: Steps, role: Role) -> Program:
    """As ``MODEL``, and after the weight gradient is computed that collective is issued."""
    for number in steps.passes:
        yield from steps.blocking_forwards(number, steps.forwards)
        for layer in steps.backwards:
            yield from _backward(steps, number, layer, input_gradient=layer > 0)
    yield from steps.drain()


def hybrid_transformer(steps: Steps, role: Role) -> Program:
    """As ``HYBRID_DATA_MODEL``, and layer 0's input-gradient collective is issued too.

    Before the backward pass of a layer in ``checkpoint_initiates``, the forward passes from the nearest checkpoint at
    or below it up to the layer before it are done again, with their collectives.
    """
    checkpoints, initiates = steps.workload.checkpoints, steps.workload.checkpoint_initiates
    for number in steps.passes:
        yield from steps.blocking_forwards(number, steps.forwards)
        for layer in steps.backwards:
            if layer in initiates:
                yield MOVE
                checkpoint = max(kept for kept in checkpoints if kept <= layer)
                yield from steps.blocking_forwards(number, range(checkpoint, layer))
            yield from _backward(steps, number, layer)
    yield from steps.drain()


def hybrid_dlrm(steps: Steps, role: Role) -> Program:
    """As ``DATA``, and layer 0, the embedding, exchanges by all-to-all, before everything else.

    Forward, after the last bottom layer's compute the NPU waits for layer 0's all-to-all. Backward, after the input
    gradient of the layer behind that, layer 0's input-gradient collective is issued, and layer 0 waits for it. Its
    input gradient takes no compute.
    """
    return _dlrm(steps, waits_for_input_gradient=True)


def hybrid_dlrm_enhanced(steps: Steps, role: Role) -> Program:
    """As ``HYBRID_DLRM``, but nothing waits for layer 0's input-gradient collective before the end of the run."""
    return _dlrm(steps, waits_for_input_gradient=False)


PLAYED_LOOPS: Mapping[str, Loop] = {
    "MICRO": Loop(micro),
    "DATA": Loop(data_parallel),
    "MODEL": Loop(model_parallel),
    "HYBRID_DATA_MODEL": Loop(hybrid),
    "HYBRID_MODEL_DATA": Loop(hybrid),
    "HYBRID_DLRM": Loop(hybrid_dlrm),
    "HYBRID_DLRM_ENHANCED": Loop(hybrid_dlrm_enhanced),
    "HYBRID_TRANSFORMER": Loop(hybrid_transformer),
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": Loop(hybrid_transformer),
    "HYBRID_CUSTOMIZED": Loop(hybrid),
    "DISTRIBUTED_INFERENCE": Loop(distributed_inference),
    "SIMAI_TRANSFORMER": Loop(simai_transformer, stages),
    "SIMAI_TRANSFORMER_FWD_IN_BCKWD": Loop(simai_transformer, stages),
}
"""The loops of :data:`~astra_ns3.workload.loops.loop_kinds.LOOPS`."""


def loop_of(workload: Workload, passes: int) -> Loop:
    """The training loop of a workload; raises InputError if we don't have it, or it can't go with what is given."""
    own = user_part(workload.loop)
    if own is not None:
        with located(workload.source):
            check_user_file(Path(own.file), "training loop")
    loop = PLAYED_LOOPS.get(workload.loop) if own is None else _own_loop(own)
    if loop is None:
        raise wrong(
            f"loop '{workload.loop}' is not one of {', '.join(LOOPS)}, {FORM}{nearest(workload.loop, LOOPS)}",
            workload.source,
        )
    refuse(passes < 1, f"the number of passes must be at least 1, got {passes}")
    refuse(
        own is not None and passes > MOST_OWN_PASSES,
        f"the number of passes is {passes}, expected at most {MOST_OWN_PASSES} with a loop of your own, all of "
        "which are played once beforehand",
    )
    if own is None:
        check_loop(workload)
    return loop


def _own_loop(part: UserPart) -> Loop:
    """A loop of the user's: a function of ``(steps, role)``, with a Loop's ``roles`` and ``reactive`` as attributes."""
    program, function = own_program(part)
    roles, reactive = getattr(function, "roles", one_role), getattr(function, "reactive", False)
    refuse(
        not callable(roles), f"its 'roles' is {a_kind_of(roles)}, expected a function of (workload, grid)", str(part)
    )
    return Loop(program, roles, reactive=bool(reactive), passes_alike=False)


def _backward(
    steps: Steps, number: int, layer: int, *, input_gradient: bool = True, weight_gradient: bool = True
) -> Program:
    """A layer's backward pass: the input gradient is on its way while the weight gradient is computed.

    ``input_gradient``, ``weight_gradient``: whether that collective is issued.
    """
    yield from steps.compute(number, layer, INPUT_GRADIENT)
    if input_gradient:
        yield from steps.issue(number, layer, INPUT_GRADIENT, "LIFO")
    yield MOVE
    yield from steps.compute(number, layer, WEIGHT_GRADIENT)
    if weight_gradient:
        yield from steps.issue(number, layer, WEIGHT_GRADIENT, "FIFO")
    yield from steps.wait(layer, INPUT_GRADIENT)
    yield MOVE


def _dlrm(steps: Steps, *, waits_for_input_gradient: bool) -> Program:
    last_bottom = steps.workload.last_bottom_layer
    assert last_bottom is not None
    for number in steps.passes:
        for layer in steps.forwards:
            yield from steps.forward_compute(number, layer)
            if steps.workload.layers[layer].forward.collective is CollectiveKind.ALL_TO_ALL:
                yield from steps.issue(number, layer, FORWARD, "HIGHEST")
            if layer == last_bottom:
                yield from steps.wait(0, FORWARD)
            yield MOVE
        for layer in steps.backwards:
            yield from steps.compute(number, layer, WEIGHT_GRADIENT)
            yield from steps.issue(number, layer, WEIGHT_GRADIENT)
            if layer > 0:
                yield MOVE
                yield from steps.compute(number, layer, INPUT_GRADIENT)
            elif waits_for_input_gradient:
                yield from steps.wait(0, INPUT_GRADIENT)
            if layer == last_bottom + 1:
                yield from steps.issue(number, 0, INPUT_GRADIENT, "HIGHEST")
            yield MOVE
    yield from steps.drain()


def own_program(part: UserPart) -> tuple[Callable[[Steps, Role], Program], UserFunction]:
    """The program of a loop that the user's function is, and that function.

    Raises InputError as its file is loaded, and as it is played.
    """
    function = load_pure_part(part, "training loop")
    return lambda steps, role: _watched(function, part, steps, role), function


def _watched(function: UserFunction, part: UserPart, *arguments: object) -> Program:
    """The user's program; what it raises names its file and line, and what it yields is an operation."""
    program = function(*arguments)
    if not isinstance(program, Generator):
        raise wrong(f"gave {a_kind_of(program)}, expected a generator: it must yield operations", str(part))
    answer = None
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise told(error, part) from error
        if type(operation) not in _OPERATIONS:
            names = ", ".join(kind.__name__ for kind in _OPERATIONS)
            raise wrong(f"yielded {a_kind_of(operation)}, expected one of {names} (use 'yield from')", str(part))
        answer = yield operation
