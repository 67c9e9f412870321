"""The three files of a run, and the keys that name one of them."""

from __future__ import annotations

from collections.abc import Sequence

FILES = ("workload", "system", "network")
"""``FILE.key.key`` is a key of one."""


def file_of(key: str, files: Sequence[str] = FILES) -> str | None:
    """The one of ``files`` of which a dotted key is one; None if it is none."""
    file, dot, rest = key.partition(".")
    return file if dot and file in files and all(rest.split(".")) else None
