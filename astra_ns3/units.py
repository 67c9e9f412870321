"""Units: text with a unit to whole numbers of bytes, bits per second and picoseconds, and back.

Everything inside is an integer: bytes, bits per second, picoseconds. A value that is not a whole number of those is
an error, so nothing is ever rounded silently on the way in. MB is 10**6 bytes, MiB 2**20.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from astra_ns3.errors import InputError, nearest, wrong

PS_PER_NS = 1000
PS_PER_US = 1000 * PS_PER_NS
PS_PER_MS = 1000 * PS_PER_US
PS_PER_SECOND = 1000 * PS_PER_MS

LARGEST_INTEGER = 2**63 - 1
"""Sizes and times cross to C++ as signed 64-bit integers."""

_BYTE_UNITS: Mapping[str, int] = {
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGT", start=1)},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", start=1)},
}
_BIT_PREFIXES: Mapping[str, int] = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_RATE_UNITS: Mapping[str, int] = {
    f"{prefix}{unit}": factor for unit in ("bps", "b/s", "bit/s") for prefix, factor in _BIT_PREFIXES.items()
}
_RATE_WORDS = "bps, kbps, Mbps, Gbps, Tbps (or b/s, Gb/s, ...)"
_LEAST_BARE_BPS = 1_000_000
_LEAST_BARE_MEMORY = 1000
_TIME_UNITS: Mapping[str, int] = {
    "ps": 1,
    "ns": PS_PER_NS,
    "us": PS_PER_US,
    "µs": PS_PER_US,
    "ms": PS_PER_MS,
    "s": PS_PER_SECOND,
    "min": 60 * PS_PER_SECOND,
    "h": 3600 * PS_PER_SECOND,
}
_FLOPS_UNITS: Mapping[str, int] = {
    f"{prefix}{unit}": factor
    for unit in ("FLOPS", "FLOP/s")
    for prefix, factor in {"": 1, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}.items()
}
_BYTE_RATE_UNITS: Mapping[str, int] = {f"{unit}/s": factor for unit, factor in _BYTE_UNITS.items()}
_FREQUENCY_UNITS: Mapping[str, int] = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_NUMBER_AND_UNIT = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE]\+?[0-9]{1,2})?)\s*([^\s0-9.+]*)", re.ASCII)
_NUMBERS = re.compile(r"(?<![\w.'/-])\d[\d.,]*(?:e[+-]?\d+)?(?: ?(?:[kKMGTPmunp]?i?(?:B|b/s|s)|min|h)\b)?")
_NOUNS = re.compile(r"# ([a-z]+?)(?:ies|y|es|e|s)*\b")
_BITS = re.compile(r"([kKMGT]i?|)(?:b|bit|bits)(/s|)")
_BYTES_PER_SECOND = re.compile(r"([kKMGT](?=i)|[kKMGT]?(?!i))(i?)(?:B|byte|bytes)(?:/s|ps)?")


def parse_bytes(value: str | int) -> int:
    """Size in bytes: ``"500KB"`` is 500,000, ``"1GiB"`` is 2**30, a bare number counts bytes.

    Raises InputError for anything else, among it a negative size or a fraction of a byte.
    """
    return _parse(value, "a size", _BYTE_UNITS, bare=1, shown="B, KB, MB, GB, TB, KiB, MiB, GiB, TiB")


def parse_memory(value: str | int) -> int:
    """Size of a memory in bytes, as :func:`parse_bytes` reads it.

    Raises InputError, too, for bare numbers below a thousand: whoever writes ``80`` means another unit.
    """
    size_bytes = parse_bytes(value)
    if 0 < size_bytes < _LEAST_BARE_MEMORY and not any(letter.isalpha() for letter in str(value)):
        raise wrong(f"{value!r} has no unit and would be {size_bytes} bytes; did you mean '{str(value).strip()}GB'?")
    return size_bytes


def parse_rate(value: str | int) -> int:
    """Rate in bits per second: ``"100Gbps"`` and ``"100Gb/s"`` are 10**11, a bare number counts bits per second.

    Raises InputError for anything else, among it rates in bytes, and bare numbers below a million: whoever writes
    ``100`` means another unit.
    """
    rate_bps = _parse(value, "a rate", _RATE_UNITS, bare=1, shown=_RATE_WORDS)
    if 0 < rate_bps < _LEAST_BARE_BPS and not any(letter.isalpha() for letter in str(value)):
        raise wrong(f"{value!r} has no unit and would be {rate_bps} bits per second: write one of {_RATE_WORDS}")
    return rate_bps


def parse_time_ps(value: str | int | float) -> int:
    """Time in picoseconds: ``"500ns"`` is 500,000, ``"0.5us"`` the same; a bare number is an error unless it is 0.

    Raises InputError for anything else, among it a negative time or a fraction of a picosecond.
    """
    return _parse(value, "a time", _TIME_UNITS, bare=None, shown="ps, ns, us, ms, s, min, h")


def parse_flops(value: str | int | float) -> int:
    """Floating-point operations per second: ``"989.4TFLOPS"`` and ``"989.4TFLOP/s"`` are 989,400,000,000,000.

    A bare number counts operations per second. Raises InputError for anything else.
    """
    return _parse(value, "a performance", _FLOPS_UNITS, bare=1, shown="FLOPS, MFLOPS, GFLOPS, TFLOPS, PFLOPS")


def parse_byte_rate(value: str | int | float) -> int:
    """Bytes per second, of a memory: ``"3.35TB/s"`` is 3,350,000,000,000; a bare number counts bytes per second.

    Raises InputError for anything else.
    """
    return _parse(value, "a memory bandwidth", _BYTE_RATE_UNITS, bare=1, shown="B/s, KB/s, MB/s, GB/s, TB/s, GiB/s")


def parse_frequency(value: str | int | float) -> int:
    """Cycles per second: ``"940MHz"`` is 940,000,000; a bare number counts Hz. Raises InputError for anything else."""
    return _parse(value, "a frequency", _FREQUENCY_UNITS, bare=1, shown="Hz, kHz, MHz, GHz")


def parse_any(value: str) -> int | None:
    """Rate, time or size in bits per second, picoseconds or bytes, whichever its unit tells; None if it is none."""
    for parse in (parse_rate, parse_time_ps, parse_bytes):
        try:
            return parse(value)
        except InputError:
            continue
    return None


def _parse(value: object, what: str, units: Mapping[str, int], *, bare: int | None, shown: str) -> int:
    """The integer that ``value`` stands for; ``bare`` is the factor of a number without a unit, None if not allowed."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise wrong(f"{value!r} is not {what}: write a number and one of {shown}")
    match = _NUMBER_AND_UNIT.fullmatch(str(value).strip())
    if match is None:
        raise wrong(f"{value!r} is not {what}: write a number that is not negative and one of {shown}")
    number, unit = Fraction(match[1]), match[2]
    if unit:
        if unit not in units:
            hint = _as_rate(number, unit) if units is _RATE_UNITS else _as_bytes(number, unit, units)
            raise wrong(f"{value!r} is not {what}: unit '{unit}' is not one of {shown}{hint or nearest(unit, units)}")
        number *= units[unit]
    elif bare is not None:
        number *= bare
    elif number != 0:
        raise wrong(f"{value!r} has no unit: write {what} as a number and one of {shown}")
    if number.denominator != 1:
        raise wrong(f"{value!r} is not a whole number of {_smallest(units)}")
    if number > LARGEST_INTEGER:
        days = " (106 days)" if _smallest(units) == "ps" else ""
        raise wrong(f"{value!r} is too large: the most is {LARGEST_INTEGER} {_smallest(units)}{days}")
    return int(number)


def _as_rate(number: Fraction, unit: str) -> str:
    """For a rate without bits, or in bytes: what it is in bits, and what was perhaps meant."""
    if f"{unit}bps" in _RATE_UNITS:
        return f"; did you mean '{float(number):g}{unit}bps'?"
    match = _BYTES_PER_SECOND.fullmatch(unit)
    if match is None:
        return ""
    prefix = match[1].replace("K", "k")
    if match[2]:
        power = "kMGT".index(prefix) + 1
        in_bits = 8 * number * Fraction(1024, 1000) ** power
        return f"; B is a byte and b a bit: did you mean '{float(in_bits):.15g}{prefix}bps' (8 bits a byte)?"
    return (
        f"; B is a byte and b a bit: did you mean '{float(8 * number):g}{prefix}bps' (8 bits a byte) "
        f"or '{float(number):g}{prefix}bps'?"
    )


def _as_bytes(number: Fraction, unit: str, units: Mapping[str, int]) -> str:
    """For bytes that are written in bits: what they are in bytes, and what was perhaps meant."""
    match = _BITS.fullmatch(unit)
    in_bytes = "" if match is None else f"{match[1].replace('k', 'K')}B{match[2]}"
    if in_bytes not in units:
        return ""
    sizes = {f"'{float(number / 8):g}{in_bytes}' (8 bits a byte)": number / 8, f"'{float(number):g}{in_bytes}'": number}
    meant = [words for words, size in sizes.items() if (size * units[in_bytes]).denominator == 1]
    part = "" if len(meant) == len(sizes) else ", and this is no whole number of bytes"
    return f"; B is a byte and b a bit{part}" + (f": did you mean {' or '.join(meant)}?" if meant else "")


def _smallest(units: Mapping[str, int]) -> str:
    return next(name for name, factor in units.items() if factor == 1)


def format_time(time_ps: int, digits: int = 4) -> str:
    """For people, four significant digits: ``format_time(1_234_567)`` is ``"1.235 us"``."""
    return _format(
        time_ps, (("s", PS_PER_SECOND), ("ms", PS_PER_MS), ("us", PS_PER_US), ("ns", PS_PER_NS), ("ps", 1)), digits
    )


def format_bytes(size_bytes: int, digits: int = 4) -> str:
    """For people, four significant digits and powers of ten: ``format_bytes(524_288)`` is ``"524.3 KB"``."""
    return _format(size_bytes, (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("B", 1)), digits)


def format_rate(rate_bps: int, digits: int = 4) -> str:
    """For people, four significant digits: ``format_rate(10**11)`` is ``"100 Gb/s"``."""
    return _format(rate_bps, (("Tb/s", 10**12), ("Gb/s", 10**9), ("Mb/s", 10**6), ("kb/s", 10**3), ("b/s", 1)), digits)


BY_ENDING: Mapping[str, Callable[..., str]] = {"_ps": format_time, "_bps": format_rate, "_bytes": format_bytes}
"""How numbers are told to people, by the unit at the end of their name."""


def without_numbers(words: str) -> str:
    """Return words with # for each number and its unit, but for digits of names, and nouns behind them alike."""
    return _NOUNS.sub(r"# \1", _NUMBERS.sub("#", words))


def without_unit(name: str) -> str:
    """Return a name as a file has it: without the unit at its end."""
    return next((name.removesuffix(ending) for ending in BY_ENDING if name.endswith(ending)), name)


def with_unit(name: str, value: int, digits: int = 4) -> str | None:
    """Return a number in the unit at the end of its name; None for a name without one."""
    return next((form(value, digits) for ending, form in BY_ENDING.items() if name.endswith(ending)), None)


def exact_time(time_ps: int) -> str:
    """A text that :func:`parse_time_ps` reads back to the same number, in the largest unit that divides it."""
    return _exact(time_ps, {unit: _TIME_UNITS[unit] for unit in ("s", "ms", "us", "ns")}, "ps")


def exact_rate(rate_bps: int) -> str:
    """A text that :func:`parse_rate` reads back to the same number, in the largest unit that divides it."""
    return _exact(rate_bps, {unit: _RATE_UNITS[unit] for unit in ("Tbps", "Gbps", "Mbps", "kbps")}, "bps")


def exact_bytes(size: int) -> str:
    """A text that :func:`parse_bytes` reads back to the same number, in the largest unit that divides it."""
    return _exact(size, {unit: _BYTE_UNITS[unit] for unit in ("TB", "TiB", "GiB", "GB", "MiB", "MB", "KiB", "KB")}, "B")


EXACT_BY_KEY: Mapping[str, Callable[[int], str]] = {"rate": exact_rate, "buffer": exact_bytes, "window": exact_bytes}
"""How bare numbers of a network file's keys are told, by the last word of the key."""


def _exact(value: int, units: Mapping[str, int], smallest: str) -> str:
    """In the unit that leaves the smallest whole number."""
    whole = [(value // factor, unit) for unit, factor in units.items() if value and value % factor == 0]
    number, unit = min(whole, default=(value, smallest))
    return f"{number}{unit}"


def _format(value: int, scales: tuple[tuple[str, int], ...], digits: int) -> str:
    for unit, factor in scales:
        # 999.96 ns would be shown as "1000 ns": take the larger unit as soon as four digits round up to it.
        if abs(value) * 2000 >= factor * 1999 or factor == 1:
            scaled = value / factor
            return f"{scaled:.0f} {unit}" if abs(scaled) >= 1000 else f"{scaled:.{digits}g} {unit}"
    raise AssertionError("the last scale has factor 1")


def counted(number: int, one: str, many: str = "") -> str:
    """``1 pass``, ``2 passes``; without ``many``, an s is added."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
