"""Lists of flows written: our CSV, HPCC's ``flow.txt`` and htsim's connection matrix, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import refuse, wrong
from astra_ns3.units import PS_PER_SECOND, exact_time
from astra_ns3.whole_file import whole_file
from astra_ns3.workload.files.flows.csv_file import COLUMNS

_HPCC_GROUP = 3
_HPCC_PORT = 100


def csv_lines(flows: FlowList) -> Iterator[str]:
    """The lines of a CSV; raises InputError if something waits for what only a connection matrix can say."""
    waits = flows.waits_for is not None
    if waits:
        _only_all(flows, "a CSV")
    yield ",".join(COLUMNS if waits else COLUMNS[:4])
    for flow, (source, destination, size, start_ps) in enumerate(_rows(flows)):
        gate = flows.gate_of(flow)
        first, last = (0, 0) if gate < 0 else flows.gates.offsets[gate : gate + 2].tolist()
        after = ";".join(map(str, flows.gates.members[first:last].tolist()))
        ended = f",{after}" if waits else ""
        yield f"{source},{destination},{size},{exact_time(start_ps) if start_ps else 0}{ended}"


def hpcc_lines(flows: FlowList) -> Iterator[str]:
    """The lines of a ``flow.txt``; raises InputError if a flow waits for others, which it can't say."""
    refuse(
        flows.waits_for is not None,
        "some flows wait for others, which HPCC's flow.txt can't say; write a CSV",
        flows.source,
    )
    yield str(len(flows))
    for source, destination, size, start_ps in _rows(flows):
        seconds, rest = divmod(start_ps, PS_PER_SECOND)
        yield f"{source} {destination} {_HPCC_GROUP} {_HPCC_PORT} {size} {seconds}.{rest:012d}"


def htsim_lines(flows: FlowList) -> Iterator[str]:
    """The lines of a connection matrix; raises InputError if a flow waits both for others and for a time."""
    gates = flows.gates
    refuse(
        flows.waits_for is not None and bool(((flows.waits_for >= 0) & (flows.starts_ps > 0)).any()),
        "some flows wait for others and for a time, not to be said here; write a CSV",
        flows.source,
    )
    offsets, heard = gates.heard_by(len(flows))
    yield f"Nodes {flows.npus}"
    yield f"Connections {len(flows)}"
    if len(gates):
        yield f"Triggers {len(gates)}"
    for flow, (source, destination, size, start_ps) in enumerate(_rows(flows)):
        gate = flows.gate_of(flow)
        ends = heard[offsets[flow] : offsets[flow + 1]].tolist()
        if len(ends) > 2:
            raise wrong(f"{flows.where(flow)} is waited for by {len(ends)} groups, htsim has two triggers")
        keys = ("recv_done_trigger", "send_done_trigger")
        told = "".join(f" {key} {end + 1}" for key, end in zip(keys, ends, strict=False))
        begins = f"start {start_ps}" if gate < 0 else f"trigger {gate + 1}"
        yield f"{source}->{destination} id {flow + 1} {begins} size {size}{told}"
    for gate in range(len(gates)):
        needed = int(gates.needed[gate])
        kind = "multishot" if gates.each[gate] else f"barrier count {needed}" if needed > 1 else "oneshot"
        yield f"trigger id {gate + 1} {kind}"


WRITERS: Mapping[str, Callable[[FlowList], Iterator[str]]] = {
    "csv": csv_lines,
    "hpcc": hpcc_lines,
    "htsim": htsim_lines,
}
"""By the name of a format."""


def _rows(flows: FlowList) -> Iterator[tuple[int, int, int, int]]:
    step = 1 << 16
    for begin in range(0, len(flows), step):
        some = slice(begin, begin + step)
        columns = (flows.sources, flows.destinations, flows.sizes_bytes, flows.starts_ps)
        yield from zip(*(column[some].tolist() for column in columns), strict=True)


def _only_all(flows: FlowList, what: str) -> None:
    """Raise InputError if some gate opens for less than all it hears of."""
    gates = flows.gates
    sizes = gates.offsets[1:] - gates.offsets[:-1]
    refuse(
        bool((gates.each | (gates.needed != sizes)).any()),
        f"some flows wait for the first of several others, or take turns, which {what} can't say",
        flows.source,
    )


def write_flows(flows: FlowList, path: str, written_as: str = "csv") -> None:
    """Write a list of flows in one of :data:`WRITERS`; raises InputError if the format can't say it, or no file can be
    written."""
    lines = WRITERS[written_as](flows)
    first = next(lines)
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{first}\n")
        file.writelines(f"{line}\n" for line in lines)
