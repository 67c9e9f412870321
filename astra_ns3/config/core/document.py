"""A configuration file as plain data that remembers on which line each key stood."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.frozen import dataclass, field

KeyPath = tuple["str | int", ...]
"""Keys and list positions from the top of a document, e.g. ``("topology", "link", "rate")``."""


@dataclass(frozen=True)
class Document:
    """``data`` as read from ``source``; ``lines`` has the line (from 1) of each key and list entry."""

    source: str
    data: object
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """``file:line`` of the key, of the nearest key around it, or just the file."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return f"{self.source}:{line}"
        return self.source

    def line(self, path: KeyPath) -> int:
        """The line of the key or of the nearest key around it; 0 if none is known."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 0)
