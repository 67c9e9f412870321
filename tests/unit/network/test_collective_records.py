"""Records of many collectives: few bytes each, whole when asked for, and again what they were after a journey."""

from __future__ import annotations

import pickle
import tracemalloc

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.experiments.run_tables import collective_table
from astra_ns3.network.collective_records import CollectiveColumns, CollectiveRecords, Common
from astra_ns3.network.records import CollectiveRecord, Label, NpuRecord, RunRecords

COUNT = 20_000
LEAST_BYTES = 6 * 8
"""A number, a place, a begin and an end, and what groups took in the mean and at most."""
MOST_BYTES = 56
"""Arrays grow an eighth ahead of what is in them."""


def common(name: str) -> Common:
    return Common(Label(0, name, "forward"), CollectiveKind.ALL_REDUCE, "ring", 64, 4, 1)


def of(
    number: int, name: str, start_ps: int, end_ps: int | None, groups_ps: tuple[int, int] | None = None
) -> CollectiveRecord:
    label, kind = Label(0, name, "forward"), CollectiveKind.ALL_REDUCE
    return CollectiveRecord(number, label, kind, "ring", 64, 4, 1, start_ps, end_ps, groups_ps=groups_ps)


def many() -> CollectiveColumns:
    columns = CollectiveColumns()
    for number in range(COUNT):
        columns.append(common("ab"[number % 2]), number)
        columns.end(number, 2 * number)
    return columns


def test_changes_that_are_sent_on_add_up_to_the_same_records() -> None:
    here, there = CollectiveColumns(), CollectiveColumns()
    for number, name in enumerate("abcab"):
        here.append(None if name == "c" else common(name), 10 * number)
    there.update(pickle.loads(pickle.dumps(here.some([0, 4]))))
    here.end(0, 7)
    here.end(4, 60, (0, 11))
    there.update(here.some([3, 1, 0, 4]))
    expected = [of(0, "a", 0, 7), of(1, "b", 10, None), of(3, "a", 30, None), of(4, "b", 40, 60, (0, 11))]
    assert there.all() == here.all() == expected == list(here.all())
    assert there.all()[1:3] == tuple(expected[1:3])
    assert there.all()[-1] == expected[-1]
    assert there.all() != expected[:3]
    assert CollectiveRecords() == ()


def test_records_on_their_way_are_as_small_as_their_numbers() -> None:
    assert COUNT * LEAST_BYTES < len(pickle.dumps(many().all(), protocol=5)) < COUNT * LEAST_BYTES + 1000


def test_the_table_of_collectives_holds_no_row_of_them() -> None:
    columns = many()
    npus = (NpuRecord(0, 1, 1, 0, True),)
    tracemalloc.start()
    try:
        table = collective_table(RunRecords(True, 1, npus, (), (), columns.all(), (), ()))
        assert len(table.rows) == COUNT
        assert tracemalloc.get_traced_memory()[0] < COUNT * MOST_BYTES
    finally:
        tracemalloc.stop()
    lines = table.text().splitlines()
    assert len(lines) == COUNT + 1
    assert lines[3].split(",")[0] == str(table.rows[2][0]) == "2"
