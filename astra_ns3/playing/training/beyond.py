"""Blocks whose data lie beyond the device: they are loaded ahead of their use, and stored behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from astra_ns3.config.training_plan import Beyond
from astra_ns3.network.records import Label
from astra_ns3.playing.programs.operations import LOAD, STORE, Load, Program, Store, Wait
from astra_ns3.system.request import Handle

Use = tuple[Label, int]
"""The label of a block's pass, and the bytes that it needs."""


class Leaving:
    """Data that blocks leave behind; at most ``prefetch`` blocks are on their way while another one works."""

    def __init__(self, beyond: Beyond) -> None:
        self._beyond = beyond
        self._stores: deque[Handle] = deque()

    def make_room(self) -> Program:
        """Wait until a block may begin."""
        while len(self._stores) > self._beyond.prefetch:
            yield Wait(self._stores.popleft())

    def go(self, use: Use) -> Program:
        """Store what a block has left."""
        label, size = use
        if size:
            handle = yield Store(size, label._replace(part=STORE), self._beyond.remote)
            assert handle is not None
            self._stores.append(handle)

    def finish(self) -> Program:
        """Wait until all is stored."""
        while self._stores:
            yield Wait(self._stores.popleft())


class Stream:
    """Blocks in the order of their ``uses``.

    Beside the one in use, ``prefetch`` blocks are loaded ahead. No load begins while more than so many are stored.
    """

    def __init__(self, beyond: Beyond, uses: Sequence[Use]) -> None:
        self._beyond = beyond
        self._uses = uses
        self._asked = self._used = 0
        self._loads: deque[Handle | None] = deque()
        self._leaving = Leaving(beyond)

    def come(self) -> Program:
        """Wait for the data of the next block, and ask for those of blocks to come."""
        self._used += 1
        while self._asked < min(self._used + self._beyond.prefetch, len(self._uses)):
            label, size = self._uses[self._asked]
            yield from self._leaving.make_room()
            self._asked += 1
            self._loads.append((yield Load(size, label._replace(part=LOAD), self._beyond.remote)) if size else None)
        handle = self._loads.popleft()
        if handle is not None:
            yield Wait(handle)

    def go(self) -> Program:
        """Store the data of the block that came last."""
        yield from self._leaving.go(self._uses[self._used - 1])

    def finish(self) -> Program:
        """Wait until all is stored."""
        yield from self._leaving.finish()
