"""Journals of what each worker process tried: a file for each, only ever appended to, so that attempts count."""

from __future__ import annotations

import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from astra_ns3.config.core.plain import JsonObject

BEGUN = "begun"
ENDED = "ended"
MEASURED = "measured"
"""A run that a kill had left without its point.json was only measured."""
_KEYS = ("time", "what", "address")


class Journal:
    """The attempts of this process, and those that others have written down."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, what: str, address: str) -> None:
        """Write down that this process has :data:`BEGUN` or :data:`ENDED` a point, or :data:`MEASURED` it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "what": what, "address": address}) + "\n"
        path = self._folder / f"{socket.gethostname()}-{os.getpid()}.jsonl"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            os.write(file, line.encode())  # in one piece, so that a kill leaves no half of it
        finally:
            os.close(file)

    def entries(self) -> Iterator[JsonObject]:
        """All that was written down by anybody, each with ``process``; in order of time."""
        found = []
        for file in sorted(self._folder.glob("*.jsonl")):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError):  # a machine that lost power
                    continue
                if isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in _KEYS):
                    found.append({**entry, "process": file.stem})
        yield from sorted(found, key=lambda entry: str(entry["time"]))

    def attempts(self) -> Counter[str]:
        """How often each point was begun, by address."""
        return Counter(str(entry["address"]) for entry in self.entries() if entry["what"] == BEGUN)
