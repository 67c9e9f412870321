"""Events that change numbers of congestion controls: from a file's keys to what each NPU's queue pairs follow when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from astra_ns3.config.scenario.file import ALL
from astra_ns3.errors import located, of_npus, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.network.controls import ControlChange
from astra_ns3.network.plan import NetworkPlan
from astra_ns3.scenario.events import Event
from astra_ns3.transport.transport import Transport
from astra_ns3.units import exact_time


@dataclass(frozen=True)
class _Stretch:
    """A span of time in which the controls of one NPU (None: of all) have other ``numbers``."""

    start_ps: int
    end_ps: int | None
    npu: int | None
    numbers: Mapping[str, float]
    where: str


def control_changes(events: Sequence[Event], plan: NetworkPlan) -> tuple[ControlChange, ...]:
    """Return what events change of the congestion controls of a network, in the order of time.

    Where several change one number at a time, what began last holds. Raises InputError for a number that the control
    does not have, or may not have.
    """
    found = list(_stretches(events, plan))
    if not found:
        return ()
    transport = _transport(plan)
    changes = [
        change
        for first, last in _alike(found, len(plan.graph.npu_host))
        for change in _course([each for each in found if each.npu in (None, first)], (first, last), transport)
    ]
    return tuple(sorted(changes, key=lambda change: change.time_ps))


def _transport(plan: NetworkPlan) -> Transport:
    """Return the transport of a network whose congestion controls have numbers, if any has."""
    return next((each for each in plan.transports.values() if each.keys.takes_control), plan.outermost)


def _stretches(events: Sequence[Event], plan: NetworkPlan) -> Iterator[_Stretch]:
    transport, npus = _transport(plan), len(plan.graph.npu_host)
    for event in events:
        config = event.config
        if config.control is None:
            continue
        npu = None if config.npu == ALL else config.npu
        with located(event.where):
            if isinstance(npu, int):
                of_npus("npu", npu, npus)
            numbers = transport.changed_control(config.control)
        assert not isinstance(npu, str)
        for start_ps in config.starts_ps:
            end_ps = None if config.for_ps is None else start_ps + config.for_ps
            yield _Stretch(start_ps, end_ps, npu, numbers, event.where)


def _alike(found: Sequence[_Stretch], npus: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of NPUs, first and last, that the same events are of."""
    named = sorted({each.npu for each in found if each.npu is not None})
    for_all = any(each.npu is None for each in found)
    before = -1
    for npu in (*named, npus):
        if for_all and npu - before > 1:
            yield before + 1, npu - 1
        if npu < npus:
            yield npu, npu
        before = npu


def _course(own: Sequence[_Stretch], npus: tuple[int, int], transport: Transport) -> Iterator[ControlChange]:
    """Yield when which numbers hold instead of the file's for some NPUs."""
    beginning = sorted(own, key=lambda each: each.start_ps)
    times = sorted({each.start_ps for each in own} | {each.end_ps for each in own if each.end_ps is not None})
    holding: list[_Stretch] = []
    before: dict[str, float] = {}
    place = 0
    for time_ps in times:
        holding = [each for each in holding if each.end_ps is None or each.end_ps > time_ps]
        first = place
        while place < len(beginning) and beginning[place].start_ps == time_ps:
            place += 1
        _check_agree(beginning[first:place])
        holding += beginning[first:place]
        now: dict[str, float] = {}
        for each in holding:
            now |= each.numbers
        if now != before:
            contradiction = transport.control_contradiction(now)
            if contradiction is not None:
                raise wrong(contradiction, (holding or own)[-1].where)
            yield ControlChange(transport.kind, time_ps, *npus, now)
        before = now


def _check_agree(beginning: Sequence[_Stretch]) -> None:
    """Raise InputError for two events that set one number to different values at one time."""
    known: dict[str, float] = {}
    for each in beginning:
        for key, value in each.numbers.items():
            other = known.setdefault(key, value)
            if other != value:
                raise wrong(
                    f"{key} becomes {value:g} at {exact_time(each.start_ps)}, and {other:g} by another event; expected "
                    "one of them",
                    each.where,
                )
