"""A log of nccl-tests beside what is played of it: each size, and where the two part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.experiments.nccl.bench import OPERATIONS, BenchRow
from astra_ns3.experiments.nccl.machine import Machine
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.comparing import ComparedRow, Comparison, Errors, compare, errors_of
from astra_ns3.nccl.constants import FUNCTIONS
from astra_ns3.nccl.logs import Log, read_log
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.nccl.tuning import believed_us
from astra_ns3.units import counted

_GENERATIONS = {"V": 7, "A": 8, "H": 9, "B": 10}  # NVIDIA's letters: the compute capability's first digits
_MOST_GPUS_OF_A_HOST = 16  # a larger server is an NVLink domain of several trays
RATIOS = (0.8, 1.25)
"""Ours over measured; outside, the two part."""
_HEAD = (
    "#       size   measured       ours  ratio    NCCL's  algorithm    protocol  channels  what binds",
    "#        (B)       (us)       (us)        formulas  (us: what NCCL itself believes)",
)


@dataclass(frozen=True)
class LogComparison:
    """``played``: of each size in the log. ``baseline``: times by NCCL's own formulas; None: it has none of it."""

    log: Log
    machine: Machine
    played: tuple[BenchRow, ...]
    compared: Comparison
    baseline: tuple[ComparedRow, ...] | None

    @property
    def parts_at(self) -> int | None:
        """The first size whose ratio lies outside of :data:`RATIOS`; None: none does."""
        low, high = RATIOS
        return next((row.size_bytes for row in self.compared.rows if not low <= row.ratio <= high), None)


def gpus_of(log: Log, servers: int, gpus: int | None) -> int | None:
    """Return the GPUs of each server that the log's ranks mean, if nobody said; raises InputError if they don't fit."""
    if log.ranks is None:
        return gpus
    told = f"the log has {counted(log.ranks, 'rank')}"
    refuse(log.ranks % servers != 0, f"{told}, which {servers} servers can't share evenly; see --servers", log.path)
    refuse(
        gpus is not None and gpus * servers != log.ranks,
        f"{told}, expected {servers} servers x {gpus} GPUs; see --servers and --gpus",
        log.path,
    )
    return log.ranks // servers


def check_operation(log: Log) -> None:
    """Refuse a log of what isn't played."""
    played = ", ".join(OPERATIONS)
    refuse(log.collective not in OPERATIONS, f"found {log.collective}, expected a log of {played}", log.path)


def warnings_of(*measured: tuple[Log, Machine]) -> tuple[str, ...]:
    """Return what to warn of in logs and in NCCL's settings, each once."""
    words = (words for each in measured for words in (*each[0].warnings, *_unlike(*each), *each[1].warnings))
    return tuple(dict.fromkeys(words))


def _unlike(log: Log, machine: Machine) -> Iterator[str]:
    """Yield in which points the log's lines of ranks name other hosts or GPUs than the servers have."""
    servers, server = machine.servers, machine.communicator.server
    hosts = servers if log.hosts is None else log.hosts
    if hosts < servers or (hosts > servers and server.gpus <= _MOST_GPUS_OF_A_HOST):
        ran = f"{log.path}: its {log.ranks} ranks ran on {counted(hosts, 'host')}"
        yield f"{ran}, here on {counted(servers, 'server')}: see --servers and --gpus"
    generation = _generation(log)
    if generation and generation != server.compute_capability // 10:
        yield f"{log.path}: its GPUs are {log.gpu}, unlike those of {machine.words}: see --servers"


def _generation(log: Log) -> int | None:
    """Return the first digits of the compute capability of a log's GPUs, if it names them."""
    letter = None if log.gpu is None else re.search(r"\bG?([VAHB])[0-9]{2,3}\b", log.gpu)
    return _GENERATIONS[letter[1]] if letter else None


def without_servers(path: str, otherwise: str = "") -> InputError:
    """Return the error that nobody said on which servers a log was measured, with servers of its count and GPUs."""
    log = read_log(path)
    generation = _generation(log) or _GENERATIONS["H"]
    alike = next(server for server in SERVERS.values() if server.compute_capability // 10 == generation)
    expected = f"such as {log.hosts or 2}x{alike.name}{otherwise}"
    return wrong(f"--servers is missing, since a log names no NVLinks and NICs; expected {expected}", path)


def compare_with(log: Log, machine: Machine, seed: int = 1) -> LogComparison:
    """Play what the log has measured. Raises InputError."""
    check_operation(log)
    sizes = [row.size_bytes for row in log.rows]
    played = tuple(machine.bench(log.collective, sizes, seed))
    compared = compare(log, [(row.size_bytes, row.time_us) for row in played])
    return LogComparison(log, machine, played, compared, _baseline(log, machine))


def _baseline(log: Log, machine: Machine) -> tuple[ComparedRow, ...] | None:
    kind = OPERATIONS[log.collective]
    if kind not in FUNCTIONS:
        return None
    who = machine.communicator
    return tuple(
        ComparedRow(row.size_bytes, row.measured_us, believed_us(who, kind, row.size_bytes)) for row in log.rows
    )


def comparison_text(one: LogComparison) -> str:
    """The table, then what it amounts to."""
    log, machine = one.log, one.machine
    title = f"# {log.collective} of {log.path} beside {machine.words}, NCCL {machine.table.version}"
    lines = [title, *_HEAD, *(_line(one, place) for place in range(len(one.played)))]
    lines += [f"# ours: {_errors(one.compared.errors)}"]
    if one.baseline is not None:
        lines += [f"# NCCL's formulas: {_errors(errors_of(one.baseline))}"]
    return "\n".join([*lines, f"# {_difference(one.compared)}", f"# {_parting(one)}"])


def comparison_document(one: LogComparison) -> dict[str, Json]:
    """The same as plain data: times in us, bandwidths in GB/s, errors as shares."""
    compared, baseline = one.compared, one.baseline
    rows: list[Json] = [
        {
            "size_bytes": row.size_bytes,
            "measured_us": row.measured_us,
            "ours_us": round(row.ours_us, 3),
            "ratio": round(row.ratio, 4),
            "formulas_us": None if baseline is None else round(baseline[place].ours_us, 3),
            "algorithm": played.algorithm,
            "protocol": played.protocol,
            "channels": played.channels,
            "binds": played.binds,
            "share": round(played.share, 4),
        }
        for place, (row, played) in enumerate(zip(compared.rows, one.played, strict=True))
    ]
    parts: dict[str, Json] = {
        name: {"latency_us": split.latency_us, "gbytes_per_s": split.gbytes_per_s}
        for name, split in (("measured", compared.measured), ("ours", compared.ours))
    }
    return {
        "log": one.log.path,
        "operation": one.log.collective,
        "servers": one.machine.words,
        "version": one.machine.table.version,
        "rows": rows,
        "errors": _error_document(compared.errors),
        "formulas_errors": None if baseline is None else _error_document(errors_of(baseline)),
        "parts": parts,
        "differs": compared.differs,
        "parts_at_bytes": one.parts_at,
        "warnings": list(warnings_of((one.log, one.machine))),
    }


def _error_document(errors: Errors) -> dict[str, Json]:
    below, above = (None if error is None else round(error, 4) for error in errors)
    return {"below_128_mib": below, "from_128_mib": above}


def _line(one: LogComparison, place: int) -> str:
    row, played = one.compared.rows[place], one.played[place]
    base = " " * 10 if one.baseline is None else f"{one.baseline[place].ours_us:10.1f}"
    said = f"{played.algorithm:<12} {played.protocol:<8}  {played.channels:8}  {played.binds_text}"
    times = f"{row.measured_us:10.1f} {row.ours_us:10.1f} {row.ratio:6.2f}{base}"
    return f"{row.size_bytes:12} {times}  {said}"


def _errors(errors: Errors) -> str:
    said = ["no size" if error is None else f"mean error {error:.1%}" for error in errors]
    return f"{said[0]} below 128 MiB, {said[1]} from 128 MiB"


def _difference(compared: Comparison) -> str:
    ours, measured = compared.ours, compared.measured
    parts = []
    if ours.latency_us is not None and measured.latency_us is not None:
        parts.append(f"latency {measured.latency_us:.1f} us measured, {ours.latency_us:.1f} us ours")
    if ours.gbytes_per_s is not None and measured.gbytes_per_s is not None:
        parts.append(f"bandwidth {measured.gbytes_per_s:.1f} GB/s measured, {ours.gbytes_per_s:.1f} GB/s ours")
    words = {
        "both": "latency and bandwidth differ",
        "neither": "neither latency nor bandwidth differs by more than 10 %",
        "unknown": "the sizes tell neither latency nor bandwidth",
    }
    return ": ".join(filter(None, [words.get(compared.differs, f"{compared.differs} differs"), "; ".join(parts)]))


def _parting(one: LogComparison) -> str:
    low, high = RATIOS
    if one.parts_at is None:
        return f"no ratio leaves {low} to {high}"
    return f"the ratio first leaves {low} to {high} at {one.parts_at:,} bytes"
