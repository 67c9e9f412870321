"""How all figures look: colours that all eyes can tell apart, units on axes, names cut to the room that there is.

The colours are those of Okabe and Ito, "Color Universal Design" (2008); the heat map's is ``cividis``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from astra_ns3.units import PS_PER_MS, PS_PER_NS, PS_PER_SECOND, PS_PER_US

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, BLACK, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#000000", "#8C8C8C"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
ON_PAGES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
"""A page may be black, where black can't be seen."""

_TIMES = ((PS_PER_SECOND, "s"), (PS_PER_MS, "ms"), (PS_PER_US, "us"), (PS_PER_NS, "ns"), (1, "ps"))
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))

Unit = tuple[int, str]
"""How many picoseconds, or bytes, it is, and its name."""


def time_unit(longest_ps: float, least: float = 2) -> Unit:
    """Return the largest unit of which a time has at least so many."""
    return next((unit for unit in _TIMES if longest_ps >= least * unit[0]), _TIMES[-1 if longest_ps else -2])


def size_unit(largest_bytes: float) -> Unit:
    """Return the largest unit of bytes, a power of ten, of which a size has one."""
    return next((unit for unit in _SIZES if largest_bytes >= unit[0]), _SIZES[-1])


def shortened(text: str, most: int = 22) -> str:
    """Return a long text without its middle."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept // 2]}…{text[len(text) - (kept - kept // 2) :]}"


def tails(names: Sequence[str], most: int = 16) -> list[str]:
    """Return long names of runs without their beginnings, with as much of each as tells them apart."""
    for kept in range(most, 2 * most):
        short = [name if len(name) <= kept else f"…{name[1 - kept :]}" for name in names]
        if len(set(short)) == len(set(names)):
            return short
    return labels(names, most)


def cut(names: Iterable[str], longest: int = 26) -> list[str]:
    """Return names without their ends, where they are longer."""
    return [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]


def labels(names: Sequence[str], most: int = 22) -> list[str]:
    """Return long names without what they have in common; numbered where they would look alike even so."""
    if all(len(name) <= most for name in names):
        return list(names)
    head, tail = _alike(names), _alike([name[::-1] for name in names])
    if len(set(names)) > 1 and head > 3:
        head = max((index + 1 for index in range(head) if not names[0][index].isalnum()), default=0)  # whole words
        parts = [f"{shortened(name[:head], most // 2)}{name[head:]}" for name in names]
        if any(len(name) > most for name in parts) and tail > 3:
            parts = [f"{name[: len(name) - tail]}…" for name in parts]
    else:
        parts = list(names)
    short = [shortened(name, most) for name in parts]
    alike = len(set(short)) < len(set(names))
    return [f"{index}: {shortened(name, most - 4)}" for index, name in enumerate(parts)] if alike else short


def _alike(names: Sequence[str]) -> int:
    """Return with how many letters all names begin."""
    first, last = min(names), max(names)
    return next((index for index, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def short_part(part: str) -> str:
    """Return a part of a layer's pass in a few letters, as ``EndToEnd.csv`` has it."""
    return {"forward": "fwd", "weight gradient": "wg", "input gradient": "ig"}.get(part, part)


def of_part(layer: str, part: str) -> str:
    """Return the label of a layer's part: ``dense, weight grad.``; the layer alone if the part has no name."""
    return ", ".join(filter(None, (layer, part.replace("gradient", "grad."))))
