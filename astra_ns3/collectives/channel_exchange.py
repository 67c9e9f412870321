"""Messages between pairs of ranks, as a channel of a collective library plays them: rounds of peers, and relays.

In a round each rank sends to one peer and receives from another one. Ranks stand in groups of ``inner``; the round
(far, near) leads to the rank ``far`` groups and ``near`` places on. A channel plays ``at_once`` rounds at a time. When
the message of a round has come to a rank, the rank begins the round that many later. A message goes in slices. Its
receiver has ``slots`` places, and tells by signals which slices it has handled.

A message to another server may be relayed (NCCL's PXN). It first goes to the rank of its own server that sends to the
peer's place, the gate, which hands each slice on once it is there. The places are the gate's; the receiver's signals go
back by the gate, too. A rank has lanes of its own as sender, as receiver and as gate, none of which waits for another.

Source: NVIDIA/nccl 2.30 (``enqueue.cc``: rounds, 8 messages of a channel at once; ``graph/search.cc``:
ncclTopoGetNetDev, the NIC of the peer's rail).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, concatenate, rotated
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.frozen import dataclass

Round = tuple[int, int]
"""Groups on, and places on within the group."""


@dataclass(frozen=True)
class ExchangeCut:
    """``at_once``: rounds played at a time; ``slices`` of a message; ``slots``: slices under way.

    ``together``: how many slices a signal tells of, at most as many as there are slots.
    """

    at_once: int
    slices: int
    slots: int
    together: int = 1

    @property
    def signals(self) -> int:
        """Signals that a message needs."""
        return max(-(-(self.slices - self.slots) // self.together), 0)


@dataclass(frozen=True)
class Peers:
    """Who sends to whom. ``inner``: ranks of a group, 0: all; ``rounds`` of a channel.

    ``gates``: for each place in a server, the place of its rank that sends there from other servers. Empty: each rank
    sends by itself.
    """

    ranks: int
    rounds: tuple[Round, ...]
    inner: int = 0
    gates: tuple[int, ...] = ()

    @property
    def are_alike(self) -> bool:
        """Whether all ranks do the same, turned round."""
        return not self.gates or (len(self.gates) == (self.inner or self.ranks) and self.gates == (*range(self.inner),))

    def receivers(self, ranks: Int32Array) -> Int32Array:
        """Return whom each of ``ranks``, shape ``(n, 1)``, sends to in each round; shape ``(n, rounds)``."""
        inner = self.inner or self.ranks
        far, near = np.array(self.rounds, dtype=np.int32).T
        found: Int32Array = (ranks // inner + far) % (self.ranks // inner) * inner + (ranks % inner + near) % inner
        return found

    def relays(self, ranks: Int32Array, receivers: Int32Array) -> Int32Array:
        """Return who sends to ``receivers`` what comes from ``ranks``: these themselves, or a gate."""
        if not self.gates:
            return np.broadcast_to(ranks, receivers.shape)
        of_server = len(self.gates)
        gates = ranks // of_server * of_server + np.array(self.gates, dtype=np.int32)[receivers % of_server]
        return np.where(ranks // of_server == receivers // of_server, ranks, gates)


def all_rounds(ranks: int) -> tuple[Round, ...]:
    """The rounds of all peers of one group, in the order of their distances."""
    return tuple((0, near) for near in range(1, ranks))


def channel_exchange(peers: Peers, cut: ExchangeCut) -> Schedule:
    """The messages of one channel; a rank brings a message for each round. Raises InputError for what memory can't
    hold.

    Each rank's data are the messages of the channel in the order of its rounds. Where a gate hands one on, its blocks
    give the size only.
    """
    each = len(peers.rounds) * (cut.slices + cut.signals) * (2 if peers.gates else 1)
    ranks = 1 if peers.are_alike else peers.ranks
    check_messages(_NAME, peers.ranks, peers.ranks * each, kept=ranks * each)
    made = _Exchange(peers, cut, column(ranks)[:, None]).schedule()
    return rotated(made, digits=0, inner=peers.inner) if peers.are_alike else made


def channel_shift(ranks: int, cut: ExchangeCut, gates: Sequence[int] = ()) -> Schedule:
    """A message from each rank to the next one; each brings what it sends, which is the whole. ``gates``: as of
    :class:`Peers`."""
    of_server = len(gates) or ranks
    peers = Peers(ranks, ((0, 1),), gates=() if of_server == ranks else tuple(gates))
    return channel_exchange(peers, cut)


_NAME = "channel all_to_all"


class _Exchange:
    """The rows of the messages of some ranks, each axis for itself: ranks, rounds, slices or signals.

    Lanes, as many of each kind as there are rounds at once: of slices at their receivers and at gates, of signals at
    senders and at gates; none of a kind that isn't needed.
    """

    def __init__(self, peers: Peers, cut: ExchangeCut, ranks: Int32Array) -> None:
        self._peers, self._cut = peers, cut
        rounds = len(peers.rounds)
        self._at_once = min(cut.at_once, rounds)
        self._lanes = self._at_once * (2 if peers.gates else 1) * (2 if cut.signals else 1)
        self._round = column(rounds)[None, :, None]
        self._turn: Int32Array = self._round // self._at_once
        self._lane: Int32Array = self._round % self._at_once
        receivers = peers.receivers(ranks)
        relays = peers.relays(ranks, receivers)
        self._rank, self._receiver, self._relay = ranks[:, :, None], receivers[:, :, None], relays[:, :, None]
        self._relayed = self._relay != self._rank
        self._piece, self._signal = column(cut.slices)[None, None, :], column(cut.signals)[None, None, :]
        # Several messages that a gate has in a round come one after the other, by their receivers' places.
        gates = peers.gates
        self._width = max(map(gates.count, gates), default=1)
        places = np.array([gates[:place].count(gate) for place, gate in enumerate(gates)] or [0], dtype=np.int32)
        self._place = places[self._receiver % len(places)]

    def schedule(self) -> Schedule:
        """All rows: the first way of each message, what gates hand on, and the signals on their way back."""
        cut, data = self._cut, self._at_end(self._piece)
        waits = self._piece >= cut.slots
        told = self._at_sender((self._piece - cut.slots) // cut.together)
        before = np.where(self._turn > 0, self._at_end(cut.slices - 1) - self._cut.slices * self._lanes, -1)
        first = self._rows(
            self._piece,
            sender=self._rank,
            receiver=np.where(self._relayed, self._relay, self._receiver),
            step=np.where(self._relayed, self._at_gate(1, self._piece, cut.slices), data),
            wait_step=np.where(waits, told, before),
        )
        freed = cut.together * self._signal + cut.together - 1
        back = self._rows(
            self._signal,
            sender=self._receiver,
            receiver=np.where(self._relayed, self._relay, self._rank),
            step=np.where(self._relayed, self._at_gate(3, self._signal, cut.signals), self._at_sender(self._signal)),
            wait_step=self._at_end(freed),
            block_count=0,
        )
        if not self._relayed.any():
            return concatenate([first, back], _NAME) if cut.signals else first
        second = self._rows(
            self._piece,
            sender=self._relay,
            receiver=self._receiver,
            step=data,
            wait_step=self._at_gate(1, self._piece, cut.slices),
            keep=self._relayed,
        )
        home = self._rows(
            self._signal,
            sender=self._relay,
            receiver=self._rank,
            step=self._at_sender(self._signal),
            wait_step=self._at_gate(3, self._signal, cut.signals),
            block_count=0,
            keep=self._relayed,
        )
        return concatenate([first, second, back, home] if cut.signals else [first, second], _NAME)

    def _at_end(self, piece: Int32Array | int) -> Int32Array:
        """The step in which a slice comes to its receiver."""
        step: Int32Array = (self._turn * self._cut.slices + piece) * self._lanes + self._lane
        return step

    def _at_sender(self, signal: Int32Array) -> Int32Array:
        """The step in which a signal comes to the sender of what it tells of."""
        lane = (2 if self._peers.gates else 1) * self._at_once + self._lane
        step: Int32Array = (self._turn * self._cut.signals + signal) * self._lanes + lane
        return step

    def _at_gate(self, kind: int, number: Int32Array, of: int) -> Int32Array:
        """The step in which a slice or a signal, one ``of`` a message's, comes to a gate, in lanes of a ``kind``."""
        lane = kind * self._at_once + self._lane
        step: Int32Array = ((self._turn * of + number) * self._width + self._place) * self._lanes + lane
        return step

    def _seen(self, sender: Int32Array, receiver: Int32Array) -> tuple[Int32Array, Int32Array]:
        """Turn rows so that rank 0 sends them, if its rows stand for all."""
        if len(self._rank) == self._peers.ranks:
            return sender, receiver
        inner = self._peers.inner or self._peers.ranks
        groups = (receiver // inner - sender // inner) % (self._peers.ranks // inner)
        turned: Int32Array = groups * inner + (receiver % inner - sender % inner) % inner
        return np.zeros_like(turned), turned

    def _rows(
        self,
        number: Int32Array,
        *,
        sender: Int32Array,
        receiver: Int32Array,
        step: Int32Array,
        wait_step: Int32Array,
        block_count: int = 1,
        keep: npt.NDArray[np.bool_] | None = None,
    ) -> Schedule:
        slices = self._cut.slices
        sender, receiver = self._seen(sender, receiver)
        return assemble(
            _NAME,
            self._peers.ranks,
            len(self._peers.rounds) * slices,
            (len(self._rank), len(self._peers.rounds), number.shape[-1]),
            sender=sender,
            receiver=receiver,
            step=step,
            first_block=self._round * slices + number if block_count else 0,
            block_count=block_count,
            wait_step=wait_step,
            wait_count=wait_step >= 0,
            lanes=self._lanes,
            keep=keep,
        )
