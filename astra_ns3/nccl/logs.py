"""Logs of nccl-tests: what its programs print, and the same rows as CSV.

Text: a line of columns that begins with ``# size count type``, then a row for each size. Columns differ by version and
program (``redop`` and ``root`` can be absent, ``error`` is an older ``#wrong``), so measurements are found from the
right. CSV: a first line ``# all_reduce; 2 nodes x 8 ...`` about the setting, then named columns; a table that was
measured only in place, or only out of place, has empty cells. Rows of no bytes are passed over. The table that
``astra-ns3 nccl`` prints has ``time`` right behind ``size``, and words at the end of a row.

Source: NVIDIA/nccl-tests, ``src/common.cu`` and the bandwidth function of each program; ``doc/PERFORMANCE.md``.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from astra_ns3.errors import InputError, Where, failing, in_range, one_of, required, some_of, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.version import Version, parse_version
from astra_ns3.units import counted

# Bytes over the busiest link of a collective, as a share of its size times (n-1)/n; None: all of its size.
_SHARES: Mapping[str, float | None] = {
    "all_reduce": 2.0,
    "all_gather": 1.0,
    "reduce_scatter": 1.0,
    "alltoall": 1.0,
    "gather": 1.0,
    "scatter": 1.0,
    "sendrecv": None,
    "broadcast": None,
    "reduce": None,
}
# Longest first: reduce_scatter is not reduce.
_NAMES = sorted(_SHARES, key=len, reverse=True)
_TOLERANCE = 0.05
_ROUNDING = 0.006  # GB/s: two digits are printed
_COLUMNS = (
    "size_bytes",
    "oop_time_us",
    "oop_algbw_GBps",
    "oop_busbw_GBps",
    "ip_time_us",
    "ip_algbw_GBps",
    "ip_busbw_GBps",
)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
# What mpirun and srun put in front of a line.
_TAG = re.compile(r"^\s*(\[[0-9]+,[0-9]+\]<std(out|err)>:|[0-9]+:(?=\s))")
# How the first line of a CSV file, or of our table, says how many ranks there are, the surest first. Two numbers are
# multiplied.
_RANKS = (
    *(r"([0-9]+) nodes? x ([0-9]+)", r"([0-9]+) x .+ \(([0-9]+) GPUs? each"),
    *(r"([0-9]+) GPUs?\b", r"[0-9]+ nodes?, ([0-9]+)", r"\(([0-9]+) [A-Z]"),
)
_DEVICE = re.compile(r"\s*#\s+Rank\s+([0-9]{1,7})\s(?:.*\son\s+(\S+)\s+device\s[^]]*\]\s*(\S.*\S))?")
_VERSION = re.compile(r"\bNCCL (?:version )?([0-9][0-9._]*)|nccl-library=([0-9]+)")
# The last line of our own table.
_OWN_END = "# mean of busbw"
_EXPECTED = "expected a log of nccl-tests, its rows as CSV, or a table of astra-ns3 nccl"


@dataclass(frozen=True)
class LogRow:
    """The measurement of one size; None: not measured so. Bus bandwidths are in GB/s (10^9 bytes)."""

    size_bytes: int
    time_us: float | None
    in_place_us: float | None = None
    bus_gbytes_per_s: float | None = None
    in_place_bus_gbytes_per_s: float | None = None

    @property
    def measured_us(self) -> float:
        """The time out of place, or in place if that is all there is."""
        time = self.in_place_us if self.time_us is None else self.time_us
        return required(time, f"found no time of {self.size_bytes} bytes, expected one out of place or in place")


@dataclass(frozen=True)
class Log:
    """A table of measurements; sizes rise. ``warnings``: what in it contradicts itself, one line each.

    ``hosts``: how many different ones its lines of all ranks name; ``gpu``: the first one's, such as NVIDIA H100.
    """

    collective: str
    ranks: int | None
    version: Version | None
    rows: tuple[LogRow, ...]
    warnings: tuple[str, ...] = ()
    path: str = ""
    hosts: int | None = None
    gpu: str | None = None


@dataclass(frozen=True)
class _Line:
    """One row as it stands: measurements are time, algorithm bandwidth, bus bandwidth, out of place and in place."""

    number: int
    size_bytes: int
    measured: tuple[float | None, ...]
    wrong_values: int = 0


def bus_factor(collective: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth (size by time); raises InputError of a collective unknown here."""
    in_range("ranks", ranks, 1)
    share = one_of("collective", collective, _SHARES)
    return 1.0 if share is None else share * (ranks - 1) / ranks


def read_log(path: str | os.PathLike[str], collective: str | None = None, ranks: int | None = None) -> Log:
    """Return the table of a file; raises InputError with file and line of one that is cut, unsorted or another's.

    ``collective`` and ``ranks`` replace what the file says. Text of nccl-tests before 2.16 doesn't name its collective:
    then the file's name does, or the caller.
    """
    with failing(OSError, "can't be read", path):
        data = Path(path).read_bytes()
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise wrong(f"found bytes that are no text, {_EXPECTED}", path) from error
    lines = [_TAG.sub("", line) for line in lines]
    about, table = _parts(lines, path)
    table = [line for line in table if line.size_bytes > 0]
    if not table:
        raise wrong("found no rows: the log is cut, or nothing was measured", path)
    return _checked(path, about, table, _collective(path, about, collective), ranks or _ranks(about))


def _parts(lines: Sequence[str], path: str | os.PathLike[str]) -> tuple[list[str], list[_Line]]:
    """Return the lines that say something about the table, and its rows."""
    head = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if head.startswith("size_bytes,"):
        return [line for line in lines if line.startswith("#")], list(_csv_rows(lines, path))
    places = [place for place, line in enumerate(lines) if re.match(r"\s*#\s+size\s+(count|time)\s", line)]
    if not places:
        raise wrong(f"found no line of columns '# size ...', {_EXPECTED}", path)
    if places[1:]:
        raise wrong("found a second table, expected one in a file", Where(path, places[1] + 1))
    about = [line for line in lines if not line.lstrip()[:1].isdigit()]
    if any("rccl-tests" in line or "RCCL version" in line for line in about):
        raise wrong("found a log of rccl-tests, expected one of nccl-tests: RCCL decides otherwise", path)
    rows = _text_rows if "count" in lines[places[0]] else _own_rows
    return about, list(rows(lines, places[0], path))


def _csv_rows(lines: Sequence[str], path: str | os.PathLike[str]) -> Iterator[_Line]:
    start = next(place for place, line in enumerate(lines) if line.startswith("size_bytes,"))
    names = lines[start].strip().split(",")
    if missing := [name for name in _COLUMNS if name not in names]:
        raise wrong(f"found no column {missing[0]}, expected {', '.join(_COLUMNS)}", Where(path, start + 1))
    for number, cells in enumerate(csv.reader(lines[start + 1 :]), start + 2):
        where = Where(path, number)
        if not cells or cells[0].startswith("#"):
            continue
        if len(cells) != len(names):
            raise wrong(f"found {counted(len(cells), 'cell')}, expected {len(names)}: the row is cut", where)
        row = dict(zip(names, cells, strict=True))
        yield _line(number, row["size_bytes"], [row[name] for name in _COLUMNS[1:]], 0, where)


def _text_rows(lines: Sequence[str], head: int, path: str | os.PathLike[str]) -> Iterator[_Line]:
    names = lines[head].replace("# ", " ").split()
    times = [place for place, name in enumerate(names) if name == "time"]
    if not times:
        raise wrong(f"found no column 'time', {_EXPECTED}", Where(path, head + 1))
    width, words = len(names) - times[0], None
    for number, line in enumerate(lines[head + 1 :], head + 2):
        cells, where = line.split(), Where(path, number)
        if len(cells) < 2 or not (cells[0].isdecimal() and cells[1].isdecimal()):
            _check_no_row(cells, where)
            continue
        words = words or len(cells)
        if len(cells) != words or not 2 <= len(cells) - width <= times[0]:
            raise wrong(
                f"found {counted(len(cells), 'column')}, expected {max(words, width + 2)}: the row is cut", where
            )
        numbers = cells[-width:]
        found = [numbers[place - times[0] + shift] for place in times[:2] for shift in range(3)]
        checked = [cell for name, cell in zip(names[times[0] :], numbers, strict=True) if name == "#wrong"]
        yield _line(number, cells[0], found, sum(cell not in ("0", "N/A") for cell in checked), where)


def _own_rows(lines: Sequence[str], head: int, path: str | os.PathLike[str]) -> Iterator[_Line]:
    """Yield the rows of ``astra-ns3 nccl``; other choices of ``--what-if`` stand below its mean."""
    for number, line in enumerate(lines[head + 1 :], head + 2):
        cells, where = line.split(), Where(path, number)
        if line.startswith(_OWN_END):
            return
        if not cells or not cells[0].isdecimal():
            continue
        if len(cells) < len(_COLUMNS):
            raise wrong(
                f"found {counted(len(cells), 'column')}, expected at least {len(_COLUMNS)}: the row is cut", where
            )
        yield _line(number, cells[0], cells[1 : len(_COLUMNS)], 0, where)


def _check_no_row(cells: Sequence[str], where: Where) -> None:
    if len(cells) == 1 and cells[0].isdecimal():
        raise wrong(f"found the size {cells[0]} alone: the row is cut", where)


def _line(number: int, size: str, cells: Sequence[str], wrong_values: int, where: Where) -> _Line:
    if not re.fullmatch("[0-9]{1,18}", size):
        raise wrong(f"size is {size!r}, expected a whole number of bytes", where)
    measured = [_measured(cell, where) for cell in cells] + [None] * (6 - len(cells))
    for time in (measured[0], measured[3]):
        if time is not None and time <= 0 < int(size):
            raise wrong(f"time is {time:g} us, expected more than 0", where)
    if measured[0] is None and measured[3] is None:
        raise wrong("found no time, expected one out of place or in place", where)
    return _Line(number, int(size), tuple(measured), wrong_values)


def _measured(cell: str, where: Where) -> float | None:
    if cell in ("", "N/A"):
        return None
    if not _NUMBER.fullmatch(cell):
        raise wrong(f"found {cell!r}, expected a number", where)
    return float(cell)


def _collective(path: str | os.PathLike[str], about: Iterable[str], given: str | None) -> str:
    """Return the collective that the caller, the file or its name says."""
    if given is not None:
        one_of("collective", given, _SHARES)
        return given
    said = [line for line in about if "_perf" in line or re.match(r"#\s*[a-z_]+(;| )", line)]
    for text in (*said, Path(path).name.lower().replace("allreduce", "all_reduce").replace("allgather", "all_gather")):
        for name in _NAMES:
            if re.search(rf"(?<![a-z_]){name}(?![a-z])", text):
                return name
    names = f"expected one of {', '.join(_SHARES)}"
    raise wrong(f"found no name of a collective in it or its own name, {names}: rename it as all_reduce-1.log", path)


def _ranks(about: Sequence[str]) -> int | None:
    """Return the number of ranks: lines ``# Rank``, or what the first line of a CSV file says."""
    if devices := _devices(about):
        return max(rank for rank, _, _ in devices) + 1  # a page can show some of them only
    said = next(iter(about), "")
    found = next((found for pattern in _RANKS if (found := re.search(pattern, said))), None)
    return None if found is None else math.prod(int(number) for number in found.groups())


def _devices(about: Iterable[str]) -> list[tuple[int, str | None, str | None]]:
    """Return the rank, host and GPU of each line ``# Rank``."""
    return [(int(found[1]), found[2], found[3]) for line in about if (found := _DEVICE.match(line))]


def _version(about: Iterable[str]) -> Version | None:
    for line in about:
        if found := _VERSION.search(line):
            try:
                return parse_version((found[1] or found[2]).replace("_", ".").strip("."))
            except InputError:
                continue
    return None


def _checked(
    path: str | os.PathLike[str], about: Sequence[str], lines: Sequence[_Line], collective: str, ranks: int | None
) -> Log:
    for before, line in pairwise(lines):
        if line.size_bytes <= before.size_bytes:
            words = f"size is {line.size_bytes} after {before.size_bytes}, expected sizes that rise"
            raise wrong(words, Where(path, line.number))
    rows = tuple(
        LogRow(line.size_bytes, line.measured[0], line.measured[3], line.measured[2], line.measured[5])
        for line in lines
    )
    warnings = (*_contradictions(lines, collective, ranks), *_whole(about, lines))
    said = tuple(f"{os.fspath(path)}{warning}" for warning in warnings)
    devices = _devices(about)
    whole = len({rank for rank, host, _ in devices if host}) == ranks
    hosts = len({host for _, host, _ in devices}) if whole else None
    gpu = next((name for _, _, name in devices if name), None)
    return Log(collective, ranks, _version(about), rows, said, os.fspath(path), hosts, gpu)


def _contradictions(lines: Sequence[_Line], collective: str, ranks: int | None) -> Iterator[str]:
    """Say in which lines a bandwidth isn't size by time, by more than 5 % and what rounding explains."""
    factors = {1: 1.0} | ({} if ranks is None else {2: bus_factor(collective, ranks)})
    for column, factor in factors.items():
        name = "algorithm" if column == 1 else "bus"
        for begin, place in ((0, "out of place"), (3, "in place")):
            found = [line.number for line in lines if _differs(line, begin, column, factor)]
            if found:
                numbers = some_of([str(number) for number in found], 4)
                ours = f" of {ranks} ranks" if column > 1 else ""
                yield f":{found[0]}: {name} bandwidth {place} isn't that of the time{ours} in lines {numbers}"


def _differs(line: _Line, begin: int, column: int, factor: float) -> bool:
    time, found = line.measured[begin], line.measured[begin + column]
    if time is None or found is None:
        return False
    expected = factor * line.size_bytes / time / 1e3  # bytes a microsecond, in GB/s
    return abs(found - expected) > _TOLERANCE * expected + _ROUNDING


def _whole(about: Sequence[str], lines: Sequence[_Line]) -> Iterator[str]:
    text = any("(us)" in line for line in about)
    if text and not any("Avg bus bandwidth" in line or line.startswith(_OWN_END) for line in about):
        yield ": ends without '# Avg bus bandwidth', so larger sizes may be missing"
    if len(devices := _devices(about)) > 1 and not any(rank for rank, _, _ in devices):
        yield f": {len(devices)} processes are rank 0 each, as without MPI: each measured itself alone"
    if spoilt := [line.number for line in lines if line.wrong_values]:
        yield f":{spoilt[0]}: nccl-tests found wrong results in lines {some_of([str(one) for one in spoilt], 4)}"
