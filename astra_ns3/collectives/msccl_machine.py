"""One run of an MSCCL program on symbolic data, in an order that the caller chooses."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from astra_ns3.collectives.agenda import Agenda
from astra_ns3.collectives.holdings import show_ranks
from astra_ns3.collectives.msccl_memory import MscclMemory, Value, chunks_per_part
from astra_ns3.collectives.msccl_xml import (
    RECEIVING,
    REDUCING,
    SENDING,
    STORING,
    MscclProgram,
    MscclStep,
    ThreadBlock,
)
from astra_ns3.errors import InputError, Where, refuse, wrong

_BlockId = tuple[int, int]  # GPU, thread block
_Channel = tuple[int, int, int]  # sender, receiver, channel


@dataclass
class Message:
    """``line`` of the sending step; ``level``: longest chain of messages before it; ``carried``: chunks in order."""

    line: int
    sender: int
    receiver: int
    level: int
    carried: list[Value]
    reduces: bool = False


class MscclMachine:
    """``agenda``: empty; which of the thread blocks that can go on, numbered in the order of the file, does so next."""

    def __init__(self, program: MscclProgram, source: str, agenda: Agenda) -> None:
        self._source = source
        self._agenda = agenda
        self._program = program
        part = chunks_per_part(program, source)
        self._memory = [MscclMemory(program, rank, part) for rank in range(len(program.gpus))]
        self._blocks = {
            (rank, number): block for rank, gpu in enumerate(program.gpus) for number, block in gpu.blocks.items()
        }
        self._block_ids = list(self._blocks)
        self._numbers = {block_id: number for number, block_id in enumerate(self._block_ids)}
        self._check_peers()
        self._done = dict.fromkeys(self._blocks, 0)
        # Level of a message that a thread block would send now, and after each of its steps.
        self._level = dict.fromkeys(self._blocks, 0)
        self._levels: dict[_BlockId, list[int]] = {block_id: [] for block_id in self._blocks}
        self._on_their_way: dict[_Channel, deque[Message]] = defaultdict(deque)
        # Thread blocks that can't go on: by the step (GPU, thread block, step) or the channel that they wait for.
        self._after_step: dict[tuple[int, int, int], list[_BlockId]] = defaultdict(list)
        self._listening: dict[_Channel, _BlockId] = {}
        self._sent: dict[tuple[int, int, int], Message] = {}
        # Message that brought what is in a cell, for reductions that come later.
        self._brought: dict[tuple[int, str, int], Message] = {}

    def run(self) -> list[Message]:
        """All messages, in the order of the file; raises InputError where the program goes wrong."""
        for block_id in self._block_ids:
            self._line_up(block_id)
        while self._agenda:
            block_id = self._block_ids[self._agenda.take()]
            while self._can_go_on(block_id):
                self._do(block_id)
            self._line_up(block_id)
        for block_id, block in self._blocks.items():
            if self._done[block_id] < len(block.steps):
                raise self._error(
                    self._next(block_id), f"GPU {block_id[0]}, thread block {block_id[1]} waits for ever (deadlock)"
                )
        self._check_end()
        return [self._sent[key] for key in sorted(self._sent)]

    def _line_up(self, block_id: _BlockId) -> None:
        """Put a thread block on the agenda, or where what it waits for finds it."""
        if self._done[block_id] == len(self._blocks[block_id].steps):
            return
        awaited = self._awaited_step(block_id)
        if awaited is not None:
            self._after_step[awaited].append(block_id)
        elif self._lacks_message(block_id):
            self._listening[self._inward(block_id)] = block_id
        else:
            self._agenda.add(self._numbers[block_id])

    def _next(self, block_id: _BlockId) -> MscclStep:
        return self._blocks[block_id].steps[self._done[block_id]]

    def _can_go_on(self, block_id: _BlockId) -> bool:
        if self._done[block_id] == len(self._blocks[block_id].steps):
            return False
        return self._awaited_step(block_id) is None and not self._lacks_message(block_id)

    def _awaited_step(self, block_id: _BlockId) -> tuple[int, int, int] | None:
        """GPU, thread block and step that the next step depends on, if that isn't done yet."""
        step = self._next(block_id)
        if step.depends is None:
            return None
        number, needed = step.depends
        other = self._blocks.get((block_id[0], number))
        if other is None or needed >= len(other.steps):
            raise self._error(step, f"depends on thread block {number}, step {needed}, which isn't there")
        return (block_id[0], number, needed) if self._done[block_id[0], number] <= needed else None

    def _lacks_message(self, block_id: _BlockId) -> bool:
        return self._next(block_id).type in RECEIVING and not self._on_their_way[self._inward(block_id)]

    def _do(self, block_id: _BlockId) -> None:
        """One step of a thread block."""
        rank, block, step = block_id[0], self._blocks[block_id], self._next(block_id)
        if step.depends is not None:
            number, needed = step.depends
            self._level[block_id] = max(self._level[block_id], self._levels[rank, number][needed])
        message: Message | None = None
        if step.type in RECEIVING:
            message = self._on_their_way[self._inward(block_id)].popleft()
            if len(message.carried) != step.count:
                raise self._error(
                    step, f"cnt is {step.count}, but line {message.line} sends {len(message.carried)} chunks"
                )
            self._level[block_id] = max(self._level[block_id], message.level + 1)
        values = self._values(rank, step, message)
        if step.type in SENDING:
            sent = Message(step.line, rank, block.send, self._level[block_id], values)
            channel = rank, block.send, block.channel
            self._on_their_way[channel].append(sent)
            self._sent[(*block_id, self._done[block_id])] = sent
            if channel in self._listening:
                self._line_up(self._listening.pop(channel))
        self._levels[block_id].append(self._level[block_id])
        self._done[block_id] += 1
        for other in self._after_step.pop((*block_id, self._done[block_id] - 1), ()):
            self._line_up(other)

    def _values(self, rank: int, step: MscclStep, message: Message | None) -> list[Value]:
        """Return the values that a step computes, and write them where the step stores any."""
        values = []
        for index in range(step.count if step.type != "nop" else 0):
            if message is None:
                value = self._read(rank, step, step.source, index)
                if step.type == "re":
                    value = self._sum(rank, step, self._read(rank, step, step.destination, index), value)
                    self._mark_reduction(rank, step, index)
            else:
                value = message.carried[index]
                if step.type in REDUCING:
                    message.reduces = True
                    value = self._sum(rank, step, self._read(rank, step, step.source, index), value)
            if step.type in STORING or step.type in ("cpy", "re"):
                self._write(rank, step, index, value, message)
            values.append(value)
        return values

    def _read(self, rank: int, step: MscclStep, where: tuple[str, int], chunk: int) -> Value:
        value = self._memory[rank].read(self._cell(rank, step, where, chunk))
        if value is None:
            raise self._error(
                step, f"GPU {rank} reads chunk {where[1] + chunk} of buffer '{where[0]}' before it is written"
            )
        return value

    def _write(self, rank: int, step: MscclStep, chunk: int, value: Value, message: Message | None) -> None:
        cell = self._cell(rank, step, step.destination, chunk)
        self._memory[rank].write(cell, value)
        source = (
            self._brought.get((rank, *self._cell(rank, step, step.source, chunk))) if step.type == "cpy" else message
        )
        if source is not None:
            self._brought[(rank, *cell)] = source
        else:
            self._brought.pop((rank, *cell), None)

    def _mark_reduction(self, rank: int, step: MscclStep, chunk: int) -> None:
        """A received message that is added up later costs its reduction all the same."""
        message = self._brought.get((rank, *self._cell(rank, step, step.source, chunk)))
        if message is not None:
            message.reduces = True

    def _cell(self, rank: int, step: MscclStep, where: tuple[str, int], chunk: int) -> tuple[str, int]:
        buffer, offset = where[0], where[1] + chunk
        size = self._memory[rank].size(buffer)
        if not 0 <= offset < size:
            raise self._error(step, f"chunk {offset} of buffer '{buffer}' is not one of 0 to {size - 1}")
        return self._memory[rank].cell(buffer, offset)

    def _sum(self, rank: int, step: MscclStep, mine: Value, came: Value) -> Value:
        if mine[0] != came[0]:
            raise self._error(step, f"GPU {rank} adds block {came[0]} to block {mine[0]}")
        if mine[1] & came[1]:
            twice = (mine[1] & came[1] & -(mine[1] & came[1])).bit_length() - 1
            raise self._error(step, f"GPU {rank} adds rank {twice}'s part of block {mine[0]} twice")
        return mine[0], mine[1] | came[1]

    def _inward(self, block_id: _BlockId) -> _Channel:
        block = self._blocks[block_id]
        return block.receive, block_id[0], block.channel

    def _check_peers(self) -> None:
        """A channel has one thread block at each end."""
        ends: dict[tuple[str, int, int, int], ThreadBlock] = {}
        for (rank, _), block in self._blocks.items():
            for what, peer in (("send", block.send), ("recv", block.receive)):
                if peer < 0:
                    continue
                refuse(
                    peer >= len(self._memory),
                    f"<tb>: {what} is {peer}, which is no GPU",
                    Where(self._source, block.line),
                )
                other = ends.setdefault((what, rank, peer, block.channel), block)
                if other is not block:
                    raise wrong(
                        f"<tb>: line {other.line} has the same {what} peer and channel", Where(self._source, block.line)
                    )

    def _check_end(self) -> None:
        for (sender, receiver, _), left in self._on_their_way.items():
            if left:
                raise wrong(
                    f"<step>: GPU {receiver} never receives what GPU {sender} sends here",
                    Where(self._source, left[0].line),
                )
        for rank, memory in enumerate(self._memory):
            different = memory.wrong_output()
            if different is not None:
                offset, (block, ranks), found = different
                holds = "nothing" if found is None else f"block {found[0]} of ranks {show_ranks(found[1])}"
                raise wrong(
                    f"<gpu>: chunk {offset} of the output holds "
                    f"{holds} in the end, expected block {block} of ranks {show_ranks(ranks)}",
                    Where(self._source, self._program.gpus[rank].line),
                )

    def _error(self, step: MscclStep, what: str) -> InputError:
        return wrong(f"<step>: {what}", Where(self._source, step.line))
