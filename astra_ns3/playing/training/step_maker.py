"""A block's pass as steps with times and communicators: what the items of a plan come to on the NPUs of one stage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from astra_ns3.config.training_plan import Exchange, Item, Operation, Ring, Uneven
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.records import Label
from astra_ns3.playing.programs.operations import Compute
from astra_ns3.playing.training.places import Places
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.computing.clock import Clock


@dataclass(frozen=True)
class Computing:
    """Operations one after the other; ``times_ps``: in each place of the stage, where they differ.

    ``memory_ps``: what of ``time_ps`` memory limits.
    """

    time_ps: int
    times_ps: tuple[int, ...] | None = None
    memory_ps: int = 0

    def operation(self, label: Label) -> Compute:
        """Return the operation that a program yields."""
        return Compute(label, self.time_ps, self.times_ps, self.memory_ps)

    def then(self, other: Computing) -> Computing:
        """Return this and another one."""
        memory_ps = self.memory_ps + other.memory_ps
        if self.times_ps is None and other.times_ps is None:
            return Computing(self.time_ps + other.time_ps, None, memory_ps)
        places = len(self.times_ps or other.times_ps or ())
        both = zip(self._in_places(places), other._in_places(places), strict=True)
        times_ps = tuple(own + next_ps for own, next_ps in both)
        return Computing(max(times_ps), times_ps, memory_ps)

    def _in_places(self, places: int) -> Sequence[int]:
        return self.times_ps or (self.time_ps,) * places


@dataclass(frozen=True)
class Turning:
    """``turns`` of ``computing`` while bytes go to the next and come from the one before, see ``Ring``."""

    turns: int
    computing: Computing
    bytes: int
    home_bytes: int
    next: Communicator
    before: Communicator
    tag: str


Step = Computing | Exchange | Turning


class StepMaker:
    """Makes steps of items, for a stage. Raises InputError if operations and places don't match.

    ``of(items)``: the steps, made once for equal items. Operations that follow each other are one step. An item that
    has nobody to talk to, or nothing to say, is none.
    """

    def __init__(self, places: Places, stage: int, clock: Clock, source: str) -> None:
        self._places = places
        self._stage = stage
        self._clock = clock
        self._source = source
        self.of = cache(self._steps)

    def _steps(self, items: tuple[Item, ...]) -> tuple[Step, ...]:
        steps: list[Step] = []
        for item in items:
            step = self._step(item)
            if isinstance(step, Computing) and steps and isinstance(before := steps[-1], Computing):
                steps[-1] = before.then(step)
            elif step is not None:
                steps.append(step)
        return tuple(steps)

    def sent(self, exchange: Exchange) -> Exchange | None:
        """Return an exchange; None if each is alone in their group, or has nothing to send."""
        return exchange if self._places.among(exchange.group, self._stage) is not None and exchange.bytes else None

    def request(self, exchange: Exchange, label: Label, policy: str | int | None = None) -> CollectiveRequest:
        """Return what a program yields for an exchange that is sent; ``policy``: a request's."""
        among = self._places.among(exchange.group, self._stage)
        assert among is not None
        return CollectiveRequest(
            exchange.kind,
            exchange.bytes,
            label,
            policy,
            dimensions=among.dimensions,
            communicator=among.communicator,
            counts=exchange.counts,
            relay=exchange.relay,
            pool=exchange.pool,
            group=f"{among.group}, {exchange.content}" if exchange.content else among.group,
        )

    def _step(self, item: Item) -> Step | None:
        if isinstance(item, Operation):
            return self.computing(item)
        if isinstance(item, Uneven):
            return self._uneven(item)
        if isinstance(item, Exchange):
            return self.sent(item)
        return self._ring(item)

    def computing(self, operation: Operation) -> Computing:
        """A step that is one operation."""
        time_ps = self._clock.time_ps(operation)
        return Computing(time_ps, memory_ps=time_ps if self._clock.memory_bound(operation) else 0)

    def _uneven(self, item: Uneven) -> Computing:
        times_ps = [self._clock.time_ps(operation) for operation in item.operations]
        own = self._places.places_in(item.group)
        refuse(
            len(times_ps) != max(own) + 1,
            f"{len(times_ps)} operations for the {max(own) + 1} places of a group "
            f"'{item.group.value}', expected one for each",
            self._source,
        )
        longest = self.computing(max(item.operations, key=self._clock.time_ps))
        if len(set(times_ps)) == 1:
            return longest
        return replace(longest, times_ps=tuple(times_ps[place] for place in own))

    def _ring(self, item: Ring) -> Step:
        one = self.computing(item.operation)
        among = self._places.among(item.group, self._stage)
        if among is None or not item.turn_bytes:
            turns = among.size if among else 1
            return Computing(one.time_ps * turns, None, one.memory_ps * turns)
        turned = self._places.turned
        after, before = turned(item.group, self._stage, 1), turned(item.group, self._stage, -1)
        return Turning(among.size, one, item.bytes, item.home_bytes, after, before, item.group.value)
