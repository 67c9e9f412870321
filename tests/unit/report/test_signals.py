"""Signals of one byte beside a collective's data are left out where messages are listed by what they lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.documents.pictures import picture, words_of
from support.recorded_tables import US, write_accounts, write_messages
from support.small_run import small_run

import astra_ns3
from astra_ns3.report.comparison.quantities import account_parts
from astra_ns3.report.explanation.explain import explain, lost_signals_apart
from astra_ns3.report.explanation.parts import LOST_SIGNAL, MESSAGE, PARTS, SIGNAL, Segment
from astra_ns3.report.page.sections import slowest_messages
from astra_ns3.report.pictures.accounts import _groups
from astra_ns3.report.pictures.completion import columns_of
from astra_ns3.report.signals import Signals
from astra_ns3.report.timeline.timeline import write_timeline
from astra_ns3.studies.measures import measures_of

_COLLECTIVES, _SIZES = [0, 0, 0, 1], [1000, 1000, 1, 1]


@pytest.fixture
def run(tmp_path: Path) -> astra_ns3.Result:
    """A message of twice its ideal time, one of three times, a signal of 90 times; and a message of one byte alone."""
    folder = tmp_path / "out"
    astra_ns3.run(**small_run(), output=folder)
    write_messages(folder, [(0, 1, 0, 2 * US), (1, 0, 0, 3 * US), (1, 0, 0, 90 * US), (2, 3, 0, 91 * US)], ideal_ps=US)
    table = pq.read_table(folder / "flows.parquet")
    for name, values in (("collective", _COLLECTIVES), ("bytes", _SIZES)):
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values, pa.int64()))
    pq.write_table(table, folder / "flows.parquet")
    return astra_ns3.Result.load(folder)


def test_a_byte_is_a_signal_beside_larger_messages_of_its_collective_alone() -> None:
    messages = {"collective": np.array(_COLLECTIVES), "bytes": np.array(_SIZES)}
    assert Signals([messages]).among(messages).tolist() == [False, False, True, False]
    pieces = [{name: column[place : place + 1] for name, column in messages.items()} for place in range(4)]
    assert [Signals(pieces).among(piece).tolist() for piece in pieces] == [[False], [False], [True], [False]]
    assert Signals([]).among(messages).tolist() == [False] * 4


def test_signals_are_no_messages_that_lost_most(run: astra_ns3.Result) -> None:
    assert [each.excess_ps for each in explain(run).slowest] == [90 * US, 2 * US, US]
    found = slowest_messages(run)
    assert found is not None
    assert sorted(row[-1] for row in found[1]) == ["2", "3", "91"]


def test_signals_are_in_no_class_of_slowdowns(run: astra_ns3.Result) -> None:
    assert columns_of(run)["bytes"].tolist() == [1000, 1000, 1]
    assert run.folder is not None
    assert "1 B (1)" in words_of(picture(run.folder, "completion"))
    assert measures_of(run)["slowdown_p50"] == 3


@pytest.fixture
def accounted(run: astra_ns3.Result) -> astra_ns3.Result:
    """The same messages with accounts."""
    assert run.folder is not None
    times_ps = (2 * US, 3 * US, 90 * US, 91 * US)
    parts = [{"serialisation_ps": US, "turn_ps": time_ps - US} for time_ps in times_ps]
    write_accounts(run.folder, [(number, 0, each) for number, each in zip(_COLLECTIVES, parts, strict=True)])
    table = pq.read_table(run.folder / "accounts.parquet")
    table = table.set_column(table.schema.get_field_index("bytes"), "bytes", pa.array(_SIZES, pa.int64()))
    pq.write_table(table, run.folder / "accounts.parquet")
    return astra_ns3.Result.load(run.folder)


def test_signals_are_in_no_account(accounted: astra_ns3.Result) -> None:
    """Of three messages, not of the signal between them."""
    expected = {"serialisation_ps": 3 * US, "turn_ps": (1 + 2 + 90) * US}
    (_, sums, count), *_ = _groups(accounted)
    assert count == 3
    assert {part: time_ps for part, time_ps in zip(PARTS, sums, strict=True) if time_ps} == expected
    told = account_parts(accounted) or {}
    assert {part: told[words][1] for part, words in PARTS.items() if told[words][1]} == expected


@pytest.mark.parametrize(("most", "shown"), [(10, 3), (2, 2)])
def test_signals_have_tracks_of_their_own_in_a_trace_and_count_as_no_messages(
    accounted: astra_ns3.Result, most: int, shown: int, tmp_path: Path
) -> None:
    written = write_timeline(accounted, tmp_path / "run.pftrace", most)
    assert (written.messages_shown, written.messages) == (shown, 3)
    trace = (tmp_path / "run.pftrace").read_bytes()
    assert b"signals sent" in trace
    assert b"messages received" in trace


def test_what_signals_were_lost_for_is_told_apart() -> None:
    """Of 50 ps that two signals take, 30 are the timeout of the second; a message that was lost is no signal."""
    lost = {"turn_ps": np.zeros(3, dtype=np.int64), "lost_ps": np.array([0, 30, 7])}
    links = [
        Segment(SIGNAL, 0, 0, 10, message=0, protocol="LL"),
        Segment(SIGNAL, 1, 10, 50, message=1, protocol="LL"),
        Segment(MESSAGE, 1, 50, 60, message=2),
    ]
    found = lost_signals_apart(links, lost)
    assert [(each.kind, each.time_ps) for each in found] == [
        (SIGNAL, 10),
        (LOST_SIGNAL, 30),
        (SIGNAL, 10),
        (MESSAGE, 10),
    ]
    assert all(one.end_ps == other.start_ps for one, other in pairwise(found))
    assert lost_signals_apart(links, None) == links
