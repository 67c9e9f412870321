"""MSCCL programs become schedules that are proved, and wrong ones are refused with their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.graphs.msccl_programs import (
    Block,
    one_shot_all_reduce,
    pairwise_all_to_all,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    star_broadcast,
    xml,
)

from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.msccl_run import msccl_schedule
from astra_ns3.collectives.msccl_xml import read_msccl
from astra_ns3.collectives.proof import ScheduleError, prove
from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.schedule_files import load_schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError


def _read(text: str) -> tuple[Schedule, CollectiveKind]:
    return msccl_schedule(read_msccl(text, "my.xml"), "my.xml")


@pytest.mark.parametrize(
    ("write", "kind", "rounds", "messages"),
    [
        (ring_all_reduce, CollectiveKind.ALL_REDUCE, lambda n: 2 * (n - 1), lambda n: 2 * n * (n - 1)),
        (one_shot_all_reduce, CollectiveKind.ALL_REDUCE, lambda n: 1, lambda n: n * (n - 1)),
        (pairwise_all_to_all, CollectiveKind.ALL_TO_ALL, lambda n: 1, lambda n: n * (n - 1)),
        (ring_all_gather, CollectiveKind.ALL_GATHER, lambda n: n - 1, lambda n: n * (n - 1)),
        (ring_reduce_scatter, CollectiveKind.REDUCE_SCATTER, lambda n: n - 1, lambda n: n * (n - 1)),
        (star_broadcast, CollectiveKind.BROADCAST, lambda n: 1, lambda n: n - 1),
    ],
)
@settings(max_examples=6, deadline=None)
@given(ranks=st.integers(2, 8))
def test_a_program_is_proved_and_has_its_messages_and_rounds(
    write: Callable[[int], str],
    kind: CollectiveKind,
    rounds: Callable[[int], int],
    messages: Callable[[int], int],
    ranks: int,
) -> None:
    schedule, promised = _read(write(ranks))
    assert promised is kind
    prove(schedule, kind)
    assert schedule.messages == messages(ranks)
    assert message_rounds(schedule).max() + 1 == rounds(ranks)


def test_a_ring_program_is_the_ring_of_the_registry() -> None:
    program, ring = _read(ring_all_reduce(5))[0], lookup(CollectiveKind.ALL_REDUCE, "ring", 5)
    for schedule in (program, ring):
        assert schedule.message_bytes(500).tolist() == [100] * 40
    edges = [
        sorted(zip(schedule.sender.tolist(), schedule.receiver.tolist(), schedule.step.tolist(), strict=True))
        for schedule in (program, ring)
    ]
    assert edges[0] == edges[1]
    assert program.reduces.sum() == ring.reduces.sum() == 20


def test_several_chunks_of_a_message_give_its_size() -> None:
    assert set(_read(pairwise_all_to_all(4, chunks=3))[0].message_bytes(4 * 3 * 10).tolist()) == {30}
    assert set(_read(ring_all_gather(4, chunks=2))[0].message_bytes(1000).tolist()) == {1000}


def test_what_is_added_up_after_its_reception_costs_its_reduction() -> None:
    assert _read(one_shot_all_reduce(4))[0].reduces.all()
    assert not _read(pairwise_all_to_all(4))[0].reduces.any()


def test_a_message_waits_for_all_that_comes_on_lower_levels() -> None:
    schedule = _read(ring_all_reduce(3))[0]
    mine = schedule.sender == 1
    assert schedule.wait_step[mine].tolist() == [-1, 0, 1, 2]
    assert schedule.wait_count[mine].tolist() == [0, 1, 1, 1]


def test_a_dependency_on_another_thread_block_is_waited_for(tmp_path: Path) -> None:
    gpus = [
        [Block(send=1).add("s", ("o", 0), ("o", 0))],
        [Block(receive=0).add("r", ("o", 0), ("o", 0)), Block(send=2).add("s", ("o", 0), ("o", 0), depends=("0", 0))],
        [Block(receive=1).add("r", ("o", 0), ("o", 0))],
    ]
    path = tmp_path / "chain.xml"
    path.write_text(xml("broadcast", (1, 1, 0), gpus))
    schedule, _ = load_schedule(path)
    assert schedule.wait_step.tolist() == [-1, 0]
    assert message_rounds(schedule).tolist() == [0, 1]
    path.write_text(path.read_text().replace('depid="0" deps="0"', 'depid="-1" deps="-1"'))
    with pytest.raises(
        InputError, match=r"chain.xml:\d+: <step>: GPU 1 reads chunk 0 of buffer 'o' before it is written"
    ):
        load_schedule(path)


def test_a_result_that_depends_on_the_faster_thread_block_is_refused() -> None:
    gpus = [
        [Block(send=1, receive=1).add("s", ("i", 0)).add("r", ("i", 0), ("i", 0))],
        [
            Block(receive=0).add("rrc", ("i", 0), ("i", 0)),
            Block(send=0).add("s", ("i", 0), ("i", 0)),
        ],
    ]
    with pytest.raises(InputError, match=r"output holds block 0 of ranks 1 in the end|depends on which thread block"):
        _read(xml("allreduce", (1, 1, 0), gpus))


def test_buffers_of_each_gpu_have_their_own_size() -> None:
    """GPU 1 gets the data of two others into a scratch buffer that only it has."""
    gpus = [
        [Block(send=1, receive=1).add("s", ("i", 0), ("s", 0)).add("r", ("i", 0), ("i", 0))],
        [
            Block(send=0, receive=0).add("r", ("i", 0), ("s", 0)).add("re", ("s", 0), ("i", 0)).add("s", ("i", 0)),
        ],
    ]
    text = xml("allreduce", (1, 0, 1), gpus).replace('s_chunks="1"', 's_chunks="0"', 1)
    prove(_read(text)[0], CollectiveKind.ALL_REDUCE)
    with pytest.raises(InputError, match="chunk 0 of buffer 's' is not one of 0 to -1"):
        _read(text.replace('s_chunks="1"', 's_chunks="0"'))


RING = ring_all_reduce(3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="rrcs"', 'type="rsrc"', r"my.xml:5: <step>: type 'rsrc' is not one of .*; did you mean"),
        (' type="rrcs"', "", r"my.xml:5: <step>: attribute 'type' is missing"),
        ('srcoff="2"', 'srcoff="7"', r"my.xml:5: <step>: chunk 7 of buffer 'i' is not one of 0 to 2"),
        ('srcoff="2"', 'srcoff="two"', r"my.xml:5: <step>: srcoff is 'two', expected a whole number"),
        ('srcoff="2"', 'srcoff="1"', r"my.xml:5: <step>: GPU 0 adds block 2 to block 1"),
        ('cnt="1"', 'cnt="2"', r"my.xml:14: <step>: cnt is 1, but line 4 sends 2 chunks"),
        ('type="rrcs"', 'type="rcs"', r"chunk 2 of the output holds block 2 of ranks 1\+2"),
        ('coll="allreduce"', 'coll="alltoall"', r"my.xml:\d+: <step>: GPU \d adds block \d to block \d"),
        ('coll="allreduce"', 'coll="barrier"', "my.xml:1: <algo>: coll: barrier is not done by"),
        ('coll="allreduce"', 'coll="allredoose"', "my.xml:1: <algo>: coll: collective 'allredoose' is not one of"),
        ('ngpus="3"', 'ngpus="4"', r"my.xml:1: <algo>: ngpus is 4, so gpu ids must be 0 to 3"),
        ('<gpu id="1"', '<gpu id="0"', "my.xml:11: <gpu>: id 0 has been given before, in line 2"),
        ('send="1"', 'send="-1"', "my.xml:4: <step>: type 's' sends, but the thread block of line 3 has no peer"),
        ('send="1"', 'send="0"', "my.xml:3: <tb>: GPU 0 has itself as a peer"),
        ('send="1"', 'send="9"', "my.xml:3: <tb>: send is 9, which is no GPU"),
        ('send="1"', 'send="2"', "waits for ever|never receives"),
        ('chan="0"', 'chan="1"', "waits for ever"),
        ('step s="1"', 'step s="4"', "my.xml:5: <step>: s is 4, expected 1"),
        ('depid="-1" deps="-1"', 'depid="3" deps="0"', "my.xml:4: <step>: depends on thread block 3, step 0"),
        ("</tb>", "", r"my.xml:\d+: is not XML"),
        ("<tb ", "<block/><tb ", "my.xml:3: <block>: is not expected in <gpu>"),
        ("<algo", "<!DOCTYPE algo>\n<algo", r"my.xml:1: <!DOCTYPE> is not allowed"),
        ('i_chunks="3"', 'i_chunks="6"', "GPUs differ in the number of chunks"),
    ],
)
def test_a_wrong_program_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in RING
    with pytest.raises(InputError, match=message):
        _read(RING.replace(old, new, 1))


def test_a_contribution_added_twice_is_refused() -> None:
    text = one_shot_all_reduce(3).replace('type="re" srcbuf="s" srcoff="2"', 'type="re" srcbuf="s" srcoff="1"', 1)
    with pytest.raises(InputError, match="GPU 0 adds rank 1's part of block 0 twice"):
        _read(text)


def test_two_thread_blocks_with_one_channel_are_refused() -> None:
    blocks = [Block(send=1).add("s"), Block(send=1).add("s")]
    receiving = [Block(receive=0).add("r"), Block(receive=0, channel=1).add("r")]
    with pytest.raises(InputError, match=r"my.xml:6: <tb>: line 3 has the same send peer and channel"):
        _read(xml("broadcast", (1, 1, 0), [blocks, receiving]))


@settings(max_examples=30, deadline=None)
@given(ranks=st.integers(2, 5), data=st.data())
def test_a_step_left_out_is_refused(ranks: int, data: st.DataObject) -> None:
    write = data.draw(st.sampled_from([ring_all_reduce, ring_all_gather, ring_reduce_scatter, pairwise_all_to_all]))
    lines = write(ranks).splitlines()
    steps = [number for number, line in enumerate(lines) if line.startswith("<step")]
    del lines[data.draw(st.sampled_from(steps))]
    with pytest.raises((InputError, ScheduleError)):
        _read("\n".join(lines))
