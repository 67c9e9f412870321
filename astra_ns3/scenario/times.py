"""When jobs start and end, as they are asked for: by the clock, by each other, for ever; and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.network.run_document import TenantDocument
from astra_ns3.scenario.tenant import After, Tenant
from astra_ns3.units import exact_time, format_time

PROGRAMS, OTHERS, TIME, TRANSPORT, DEVICE = "programs", "others", "time", "transport", "device"
"""The causes of a job's end: the end of its programs, that of all others, a time of the file, its transport, or a
device of it that has died."""
FAILURES = (TRANSPORT, DEVICE)
"""The causes after which a job may begin again."""


class Times(NamedTuple):
    """When a job plays: from ``start_ps`` on, which counts from the run's begin or from ``after``, until ``end_ps``.

    ``endless``: until all jobs that aren't have ended. ``arrives``: from ``start_ps`` on it waits for NPUs.
    ``restart_ps``: it is a further try of the job before it, so long after that one has failed. ``fails_ps``: when a
    device of the job dies, whichever try plays then.
    """

    start_ps: int = 0
    after: After | None = None
    end_ps: int | None = None
    endless: bool = False
    arrives: bool = False
    restart_ps: int | None = None
    fails_ps: tuple[int, ...] = ()

    def document(self) -> TenantDocument:
        """Return when it starts, what it follows, and when it is stopped, as plain data."""
        found: TenantDocument = {"start_ps": self.start_ps}
        if self.arrives:
            found["arrival_ps"] = self.start_ps
        if self.after is not None:
            found["after"] = self.after.job
            if self.after.passes is not None:
                found["after_passes"] = self.after.passes
        if self.end_ps is not None:
            found["end_ps"] = self.end_ps
        return found


class Outcome(NamedTuple):
    """The course of a job until its end, or until now.

    ``start_ps``: when it started; None: it didn't. ``ended_by``: the cause of its end; None: it goes on, or never
    started. ``passes``: how many were done; None: not counted. ``npus``: the NPU of each rank of a job that has
    arrived, none before it starts; None: the job had its NPUs before. ``resumed``: how many passes it took from a
    checkpoint. ``restarts``: how often it began again, the last time ``last_try_ps`` after its start; None: it may not.
    """

    start_ps: int | None = 0
    ended_by: str | None = None
    passes: int | None = 0
    npus: tuple[int, ...] | None = None
    resumed: int = 0
    restarts: int | None = None
    last_try_ps: int = 0


class Tries(NamedTuple):
    """The tries of a job, by their numbers among the tenants of a run: the first, and the last that was needed."""

    first: int
    last: int

    def outcome(self, tenant: Tenant | None, outcomes: Sequence[Outcome]) -> Outcome:
        """Return the outcome of all tries of ``tenant`` together."""
        last, start_ps = outcomes[self.last], outcomes[self.first].start_ps
        if tenant is None or tenant.restart is None:
            return last
        last_try_ps = 0 if start_ps is None or last.start_ps is None else last.start_ps - start_ps
        return last._replace(start_ps=start_ps, restarts=self.last - self.first, last_try_ps=last_try_ps)


def tries_of(tenants: Sequence[Tenant | None], outcomes: Sequence[Outcome]) -> list[Tries]:
    """Return the tries of each job of a run."""
    found: list[Tries] = []
    for number, (tenant, outcome) in enumerate(zip(tenants, outcomes, strict=True)):
        if tenant is None or tenant.job is None:
            found.append(Tries(number, number))
        elif outcome.start_ps is not None or outcome.ended_by is not None:
            found[-1] = Tries(found[-1].first, number)
    return found


def times_of(tenant: Tenant) -> Times:
    """Return when a tenant plays, as it is asked for."""
    endless = tenant.passes == FOREVER and tenant.end_ps is None
    times = Times(tenant.start_ps, tenant.after, tenant.end_ps, endless, tenant.arrives)
    if tenant.restart is None:
        return times
    if tenant.job is None:
        return times._replace(fails_ps=tenant.restart.fails_ps)
    return times._replace(start_ps=0, after=None, restart_ps=tenant.restart.after_ps)


def late_warnings(happen: Sequence[tuple[int, str]], what: str, who: str, end_ps: int) -> Iterator[str]:
    """Warn of what a file has happen after the end of ``who``; ``happen``: times, and where the file has them."""
    late = [each for each in happen if each[0] > end_ps]
    if late:
        (first_ps, where), end = min(late), format_time(end_ps)
        yield (
            f"{where}: {len(late):,} of {len(happen):,} {what} changed nothing: {who} ended at {end}, and the first of "
            f"them was to come at {exact_time(first_ps)}"
        )


def check_times(tenants: Sequence[Tenant]) -> None:
    """Raise InputError for a start that can't come, an end before its start, and a run without an end.

    Other traffic ends with the jobs, so none of them can wait for it.
    """
    tenants = [tenant for tenant in tenants if tenant.traffic is None and tenant.job is None]
    by_name = {tenant.name: tenant for tenant in tenants}
    for tenant in tenants:
        _check_type(tenant)
        _check_arrives(tenant)
        if tenant.after is not None:
            _check_after(tenant, tenant.after, by_name)
        elif tenant.end_ps is not None:
            refuse(tenant.end_ps <= tenant.start_ps, "ends before it starts; expected a later end", tenant.place)
    for tenant in tenants:
        circle = _circle(tenant, by_name)
        if circle:
            raise wrong(f"starts after itself: {' after '.join(circle)}; expected a time in one of them", tenant.place)
    endless = [tenant for tenant in tenants if times_of(tenant).endless]
    refuse(
        len(endless) == len(tenants) > 0,
        "plays for ever, and no job ends; expected a number of passes or an end of one job",
        endless[0].place if endless else "",
    )


def _check_type(tenant: Tenant) -> None:
    end_ps = tenant.end_ps
    if end_ps is not None and (isinstance(end_ps, bool) or not isinstance(end_ps, int) or end_ps <= 0):
        raise wrong(f"end_ps is {end_ps!r}, expected a number of picoseconds above 0", tenant.place)


def _check_arrives(tenant: Tenant) -> None:
    """Raise InputError for a job that arrives and has NPUs of its own, or times that only others have."""
    if not tenant.arrives:
        return
    if not isinstance(tenant.npus, Placement):
        raise wrong("arrives, and its NPUs aren't chosen by a placement; expected one", tenant.place)
    for what, given in (
        ("starts after another", tenant.after is not None),
        ("has an end", tenant.end_ps is not None),
        ("begins again when its transport gives up", tenant.restart is not None),
        ("plays for ever", tenant.passes == FOREVER),
    ):
        refuse(given, f"arrives and {what}; expected a number of passes, from a time on", tenant.place)


def _check_after(tenant: Tenant, after: After, by_name: Mapping[str, Tenant]) -> None:
    other = by_name.get(after.job)
    if other is None:
        named = nearest(after.job, by_name)
        raise wrong(f"starts after '{after.job}', which is no job; expected {', '.join(by_name)}{named}", tenant.place)
    if after.passes is None:
        refuse(
            times_of(other).endless and other is not tenant,
            f"starts after '{after.job}', which plays for ever; expected passes: NUMBER beside it",
            tenant.place,
        )
        return
    refuse(
        after.passes > other.passes,
        f"starts after {after.passes} passes of '{after.job}', which plays {other.passes}; expected no more",
        tenant.place,
    )


def _circle(tenant: Tenant, by_name: Mapping[str, Tenant]) -> list[str]:
    """Return the names from a tenant back to it, each of which starts after the next; none: it waits for none of them.

    A wait for passes counts as one for the end: who waits can't be what is waited for.
    """
    names, now = [tenant.name], tenant
    while now.after is not None and now.after.job not in names[1:]:
        names.append(now.after.job)
        if now.after.job == tenant.name:
            return names
        now = by_name[now.after.job]
    return []
