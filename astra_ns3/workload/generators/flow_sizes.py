"""Sizes of flows: distributions that were published, one of the user's own from a file, or one size for all.

The points of the published ones are those with which HPCC's traffic generator stands for them
(alibaba-edu/High-Precision-Congestion-Control, ``traffic_gen/``: ``WebSearch_distribution.txt``,
``FbHdp_distribution.txt``, ``AliStorage2019.txt``): sizes in bytes with the percentage of flows that are no larger.
Between two points sizes are spread evenly.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.rows import Row, rows_of
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import LARGEST_INTEGER, counted, parse_bytes

_WHOLE = 100.0
_LARGEST = 10**15
_DECIMAL = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)


@dataclass(frozen=True)
class FlowSizes:
    """A distribution: ``percents[i]`` of the flows have at most ``sizes_bytes[i]``; both ascend, to 100 %.

    ``source``: where the numbers are from.
    """

    name: str
    sizes_bytes: tuple[float, ...]
    percents: tuple[float, ...]
    source: str = ""

    def __post_init__(self) -> None:
        problem = _problem(self.sizes_bytes, self.percents)
        refuse(bool(problem), problem, self.name)

    @property
    def mean_bytes(self) -> float:
        """The mean size, before sizes are cut to whole bytes."""
        sizes, percents = np.array(self.sizes_bytes), np.array(self.percents)
        between = float(((sizes[1:] + sizes[:-1]) / 2 * np.diff(percents)).sum())
        return (between + float(sizes[0] * percents[0])) / _WHOLE

    def sizes_of(self, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The sizes below which these shares (0 to 1) of all flows are, in whole bytes, at least one."""
        found = np.interp(shares * _WHOLE, self.percents, self.sizes_bytes)
        return np.maximum(found.astype(np.int64), 1)

    def rest_of(self, share: float) -> float:
        """Return the bytes below which this share (0 to 1) of flows under way have left at a random time.

        A renewal process's residual: its density is the share of flows that are larger, over the mean.
        """
        sizes = np.array((0.0, self.sizes_bytes[0], *self.sizes_bytes))
        larger = 1 - np.array((0.0, 0.0, *self.percents)) / _WHOLE
        widths = np.diff(sizes)
        below = np.concatenate([[0.0], np.cumsum(widths * (larger[1:] + larger[:-1]) / 2)])
        wanted = min(share * float(below[-1]), math.nextafter(float(below[-1]), 0.0))
        part = int(np.searchsorted(below, wanted, side="right")) - 1
        more = wanted - float(below[part])
        slope = float(larger[part] - larger[part + 1]) / float(widths[part])
        root = math.sqrt(max(0.0, float(larger[part]) ** 2 - 2 * slope * more))
        return float(sizes[part]) + 2 * more / (float(larger[part]) + root)


def one_size(size_bytes: int) -> FlowSizes:
    """All flows have the same size."""
    return FlowSizes(f"{size_bytes} bytes", (float(size_bytes), float(size_bytes)), (0.0, _WHOLE))


def sizes_of_points(name: str, points: Sequence[tuple[float, float]], source: str = "") -> FlowSizes:
    """From pairs of size and percentage."""
    return FlowSizes(name, tuple(size for size, _ in points), tuple(percent for _, percent in points), source)


def read_sizes(path: str | os.PathLike[str]) -> FlowSizes:
    """A user's own distribution: a line for each point, size in bytes and percentage; raises InputError."""
    rows = rows_of(read_text(path), os.fspath(path))
    points = [_point(row) for row in rows if not row.words[0].startswith("#")]
    return sizes_of_points(os.fspath(path), points)


def flow_sizes(word: str) -> FlowSizes:
    """A distribution by its name, one size (``100KB``), or that of a file; raises InputError."""
    if word in DISTRIBUTIONS:
        return DISTRIBUTIONS[word]
    if word[:1].isdigit() and not os.path.exists(word):  # noqa: PTH110
        size_bytes = parse_bytes(word)
        refuse(size_bytes < 1, f"size of flows is '{word}', expected at least one byte")
        return one_size(size_bytes)
    if os.path.exists(word):  # noqa: PTH110
        return read_sizes(word)
    raise wrong(
        f"sizes '{word}' is neither a size, such as 100KB, nor a file, nor one of {', '.join(DISTRIBUTIONS)}"
        f"{nearest(word, DISTRIBUTIONS)}"
    )


def _point(row: Row) -> tuple[float, float]:
    row.refuse(
        len(row.words) != 2 or not all(_DECIMAL.fullmatch(word) for word in row.words),
        "expected two numbers: a size in bytes and the percentage of flows that are no larger",
    )
    return float(row.words[0]), float(row.words[1])


def _problem(sizes: Sequence[float], percents: Sequence[float]) -> str:
    """The mistake of a distribution; "" if nothing is."""
    if len(sizes) != len(percents) or len(sizes) < 2:
        return f"has {counted(len(sizes), 'point')}, expected at least two"
    if any(after < before for column in (sizes, percents) for before, after in pairwise(column)):
        return "its sizes and percentages have to ascend"
    if percents[0] < 0 or percents[-1] != _WHOLE:
        return f"its percentages go from {percents[0]:g} to {percents[-1]:g}, expected up to 100"
    if sizes[0] < 0 or not 1 <= sizes[-1] <= min(_LARGEST, LARGEST_INTEGER):
        return f"its sizes go from {sizes[0]:g} to {sizes[-1]:g}, expected 0 to {_LARGEST}"
    return ""


_PUBLISHED = (
    sizes_of_points(
        "web-search",
        (
            (0, 0),
            (10_000, 15),
            (20_000, 20),
            (30_000, 30),
            (50_000, 40),
            (80_000, 53),
            (200_000, 60),
            (1_000_000, 70),
            (2_000_000, 80),
            (5_000_000, 90),
            (10_000_000, 97),
            (30_000_000, 100),
        ),
        "a web search cluster: Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010",
    ),
    sizes_of_points(
        "hadoop",
        (
            (0, 0),
            (100, 1),
            (200, 2),
            (300, 5),
            (350, 15),
            (400, 20),
            (500, 30),
            (600, 40),
            (700, 50),
            (1_000, 60),
            (2_000, 67),
            (7_000, 70),
            (30_000, 72),
            (50_000, 82),
            (80_000, 87),
            (120_000, 90),
            (300_000, 95),
            (1_000_000, 97.5),
            (2_000_000, 99),
            (10_000_000, 100),
        ),
        "a Hadoop cluster of Facebook's: Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015",
    ),
    sizes_of_points(
        "storage",
        (
            (0, 0),
            (4_000, 22.93),
            (8_000, 69.21),
            (16_000, 80.61),
            (32_000, 90.47),
            (64_000, 93.53),
            (128_000, 96.77),
            (256_000, 97.53),
            (2_000_000, 100),
        ),
        "a storage cluster of Alibaba's, 2019: High-Precision-Congestion-Control's traffic generator",
    ),
)
DISTRIBUTIONS: Mapping[str, FlowSizes] = {each.name: each for each in _PUBLISHED}
"""Published distributions by name."""
