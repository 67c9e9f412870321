"""All-to-alls with counts in the system layer: cut alike and exactly, matched, refused, and expected to the byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_backend import FakeBackend
from support.role_programs import collective, loop_of_steps, plain_workload, wait
from support.system_parts import system
from support.training_driver import TrainingDriver

from astra_ns3.collectives.uneven import Parts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, PRESETS
from astra_ns3.errors import InputError, ProgramMismatch
from astra_ns3.nccl.servers import server_named
from astra_ns3.network.records import Label
from astra_ns3.system.collective_planner import CollectivePlanner
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.file import parse_system
from astra_ns3.system.groups import Grid
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.uneven import most_bytes, uneven_chunks

A2A = CollectiveKind.ALL_TO_ALL
COUNTS: Parts = ((9, 1, 0, 4), (2, 0, 7, 0), (0, 0, 3, 0), (1, 1, 1, 1))
TOKEN_BYTES = 8192


@st.composite
def tables(draw: st.DrawFn) -> Parts:
    ranks = draw(st.integers(1, 5))
    unit = draw(st.sampled_from((1, 3, 64, 8192)))
    row = st.lists(st.integers(0, 10**6).map(lambda each: each * unit), min_size=ranks, max_size=ranks).map(tuple)
    return tuple(draw(st.lists(row, min_size=ranks, max_size=ranks)))


def uneven(counts: Parts, **more: Any) -> CollectiveRequest:
    return CollectiveRequest(A2A, more.pop("bytes", most_bytes(counts)), Label(0, 0, "dispatch"), counts=counts, **more)


def planned(counts: Parts, sizes: tuple[int, ...], algorithms: str = "direct", **more: Any) -> list[Any]:
    planner = CollectivePlanner(system(algorithms), Grid(sizes), OURS)
    return [phase for chunk in planner.chunks(uneven(counts, **more), 0) for phase in chunk]


@settings(deadline=None)
@given(counts=tables(), splits=st.integers(1, 70))
def test_the_chunks_of_a_count_add_up_to_it(counts: Parts, splits: int) -> None:
    chunks = uneven_chunks(counts, splits)
    assert len(chunks) <= splits
    for sender, row in enumerate(counts):
        for receiver, count in enumerate(row):
            cut = [chunk.units[sender][receiver] * chunk.unit_bytes for chunk in chunks]
            assert sum(cut) == count
            # By whole units a part differs from its share by less than a byte for each unit, else by a byte.
            assert not cut or max(cut) - min(cut) <= max(1, *(chunk.units[sender][receiver] for chunk in chunks))


def test_one_schedule_plays_all_chunks_where_counts_are_of_whole_tokens() -> None:
    counts = tuple(tuple(each * TOKEN_BYTES for each in row) for row in COUNTS)
    phases = planned(counts, (4,))
    assert len(phases) == 4
    assert len({id(phase.schedule) for phase in phases}) == 1
    assert [phase.bytes for phase in phases] == [14 * TOKEN_BYTES // 4] * 4


def test_it_runs_over_all_dimensions_at_once_in_one_phase() -> None:
    phases = planned(COUNTS, (2, 2), "direct_direct")
    assert {phase.dimensions for phase in phases} == {(0, 1)}
    alone = planned(((1, 2), (3, 4)), (2, 2), "direct_direct", dimensions=(1,))
    assert {phase.dimensions for phase in alone} == {(1,)}


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_no_rule_of_another_simulator_cuts_it_otherwise(preset: str) -> None:
    planner = CollectivePlanner(system("direct"), Grid((4,)), PRESETS[preset])
    phases = [chunk[0] for chunk in planner.chunks(uneven(COUNTS), 0)]
    sent = [phase.schedule.all_bytes(phase.bytes) for phase in phases if phase.schedule is not None]
    assert sum(sent) == 1 + 4 + 2 + 7 + 1 + 1 + 1


@pytest.mark.parametrize(
    ("algorithms", "sizes", "changes", "message"),
    [
        ("ring", (4,), {}, "'all-to-all-implementation': found 'ring', but .* runs as 'direct' only"),
        ("direct2", (4,), {}, "found 'direct2'"),
        ("direct_ring", (2, 2), {}, "found 'ring'"),
        ("oneRing", (2, 2), {}, "found 'oneRing'"),
        ("direct", (4,), {"bytes": 13}, "of 13 bytes with counts: expected the 14 bytes"),
        ("direct", (3,), {}, "found 4 rows of 4 numbers, expected 3 of 3"),
    ],
)
def test_what_can_not_be_played_is_refused(
    algorithms: str, sizes: tuple[int, ...], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        planned(COUNTS, sizes, algorithms, **changes)


@pytest.mark.parametrize("splits", [1, 4])
def test_with_nccl_it_is_one_kernel_that_waits_for_the_one_before(splits: int) -> None:
    keys = {"collectives": "nccl", "preferred-dataset-splits": splits}
    config = parse_system(keys).with_nccl(server_named("dgx-h100"), (0, 0, 0, 0), merges=True)
    planner = CollectivePlanner(config, Grid((4,)), OURS)
    for _ in range(3):
        (chunk,) = planner.chunks(uneven(COUNTS), 0)
        assert [(phase.queue, phase.bytes) for phase in chunk] == [(0, 14)]


def test_only_an_all_to_all_has_counts() -> None:
    planner = CollectivePlanner(system("direct"), Grid((4,)), OURS)
    request = CollectiveRequest(CollectiveKind.ALL_GATHER, 14, Label(0, 0, "x"), counts=COUNTS)
    with pytest.raises(InputError, match="only an all_to_all"):
        planner.chunks(request, 0)


def play(programs: dict[str, Any], npus: int = 4, npu: int = 0, **changes: Any) -> tuple[FakeBackend, TrainingDriver]:
    network = FakeBackend(npus)
    driver = TrainingDriver(
        network, system("direct", **changes), plain_workload(), loop=loop_of_steps(programs), report_npu=npu
    )
    driver.run()
    return network, driver


def test_each_member_sends_its_counts_and_other_chunks_of_them() -> None:
    counts = tuple(tuple(each * TOKEN_BYTES for each in row) for row in COUNTS)
    issue = collective(bytes=most_bytes(counts), kind=A2A, counts=counts)
    for npu, row in enumerate(counts):
        network, driver = play({"all": (range(4), [issue, wait(0)])}, npu=npu)
        assert len(network.schedules) == 1
        assert driver.records().sent_bytes == (sum(row) - row[npu],)


def test_two_communicators_with_equal_counts_share_a_schedule() -> None:
    """Each group's places are its members in their order."""
    counts = ((0, 5), (3, 0))
    pairs = [Communicator((0, 1)), Communicator((2, 3))]
    programs = {
        name: (pair.ranks, [collective(pair, most_bytes(counts), A2A, counts=counts), wait(0)])
        for name, pair in zip("ab", pairs, strict=True)
    }
    network, driver = play(programs, preferred_dataset_splits=1)
    assert len(network.schedules) == 1
    assert driver.records().complete


def test_members_that_disagree_about_counts_are_told() -> None:
    other = (*COUNTS[:3], (1, 1, 0, 2))
    programs = {
        "a": (range(2), [collective(bytes=14, kind=A2A, counts=COUNTS), wait(0)]),
        "b": (range(2, 4), [collective(bytes=14, kind=A2A, counts=other), wait(0)]),
    }
    with pytest.raises(ProgramMismatch, match="counts of at most 14 bytes a member"):
        play(programs)


def test_nothing_for_anybody_else_takes_no_message_but_is_done() -> None:
    counts = ((5, 0), (0, 7))
    issue = collective(bytes=7, kind=A2A, counts=counts)
    network, driver = play({"all": (range(2), [issue, wait(0)])}, npus=2)
    assert driver.records().complete
    assert network.schedules == []


def test_chunks_of_which_nothing_leaves_are_not_played() -> None:
    """Of 9 and 1 bytes cut in 4 by themselves, the one falls into the last chunk."""
    assert [phase.bytes for phase in planned(((9, 1), (0, 9)), (2,))] == [4]
