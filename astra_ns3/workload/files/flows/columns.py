"""Flows as they come from the lines of a file: into columns, with all that is wrong with the file in one message."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np

from astra_ns3.config.core.reading import reading_file
from astra_ns3.config.flow_list import MOST_FLOWS, FlowGates, FlowList, Places
from astra_ns3.errors import Where, wrong
from astra_ns3.units import LARGEST_INTEGER, PS_PER_SECOND

_MOST_TOLD = 4
_SECOND_DIGITS = 12
_LONGEST_NUMBER = 40
_TOO_LATE = "starts after more than 106 days, beyond which no simulated time goes"


class FlowColumns:
    """Takes flows and complaints, line by line; :meth:`finish` makes the list, or raises InputError."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._npus = array("i"), array("i")
        self._sizes = array("q")
        self._starts = array("q")
        self._lines = array("i")
        self._problems: list[tuple[int, str]] = []
        self._more_problems = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def ends(self) -> Iterator[tuple[int, int]]:
        """Yield the two NPUs of each flow."""
        return zip(*self._npus, strict=True)

    def append(self, line: int, source: int, destination: int, size_bytes: int, start_ps: int) -> None:
        """One more flow. Raises ValueError, in words, for what can't be one; then nothing was added."""
        if source > MOST_FLOWS or destination > MOST_FLOWS:
            raise ValueError(f"NPU {max(source, destination)} is beyond the largest number of an NPU, {MOST_FLOWS}")
        if source == destination:
            raise ValueError(f"goes from NPU {source} to itself")
        if not 1 <= size_bytes <= LARGEST_INTEGER:
            raise ValueError(f"has {size_bytes} bytes, expected 1 to {LARGEST_INTEGER}")
        if start_ps > LARGEST_INTEGER:
            raise ValueError(_TOO_LATE)
        self._npus[0].append(source)
        self._npus[1].append(destination)
        self._sizes.append(size_bytes)
        self._starts.append(start_ps)
        self._lines.append(line)

    def complain(self, line: int, words: str) -> None:
        """Something is wrong with a line; all is told at the end."""
        if len(self._problems) < _MOST_TOLD:
            self._problems.append((line, words))
        else:
            self._more_problems += 1

    def check(self) -> None:
        """Raise InputError if there was anything to complain about."""
        if not self._problems:
            return
        (line, words), *others = self._problems
        said = "".join(f"; line {number}: {text}" for number, text in others)
        more = f" (and {self._more_problems} more)" if self._more_problems else ""
        raise wrong(f"{words}{said}{more}", Where(self._source, line))

    def finish(
        self,
        format_name: str,
        *,
        npus: int = 0,
        waits_for: Places | None = None,
        gates: FlowGates | None = None,
        warnings: tuple[str, ...] = (),
        start_unit_ps: int = 1,
        connections: Places | None = None,
    ) -> FlowList:
        """The list; raises InputError, with all complaints, if there are any.

        ``start_unit_ps``: what the starts count, where that is told by a later line than theirs.
        """
        self.check()
        starts = np.frombuffer(self._starts, dtype=np.int64) if len(self) else np.zeros(0, dtype=np.int64)
        if start_unit_ps > 1:
            late = np.flatnonzero(starts > LARGEST_INTEGER // start_unit_ps)
            if len(late):
                self.complain(self._lines[int(late[0])], _TOO_LATE)
                self.check()
            starts = starts * start_unit_ps
        return FlowList(
            np.frombuffer(self._npus[0], dtype=np.int32) if len(self) else np.zeros(0, dtype=np.int32),
            np.frombuffer(self._npus[1], dtype=np.int32) if len(self) else np.zeros(0, dtype=np.int32),
            np.frombuffer(self._sizes, dtype=np.int64) if len(self) else np.zeros(0, dtype=np.int64),
            starts,
            waits_for,
            gates or FlowGates(),
            npus,
            self._source,
            format_name,
            np.frombuffer(self._lines, dtype=np.int32) if len(self) else None,
            warnings,
            connections,
        )


def lines_of(path: str) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor a comment (#), with their numbers, as a stream: files may be large.

    Raises InputError naming the file.
    """
    number = 0
    with reading_file(path):
        try:
            with Path(path).open(encoding="utf-8-sig", newline=None) as file:
                for number, line in enumerate(file, 1):
                    if "\0" in line:
                        raise wrong("is not text (a zero byte)", Where(path, number))
                    if line.strip() and not line.lstrip().startswith("#"):
                        yield number, line
        except UnicodeDecodeError as error:
            raise wrong("is not UTF-8 text", Where(path, number + 1)) from error


def whole_number(word: str, what: str) -> int:
    """A number of digits alone; raises ValueError in words."""
    if not (word.isascii() and word.isdigit() and len(word) <= 19):
        raise ValueError(f"{what} is '{word}', expected a whole number not below 0")
    return int(word)


def picoseconds_of_seconds(word: str) -> tuple[int, bool]:
    """A decimal number of seconds, to a picosecond, and whether that had to be rounded; raises ValueError in words."""
    whole, _, fraction = word.partition(".")
    plain = whole.isascii() and whole.isdigit() and (not fraction or (fraction.isascii() and fraction.isdigit()))
    if plain and len(whole) < _SECOND_DIGITS and len(fraction) <= _SECOND_DIGITS:
        return int(whole) * PS_PER_SECOND + int(fraction.ljust(_SECOND_DIGITS, "0")), False
    return picoseconds(word, PS_PER_SECOND)


def picoseconds(word: str, unit_ps: int) -> tuple[int, bool]:
    """A decimal number of some unit, to a picosecond, and whether that was rounded; raises ValueError in words."""
    try:
        exact = Decimal(word) * unit_ps if len(word) <= _LONGEST_NUMBER else Decimal("nan")
    except ArithmeticError:
        exact = Decimal("nan")
    if not exact.is_finite() or exact < 0 or exact > LARGEST_INTEGER:
        raise ValueError(f"start is '{word}', expected a number not below 0 and below 106 days")
    rounded = int(exact.to_integral_value())
    return rounded, rounded != exact
