"""Reading and proving a user's schedule costs about the same for each message, however many there are.

Counted are instructions of the Python interpreter, not time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support.graphs.msccl_programs import (
    hierarchical_all_to_all,
    one_shot_all_reduce,
    pairwise_all_to_all,
    ring_all_reduce,
)

from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.proof import prove
from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.schedule_files import load_schedule
from astra_ns3.collectives.volume import rank_costs
from astra_ns3.config.core.collective_kind import CollectiveKind

MOST_GROWTH = 1.05
"""Of the cost of a message when the ranks double: a heap's logarithm, no more. (Quadratic in the ranks: 2.)"""


def instructions(call: Callable[[], Any]) -> int:
    """How many instructions of Python ``call`` executes."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def _growth(calls: Sequence[tuple[Callable[[], Any], int]]) -> list[float]:
    """By how much the cost of a message grows from each call to the next; a call comes with its messages."""
    costs = [instructions(call) / messages for call, messages in calls]
    return [after / before for before, after in pairwise(costs)]


def _load_and_plan(path: Path) -> Schedule:
    schedule, _ = load_schedule(path)
    schedule.message_bytes(1 << 20)
    rank_costs(schedule, 0, 1 << 20, 10)
    message_rounds(schedule)
    return schedule


@pytest.mark.parametrize(
    ("write", "sizes"),
    [
        (ring_all_reduce, (3, 6, 12)),
        (lambda instances: ring_all_reduce(4, instances), (2, 4, 8)),
        (one_shot_all_reduce, (3, 6, 12)),
        (pairwise_all_to_all, (3, 6, 12)),
        (lambda nodes: hierarchical_all_to_all(nodes, gpus=2), (2, 4, 6)),
    ],
    ids=["ring", "instances", "one_shot", "pairwise", "hierarchical"],
)
def test_a_message_of_a_program_costs_the_same_in_large_programs(
    write: Callable[[int], str], sizes: tuple[int, ...], tmp_path: Path
) -> None:
    files = []
    for size in sizes:
        path = tmp_path / f"{size}.xml"
        path.write_text(write(size))
        files.append((lambda path=path: _load_and_plan(path), load_schedule(path)[0].messages))
    assert max(_growth(files)) < MOST_GROWTH


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        (CollectiveKind.ALL_REDUCE, "ring"),
        (CollectiveKind.ALL_REDUCE, "direct"),
        (CollectiveKind.ALL_GATHER, "direct"),
        (CollectiveKind.ALL_TO_ALL, "direct"),
        (CollectiveKind.BARRIER, "direct"),
    ],
)
def test_a_message_of_a_table_costs_the_same_in_large_tables(kind: CollectiveKind, algorithm: str) -> None:
    schedules = [lookup(kind, algorithm, ranks) for ranks in (5, 10, 20)]
    calls = [(lambda schedule=schedule: prove(schedule, kind), schedule.messages) for schedule in schedules]
    assert max(_growth(calls)) < MOST_GROWTH
