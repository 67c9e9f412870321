"""A recipe: new files, lines put into files that are there, and a script that shows the new thing at work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recipe:
    """``row``: the first cell of its line in docs/architecture.md's table.

    ``files``: path from the repository's root -> text of a new file. ``lines``: path of a file that is there -> pairs
    of a text that stands in it once, and what it becomes. ``check``: a Python script that fails unless the new thing
    works. ``compiled``: C++ files that must compile then.
    """

    row: str
    files: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    check: str = ""
    compiled: tuple[str, ...] = ()
