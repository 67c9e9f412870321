"""Tables and cells of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown already."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(words: str) -> str:
    """Return words of a docstring as a cell: one line, and marks of reStructuredText as those of Markdown."""
    return plain(words).replace("|", "\\|").replace("<", "&lt;") if "`" not in words else _around_code(plain(words))


def plain(words: str) -> str:
    """Return the words of a docstring in one line of Markdown."""
    words = " ".join(words.split())
    words = re.sub(r":\w+:`~?\.?([^`<]+?)`", lambda role: f"`{role[1].rpartition('.')[2]}`", words)
    return words.replace("``", "`").replace("10**", "10^").replace("2**", "2^")


def _around_code(words: str) -> str:
    parts = words.split("`")
    return "`".join(
        part.replace("|", "\\|") if number % 2 else part.replace("|", "\\|").replace("<", "&lt;")
        for number, part in enumerate(parts)
    )


def code(words: str) -> str:
    """Return a name or value as code, such that it can stand in a cell."""
    return f"`{words}`".replace("|", "\\|") if words else ""
