"""Lines of a text file as words, with the errors that name file and line."""

from __future__ import annotations

import re

from astra_ns3.errors import InputError, Where, wrong
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class Row:
    """The words of one line that is not blank."""

    source: str
    number: int
    words: tuple[str, ...]

    def error(self, message: str) -> InputError:
        """Return an error that names file and line."""
        comments = "; this format has no comments" if any(word.startswith("#") for word in self.words) else ""
        return wrong(f"{message}{comments}", Where(self.source, self.number))

    def refuse(self, condition: bool, message: str) -> None:
        """Raise :meth:`error` if ``condition`` holds; see :func:`astra_ns3.errors.refuse`."""
        if condition:
            raise self.error(message)

    def integer(self, column: int, what: str, smallest: int, largest: int, unit: str = "") -> int:
        """The whole number in ``column``; 19 digits hold every allowed one. ``unit``: what it counts."""
        word = self.words[column]
        if not re.fullmatch(r"-?[0-9]{1,19}", word, re.ASCII) or not smallest <= int(word) <= largest:
            of_unit = f" of {unit}" if unit else ""
            raise self.error(f"{what} is '{word}', expected a whole number{of_unit} from {smallest} to {largest}")
        return int(word)


def rows_of(text: str, source: str) -> list[Row]:
    """The lines of ``text`` that aren't blank, numbered from 1."""
    return [
        Row(source, number, tuple(line.split())) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
