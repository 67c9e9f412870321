"""Versions of NCCL, and the nearest whose rules are known here."""

from __future__ import annotations

import re

from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass

OLDEST, LATEST = (2, 18), (2, 30)


@dataclass(frozen=True)
class Version:
    """A version, without its patch: rules are known from 2.18 to 2.30."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def rules(self) -> tuple[int, int]:
        """The nearest version whose rules are known."""
        return min(max((self.major, self.minor), OLDEST), LATEST)

    @property
    def is_known(self) -> bool:
        """Whether its own rules are known."""
        return self.rules == (self.major, self.minor)


def parse_version(text: str) -> Version:
    """``2.26``, ``2.26.2`` or NCCL's own number (``22602``, ``2804``); raises InputError."""
    if found := re.fullmatch(r"v?([0-9]{1,2})\.([0-9]{1,2})(\.[0-9]{1,3})?([-+].{0,40})?", text):
        return Version(int(found[1]), int(found[2]))
    if re.fullmatch(r"[0-9]{5}", text):
        return Version(int(text) // 10_000, int(text) // 100 % 100)
    if re.fullmatch(r"2[0-8][0-9]{2}", text):  # up to 2.8
        return Version(int(text) // 1_000, int(text) // 100 % 10)
    raise wrong(f"found {text!r}, expected a version of NCCL such as 2.26 or 2.26.2", "NCCL version")
