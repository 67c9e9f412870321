"""Durations of the groups of collectives from a run's timeline and messages: who sends to whom is a group.

A group takes the time from its first NPU's issue, an operation, to the end of its last NPU's last phase. Messages don't
tell the groups where a switch or a storage host passes data on, or where some NPUs send nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

PS_PER_US = 10**6
Times = Mapping[tuple[int, int], int]
"""Of a collective on an NPU."""


def durations_of_groups(run: Any) -> Mapping[int, list[int]]:
    """For each ended collective the durations of its groups, ps; only of those whose messages tell the groups."""
    groups_of: dict[int, dict[int, frozenset[int]]] = defaultdict(dict)
    for number, source, destination in set(zip(*(run.flows[name] for name in _ENDS), strict=True)):
        groups = groups_of[number]
        together = groups.get(source, frozenset({source})) | groups.get(destination, frozenset({destination}))
        groups.update(dict.fromkeys(together, together))
    issues_of = run.operations[run.operations["kind"] == "issue"].groupby(["collective", "npu"])["start_ps"]
    issues: Times = issues_of.min().to_dict()
    ends: Times = run.phases.groupby(["collective", "npu"])["end_ps"].max().to_dict()
    players: dict[int, set[int]] = defaultdict(set)
    for number, npu in ends:
        players[number].add(npu)
    found = {}
    for row in run.collectives[run.collectives["end_us"].notna()].itertuples():
        number, every = row.collective, set(groups_of[row.collective].values())
        told = {len(group) for group in every} == {row.npus} and players[number] == {
            npu for one in every for npu in one
        }
        if told and row.kind != "POINTTOPOINT":
            found[number] = [
                max(ends[number, npu] for npu in group) - min(issues[number, npu] for npu in group) for group in every
            ]
    return found


def problems_of_groups(run: Any) -> Iterator[str]:
    """What is wrong with the durations of groups in collectives.csv, each one line."""
    rows = run.collectives.set_index("collective")
    for number, times_ps in durations_of_groups(run).items():
        told_us = [float(rows.at[number, name]) for name in ("group_duration_us", "slowest_group_us")]
        told = [round(each_us * PS_PER_US) for each_us in told_us]
        if told != [-(-sum(times_ps) // len(times_ps)), max(times_ps)]:
            yield f"collective {number}: groups took {times_ps} ps, told as mean and longest are {told}"


_ENDS = ("collective", "source", "destination")
