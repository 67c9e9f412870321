"""The steps that all training loops are made of: compute, issue, wait, written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from astra_ns3.config.workload import Pass, PassKind, Workload
from astra_ns3.network.records import Label
from astra_ns3.playing.loops.group_communicators import GroupCommunicators
from astra_ns3.playing.programs.operations import Compute, Move, Program, Wait, WaitAny
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.loops.pass_dimensions import USUAL_GROUPS, PassDimensions

FORWARD, WEIGHT_GRADIENT, INPUT_GRADIENT = PassKind.FORWARD, PassKind.WEIGHT_GRADIENT, PassKind.INPUT_GRADIENT
MOVE = Move()


class Steps:
    """One NPU's steps through ``passes`` passes of ``workload``, and the collectives that nothing has waited for yet.

    ``dimensions``: over which each layer's collectives go (None: all). ``roles``: all there are. ``groups``: of NPUs,
    in SimAI's loops.
    ``exposed_until_first_end``: the option of this name of
    :class:`~astra_ns3.config.core.compatibility.Compatibility`. ``endless``: nobody knows how many passes there will
    be, so none may begin before something of an earlier one has ended.
    """

    def __init__(
        self,
        workload: Workload,
        passes: int,
        dimensions: Sequence[PassDimensions] | None = None,
        roles: Mapping[str, Role] | None = None,
        *,
        groups: GroupCommunicators | None = None,
        exposed_until_first_end: bool = False,
        endless: bool = False,
    ) -> None:
        self.workload = workload
        self.passes = range(passes)
        self.endless = endless
        self.forwards = range(len(workload.layers))
        self.backwards = self.forwards[::-1]
        self.roles: Mapping[str, Role] = roles or {}
        self.groups = groups
        self._dimensions = dimensions
        self._exposed_until_first_end = exposed_until_first_end
        self._outstanding: dict[tuple[int, PassKind], list[Handle]] = {}

    def compute(self, number: int, layer: int, kind: PassKind) -> Program:
        """Compute one pass of a layer, in training pass ``number``."""
        compute_ps = self.workload.layers[layer].passes[kind].compute_ns * PS_PER_NS
        yield Compute(Label(number, layer, kind), compute_ps)

    def issue(
        self,
        number: int,
        layer: int,
        kind: PassKind,
        policy: str | None = None,
        communicator: Communicator | None = None,
        bytes: int | None = None,
    ) -> Program:
        """Issue the collective of a layer's pass, if it has one, in a communicator (None: all NPUs).

        ``bytes``: of each NPU, where they aren't those of the pass.
        """
        part = self.workload.layers[layer].passes[kind]
        if part.collective is None:
            return
        dimensions = None if self._dimensions is None else self._dimensions[layer][kind]
        label = Label(number, layer, kind)
        request = CollectiveRequest(
            part.collective,
            part.bytes if bytes is None else bytes,
            label,
            policy,
            dimensions,
            communicator,
            group=self._group_of(part, kind),
        )
        handle = yield request
        assert handle is not None
        if not handle.done:
            self._outstanding.setdefault((layer, kind), []).append(handle)

    def _group_of(self, part: Pass, kind: PassKind) -> str:
        """Whom a pass exchanges with: SimAI's word for it, else whether it belongs to the model or to the data."""
        if self.groups is not None:
            return (part.group or USUAL_GROUPS[kind]).value
        return "data" if kind is WEIGHT_GRADIENT else "model"

    def wait(self, layer: int, kind: PassKind) -> Program:
        """Wait for all collectives issued so far in a layer's pass."""
        for handle in self._outstanding.pop((layer, kind), []):
            yield Wait(handle)

    def forward_compute(self, number: int, layer: int) -> Program:
        """The start of every layer's forward pass: its weights must be up to date."""
        yield from self.wait(layer, WEIGHT_GRADIENT)
        yield from self.compute(number, layer, FORWARD)

    def blocking_forwards(self, number: int, layers: Iterable[int]) -> Program:
        """Forward passes of ``layers``, each of which waits for its collective."""
        for layer in layers:
            yield from self.forward_compute(number, layer)
            yield from self.issue(number, layer, FORWARD)
            yield from self.wait(layer, FORWARD)
            yield MOVE

    def drain(self) -> Program:
        """After the last pass: layer 0's weight gradient as at the begin of a forward pass, then all others."""
        if self._exposed_until_first_end:
            handles = [handle for handle in self._outstanding.get((0, WEIGHT_GRADIENT), []) if not handle.done]
            if handles:
                yield WaitAny(tuple(handles))
        else:
            yield from self.wait(0, WEIGHT_GRADIENT)
        left = [handle for handles in self._outstanding.values() for handle in handles]
        for handle in sorted(left, key=lambda handle: handle.collective):
            yield Wait(handle, tail=True)
