"""The cost of a channel of a collective library for the NPUs that play it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass

PER_MILLE = 1_000
_Numbers = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class ChannelCosts:
    """The cost of one channel of a collective library, such as NCCL, for its NPUs, in place of the costs of endpoints.

    ``servers``: the server of each rank. ``start_ps`` passes before the first sends. A kernel copies
    what comes in a lane, one message after the other, at ``..._copy_bytes_per_ms`` (0: in no time). It copies a
    message from the same server as it comes, since the sender's kernel writes where the receiver's reads; one from
    another server once all of it is there, or as it comes too (``copies_as_it_comes``: flags in the data say what is
    there). ``near_ps`` or ``far_ps`` pass after that. A message has
    ``..._wire_per_mille`` bytes on the wire for 1,000 of data. Messages without blocks cost nothing. ``channel``: its
    number; a transport gives each channel connections of its own.
    """

    servers: tuple[int, ...]
    start_ps: int = 0
    near_ps: int = 0
    far_ps: int = 0
    near_copy_bytes_per_ms: int = 0
    far_copy_bytes_per_ms: int = 0
    near_wire_per_mille: int = 1_000
    far_wire_per_mille: int = 1_000
    copies_as_it_comes: bool = False
    channel: int = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """All but the servers, in the order in which the native half takes them."""
        return (
            self.start_ps,
            self.near_ps,
            self.far_ps,
            self.near_copy_bytes_per_ms,
            self.far_copy_bytes_per_ms,
            self.near_wire_per_mille,
            self.far_wire_per_mille,
            int(self.copies_as_it_comes),
            self.channel,
        )

    def wire_per_mille(self, senders: Ranks, receivers: Ranks) -> _Numbers:
        """Bytes on the wire for 1,000 of data between ranks; shape ``(pairs,)``."""
        servers = np.array(self.servers, dtype=np.int64)
        near = servers[senders] == servers[receivers]
        return np.where(near, self.near_wire_per_mille, self.far_wire_per_mille)

    def wire_bytes(self, bytes: _Numbers, blocks: _Numbers | npt.NDArray[np.int32], near: bool) -> _Numbers:
        """Bytes on the wire of messages within or between servers; those without blocks are as they are."""
        per_mille = self.near_wire_per_mille if near else self.far_wire_per_mille
        wire: _Numbers = np.maximum(-(-bytes * per_mille // PER_MILLE), 1)
        return np.where(blocks > 0, wire, bytes)
