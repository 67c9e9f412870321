"""Where ranks keep what they store, as programs see it: without a network."""

from __future__ import annotations

from typing import Protocol


class StorageHosts(Protocol):
    """The storage hosts of a network, for the ranks of a workload."""

    def of(self, rank: int) -> int:
        """Return the number of the storage host of a rank: behind the network's last NPU, and behind its reducers."""
