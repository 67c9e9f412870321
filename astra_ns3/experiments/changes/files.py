"""The three files of a run, and the keys that name one of them."""

from __future__ import annotations

FILES = ("workload", "system", "network")
"""``FILE.key.key`` is a key of one."""


def file_of(key: str) -> str | None:
    """The file of which a dotted key is one; None if it is none."""
    file, dot, rest = key.partition(".")
    return file if dot and file in FILES and all(rest.split(".")) else None
