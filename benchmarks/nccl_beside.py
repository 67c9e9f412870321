"""A published table of nccl-tests beside ours and beside NCCL's own formulas, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nccl_tables import Case, read_case

from astra_ns3.experiments.nccl.bench import OPERATIONS
from astra_ns3.nccl.comparing import LARGE_BYTES
from astra_ns3.nccl.constants import FUNCTIONS
from astra_ns3.nccl.logs import bus_factor
from astra_ns3.nccl.tuning import believed_us


@dataclass(frozen=True)
class Row:
    """One size. Bandwidths are bus bandwidths in GB/s; ``baseline`` is 0 where NCCL has no formula."""

    bytes: int
    measured: float
    ours: float
    baseline: float
    algorithm: str
    protocol: str
    channels: int
    binds: str
    share: float


@dataclass(frozen=True)
class Table:
    """A published table beside ours: ``setting`` and ``source`` come from the first line of its file."""

    name: str
    operation: str
    servers: str
    gpus: int
    version: str
    setting: str
    source: str
    rows: tuple[Row, ...]

    def error(self, *, large: bool, of: str = "ours") -> float | None:
        """Mean of |time / measured time - 1| below 128 MiB or from there on; None without such rows."""
        rows = [row for row in self.rows if (row.bytes >= LARGE_BYTES) == large and getattr(row, of)]
        return sum(abs(row.measured / getattr(row, of) - 1) for row in rows) / len(rows) if rows else None


def played(case: Case, folder: Path) -> Table:
    """Play a table on the flow backend."""
    log, machine = read_case(case, folder)
    who = machine.communicator
    kind, factor = OPERATIONS[log.collective], bus_factor(log.collective, who.ranks)
    found = machine.bench(log.collective, [row.size_bytes for row in log.rows])
    head = Path(log.path).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    setting, _, source = head.partition("source")
    return Table(
        case.name,
        log.collective,
        case.servers,
        case.gpus,
        case.version,
        setting.strip("; "),
        source.strip(": "),
        tuple(
            Row(
                row.size_bytes,
                row.size_bytes / row.measured_us / 1e3 * factor,
                one.bus_gbytes_per_s,
                row.size_bytes / believed_us(who, kind, row.size_bytes) / 1e3 * factor if kind in FUNCTIONS else 0.0,
                one.algorithm,
                one.protocol,
                one.channels,
                one.binds,
                one.share,
            )
            for row, one in zip(log.rows, found, strict=True)
        ),
    )


def size_text(bytes: int) -> str:
    """Return a size as it is read: 64 MiB."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if bytes >= 1 << bits:
            return f"{bytes / (1 << bits):g} {unit}"
    return f"{bytes} B"
