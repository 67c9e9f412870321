"""Plans an all-to-all and NCCL's send/recv: channels carry parts of messages, round after round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from astra_ns3.collectives.channel_exchange import (
    ExchangeCut,
    Peers,
    Round,
    all_rounds,
    channel_exchange,
    channel_shift,
)
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.frozen import replace
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import P2P_AT_ONCE, SLOTS
from astra_ns3.nccl.copying import (
    BYTES_PER_US,
    Messages,
    work_of_messages,
)
from astra_ns3.nccl.point_to_point import (
    PointToPoint,
    gates_of,
    group_size,
    p2p_of,
    rounds_of,
    turns_of_channels,
)
from astra_ns3.system.channels import Channel
from astra_ns3.system.chunking import chunk_sizes
from astra_ns3.system.nccl.parts import Part, costs_of, named
from astra_ns3.system.phases import Phase

_MOST_SLICES, _MOST_SLICES_ALONE = 64, 128
"""Chunks of a message are larger than NCCL's where there would be more of them: of all batches together, and of one."""
_SLICES_TOGETHER = 2
"""A message of 16 slices or more has one signal for two if there are several batches: more would leave its sender too
few places."""


class Exchanges:
    """Plans messages between the members of a group: an all-to-all, and what each sends to the next one."""

    def __init__(
        self,
        config: NcclConfig,
        communicator: Communicator,
        places: Sequence[int],
        dimensions: tuple[int, ...],
        *,
        is_even: bool,
    ) -> None:
        """``places``: of members, server after server; ``is_even``: whether members lie evenly on servers."""
        self._config = config
        self._communicator = communicator
        self._places = tuple(places)
        self._dimensions = dimensions
        self._is_even = is_even

    def name(self, bytes: int) -> str:
        """Return the name of an all-to-all of so many bytes."""
        return _name_of(p2p_of(self._communicator, -(-bytes // len(self._places))))

    def shifts(self, bytes: int) -> Iterator[Phase]:
        """The phases of a message from each NPU to the next one; each channel of a peer is a phase."""
        ranks, kind = len(self._places), CollectiveKind.POINT_TO_POINT
        p2p = p2p_of(self._communicator, bytes)
        # The last GPU of a server sends to the first of the next one, and what each receives comes in another round.
        one_way = self._communicator.gpus_per_server > 1
        for number, share in enumerate(chunk_sizes(bytes, p2p.parts)):
            part = Part(number, 1, share, self._places)
            schedule = channel_shift(ranks, self._exchange_cut(1, 1, share, p2p.chunk_bytes), self._gates)
            channel = self._channel_of_messages(part, p2p, share, Messages(p2p.chunk_bytes, one_way=one_way))
            yield Phase(self._dimensions, kind, _name_of(p2p), share, share, schedule, channel, queue=number)

    def all_to_all(self, bytes: int) -> Iterator[Phase]:
        """The phases of an all-to-all: a channel carries a part of each message of its rounds.

        The rounds that it plays at once share what its kernel copies.
        """
        ranks, kind = len(self._places), CollectiveKind.ALL_TO_ALL
        p2p = p2p_of(self._communicator, -(-bytes // ranks))
        part_bytes = -(-bytes // (ranks * p2p.parts))
        told = 0  # parts of messages of a rank so far, by which bytes are shared without a rest
        for part, turns in self._dealt(p2p):
            inner, rounds = self._rounds
            peers = Peers(ranks, tuple(rounds[turn] for turn in turns), inner, self._gates)
            lanes = min(P2P_AT_ONCE, len(turns))
            cut = self._exchange_cut(lanes, -(-len(turns) // lanes), part_bytes, p2p.chunk_bytes)
            begin, told = told, told + len(turns) * part.channels
            share = max(bytes * told // (ranks * p2p.parts) - bytes * begin // (ranks * p2p.parts), 1)
            channel = self._channel_of_messages(part, p2p, part_bytes, Messages(p2p.chunk_bytes, 1 / lanes))
            schedule = channel_exchange(peers, cut)
            yield Phase(self._dimensions, kind, _name_of(p2p), share, share, schedule, channel, queue=part.number)

    @cached_property
    def _gates(self) -> tuple[int, ...]:
        """NCCL's PXN, where members lie evenly on servers."""
        return gates_of(self._communicator) if self._is_even else ()

    @cached_property
    def _rounds(self) -> tuple[int, tuple[Round, ...]]:
        """The size of a group of ranks, and the rounds of an all-to-all; the first is of a rank with itself."""
        if not self._is_even:
            return 0, ((0, 0), *all_rounds(len(self._places)))
        return group_size(self._communicator), rounds_of(self._communicator)

    def _dealt(self, p2p: PointToPoint) -> Iterator[tuple[Part, tuple[int, ...]]]:
        """Yield channels with the rounds they carry a part of; those of the same rounds as one, if they are merged."""
        turns = range(1, len(self._rounds[1]))
        dealt = turns_of_channels(self._communicator, p2p.parts, turns)
        if not self._config.merges:
            yield from ((Part(number, 1, 0, self._places), rounds) for number, rounds in dealt.items())
            return
        for rounds, channels in Counter(dealt.values()).items():
            first = next(number for number, of_it in dealt.items() if of_it == rounds)
            yield Part(first, channels, 0, self._places), rounds

    @staticmethod
    def _exchange_cut(lanes: int, batches: int, part_bytes: int, chunk_bytes: int) -> ExchangeCut:
        most = _MOST_SLICES_ALONE if batches == 1 else max(_MOST_SLICES // batches, SLOTS)
        slices = min(max(-(-part_bytes // chunk_bytes), 1), most)
        return ExchangeCut(lanes, slices, SLOTS, _SLICES_TOGETHER if batches > 1 and slices >= 2 * SLOTS else 1)

    def _channel_of_messages(self, part: Part, p2p: PointToPoint, part_bytes: int, messages: Messages) -> Channel:
        """The channel of messages with parts of so many bytes. The last chunk is copied out of its slot at the end."""
        who, chunk = self._communicator, max(min(part_bytes, p2p.chunk_bytes), 1)
        of = replace(messages, chunk_bytes=chunk)
        work = work_of_messages(self._config.built, p2p.protocol, who.gpus_per_server, who.servers, of)
        copied_us = chunk * messages.kernels / work.near_gbytes_per_s / BYTES_PER_US
        work = replace(work, start_us=work.start_us + copied_us)
        return Channel(part.order, costs_of(self._config, part, work, p2p.protocol), part.channels)


def _name_of(p2p: PointToPoint) -> str:
    return named("SendRecv", p2p.protocol, p2p.parts)
