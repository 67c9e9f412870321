"""HPCC's ``flow.txt``: the number of flows, then ``source destination pg dport bytes start`` a line, start in seconds.

Source: alibaba-edu/High-Precision-Congestion-Control, ``traffic_gen/README.md``. Priority group and port are read and
not used: all flows take the transport's priority, and paths are chosen by its own rule. Source and destination are the
numbers of hosts, which are those of our NPUs unless a topology has switches between: see :func:`with_npus`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import Where, refuse, wrong
from astra_ns3.frozen import replace
from astra_ns3.units import counted
from astra_ns3.workload.files.flows.columns import FlowColumns, lines_of, picoseconds_of_seconds, whole_number

FORMAT = "HPCC flow.txt"
_COLUMNS = ("source", "destination", "priority group", "destination port", "bytes", "start")
# Words of a line that is meant to be a flow.
_FEWEST = 4


def looks_like(head: list[list[str]]) -> bool:
    """Whether the words of a file's first lines are those of such a file."""
    if not head or len(head[0]) != 1 or not head[0][0].isdigit():
        return False
    return len(head) == 1 or (len(head[1]) >= _FEWEST and all(word.isdigit() for word in head[1][:2]))


def read(path: str) -> FlowList:
    """The flows of a file; raises InputError with file, lines and what was expected."""
    lines = lines_of(path)
    number, first = next(lines, (1, ""))
    words = first.split()
    refuse(
        len(words) != 1 or not words[0].isdigit(),
        f"found '{first.strip()}', expected the number of flows alone",
        Where(path, number),
    )
    count, extra, rounded = int(words[0]), 0, False
    columns, groups = FlowColumns(path), set[int]()
    for read_lines, (number, line) in enumerate(lines):
        if read_lines >= count:
            extra += 1
            continue
        try:
            rounded |= _append(columns, groups, number, line.split())
        except ValueError as error:
            columns.complain(number, str(error))
    columns.check()
    refuse(
        len(columns) < count,
        f"ends after {counted(len(columns), 'flow')}, the first line says {count}",
        Where(path, number),
    )
    return columns.finish(FORMAT, warnings=tuple(_warnings(path, count, extra, groups, rounded=rounded)))


def with_npus(flows: FlowList, hosts: Sequence[int]) -> FlowList:
    """Return the flows of such a file with numbers of NPUs; ``hosts``: the number of each NPU's host.

    Raises InputError if a flow's end is none of the hosts.
    """
    if flows.format != FORMAT or hosts == range(len(hosts)):
        return flows
    known, ends = np.asarray(hosts, dtype=np.int64), np.stack([flows.sources, flows.destinations])
    npus = np.minimum(np.searchsorted(known, ends), len(known) - 1)
    bad = known[npus] != ends
    if bad.any():
        flow = int(bad.any(axis=0).argmax())
        node = int(ends[:, flow][bad[:, flow]][0])
        raise wrong(f"{flows.where(flow)} names node {node}, which is no host of the topology")
    sources, destinations = npus.astype(np.int32)
    return replace(flows, sources=sources, destinations=destinations, npus=0)


def _append(columns: FlowColumns, groups: set[int], number: int, words: list[str]) -> bool:
    """Take a line; whether its start was rounded. Raises ValueError in words."""
    if len(words) != len(_COLUMNS):
        raise ValueError(f"found {counted(len(words), 'word')}, expected {len(_COLUMNS)}: {', '.join(_COLUMNS)} (s)")
    source, destination, group, _, size = (
        whole_number(word, what) for word, what in zip(words[:5], _COLUMNS, strict=False)
    )
    start_ps, rounded = picoseconds_of_seconds(words[5])
    columns.append(number, source, destination, size, start_ps)
    groups.add(group)
    return rounded


def _warnings(path: str, count: int, extra: int, groups: set[int], *, rounded: bool) -> list[str]:
    found = []
    if extra:
        lines, left = ("line", "it is") if extra == 1 else ("lines", "they are")
        found.append(
            f"{path}: has {extra} {lines} more than the {counted(count, 'flow')} its first line says; {left} left out"
        )
    if len(groups) > 1:
        named = ", ".join(map(str, sorted(groups)[:8]))
        found.append(f"{path}: has flows of priority groups {named}; all take the transport's priority")
    if rounded:
        found.append(f"{path}: some starts are finer than a picosecond and were rounded")
    return found
