"""Says in one line who waits for what when nothing happens any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from astra_ns3.network.api import NetworkBackend, PendingMessage
from astra_ns3.network.instance import unpack_instance
from astra_ns3.network.records import Label
from astra_ns3.playing.programs.operations import Blocking, Compute, Move, Waiting
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import Handle, MessageRequest
from astra_ns3.units import format_time

_MOST_MESSAGES = 4
# Of a circle, so many are shown.
_MOST_NPUS = 8


class Stuck(Protocol):
    """An NPU that isn't done."""

    number: int

    @property
    def blocking(self) -> Blocking | None:
        """The thing that it is busy with or waits for."""


def describe_stall(
    network: NetworkBackend, system: SystemLayer, layers: Sequence[str], waiting: Sequence[Stuck]
) -> str:
    """``layers``: their names; ``waiting``: the NPUs that aren't done.

    The one told about is the one that misses the earliest message.
    """
    stuck = (
        f"nothing is left to happen at {format_time(network.now_ps())} but {len(waiting)} of {network.npus} NPUs "
        f"aren't done: "
    )
    circle = _circle(system, layers, waiting)
    if circle:
        return stuck + circle + system.hint_at_a_stall
    stalls = [(npu, _missing(network, system, npu)) for npu in waiting]
    npu, missing = min(stalls, key=_rank_of_cause)
    found = _chunk(system, npu, missing, network.npus)
    return f"{stuck}NPU {npu.number} {_activity(npu, layers)}{found}{system.hint_at_a_stall}"


def _circle(system: SystemLayer, layers: Sequence[str], waiting: Sequence[Stuck]) -> str:
    """NPUs that wait for what the next one has not issued, as far as that goes, or round and round; "" if none does."""
    stuck = {npu.number: npu for npu in waiting}
    path: dict[int, str] = {}
    npu = next((npu for npu in waiting if _absent(system, npu)), None)
    while npu is not None and npu.number not in path:
        found = _absent(system, npu)
        if found is None:
            return "; ".join(_shortened([*path.values(), f"NPU {npu.number} {_activity(npu, layers)}"]))
        handle, ranks = found
        other = next((npu for npu in ranks if npu in stuck), ranks[0])
        lacks = "has not posted its end of" if isinstance(handle.request, MessageRequest) else "has not issued"
        ended = "" if other in stuck else " and is done"
        path[npu.number] = f"NPU {npu.number} waits for {_waited_for(handle, layers)}, which NPU {other} {lacks}{ended}"
        npu = stuck.get(other)
    lines = list(path.values())
    if npu is not None:
        lines = lines[list(path).index(npu.number) :]
    return "; ".join(_shortened(lines))


def _absent(system: SystemLayer, npu: Stuck) -> tuple[Handle, list[int]] | None:
    """The handle that an NPU waits for and others have not come to, and these others."""
    if not isinstance(npu.blocking, Waiting):
        return None
    found = ((handle, system.not_there_yet(handle)) for handle in npu.blocking.handles)
    return next(((handle, ranks) for handle, ranks in found if ranks), None)


def _shortened(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST_NPUS else [*lines[:_MOST_NPUS], f"and {len(lines) - _MOST_NPUS} more"]


def _rank_of_cause(stall: tuple[Stuck, tuple[int, list[PendingMessage]] | None]) -> tuple[bool, int, int]:
    """Lowest for what is most likely the cause: the earliest chunk, and in it the earliest step."""
    missing = stall[1]
    if missing is None:
        return True, 0, 0
    return False, missing[0], min(message.step for message in missing[1])


def _missing(network: NetworkBackend, system: SystemLayer, npu: Stuck) -> tuple[int, list[PendingMessage]] | None:
    """A chunk that an NPU can't finish, as instance and messages; of the collective it waits for if there is one."""
    wanted = npu.blocking.handle.collective if isinstance(npu.blocking, Waiting) else -1
    running = sorted(system.running(npu.number), key=lambda instance: unpack_instance(instance)[0] != wanted)
    for instance in running:
        if pending := network.pending(npu.number, instance):
            return instance, pending
    return None


def _activity(npu: Stuck, layers: Sequence[str]) -> str:
    operation = npu.blocking
    if operation is None:
        return "has not started"
    if isinstance(operation, Compute):
        return f"computes {_layer(operation.label, layers)} ({operation.label.part})"
    if isinstance(operation, Move):
        return "goes on to its next step"
    return f"waits for {_waited_for(operation.handle, layers)}"


def _waited_for(handle: Handle, layers: Sequence[str]) -> str:
    request = handle.request
    label = request.label
    where = f"{_layer(label, layers)} ({label.part} of pass {label.iteration})"
    if isinstance(request, MessageRequest):
        ends = f"NPU {request.source} to NPU {request.destination}"
        return f"{where}, message {request.tag!r} from {ends} ({request.bytes} bytes)"
    return f"{where}, collective {handle.collective} ({request.kind.value}, {request.bytes} bytes)"


def _layer(label: Label, layers: Sequence[str]) -> str:
    name = layers[label.layer] if isinstance(label.layer, int) else label.layer
    return f"layer '{name}'"


def _chunk(system: SystemLayer, npu: Stuck, missing: tuple[int, list[PendingMessage]] | None, npus: int) -> str:
    if not isinstance(npu.blocking, Waiting):
        return ""
    wanted = npu.blocking.handle.collective
    if missing is not None:
        collective, chunk, _ = unpack_instance(missing[0])
        where = f"chunk {chunk}" if collective == wanted else f"which is behind {_name_chunk(system, missing[0])}"
        return f", {where}: {_list_messages(missing[1], npus)}"
    queued = [chunk for index, chunk, _ in map(unpack_instance, system.waiting(npu.number)) if index == wanted]
    if not queued:
        return ", of which no message is missing"
    first = "".join(f", behind {_name_chunk(system, instance)}" for instance in system.next_in_order(npu.number))
    return f", chunk {queued[0]}: not started{first}"


def _name_chunk(system: SystemLayer, instance: int) -> str:
    collective, chunk, _ = unpack_instance(instance)
    return f"chunk {chunk} of collective {collective} (layer '{system.history.label(collective).layer}')"


def _list_messages(pending: Sequence[PendingMessage], npus: int) -> str:
    def end(player: int) -> str:
        return str(player) if player < npus else "a reducer"

    names = [
        f"{'' if message.sent else 'unsent '}{end(message.sender)} to {end(message.receiver)} "
        f"(step {message.step}, {message.bytes} bytes)"
        for message in pending[:_MOST_MESSAGES]
    ]
    more = f" and {len(pending) - _MOST_MESSAGES} more" if len(pending) > _MOST_MESSAGES else ""
    return f"waits for {len(pending)} messages: {', '.join(names)}{more}"
