"""What is kept of collectives and messages: little for each, and all of it told when it is asked for."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.relay import Relay
from astra_ns3.network.records import CollectiveRecord, Label
from astra_ns3.system.history import History
from astra_ns3.system.request import CollectiveRequest, MessageRequest

MOST_BYTES_PER_RECORD = 64
"""Five numbers of 8 bytes, and two for what changed; arrays grow ahead of what is in them."""


def collective(index: int, layer: int | str, tasks: int) -> Any:
    request = CollectiveRequest(CollectiveKind.ALL_REDUCE, 64, Label(index, layer, "forward"))
    return SimpleNamespace(
        index=index, request=request, algorithm="ring", group_ranks=4, first_tasks=[object()] * tasks
    )


def message(layer: int | str, bytes_: int = 8) -> MessageRequest:
    return MessageRequest(0, 1, bytes_, 0, Label(0, layer, "send"))


def record(index: int, layer: str, start_ps: int, end_ps: int | None) -> CollectiveRecord:
    label = Label(index, layer, "forward")
    kind = CollectiveKind.ALL_REDUCE
    return CollectiveRecord(index, label, kind, "ring", 64, 4, 3, start_ps, end_ps, group="all NPUs")


def of_message(index: int, layer: str, start_ps: int, end_ps: int | None) -> CollectiveRecord:
    label, kind = Label(0, layer, "send"), CollectiveKind.POINT_TO_POINT
    return CollectiveRecord(index, label, kind, "direct", 8, 2, 1, start_ps, end_ps, group=layer)


def test_records_are_told_with_their_layers_names_and_their_ends() -> None:
    history = History(["first", "second"])
    history.begin_collective(collective(0, 1, 3), 10)
    history.begin_collective(collective(1, 0, 0), 20)  # nothing to do: it uses up a number
    history.begin_message(2, message("mine"), 0)
    history.begin_collective(collective(3, 0, 3), 2**63 - 1)
    history.end(2, 0)
    history.end(0, 2**63 - 1)
    assert history.next_number == 4
    assert history.all() == (
        record(0, "second", 10, 2**63 - 1),
        of_message(2, "mine", 0, 0),
        record(3, "first", 2**63 - 1, None),
    )
    assert history.record(3) == record(3, "first", 2**63 - 1, None)
    assert history.label(2) == Label(0, "mine", "send")


def test_of_counts_the_record_has_what_the_busiest_place_sends_or_gets() -> None:
    """Place 0 keeps 90 and sends 5 + 1, place 1 sends 2 and gets 5 + 4."""
    request = CollectiveRequest(
        CollectiveKind.ALL_TO_ALL, 96, Label(0, "one", "forward"), counts=((90, 5, 1), (2, 0, 0), (0, 4, 70))
    )
    one: Any = SimpleNamespace(index=0, request=request, algorithm="direct", group_ranks=3, first_tasks=[object()])
    history = History([])
    history.begin_collective(one, 0)
    assert history.record(0).line_bytes == 9
    assert history.all()[0].line_bytes == 9


def test_of_counts_that_gates_pass_on_the_record_has_what_lines_carry() -> None:
    """Two nodes of two places: place 0 sends 10 rows to each place of the other node, but only 10 to the node.

    Its gate, place 2, keeps 10 and passes 10 on to place 3, so no place sends or gets more than 10.
    """
    counts = ((0, 0, 10, 10), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    relay = Relay(2, ((0, 10), (0, 0), (0, 0), (0, 0)))
    lines = {}
    for way in (None, relay):
        request = CollectiveRequest(CollectiveKind.ALL_TO_ALL, 20, Label(0, "one", "forward"), counts=counts, relay=way)
        one: Any = SimpleNamespace(index=0, request=request, algorithm="direct", group_ranks=4, first_tasks=[object()])
        history = History([])
        history.begin_collective(one, 0)
        lines[way] = history.record(0).line_bytes
    assert lines == {None: 20, relay: 10}


def test_changes_are_what_began_or_ended_since_each_once() -> None:
    history = History([])
    for number in range(3):
        history.begin_message(number, message("m"), number)
    history.end(0, 5)
    place, changed = history.changes(0)
    assert changed == [of_message(0, "m", 0, 5), of_message(1, "m", 1, None), of_message(2, "m", 2, None)]
    again, unchanged = history.changes(place)
    assert (again, len(unchanged)) == (place, 0)
    history.end(2, 7)
    history.begin_collective(collective(3, "x", 0), 8)
    assert history.changes(place)[1] == [of_message(2, "m", 2, 7)]


def test_a_record_takes_few_bytes() -> None:
    history, asked, count = History([]), message("m"), 50_000
    history.begin_message(0, asked, 0)
    tracemalloc.start()
    try:
        for number in range(1, count):
            history.begin_message(number, asked, 10**12 + number)
            history.end(number, 2 * 10**12 + number)
        assert tracemalloc.get_traced_memory()[0] < count * MOST_BYTES_PER_RECORD
    finally:
        tracemalloc.stop()
