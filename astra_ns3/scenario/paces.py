"""Events that slow NPUs down or have them stand still, as slowdowns of the jobs that have these NPUs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from astra_ns3.config.compute_slowdown import STANDS_STILL, ComputeSlowdown, Straggler
from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass
from astra_ns3.scenario.events import Event


class OfEvent(Straggler):
    """A straggler that an event makes, which nobody need be told of if it slows nothing."""


@dataclass(frozen=True)
class Stretch:
    """A time in which an NPU takes ``factor`` times as long for what it computes; ``still``: it does nothing else.

    ``where``: the place of its event in the file.
    """

    npu: int
    start_ps: int
    end_ps: int | None
    factor: float
    still: bool
    where: str = ""


def stretches(events: Sequence[Event]) -> list[Stretch]:
    """Return when which NPU is slow or stands still, in the order of time."""
    return sorted(_stretches(events), key=lambda each: (each.start_ps, each.npu))


def _stretches(events: Sequence[Event]) -> Iterator[Stretch]:
    for event in events:
        config = event.config
        for factor, still in ((config.slower, False), (STANDS_STILL if config.still else None, True)):
            if factor is None or not isinstance(config.npu, int):
                continue
            for start_ps in config.starts_ps:
                end_ps = None if config.for_ps is None else start_ps + config.for_ps
                yield Stretch(config.npu, start_ps, end_ps, factor, still, event.where)


_NOT_KNOWN = {
    "after": "is of job '{}', which starts after another, so its time isn't known beforehand; expected an NPU of a job "
    "that starts at a time",
    "arrives": "may become one of job '{}', which arrives and gets NPUs when it starts; expected an NPU of a job with "
    "NPUs of its own",
    "restart": "is of job '{}', which may begin again at any time; expected an NPU of a job without restart",
}


def check_known(found: Sequence[Stretch], name: str, npus: Collection[int], why: str) -> None:
    """Raise InputError for an event that slows one of ``npus`` down, of which nobody knows what it plays then.

    ``name``: of the job. ``why``: the job starts ``after`` another one, ``arrives``, or may begin again (``restart``).
    """
    for each in found:
        if each.npu in npus:
            raise wrong(f"NPU {each.npu} {_NOT_KNOWN[why].format(name)}, or compute-slowdown of the job", each.where)


def slowed_by_events(
    slowdown: ComputeSlowdown | None, found: Sequence[Stretch], npus: Sequence[int], start_ps: int
) -> ComputeSlowdown | None:
    """Return what slows a job down, with events on its NPUs, by its ranks and from its start on."""
    ranks = {npu: rank for rank, npu in enumerate(npus)}
    own = [
        OfEvent.model_construct(
            npus=(ranks[each.npu],),
            factor=each.factor,
            from_ps=max(0, each.start_ps - start_ps),
            until_ps=None if each.end_ps is None else each.end_ps - start_ps,
        )
        for each in found
        if each.npu in ranks and (each.end_ps is None or each.end_ps > start_ps)
    ]
    if not own:
        return slowdown
    if slowdown is None:
        return ComputeSlowdown.model_construct(stragglers=tuple(own))
    return slowdown.model_copy(update={"stragglers": (*slowdown.stragglers, *own)})
