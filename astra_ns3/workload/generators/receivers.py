"""To whom flows go: any other NPU alike, or with a share that stays in the sender's rack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.config.flow_list import Numbers
from astra_ns3.errors import refuse

Shares = npt.NDArray[np.float64]


class Receivers:
    """Draws receivers among ``npus`` NPUs.

    ``racks``: the rack of each NPU (None: nobody asks). ``rack_local``: the share of flows that stay in the sender's
    rack (None: as chance has it). A sender that is alone in its rack sends out of it, and one whose rack has all NPUs
    sends inside. Raises InputError.
    """

    def __init__(self, npus: int, racks: Sequence[int] | None = None, rack_local: float | None = None) -> None:
        refuse(not 2 <= npus < 2**31, f"npus is {npus}, expected at least 2")
        self._npus = npus
        self._rack_local = rack_local
        if rack_local is None:
            return
        refuse(not 0 <= rack_local <= 1, f"rack-local is {rack_local:g}, expected a share, 0 to 1")
        refuse(racks is None or len(racks) != npus, f"racks aren't known of all {npus} NPUs, which rack-local needs")
        _, rack = np.unique(np.array(racks), return_inverse=True)
        self._in_racks = np.argsort(rack, kind="stable")
        self._place = np.empty(npus, dtype=np.int64)
        self._place[self._in_racks] = np.arange(npus)
        counts = np.bincount(rack)
        self._begin, self._count = (np.cumsum(counts) - counts)[rack], counts[rack]

    def of(self, senders: Numbers, locals_drawn: Shares, others_drawn: Shares) -> Numbers:
        """Return a receiver for each sender, by two uniform numbers: whether it is in the rack, and which it is."""
        if self._rack_local is None:
            others = (others_drawn * (self._npus - 1)).astype(np.int64)
            return (senders + 1 + others) % self._npus
        begin, count = self._begin[senders], self._count[senders]
        inside = ((locals_drawn < self._rack_local) & (count > 1)) | (count == self._npus)
        near = begin + (self._place[senders] - begin + 1 + (others_drawn * (count - 1)).astype(np.int64)) % count
        far = (others_drawn * (self._npus - count)).astype(np.int64)
        far += np.where(far >= begin, count, 0)
        found: Numbers = self._in_racks[np.where(inside, near, np.minimum(far, self._npus - 1))]
        return found

    def leaving(self, parts: Numbers) -> Shares:
        """Return for each sender the share of its flows that go to an NPU of another part; a rack is in one part."""
        _, part = np.unique(parts, return_inverse=True)
        in_part = np.bincount(part)[part]
        if self._rack_local is None:
            return (self._npus - in_part) / (self._npus - 1)
        count = self._count
        local = np.where(count == self._npus, 1.0, np.where(count > 1, self._rack_local, 0.0))
        outside = np.maximum(self._npus - count, 1)
        near = np.where(count > 1, np.maximum(count - np.minimum(in_part, count), 0) / np.maximum(count - 1, 1), 0.0)
        far = np.minimum(self._npus - in_part, outside) / outside
        found: Shares = local * near + (1 - local) * far
        return found
