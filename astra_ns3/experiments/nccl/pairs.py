"""An operation between each two servers alone: a matrix of bus bandwidths, as text, picture and page."""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import ends_in, refuse
from astra_ns3.experiments.nccl.bench import Case, rounded_sizes
from astra_ns3.experiments.nccl.machine import Machine
from astra_ns3.frozen import dataclass
from astra_ns3.report.figures.figure import Axis, Figure, Heat, Panel, Series, Words
from astra_ns3.report.figures.style import BLACK
from astra_ns3.report.figures.with_matplotlib import drawn, write
from astra_ns3.report.page.markup import escaped
from astra_ns3.whole_file import whole_file

ENDINGS = (".png", ".svg", ".pdf", ".html")
_WIDTH_INCHES = 4.5
_MOST_SERVERS, _MOST_WORDS = 64, 16
"""The most servers at all, and the most whose numbers find room in a picture."""
_DARK, _LIGHT = (0, 34, 78), (254, 232, 56)
"""The ends of cividis."""


@dataclass(frozen=True)
class Pairs:
    """``values[one][other]``: GB/s of bus bandwidth between two servers; NaN on the diagonal."""

    operation: str
    size_bytes: int
    words: str
    values: npt.NDArray[np.float64]

    @property
    def title(self) -> str:
        """Heading of the table."""
        return f"{self.operation} of {self.size_bytes} bytes between each two of {self.words}"

    @property
    def told(self) -> npt.NDArray[np.float64]:
        """The value of each pair once."""
        return self.values[np.triu_indices(len(self.values), 1)]


def measure_pairs(machine: Machine, operation: str, size: int, seed: int = 1) -> Pairs:
    """Play an operation of one size on each two servers alone, one pair after the other. Raises InputError."""
    servers, gpus = machine.servers, machine.gpus
    refuse(
        not 2 <= servers <= _MOST_SERVERS,
        f"--pairs: found {servers} servers, expected 2 to {_MOST_SERVERS}: each two of them are played",
    )
    (size,) = rounded_sizes(operation, [size], 2 * gpus)
    pairs = list(combinations(range(servers), 2))
    npus = [(*range(one * gpus, (one + 1) * gpus), *range(other * gpus, (other + 1) * gpus)) for one, other in pairs]
    rows = machine.bench_cases(operation, [Case(size, members) for members in npus], seed)
    values = np.full((servers, servers), np.nan)
    for (one, other), row in zip(pairs, rows, strict=True):
        values[one, other] = values[other, one] = row.bus_gbytes_per_s
    return Pairs(operation, size, machine.words, values)


def pairs_text(pairs: Pairs) -> str:
    """The matrix, and its range."""
    count = len(pairs.values)
    head = "#server " + "".join(f"{number:8}" for number in range(count))
    lines = [f"# {pairs.title}: bus bandwidth in GB/s", head]
    for number, row in enumerate(pairs.values):
        lines.append(f"{number:7} " + "".join(f"{'-':>8}" if np.isnan(one) else f"{one:8.2f}" for one in row))
    told = pairs.told
    return "\n".join([*lines, f"# least {told.min():.2f}, mean {told.mean():.2f}, most {told.max():.2f} GB/s"])


def pairs_document(pairs: Pairs) -> dict[str, Json]:
    """The matrix as plain data; null: a server with itself."""
    values: list[Json] = [[None if np.isnan(one) else round(float(one), 4) for one in row] for row in pairs.values]
    return {"operation": pairs.operation, "size_bytes": pairs.size_bytes, "servers": pairs.words, "busbw": values}


def check_pairs_file(path: str) -> None:
    """Raise InputError if no picture or page can be written there."""
    ends_in("a picture of pairs", path, ENDINGS)


def write_pairs(pairs: Pairs, path: str | os.PathLike[str]) -> None:
    """Write a picture (.png, .svg, .pdf) or a page (.html). Raises InputError."""
    target = os.fspath(path)
    check_pairs_file(target)
    if target.endswith(".html"):
        with whole_file(target) as partial:
            partial.write_text(pairs_page(pairs), encoding="utf-8")
        return
    write(drawn(_figure(pairs), _WIDTH_INCHES, pairs.title), target)


def _figure(pairs: Pairs) -> Figure:
    names = [str(number) for number in range(len(pairs.values))]
    low, high = _limits(pairs)
    series: list[Series] = [Heat(pairs.values, Axis("bus bandwidth", "GB/s", low, high))]
    if len(names) <= _MOST_WORDS:
        series += [
            Words(other, one, f"{value:.1f}", colour=BLACK if _share(float(value), low, high) > 0.5 else "white")
            for (one, other), value in np.ndenumerate(pairs.values)
            if not np.isnan(value)
        ]
    x, y = Axis("server", names=names), Axis("server", names=names)
    return Figure([Panel(x, y, series, height=_WIDTH_INCHES * 0.78)], around=0.6)


def _limits(pairs: Pairs) -> tuple[float, float]:
    """The range of colours: from 0 if the pairs are within 2 % of each other, so that noise doesn't look like news."""
    low, high = float(pairs.told.min()), float(pairs.told.max())
    return (0.0, high) if low > 0.98 * high else (low, high)


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 1.0


def pairs_page(pairs: Pairs) -> str:
    """A page that needs no other file: the matrix with a colour for each number."""
    low, high = _limits(pairs)
    head = "".join(f"<th>{number}</th>" for number in range(len(pairs.values)))
    rows = [
        f"<tr><th>{number}</th>{''.join(_cell(float(one), low, high) for one in row)}</tr>"
        for number, row in enumerate(pairs.values)
    ]
    style = "body{font:14px sans-serif}table{border-collapse:collapse}td,th{padding:.4em .6em;text-align:right}"
    title = escaped(pairs.title)
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
        f"<h1>{title}</h1><p>Bus bandwidth in GB/s.</p><table><tr><th>server</th>{head}</tr>{''.join(rows)}</table>"
        f"</html>\n"
    )


def _cell(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return "<td></td>"
    share = _share(value, low, high)
    colour = ",".join(str(round(dark + share * (light - dark))) for dark, light in zip(_DARK, _LIGHT, strict=True))
    ink = "#000" if share > 0.5 else "#fff"
    return f'<td style="background:rgb({colour});color:{ink}">{value:.2f}</td>'
