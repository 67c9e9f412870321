"""Training loops as generators: one program that every NPU runs, after ASTRA-sim 1.0's loops of the same names.

In every loop a layer's forward pass first waits for its own weight-gradient collective of the pass before, nothing
else couples passes, and the end waits for all that is outstanding. Left out is ASTRA-sim's extra nanosecond for each
move of its state machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError, nearest
from astra_ns3.network.records import PassKind
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.operations import Compute, Issue, Loop, Program, Wait

FORWARD, WEIGHT_GRADIENT, INPUT_GRADIENT = PassKind.FORWARD, PassKind.WEIGHT_GRADIENT, PassKind.INPUT_GRADIENT


def micro(workload: Workload, passes: int) -> Program:
    """Issue layer 0's weight-gradient collective once per pass, all at time 0; no compute."""
    steps = _Steps(workload)
    for pass_number in range(passes):
        yield from steps.issue(pass_number, 0, WEIGHT_GRADIENT)
    yield from steps.drain()


def data_parallel(workload: Workload, passes: int) -> Program:
    """Backwards each layer computes its weight gradient, issues that collective, and computes its input gradient."""
    steps = _Steps(workload)
    for pass_number in range(passes):
        for layer in range(len(workload.layers)):
            yield from steps.wait(layer, WEIGHT_GRADIENT)
            yield steps.compute(pass_number, layer, FORWARD)
        for layer in reversed(range(len(workload.layers))):
            yield steps.compute(pass_number, layer, WEIGHT_GRADIENT)
            yield from steps.issue(pass_number, layer, WEIGHT_GRADIENT)
            if layer > 0:
                yield steps.compute(pass_number, layer, INPUT_GRADIENT)
    yield from steps.drain()


def hybrid_dlrm(workload: Workload, passes: int) -> Program:
    """Data parallel, and layer 0 (the embedding tables) exchanges by all-to-all, before everything else.

    Forward, the last bottom layer waits for layer 0's all-to-all; backwards, the layer after the last bottom layer
    issues layer 0's input-gradient collective, for which layer 0 waits.
    """
    return _dlrm(workload, passes, waits_for_input_gradient=True)


def hybrid_dlrm_enhanced(workload: Workload, passes: int) -> Program:
    """As :func:`hybrid_dlrm`, but nothing waits for layer 0's input-gradient collective before the end of the run."""
    return _dlrm(workload, passes, waits_for_input_gradient=False)


LOOPS: Mapping[str, Loop] = {
    "MICRO": micro,
    "DATA": data_parallel,
    "HYBRID_DLRM": hybrid_dlrm,
    "HYBRID_DLRM_ENHANCED": hybrid_dlrm_enhanced,
}


def program_of(workload: Workload, passes: int) -> Program:
    """One NPU's run through ``passes`` passes of a workload; raises InputError for a loop we don't have."""
    loop = LOOPS.get(workload.loop)
    if loop is None:
        raise InputError(
            f"{workload.source}: loop '{workload.loop}' is not one of {', '.join(LOOPS)}{nearest(workload.loop, LOOPS)}"
        )
    if passes < 1:
        raise InputError(f"the number of passes must be at least 1, got {passes}")
    return loop(workload, passes)


def pass_of(layer: Layer, kind: PassKind) -> Pass:
    """One of a layer's three passes."""
    return {FORWARD: layer.forward, WEIGHT_GRADIENT: layer.weight_gradient, INPUT_GRADIENT: layer.input_gradient}[kind]


def _dlrm(workload: Workload, passes: int, *, waits_for_input_gradient: bool) -> Program:
    steps = _Steps(workload)
    last_bottom = workload.last_bottom_layer
    if last_bottom is None:
        raise InputError(f"{workload.source}: {workload.loop} needs the number of its last bottom layer")
    for pass_number in range(passes):
        for layer in range(len(workload.layers)):
            yield from steps.wait(layer, WEIGHT_GRADIENT)
            yield steps.compute(pass_number, layer, FORWARD)
            if workload.layers[layer].forward.collective is CollectiveKind.ALL_TO_ALL:
                yield from steps.issue(pass_number, layer, FORWARD, "HIGHEST")
            if layer == last_bottom:
                yield from steps.wait(0, FORWARD)
        for layer in reversed(range(len(workload.layers))):
            yield steps.compute(pass_number, layer, WEIGHT_GRADIENT)
            yield from steps.issue(pass_number, layer, WEIGHT_GRADIENT)
            if layer > 0:
                yield steps.compute(pass_number, layer, INPUT_GRADIENT)
            elif waits_for_input_gradient:
                yield from steps.wait(0, INPUT_GRADIENT)
            if layer == last_bottom + 1:
                yield from steps.issue(pass_number, 0, INPUT_GRADIENT, "HIGHEST")
    yield from steps.drain()


class _Steps:
    """The steps that loops are made of, and the collectives that nothing has waited for yet."""

    def __init__(self, workload: Workload) -> None:
        self._layers = workload.layers
        self._outstanding: dict[tuple[int, PassKind], list[Handle]] = {}

    def compute(self, pass_number: int, layer: int, kind: PassKind) -> Compute:
        return Compute(pass_number, layer, kind, pass_of(self._layers[layer], kind).compute_ns * PS_PER_NS)

    def issue(self, pass_number: int, layer: int, kind: PassKind, policy: str | None = None) -> Program:
        """Issue the collective of a layer's pass, if it has one."""
        part = pass_of(self._layers[layer], kind)
        if part.collective is None:
            return
        handle = yield Issue(CollectiveRequest(part.collective, part.bytes, layer, pass_number, kind, policy))
        assert handle is not None
        if not handle.done:
            self._outstanding.setdefault((layer, kind), []).append(handle)

    def wait(self, layer: int, kind: PassKind) -> Program:
        """Wait for all collectives issued so far in a layer's pass."""
        for handle in self._outstanding.pop((layer, kind), []):
            yield Wait(handle)

    def drain(self) -> Program:
        """After the last pass: layer 0's weight gradient as at the begin of a forward pass, then all others."""
        yield from self.wait(0, WEIGHT_GRADIENT)
        left = [handle for handles in self._outstanding.values() for handle in handles]
        for handle in sorted(left, key=lambda handle: handle.collective):
            yield Wait(handle, tail=True)
