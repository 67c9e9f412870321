"""The text topology of the HPCC simulator, which astra-network-ns3 reads too, and SimAI's variant with NVSwitches.

First line ``nodes switches links``, or SimAI's ``nodes gpus_per_server nvswitches switches links gpu_type``; then the
numbers of the switches (SimAI: NVSwitches first); then a line ``a b rate delay error_rate`` for each link. All nodes
that are not switches are hosts, and NPU r is the r-th of them.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.rows import Row, rows_of
from astra_ns3.errors import InputError
from astra_ns3.frozen import dataclass
from astra_ns3.units import counted, parse_rate, parse_time_ps

MOST_NODES = 1_000_000
"""A typing error must not fill the memory before it is seen."""
_SHORT_HEADER = ("nodes", "switches", "links")
_LONG_HEADER = ("nodes", "gpus_per_server", "nvswitches", "switches", "links", "gpu_type")
_LINK = ("a", "b", "rate", "delay", "error rate")
_PROBABILITY = re.compile(r"[0-9]{1,30}(\.[0-9]{0,30})?([eE]-?[0-9]{1,3})?", re.ASCII)


class HpccLink(NamedTuple):
    """One link of the file; ``a`` and ``b`` are node numbers as in it."""

    a: int
    b: int
    rate_bps: int
    delay_ps: int
    error_rate: float


@dataclass(frozen=True)
class HpccTopology:
    """A topology file. ``switch_ids`` begins with ``nvswitch_ids``, which, as the two fields after it, are SimAI's."""

    source: str
    nodes: int
    switch_ids: tuple[int, ...]
    links: tuple[HpccLink, ...]
    nvswitch_ids: tuple[int, ...] = ()
    gpus_per_server: int | None = None
    gpu_type: str | None = None
    extra_lines: int = 0
    """Lines after those of the links that the header counts; HPCC doesn't read them, and ships such files."""

    @property
    def host_ids(self) -> tuple[int, ...]:
        """The nodes that are no switches, ascending: the host of NPU r is number r of them."""
        switches = set(self.switch_ids)
        return tuple(node for node in range(self.nodes) if node not in switches)


def read_hpcc_topology(path: str | os.PathLike[str]) -> HpccTopology:
    """Read a topology file; raises InputError with file, line and what was expected."""
    return parse_hpcc_topology(read_text(path), os.fspath(path))


def parse_hpcc_topology(text: str, source: str = "topology") -> HpccTopology:
    """The topology that ``text`` describes; ``source`` names it in messages."""
    rows = rows_of(text, source)
    header = rows[0] if rows else Row(source, 1, ())
    header.refuse(
        len(header.words) not in (len(_SHORT_HEADER), len(_LONG_HEADER)),
        f"found {counted(len(header.words), 'word')}, expected '{' '.join(_SHORT_HEADER)}' or "
        f"'{' '.join(_LONG_HEADER)}'",
    )
    names = _SHORT_HEADER if len(header.words) == len(_SHORT_HEADER) else _LONG_HEADER
    numbers = {
        name: header.integer(column, name, 1 if name in ("nodes", "gpus_per_server") else 0, MOST_NODES)
        for column, name in enumerate(names)
        if name != "gpu_type"
    }
    scale_up, nodes = numbers.get("nvswitches", 0), numbers["nodes"]
    switches, links_from = _switch_ids(rows, scale_up + numbers["switches"], nodes)
    header.refuse(len(switches) == nodes, f"all {nodes} nodes are switches, so there is no host")
    found = rows[links_from:]
    header.refuse(
        len(found) < numbers["links"],
        f"says {counted(numbers['links'], 'link')}, found {counted(len(found), 'line')} of links",
    )
    return HpccTopology(
        source=source,
        nodes=nodes,
        switch_ids=switches,
        links=tuple(_link(row, nodes) for row in found[: numbers["links"]]),
        extra_lines=len(found) - numbers["links"],
        nvswitch_ids=switches[:scale_up],
        gpus_per_server=numbers.get("gpus_per_server"),
        gpu_type=header.words[-1] if names is _LONG_HEADER else None,
    )


def _switch_ids(rows: list[Row], count: int, nodes: int) -> tuple[tuple[int, ...], int]:
    """The numbers of the switches, on one line or several, and the row after them."""
    ids: dict[int, None] = {}
    place = 1
    while len(ids) < count:
        rows[-1].refuse(place == len(rows), f"the file ends after {len(ids)} of {count} switch numbers")
        row = rows[place]
        for column in range(len(row.words)):
            node = row.integer(column, "switch", 0, nodes - 1)
            row.refuse(node in ids, f"switch {node} stands twice")
            ids[node] = None
        row.refuse(len(ids) > count, f"found {len(ids)} switch numbers, the first line says {count}")
        place += 1
    return tuple(ids), place


def _link(row: Row, nodes: int) -> HpccLink:
    if len(row.words) != len(_LINK):
        raise row.error(f"found {counted(len(row.words), 'word')}, expected {len(_LINK)}: {', '.join(_LINK)}")
    a, b = (row.integer(column, f"node {_LINK[column]}", 0, nodes - 1) for column in (0, 1))
    if a == b:
        raise row.error(f"the link joins node {a} to itself")
    try:
        rate_bps, delay_ps = parse_rate(row.words[2]), parse_time_ps(row.words[3])
    except InputError as error:
        raise row.error(str(error)) from error
    if rate_bps == 0:
        raise row.error(f"rate is '{row.words[2]}', expected more than 0")
    error_rate = float(row.words[4]) if _PROBABILITY.fullmatch(row.words[4]) else 1.0
    if error_rate >= 1:
        raise row.error(f"error rate is '{row.words[4]}', expected a number, 0 or more and below 1")
    return HpccLink(a, b, rate_bps, delay_ps, error_rate)
