"""All-to-all of uneven parts by way of gates: dispatch to experts, and combine, as they run on real machines.

Between nodes a row goes once (:class:`~astra_ns3.config.core.relay.Relay`), in pieces; a gate goes on with a piece as
soon as it has it. Each node that a gate hears of has a lane of its own, so that no node's pieces wait for another's.
Lane 0 has what nobody waits for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.collectives.columns import Int32Array, assemble, check_messages, column, concatenate
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.uneven import MOST_BLOCKS, Parts, check_parts
from astra_ns3.config.core.relay import Relay
from astra_ns3.errors import refuse
from astra_ns3.frozen import replace

_Sizes = npt.NDArray[np.int64]
_NAMES = {False: "relayed dispatch", True: "relayed combine"}


def relayed_all_to_all(parts: Parts, relay: Relay) -> Schedule:
    """The messages of an all-to-all whose ``parts`` and ``relay.crossing`` count in blocks. Raises InputError."""
    return _Relayed(parts, relay).schedule()


def handed_over(parts: Parts, relay: Relay) -> tuple[_Sizes, _Sizes]:
    """Return the blocks that each place sends to others, and those that it gets from them; gates count, too."""
    return _Relayed(parts, relay).handed_over()


class _Relayed:
    """``_own[s, m, e]``: what place s has to do with the place e of node m; ``_crossing[s, m]``: with the node."""

    def __init__(self, parts: Parts, relay: Relay) -> None:
        ranks = len(parts)
        check_parts(parts, ranks)
        self._name, self._ranks, self._gathers = _NAMES[relay.gathers], ranks, relay.gathers
        self._node = node = min(relay.node, ranks)
        refuse(bool(ranks % node), f"{self._name}: nodes of {node} places, expected a divisor of the {ranks} places")
        self._nodes = nodes = ranks // node
        refuse(
            len(relay.crossing) != ranks or any(len(row) != nodes for row in relay.crossing),
            f"{self._name}: expected {ranks} rows of {nodes} numbers of what crosses, one for each node",
        )
        self._parts = np.array(parts, dtype=np.int64)
        mine = self._parts.T if relay.gathers else self._parts
        self._own = mine.reshape(ranks, nodes, node)
        self._at, self._place = column(ranks) // node, column(ranks) % node
        crossing = np.maximum(np.array(relay.crossing, dtype=np.int64).reshape(ranks, nodes), self._own.max(axis=2))
        over = crossing > self._own.sum(axis=2)
        over[column(ranks), self._at] = False
        refuse(bool(over.any()), f"{self._name}: more crosses to a node than is for its places")
        crossing[column(ranks), self._at] = 0
        self._crossing = crossing
        self._pieces = np.minimum(crossing, relay.pieces)

    def schedule(self) -> Schedule:
        """All rows: between nodes, at gates, and within a node."""
        rows = self._ranks * int(self._pieces.max(initial=0)) * (self._nodes - 1) * self._node
        check_messages(self._name, self._ranks, rows + self._ranks * (self._node - 1))
        blocks = max(1, int(self._parts.sum(axis=1).max()), int(self._crossing.max()))
        refuse(
            blocks > MOST_BLOCKS,
            f"{self._name}: a rank sends {blocks} times what all counts are multiples of, and no more than "
            f"{MOST_BLOCKS} can be counted; round the counts to multiples of a token's bytes",
        )
        made = [self._across(blocks), self._at_gates(blocks), self._within(blocks)]
        if self._gathers:  # who is ready at the start sends its parts for other nodes first
            made = [made[1], made[0], made[2]]
        return replace(concatenate(made, self._name), parts=self._parts)

    def handed_over(self) -> tuple[_Sizes, _Sizes]:
        """Bytes or blocks of each place."""
        home, away = np.zeros(self._ranks, dtype=np.int64), np.zeros(self._ranks, dtype=np.int64)
        home += self._crossing.sum(axis=1)
        gate = np.arange(self._nodes)[None, :] * self._node + self._place[:, None]
        np.add.at(away, gate.reshape(-1), self._crossing.reshape(-1))
        for place in range(self._node):
            others = self._own * (column(self._node) != place)
            mine = self._place == place
            home[place :: self._node] += others[mine].sum(axis=(0, 2))
            away += others[mine].sum(axis=0).reshape(-1)
        return (away, home) if self._gathers else (home, away)

    def _far(self) -> tuple[npt.NDArray[np.int32], ...]:
        """Numbers of a home, a piece, and how many nodes on, each on an axis of its own: first pieces leave first."""
        pieces = int(self._pieces.max(initial=0))
        return column(self._ranks)[None, :, None], column(pieces)[:, None, None], column(self._nodes - 1)[None, None, :]

    def _piece(self, sizes: _Sizes, piece: npt.NDArray[np.int32], pieces: _Sizes) -> _Sizes:
        """Part number ``piece`` of ``pieces`` of each size."""
        parts = np.maximum(pieces, 1)
        cut: _Sizes = (piece + 1) * sizes // parts - piece * sizes // parts
        return np.where(piece < pieces, cut, 0)

    def _across(self, blocks: int) -> Schedule:
        """A place's messages between it and its gates."""
        home, piece, turn = self._far()
        lane = turn + 1
        node = (self._at[home] + lane) % self._nodes
        gate = node * self._node + self._place[home]
        pieces = self._pieces[home, node]
        count = self._piece(self._crossing[home, node], piece, pieces)
        came = piece * self._nodes + lane
        if not self._gathers:
            return self._rows(
                blocks, count, sender=home, receiver=gate, step=came, wait_step=-1, wait_count=0, reduces=False
            )
        waits = self._contributors(home, piece, node, pieces)
        return self._rows(
            blocks,
            count,
            sender=gate,
            receiver=home,
            step=0,
            wait_step=np.where(waits > 0, came, -1),
            wait_count=waits,
            reduces=True,
        )

    def _contributors(
        self, home: npt.NDArray[np.int32], piece: npt.NDArray[np.int32], node: npt.NDArray[np.int32], pieces: _Sizes
    ) -> _Sizes:
        """How many places of a node send something of a piece to its gate."""
        count = np.zeros(np.broadcast_shapes(home.shape, piece.shape, node.shape), dtype=np.int64)
        for place in range(self._node):
            cut = self._piece(self._own[home, node, place], piece, pieces)
            count += (cut > 0) & (place != self._place[home])
        return count

    def _at_gates(self, blocks: int) -> Schedule:
        """Messages between a gate and the other places of its node."""
        home, piece, turn = (each[..., None] for each in self._far())
        other = column(self._node - 1)[None, None, None, :]
        lane = turn + 1
        node = (self._at[home] + lane) % self._nodes
        place = (self._place[home] + 1 + other) % self._node
        gate, far = node * self._node + self._place[home], node * self._node + place
        count = self._piece(self._own[home, node, place], piece, self._pieces[home, node])
        came = piece * self._nodes + lane
        if self._gathers:
            return self._rows(
                blocks, count, sender=far, receiver=gate, step=came, wait_step=-1, wait_count=0, reduces=True
            )
        return self._rows(blocks, count, sender=gate, receiver=far, step=0, wait_step=came, wait_count=1, reduces=False)

    def _within(self, blocks: int) -> Schedule:
        """Messages between places of one node."""
        home, other = column(self._ranks)[:, None], column(self._node - 1)[None, :]
        place = (self._place[home] + 1 + other) % self._node
        far = self._at[home] * self._node + place
        ends = (far, home) if self._gathers else (home, far)
        return self._rows(
            blocks,
            self._own[home, self._at[home], place],
            sender=ends[0],
            receiver=ends[1],
            step=0,
            wait_step=-1,
            wait_count=0,
            reduces=self._gathers,
        )

    def _rows(
        self,
        blocks: int,
        count: _Sizes,
        *,
        sender: Int32Array,
        receiver: Int32Array,
        step: Int32Array | int,
        wait_step: npt.NDArray[np.integer] | int,
        wait_count: _Sizes | int,
        reduces: bool,
    ) -> Schedule:
        return assemble(
            self._name,
            self._ranks,
            blocks,
            count.shape,
            first_block=0,
            block_count=count,
            keep=count > 0,
            lanes=self._nodes,
            sender=sender,
            receiver=receiver,
            step=step,
            wait_step=wait_step,
            wait_count=wait_count,
            reduces=reduces,
        )
