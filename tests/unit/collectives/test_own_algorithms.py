"""An algorithm of the user's: a function that gives a schedule, proved before use, named wherever an algorithm is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.small_run import small_run, small_system

import astra_ns3
from astra_ns3.cli.show import show_group
from astra_ns3.collectives.lookup import lookup, variants
from astra_ns3.config.core.algorithm_names import is_flat
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError
from astra_ns3.system.file import parse_system, read_system

BUTTERFLY = "inputs/extending/butterfly.py:butterfly"
ALL_REDUCE = CollectiveKind.ALL_REDUCE
STAR = """
from astra_ns3.collectives.schedule import Content, Schedule

def star(ranks, **wrong):
    '''All to rank 0 at once, and what that makes of it back to all; columns are plain lists.'''
    others = list(range(1, ranks))
    zeros, ones = [0] * (ranks - 1), [1] * (ranks - 1)
    columns = dict(name="star", ranks=ranks, blocks=1, sender=others + zeros, receiver=zeros + others,
        step=zeros + ones, first_block=zeros * 2, block_count=ones * 2, reduces=ones + zeros,
        wait_step=[-1] * (ranks - 1) + zeros, wait_count=zeros + [ranks - 1] * (ranks - 1))
    return Schedule(**{**columns, **wrong})
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine.py"


@pytest.mark.parametrize("ranks", [2, 4, 16, 64])
def test_the_butterfly_sends_all_data_log2_n_times_from_each_rank(
    ranks: int, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    schedule = lookup(ALL_REDUCE, BUTTERFLY, ranks)
    rounds = ranks.bit_length() - 1
    assert schedule.messages == ranks * rounds
    assert set(schedule.message_bytes(1000).tolist()) == {1000}
    assert variants(ALL_REDUCE, BUTTERFLY) == 1


def test_plain_lists_are_columns(mine: Path) -> None:
    mine.write_text(STAR)
    schedule = lookup(ALL_REDUCE, "mine.py:star", 5)
    assert (schedule.messages, str(schedule.sender.dtype), int(schedule.reduces.sum())) == (8, "int32", 4)


def test_a_single_rank_has_nothing_to_send_and_the_function_is_not_asked(mine: Path) -> None:
    mine.write_text("def f(ranks): 1 / 0")
    assert lookup(ALL_REDUCE, "mine.py:f", 1).messages == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return star(ranks, sender=[0] * 6)", r"mine\.py:f: the schedule for 4 ranks is no all_reduce: star: a rank"),
        ("return star(ranks, wait_count=[0] * 6)", "is no all_reduce: star: a row waits for a step but for no message"),
        ("return star(ranks, wait_step=[-1] * 6)", "is no all_reduce: star: "),
        ("return star(3)", r"mine\.py:f: gave a schedule for 3 ranks when asked for 4"),
        ("return None", r"mine\.py:f: gave nothing, expected a Schedule"),
        ("return [1]", r"mine\.py:f: gave a list, expected a Schedule"),
        ("return star(ranks, sender=[0, 1])", "column 'sender' has 2 rows, column 'receiver' 6"),
        ("return star(ranks, step=[0.5] * 6)", "column 'step' is no list of whole numbers, one for each message"),
        ("return star(ranks, step=[[0]] * 6)", "column 'step' is no list of whole numbers"),
        ("return star(ranks, step=[[0], 1])", "column 'step' is no list of whole numbers"),
        ("return star(ranks, step=[2**40] * 6)", "column 'step' has a number beyond 2147483647"),
        ("return star(ranks, blocks=0)", "blocks is 0, expected a whole number from 1"),
        ("return star(ranks, blocks=2**31 - 1)", "the proof of 2147483647 blocks on 4 ranks would need"),
        ("return star(ranks, content=3)", "content is an int, expected a Content"),
        ("return star(ranks, content=Content([0], [0], (0.5,)))", "content.contributors has something else"),
        ("return star(ranks, content=Content([0], [0]))", "the content of a row has not as many blocks"),
        ("raise SystemExit(3)", r"mine\.py:\d+: f failed: SystemExit: 3"),
        ("return undefined", r"mine\.py:\d+: f failed: NameError"),
    ],
)
def test_what_is_no_schedule_is_refused_in_one_line(mine: Path, body: str, message: str) -> None:
    mine.write_text(f"{STAR}\ndef f(ranks): {body}\n")
    with pytest.raises(InputError, match=message) as caught:
        lookup(ALL_REDUCE, "mine.py:f", 4)
    assert "\n" not in str(caught.value)


def test_it_is_proved_for_each_collective_that_it_is_used_with(mine: Path) -> None:
    mine.write_text(STAR)
    lookup(CollectiveKind.REDUCE, "mine.py:star", 4)
    with pytest.raises(InputError, match=r"mine\.py:star: the schedule for 4 ranks is no all_gather: "):
        lookup(CollectiveKind.ALL_GATHER, "mine.py:star", 4)


def test_it_is_asked_once_for_each_number_of_ranks_and_anew_when_the_file_changes(mine: Path) -> None:
    mine.write_text(
        f"{STAR}\ndef f(ranks):\n    with open('asked', 'a') as file: file.write(f'{{ranks}} ')\n"
        "    return star(ranks)\n"
    )
    for ranks in (3, 4, 3, 4):
        lookup(ALL_REDUCE, "mine.py:f", ranks)
    assert Path("asked").read_text() == "3 4 "
    mine.write_text(f"{STAR}\ndef f(ranks):\n    return 'another'\n")
    os.utime(mine, ns=(1, 1))
    with pytest.raises(InputError, match="gave a str"):
        lookup(ALL_REDUCE, "mine.py:f", 3)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("my_own.py:all_reduce_2", ("my_own.py:all_reduce_2",)),
        ("file:my_own.py:f", ("file:my_own.py:f",)),
        ("ring_direct3_file:my_own.py:f", ("ring", "direct3", "file:my_own.py:f")),
        ("oneRing.py:f", ("oneRing.py:f",)),
    ],
)
def test_it_stands_where_an_algorithm_stands(text: str, names: tuple[str, ...], mine: Path) -> None:
    Path("system.txt").write_text(
        "scheduling-policy: LIFO\npreferred-dataset-splits: 1\n"
        + "".join(f"{kind}-implementation: {text}\n" for kind in ("all-reduce", "reduce-scatter", "all-gather"))
        + f"all-to-all-implementation: {text}\n"
    )
    read = read_system("system.txt")
    assert read.all_reduce == names
    assert not is_flat(names[0])
    assert parse_system({**read.document(), "all-reduce-implementation": [*names, "mine.py:f"]}).all_reduce == (
        *names,
        "mine.py:f",
    )


@pytest.mark.parametrize("name", ["mine.py:", "mine.py:3", "mine.py", "mine.hpp:f", "mine.py:a.b"])
def test_what_is_not_named_like_a_part_is_no_algorithm(name: str) -> None:
    with pytest.raises(InputError, match=r"file:PATH, FILE\.py:name"):
        small_system(**{"all-reduce-implementation": [name]})


def test_a_run_plays_it(mine: Path) -> None:
    mine.write_text(STAR)
    run = {**small_run(), "system": small_system(**{"all-reduce-implementation": ["mine.py:star"]})}
    result = astra_ns3.run(**run)
    assert set(result.collectives["algorithm"]) == {"mine.py:star"}
    assert astra_ns3.run(**small_run()).finish_ps != result.finish_ps


def show(*words: str) -> dict[str, object]:
    result = CliRunner().invoke(show_group, ["collective", *words, "--json"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    document = json.loads(result.output)
    assert isinstance(document, dict)
    return document


def test_show_proves_and_draws_it(repository: Path, mine: Path) -> None:
    counts = show(f"{repository}/{BUTTERFLY}", "--ranks", "16", "-o", "butterfly.png")
    assert (counts["collective"], counts["messages"], counts["rounds"]) == ("all_reduce", 64, 4)
    assert Path("butterfly.png").read_bytes().startswith(b"\x89PNG")


def test_show_finds_the_collective_that_it_does(mine: Path) -> None:
    mine.write_text(
        f"{STAR}\nfrom astra_ns3.collectives.bruck import bruck_all_gather\nfrom astra_ns3.collectives.chain import *\n"
        "def back(ranks): return star(ranks, wait_step=[-1] * 2 * (ranks - 1))\n"
    )
    assert show("mine.py:bruck_all_gather", "--no-figure")["collective"] == "all_gather"
    assert show("mine.py:star", "-k", "reduce", "-n", "3", "--no-figure")["collective"] == "reduce"
    with pytest.raises(InputError, match=r"mine\.py:star: the schedule for 8 ranks is no all_to_all: "):
        show("mine.py:star", "-k", "all_to_all", "--no-figure")
    with pytest.raises(InputError, match=r"mine\.py:back: the schedule for 8 ranks does no collective; as an all_red"):
        show("mine.py:back", "--no-figure")
