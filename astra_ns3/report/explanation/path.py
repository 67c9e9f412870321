"""The critical path: the chain of computations, waits and messages, back from the end, that determines the end.

Each link of the chain ends at the picosecond at which the next begins, so their times add up to the whole exactly.
:mod:`astra_ns3.report.explanation.causes` says what may have let something happen. Any of several causes will do whose
own causes lead back to the beginning. Many things happen at one picosecond where NPUs take no time for a message, so a
cause that leads nowhere is given up for the next, and none is taken twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from astra_ns3.errors import refuse
from astra_ns3.report.explanation.causes import Cause, Causes, Event
from astra_ns3.report.explanation.parts import OTHER, Segment
from astra_ns3.report.explanation.run_tables import Tables


def critical_path(tables: Tables, iteration: int | None = None) -> tuple[Segment, ...]:
    """The chain that ends when the last NPU does, in order of time; from 0 on, or through one iteration alone.

    An iteration lasts from the first operation of it on any NPU to the last. Raises InputError if there is no such, or
    the tables don't tell the chain.
    """
    _check(tables)
    last = tables.last_blocking(iteration)
    begin_ps = 0 if iteration is None else tables.first_start(iteration)
    return _walked_back(Causes(tables), Causes.operation(tables, last), begin_ps)


def _check(tables: Tables) -> None:
    refuse(not tables.tell_chain, "the critical path needs single messages: run with --record timeline --record flows")


def path_of_collective(tables: Tables, collective: int) -> tuple[Segment, ...]:
    """The chain from the first issue of a collective to its end on the last NPU; raises InputError as the other."""
    _check(tables)
    posts = list(tables.posts(collective))
    found = [tables.phases_of(collective, npu)[-1:] for npu in {npu: None for npu, _, _ in posts}]
    rows = [row for rows in found for row in rows]
    refuse(not posts, f"there is no collective {collective}: see collectives.csv")
    refuse(
        tables.stopped_ps is not None and collective in tables.unended,
        f"collective {collective} had not ended when the run was stopped: see collectives.csv",
    )
    refuse(not rows, f"collective {collective} has no messages: it is an access to remote memory")
    last = max(rows, key=lambda row: tables.phase_end[row])
    return _walked_back(Causes(tables), Causes.over(tables, last), posts[0][1])


def _walked_back(causes: Causes, end: Event, begin_ps: int) -> tuple[Segment, ...]:
    """The chain from ``begin_ps`` to an event, in order of time; what can't be followed is its first link."""
    seen = {end}
    chain: list[Segment] = []
    furthest: tuple[Segment, ...] = ()
    steps: list[tuple[int, Iterator[Cause]]] = [(0, causes.of(end))]  # with how many links were there before
    while steps:
        links_before, untried = steps[-1]
        cause = next(untried, None)
        if cause is None:
            steps.pop()
            if chain and (not furthest or chain[-1].start_ps < furthest[-1].start_ps):
                furthest = tuple(chain)
            continue
        del chain[links_before:]
        for link in cause.links:
            chain += _cut(link, begin_ps)
        if cause.event.time_ps <= begin_ps:
            return tuple(reversed(chain))
        if cause.event not in seen:
            seen.add(cause.event)
            steps.append((len(chain), causes.of(cause.event)))
    start_ps = furthest[-1].start_ps if furthest else end.time_ps
    rest = Segment(OTHER, furthest[-1].npu if furthest else end.npu, begin_ps, start_ps)
    return (rest, *reversed(furthest)) if start_ps > begin_ps else tuple(reversed(furthest))


def _cut(link: Segment, begin_ps: int) -> Iterator[Segment]:
    """A link, cut where the walk ends, if there is anything of it."""
    if link.start_ps < begin_ps:
        link = replace(link, start_ps=begin_ps, whole=False)
    if link.end_ps > link.start_ps:
        yield link
