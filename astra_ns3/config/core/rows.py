"""Lines of a text file as words, with the errors that name file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from astra_ns3.errors import InputError, Where, wrong


@dataclass(frozen=True)
class Row:
    """The words of one line that is not blank."""

    source: str
    number: int
    words: tuple[str, ...]

    def error(self, message: str) -> InputError:
        """What is wrong, behind file and line."""
        return wrong(f"{message}", Where(self.source, self.number))

    def integer(self, column: int, what: str, smallest: int, largest: int) -> int:
        """The whole number in ``column``; 19 digits hold every allowed one."""
        word = self.words[column]
        if not re.fullmatch(r"-?[0-9]{1,19}", word, re.ASCII) or not smallest <= int(word) <= largest:
            raise self.error(f"{what} is '{word[:40]}', expected a whole number from {smallest} to {largest}")
        return int(word)


def rows_of(text: str, source: str) -> list[Row]:
    """The lines of ``text`` that aren't blank, numbered from 1."""
    return [
        Row(source, number, tuple(line.split())) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
