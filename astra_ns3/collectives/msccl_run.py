"""From an MSCCL program to a Schedule: the program is run on symbolic data, and its messages become rows.

Thread blocks run side by side; each does its steps in order and waits where ``depid`` and ``deps`` say so. A message
is a sending step and the receiving step that it meets, in order, on the channel between two GPUs. The program is run
in several orders; it must not stop half-way, and each message must carry the same and each output be right in all.

A Schedule has one wait for each row. A message's step is therefore its level. It is 0 if nothing must be received
before, else one more than the highest level among the messages that it needs, by its thread block's order and by
dependencies. A row waits for all that its rank receives on lower levels: more than the program asks for where a GPU
works on several things at once, but never a deadlock. A channel has room for any number of messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from astra_ns3.collectives.agenda import orders
from astra_ns3.collectives.columns import assemble
from astra_ns3.collectives.msccl_machine import Message, MscclMachine
from astra_ns3.collectives.msccl_memory import chunks_per_part
from astra_ns3.collectives.msccl_xml import MscclProgram
from astra_ns3.collectives.schedule import Content, Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import Where, wrong

_SHUFFLES = 3


def msccl_schedule(
    program: MscclProgram, source: str, tell: Callable[[int, int], None] = lambda _run, _runs: None
) -> tuple[Schedule, CollectiveKind]:
    """The program's messages as a schedule that says what each carries; raises InputError if the program is wrong.

    ``tell(run, runs)`` is called before each run of the program, which count from 1.
    """
    makers = orders(_SHUFFLES, seed=0)
    messages: list[Message] = []
    for number, make_agenda in enumerate(makers, 1):
        tell(number, len(makers))
        found = MscclMachine(program, source, make_agenda()).run()
        messages = messages or found
        _check_alike(messages, found, source)
    return _rows(program, sorted(messages, key=lambda message: message.level), source), program.kind


def _check_alike(messages: list[Message], others: list[Message], source: str) -> None:
    """Raise InputError if a message doesn't carry the same in two runs."""
    for message, twin in zip(messages, others, strict=True):
        if message.carried != twin.carried:
            raise wrong(
                "<step>: what it sends depends on which thread block is faster; a dependency is missing",
                Where(source, message.line),
            )


def _rows(program: MscclProgram, messages: list[Message], source: str) -> Schedule:
    ranks, part = len(program.gpus), chunks_per_part(program, source)
    if program.kind is CollectiveKind.ALL_TO_ALL:  # a message may carry more than one rank's own data
        blocks, expansion = part * ranks * ranks, ranks
    elif program.kind is CollectiveKind.ALL_GATHER:
        blocks, expansion = part * ranks, ranks
    else:
        blocks, expansion = part * (ranks if program.kind is CollectiveKind.REDUCE_SCATTER else 1), 1
    received = Counter((message.receiver, message.level) for message in messages)
    counts = [len(message.carried) for message in messages]
    for message, count in zip(messages, counts, strict=True):
        if not 1 <= count <= blocks:
            raise wrong(f"<step>: cnt is {count}, expected 1 to {blocks}", Where(source, message.line))
    # Every range of as many blocks gives the size; the one that the message begins with is the nearest to the truth.
    firsts = [min(message.carried[0][0], blocks - len(message.carried)) for message in messages]
    content = Content(
        offsets=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        blocks=np.array([block for message in messages for block, _ in message.carried], dtype=np.int32),
        contributors=tuple(ranks_in for message in messages for _, ranks_in in message.carried),
    )
    return assemble(
        program.name,
        ranks,
        blocks,
        (len(messages),),
        sender=_column([message.sender for message in messages]),
        receiver=_column([message.receiver for message in messages]),
        step=_column([message.level for message in messages]),
        first_block=_column(firsts),
        block_count=_column(counts),
        reduces=np.array([message.reduces for message in messages], dtype=np.bool_),
        wait_step=_column([message.level - 1 for message in messages]),
        wait_count=_column([received[message.sender, message.level - 1] for message in messages]),
        expansion=expansion,
        content=content,
    )


def _column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)
