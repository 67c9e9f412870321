"""One host overhead a protocol and one efficiency of the NICs, from logs of nccl-tests on one kind of server."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import refuse
from astra_ns3.experiments.nccl.bench import BenchRow
from astra_ns3.experiments.nccl.comparison import check_operation, compare_with, warnings_of
from astra_ns3.experiments.nccl.machine import Machine
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.comparing import Errors
from astra_ns3.nccl.fitting import EFFICIENCIES, Fit, FitRow, Fitted, fit, fit_text, parse_fit
from astra_ns3.nccl.logs import Log

_PROBE_US = 10.0
"""The overhead with which steps are counted: those of one are drowned where much happens at once."""
_BOUND = 0.8
"""The share of our time that a NIC takes alone in rows that tell its efficiency: else a slow host looks like a NIC."""
Measured = tuple[Log, Machine]


@dataclass(frozen=True)
class LogsFit:
    """A fit of one server. ``before``, ``after``: of each log the mean errors below 128 MiB, and from there on."""

    server: str
    logs: tuple[Log, ...]
    fit: Fit
    before: tuple[Errors, ...]
    after: tuple[Errors, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The keys of the table ``nccl``, with comments."""
        return fit_text(self.fit, self.server)


def fit_logs(measured: Sequence[Measured], seed: int = 1) -> LogsFit:
    """Fit what was measured on one kind of server; each log has its machine. Raises InputError."""
    servers = {machine.server.name for _, machine in measured}
    refuse(len(servers) > 1, f"--servers: found {', '.join(sorted(servers))}, expected one kind of server for all logs")
    for log, _ in measured:
        check_operation(log)
    played = _Played(measured, seed)
    found = fit(played.rows, played.times)
    (server,) = servers
    keys = parse_fit(fit_text(found, server))
    before = tuple(compare_with(log, machine, seed).compared.errors for log, machine in played.measured)
    after = tuple(compare_with(log, machine.with_keys(keys), seed).compared.errors for log, machine in measured)
    return LogsFit(server, tuple(log for log, _ in measured), found, before, after, warnings_of(*measured))


class _Played:
    """Our times of all rows of all logs, for any overhead, which adds steps, and efficiency, which is played."""

    def __init__(self, measured: Sequence[Measured], seed: int) -> None:
        self._seed = seed
        self.measured = [
            (log, machine.with_keys({"host-overhead": 0.0, "nic-efficiency": 1.0})) for log, machine in measured
        ]
        base = [_bench(log, machine, seed) for log, machine in self.measured]
        probed = [_bench(log, machine.with_keys({"host-overhead": _PROBE_US}), seed) for log, machine in self.measured]
        self.rows = [
            row
            for (log, machine), ours, slower in zip(self.measured, base, probed, strict=True)
            for row in _rows(log, machine, ours, slower)
        ]
        self._times = {EFFICIENCIES[1]: [row.time_us for rows in base for row in rows]}

    def times(self, overhead_us: float, efficiency: float) -> list[float]:
        """Our times in us, one for each row."""
        share = round(efficiency, 6)
        if share not in self._times:
            self._times[share] = self._at(share)
        return [time + overhead_us * row.steps for time, row in zip(self._times[share], self.rows, strict=True)]

    def _at(self, share: float) -> list[float]:
        """Play the rows that a NIC binds; the others keep their times."""
        times, place = list(self._times[EFFICIENCIES[1]]), 0
        for log, machine in self.measured:
            places = range(place, place + len(log.rows))
            place += len(log.rows)
            bound = [number for number in places if self.rows[number].nic_binds]
            if bound:
                slower = machine.with_keys({"nic-efficiency": share})
                sizes = [self.rows[number].size_bytes for number in bound]
                for number, row in zip(bound, slower.bench(log.collective, sizes, self._seed), strict=True):
                    times[number] = row.time_us
        return times


def _bench(log: Log, machine: Machine, seed: int) -> list[BenchRow]:
    return machine.bench(log.collective, [row.size_bytes for row in log.rows], seed)


def _rows(log: Log, machine: Machine, ours: Sequence[BenchRow], slower: Sequence[BenchRow]) -> list[FitRow]:
    return [
        FitRow(
            log.path,
            machine.server.name,
            own.protocol,
            row.size_bytes,
            row.measured_us,
            max((late.time_us - own.time_us) / _PROBE_US, 0.0),
            nic_binds=own.binds == "NIC" and own.share >= _BOUND,
            latency_binds=own.latency_binds,
        )
        for row, own, late in zip(log.rows, ours, slower, strict=True)
    ]


def logs_fit_text(found: LogsFit) -> str:
    """The file, and what it does to each log's errors."""
    lines = [
        f"# {log.path}: mean error below 128 MiB {_share(before[0])} -> {_share(after[0])}, "
        f"from 128 MiB {_share(before[1])} -> {_share(after[1])}"
        for log, before, after in zip(found.logs, found.before, found.after, strict=True)
    ]
    return "\n".join([found.text.rstrip(), *lines])


def logs_fit_document(found: LogsFit) -> dict[str, Json]:
    """The same as plain data."""
    logs: list[Json] = [
        {"log": log.path, "before": _errors(before), "after": _errors(after)}
        for log, before, after in zip(found.logs, found.before, found.after, strict=True)
    ]
    efficiency = found.fit.efficiency
    return {
        "server": found.server,
        "host_overhead_us": {protocol: _fitted(one) for (_, protocol), one in found.fit.overheads.items()},
        "nic_efficiency": None if efficiency is None else _fitted(efficiency),
        "not_told": list(found.fit.refused),
        "keys": parse_fit(found.text),
        "logs": logs,
        "warnings": list(found.warnings),
    }


def _fitted(one: Fitted) -> dict[str, Json]:
    return {
        "value": round(one.value, 4),
        "quartiles": [round(quartile, 4) for quartile in one.quartiles],
        "rows": one.rows,
        "logs": list(one.logs),
    }


def _errors(errors: Errors) -> dict[str, Json]:
    below, above = (None if error is None else round(error, 4) for error in errors)
    return {"below_128_mib": below, "from_128_mib": above}


def _share(error: float | None) -> str:
    return "-" if error is None else f"{error:.1%}"
