"""Users' schedules as CSV and JSON: what is written is read again, what is wrong is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.any_schedule import COLUMNS, draw_schedule
from support.graphs.msccl_programs import one_shot_all_reduce, ring_all_reduce

from astra_ns3.collectives.lookup import lookup, pairs, variants
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.schedule_files import load_schedule, save_schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError

AR = CollectiveKind.ALL_REDUCE
# The owner of a part is its rank in a file; halvingDoubling owns them in another order.
PAIRS = [pair for pair in pairs() if pair[1] != "halvingDoubling" or pair[0] is AR]
SWAP = "# collective: all_reduce\n# ranks: 2\n# blocks: 2\nsender,receiver,step,first_block,reduces,wait_step\n"
ROWS = "0,1,0,1,1,-1\n1,0,0,0,1,-1\n0,1,1,0,0,0\n1,0,1,1,0,0\n"


def _same(one: Schedule, other: Schedule) -> None:
    assert (one.name, one.ranks, one.blocks, one.expansion) == (other.name, other.ranks, other.blocks, other.expansion)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    assert (one.content is None) == (other.content is None)
    if one.content is not None and other.content is not None:
        np.testing.assert_array_equal(one.content.blocks, other.content.blocks)
        np.testing.assert_array_equal(one.content.offsets, other.content.offsets)
        assert one.content.contributors == other.content.contributors


@pytest.mark.parametrize("suffix", ["csv", "json"])
@settings(max_examples=25, deadline=None)
@given(data=st.data(), pair=st.sampled_from(PAIRS))
def test_what_is_written_is_read_again(
    suffix: str, data: st.DataObject, pair: tuple[CollectiveKind, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("schedules") / f"one.{suffix}"
    schedule = draw_schedule(data, *pair, largest=9)
    save_schedule(schedule, pair[0], path)
    again, kind = load_schedule(path)
    assert kind is pair[0]
    _same(schedule, again)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_contributors_are_written_and_read_again(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text(one_shot_all_reduce(3))
    schedule, kind = load_schedule(tmp_path / "one.xml")
    save_schedule(schedule, kind, tmp_path / f"one.{suffix}")
    _same(schedule, load_schedule(tmp_path / f"one.{suffix}")[0])


def test_a_short_file_has_defaults(tmp_path: Path) -> None:
    path = tmp_path / "swap.csv"
    path.write_text(SWAP + ROWS)
    schedule, kind = load_schedule(path)
    assert (kind, schedule.name, schedule.expansion) == (AR, str(path), 1)
    assert schedule.block_count.tolist() == [1, 1, 1, 1]
    assert schedule.wait_count.tolist() == [0, 0, 1, 1]
    assert schedule.message_bytes(100).tolist() == [50] * 4


def test_the_registry_takes_a_file_and_notices_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "mine.xml"
    path.write_text(ring_all_reduce(4))
    name = f"file:{path}"
    schedule = lookup(AR, name, 4)
    assert (schedule.messages, variants(AR, name)) == (24, 1)
    assert lookup(AR, name, 4, 7) is schedule
    with pytest.raises(InputError, match="is a schedule for 4 ranks, and is asked to run on 8"):
        lookup(AR, name, 8)
    with pytest.raises(InputError, match="is a schedule for all_reduce, not for all_gather"):
        lookup(CollectiveKind.ALL_GATHER, name, 4)
    path.write_text(ring_all_reduce(5))
    assert lookup(AR, name, 5).messages == 40


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0,1,0,1,1,-1", "0,1,0,1,1", r":5: found 5 cells, expected 6 as in line 4"),
        ("0,1,0,1,1,-1", "0,1,0,x,1,-1", r":5: first_block: found 'x', expected a whole number from 0"),
        ("0,1,0,1,1,-1", "0,1,0,1,2,-1", r":5: reduces: found '2', expected a whole number from 0 to 1"),
        ("1,0,0,0,1,-1", "1,2,0,0,1,-1", r":6: receiver is 2, expected 0 to 1"),
        ("1,0,0,0,1,-1", "1,1,0,0,1,-1", r":6: rank 1 sends to itself"),
        ("1,0,0,0,1,-1", "1,0,0,2,1,-1", r":6: the last block is 2, expected at most 1"),
        ("1,0,1,1,0,0\n", "", r"this is no all_reduce: .*rank 0 ends without rank 1's part of block 1"),
        ("1,0,1,1,0,0", "1,0,1,1,0,5", r"this is no all_reduce: .*deadlock; rank 1 for 1 of step 5"),
        ("sender,receiver", "sender,reciever", r"column 'reciever' is not one of .*; did you mean 'receiver'\?"),
        ("sender,receiver,step", "sender,receiver,wait_count", "column 'step' is missing"),
        ("sender,receiver,step", "sender,sender,step", ":4: a column has been given twice"),
        ("# ranks: 2\n", "", "key 'ranks' is missing"),
        ("# ranks: 2", "# ranks: two", r":2: ranks: found 'two', expected a whole number from 1"),
        ("# ranks", "# rank", r"key 'rank' is not one of .*; did you mean 'ranks'\?"),
        ("all_reduce", "all_redcue", r":1: collective 'all_redcue' is not one of"),
        ("all_reduce", "broadcast", r"this is no broadcast"),
    ],
)
def test_a_wrong_csv_is_refused_with_its_place(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "swap.csv"
    path.write_text((SWAP + ROWS).replace(old, new, 1))
    with pytest.raises(InputError, match=f"swap.csv.*{message}"):
        load_schedule(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sender": [0, 1]}, r"columns: not all of the same length: sender 2"),
        ({"step": [0, 0, -1, 1]}, r"columns: row 2: step: found '-1'"),
        ({"step": [0, 0, 1.5, 1]}, r"columns: row 2: step: found '1.5'"),
        ({"step": [0, 0, 10**400, 1]}, r"columns: row 2: step: found '1000"),
        ({"content": ["1", "0", "0 1", "1"]}, r"columns: row 2: content: found 2 blocks, expected 1"),
        ({"contributors": ["0"] * 4}, "'contributors' says nothing without column 'content'"),
        ({"content": ["1", "0", "0", "1"], "contributors": ["0", "7", "0", "0"]}, "row 1: contributors: found '7'"),
    ],
)
def test_a_wrong_json_is_refused_with_its_place(change: dict[str, list[object]], message: str, tmp_path: Path) -> None:
    path = tmp_path / "swap.json"
    columns: dict[str, list[object]] = {
        "sender": [0, 1, 0, 1],
        "receiver": [1, 0, 1, 0],
        "step": [0, 0, 1, 1],
        "first_block": [1, 0, 0, 1],
        "reduces": [True, True, False, False],
        "wait_step": [-1, -1, 0, 0],
    }
    keys = {"collective": "all_reduce", "ranks": 2, "blocks": 2}
    path.write_text(json.dumps({**keys, "columns": columns}))
    assert load_schedule(path)[0].reduces.tolist() == [True, True, False, False]
    path.write_text(json.dumps({**keys, "columns": columns | change}))
    with pytest.raises(InputError, match=f"swap.json: {message}|swap.json.*{message}"):
        load_schedule(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", r"a.json:1: is not JSON"),
        ("a.json", "[" * 100_000, r"a.json: is nested too deeply"),
        ("a.json", "[]", "expected an object with the keys collective, ranks, blocks, columns"),
        ("a.csv", "# ranks: 2\n", "no line of column names"),
        ("a.yaml", "x", r"a.yaml: a schedule's file ends in .xml, .csv, .json, found '.yaml'"),
        ("a.csv", "", "a.csv: is empty"),
    ],
)
def test_what_is_no_schedule_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load_schedule(tmp_path / name)


def test_a_missing_file_and_an_unwritable_one_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_schedule(tmp_path / "none.csv")
    for target, message in (("none/one.csv", "No such file"), ("one.xml", "written as .csv or .json")):
        with pytest.raises(InputError, match=message):
            save_schedule(lookup(AR, "ring", 4), AR, tmp_path / target)


@pytest.mark.parametrize(("kind", "name"), [pair for pair in pairs() if pair not in PAIRS])
def test_a_schedule_that_a_file_can_not_hold_is_not_written(kind: CollectiveKind, name: str, tmp_path: Path) -> None:
    """Each rank of an all-gather in a file brings the block of its number; in halvingDoubling rank 1 of 8 brings 4."""
    if kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER):
        with pytest.raises(
            InputError, match=rf"one\.csv: this is no {kind.name.lower()}: .*; write another .*, as ring"
        ):
            save_schedule(lookup(kind, name, 8), kind, tmp_path / "one.csv")
        assert not (tmp_path / "one.csv").exists()
    else:
        save_schedule(lookup(kind, name, 8), kind, tmp_path / "one.csv")
        assert load_schedule(tmp_path / "one.csv")[1] is kind


def test_a_cell_that_is_too_long_for_csv_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("# collective: all_reduce\n# ranks: 2\n# blocks: 2\nsender\n" + "1" * 140_000 + "\n")
    with pytest.raises(InputError, match=r"long\.csv:5: is not CSV: field larger than field limit"):
        load_schedule(file)
