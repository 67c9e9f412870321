"""Communicators: their grid, their count, and what their members must agree on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import collective_times
from support.fake_backend import FakeBackend
from support.role_programs import Step, collective, loop_of_steps, plain_workload, wait
from support.system_parts import request, system
from support.training_driver import TrainingDriver

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError, ProgramMismatch
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.instance import unpack_instance
from astra_ns3.playing.dry_run.counting import collective_requests, counted_requests
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Program
from astra_ns3.playing.programs.roles import Role, make_roles
from astra_ns3.system.collective_planner import CollectivePlanner
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.groups import Grid
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import Handle

ENDPOINT_PS = 10_000


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


def _network(ranks: int) -> FakeBackend:
    return FakeBackend(ranks, message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS))


def _driver(
    npus: int,
    config: SystemConfig,
    programs: dict[str, tuple[list[int], list[Step]]],
    dimensions: tuple[int, ...] | None = None,
    **options: Any,
) -> tuple[TrainingDriver, FakeBackend]:
    network = _network(npus)
    loop = loop_of_steps(programs)
    return TrainingDriver(network, config, plain_workload(), loop=loop, dimensions=dimensions, **options), network


def test_a_communicator_has_each_npu_once_and_is_equal_by_members_and_name() -> None:
    assert Communicator([2, 1]) == Communicator((2, 1))
    assert len({Communicator([1, 2]), Communicator([1, 2], "again"), Communicator([2, 1]), Communicator([1, 2])}) == 3
    for ranks in ([], [1, 1], [-1, 2]):
        with pytest.raises(InputError, match="expected at least one, each once, from 0 on"):
            Communicator(ranks)


@pytest.mark.parametrize(("sizes", "words"), [((2, 3), "2x3 has 6"), ((3, 1), "3x1 has 3")])
def test_a_grid_of_its_own_has_a_place_for_each_member_and_no_more(sizes: tuple[int, ...], words: str) -> None:
    with pytest.raises(InputError, match=f"a communicator of 4 NPUs: a grid of {words}"):
        Communicator(range(4), "four", sizes)


@pytest.mark.parametrize(
    ("sizes", "ranks", "own_sizes", "flat"),
    [
        ((4, 2), range(8), (4, 2), False),
        ((4, 2), (0, 1, 4, 5), (2, 2), False),
        ((4, 2), (1, 3, 5, 7), (2, 2), False),
        ((4, 2), (2, 6), (1, 2), False),
        ((4, 2, 2), (3, 11), (1, 1, 2), False),
        ((4, 2), (5,), (1, 1), False),
        ((4, 2), (0, 1, 4), (1, 3), True),  # no rectangle
        ((4, 2), (1, 0), (2, 1), True),  # not in ascending order
        ((4, 2), (0, 5), (1, 2), True),
    ],
)
def test_a_communicator_lies_in_the_grid_as_a_part_of_it_or_along_one_dimension(
    sizes: tuple[int, ...], ranks: tuple[int, ...], own_sizes: tuple[int, ...], flat: bool
) -> None:
    grid = Grid(sizes).of(Communicator(ranks))
    assert (grid.sizes, grid.flat) == (own_sizes, flat)
    (group,) = grid.cosets(range(len(sizes)))
    assert group == list(ranks)


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    chosen=st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=3, max_size=3),
    dimensions=st.sets(st.integers(0, 2)),
)
def test_members_of_a_part_of_the_grid_meet_those_that_differ_in_the_dimensions_only(
    sizes: list[int], chosen: list[set[int]], dimensions: set[int]
) -> None:
    world = Grid(tuple(sizes))
    kept = [
        {coordinate for coordinate in wanted if coordinate < size} or {0}
        for size, wanted in zip(sizes, chosen, strict=False)
    ]

    def coordinates(rank: int) -> tuple[int, ...]:
        found = []
        for size in sizes:
            rank, coordinate = divmod(rank, size)
            found.append(coordinate)
        return tuple(found)

    members = [
        rank
        for rank in range(world.npus)
        if all(one in wanted for one, wanted in zip(coordinates(rank), kept, strict=True))
    ]
    grid = world.of(Communicator(members))
    dimensions = {dimension for dimension in dimensions if dimension < len(sizes)}
    groups = grid.cosets(dimensions)
    assert sorted(rank for group in groups for rank in group) == members
    for group in groups:
        kept_places = {
            tuple(c for dimension, c in enumerate(coordinates(rank)) if dimension not in dimensions) for rank in group
        }
        assert len(kept_places) == 1
        assert [grid.place(rank, dimensions) for rank in group] == list(range(len(group)))


def test_a_part_of_the_grid_can_be_cut_over_dimensions_and_what_is_none_can_not() -> None:
    network = _network(8)
    layer = SystemLayer(network, system("ring_ring"), (4, 2), ["a"], lambda handle, time_ps: None)
    layer.issue(0, request(dimensions=(0,)))
    flat = Communicator([0, 1, 4], "three")
    with pytest.raises(InputError, match=r"over dimensions \(0,\) in three of NPUs 0, 1, 4: its NPUs are no part"):
        layer.issue(0, collective(flat, dimensions=(0,)))
    with pytest.raises(InputError, match=r"three of NPUs 0, 1, 9: there are 8 NPUs, 0 to 7"):
        layer.issue(0, collective(Communicator([0, 1, 9], "three")))


def test_two_halves_reduce_at_the_same_time_in_the_time_of_a_ring_of_their_size() -> None:
    halves = Communicator(range(4), "low"), Communicator(range(4, 8), "high")
    programs: dict[str, tuple[list[int], list[Step]]] = {
        half.name: (list(half.ranks), [collective(half, 400), wait(0)]) for half in halves
    }
    driver, _ = _driver(8, system(preferred_dataset_splits=1), programs)
    driver.run()
    took = collective_times.ring_all_reduce(4, 400, _message_ps, ENDPOINT_PS)
    records = driver.records()
    assert {npu.finish_ps for npu in records.npus} == {took}
    assert [(record.ranks, record.start_ps, record.end_ps) for record in records.collectives] == [(4, 0, took)] * 2


def test_a_collective_over_dimensions_of_a_communicator_runs_in_its_groups() -> None:
    """NPUs 0, 1, 4 and 5 of a grid of 4 x 2: over dimension 1 pairs (0, 4) and (1, 5)."""
    square, rest = Communicator([0, 1, 4, 5], "square"), [2, 3, 6, 7]
    steps: list[Step] = [collective(square, 100, dimensions=(1,)), wait(0)]
    driver, _ = _driver(
        8, system("ring_ring", preferred_dataset_splits=1), {"a": ([0, 1, 4, 5], steps), "b": (rest, [])}, (4, 2)
    )
    driver.run()
    took = collective_times.ring_all_reduce(2, 100, _message_ps, ENDPOINT_PS)
    assert [npu.finish_ps for npu in driver.records().npus] == [took, took, 0, 0, took, took, 0, 0]
    (record,) = driver.records().collectives
    assert (record.ranks, record.label.layer, record.label.part) == (2, "layer", "forward")


def test_members_out_of_order_run_a_ring_in_the_order_given() -> None:
    backwards = Communicator([3, 1, 0], "backwards")
    steps: list[Step] = [collective(backwards, 300), wait(0)]
    driver, network = _driver(4, system(preferred_dataset_splits=1), {"ring": ([0, 1, 3], steps), "other": ([2], [])})
    driver.run()
    took = collective_times.ring_all_reduce(3, 300, _message_ps, ENDPOINT_PS)
    assert {npu.finish_ps for npu in driver.records().npus if npu.npu != 2} == {took}
    assert [3, 1, 0] in network._groups


def test_collectives_are_counted_in_each_communicator_by_itself() -> None:
    """NPU 1 is in both; its third request is the second of the pair that began later."""
    low, high = Communicator([0, 1], "low"), Communicator([1, 2], "high")
    config = system("ring", scheduling_policy="FIFO", preferred_dataset_splits=1)
    both: list[Step] = [collective(low, 10), collective(high, 20), collective(high, 30), wait(0, 1, 2)]
    driver, network = _driver(
        3,
        config,
        {
            "left": ([0], [collective(low, 10), wait(0)]),
            "middle": ([1], both),
            "right": ([2], [collective(high, 20), collective(high, 30), wait(0, 1)]),
        },
    )
    driver.run()
    assert [record.bytes for record in driver.records().collectives] == [10, 20, 30]
    started = {rank: [unpack_instance(i)[0] for _, who, i in network.launched if who == rank] for rank in range(3)}
    assert started == {0: [0], 1: [0, 1, 2], 2: [1, 2]}


def test_who_has_no_part_in_a_collective_skips_it_in_the_log() -> None:
    """NPU 2 is never in the way of the pair, whose chunks go before and behind those of all, with one slot."""
    pair = Communicator([0, 1], "pair")
    config = system("ring", preferred_dataset_splits=3)
    steps: list[Step] = [collective(pair, 3000), collective(None, 3000), collective(pair, 3000), wait(0, 1, 2)]
    driver, network = _driver(3, config, {"pair": ([0, 1], steps), "third": ([2], [collective(None, 3000), wait(0)])})
    driver.run()
    orders = [[i for _, who, i in network.launched if who == rank] for rank in range(3)]
    assert orders[0] == orders[1]
    assert len(orders[0]) == 9
    assert orders[2] == [instance for instance in orders[0] if instance in orders[2]]
    assert len(orders[2]) == 3


class _Issuing:
    """A system layer whose NPUs issue what the test says."""

    def __init__(self, npus: int) -> None:
        self.network = _network(npus)
        self.ends: list[Handle] = []
        self.system = SystemLayer(
            self.network, system("ring"), (npus,), [], lambda handle, time_ps: self.ends.append(handle)
        )

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.system.phase_done(rank, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None: ...

    def run(self) -> None:
        self.network.run(self, Limits())


@pytest.mark.parametrize(
    "other", [collective(bytes=999), collective(kind=CollectiveKind.ALL_TO_ALL), collective(dimensions=(0,))]
)
def test_members_that_issue_different_collectives_are_told_so(other: Any) -> None:
    run = _Issuing(2)
    run.system.issue(0, collective(bytes=1000))
    with pytest.raises(
        ProgramMismatch, match=r"NPU 1 issues .* where another member issued ALLREDUCE of 1000 bytes for 'layer' in all"
    ):
        run.system.issue(1, other)


def test_an_npu_that_is_no_member_is_told_so() -> None:
    run = _Issuing(3)
    with pytest.raises(ProgramMismatch, match=r"NPU 2 issues ALLREDUCE .* in pair of NPUs 0, 1, of which it is no"):
        run.system.issue(2, collective(Communicator([0, 1], "pair")))


def test_a_key_matches_collectives_whatever_their_order_and_may_be_used_again() -> None:
    run = _Issuing(2)
    keyed = {key: collective(bytes=1000 + number, key=key) for number, key in enumerate("ab")}
    handles = [run.system.issue(0, keyed[key]) for key in "aab"] + [
        run.system.issue(1, keyed[key]) for key in "bab"[:2]
    ]
    handles.append(run.system.issue(1, keyed["a"]))
    run.run()
    assert [(handle.npu, handle.collective) for handle in handles] == [(0, 0), (0, 1), (0, 2), (1, 2), (1, 0), (1, 1)]
    assert len(run.ends) == 6


def test_without_data_members_must_agree_too_and_nothing_is_left_behind() -> None:
    run = _Issuing(2)
    assert run.system.issue(0, collective(bytes=0)).done
    with pytest.raises(ProgramMismatch, match="0 bytes"):
        run.system.issue(1, collective(bytes=8))
    assert run.system.issue(1, collective(bytes=0)).done
    assert not run.system._collectives


def test_a_thousand_npus_in_8_roles_cost_8_dry_runs_and_a_plan_for_each_collective(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stages = [Communicator(range(128 * stage, 128 * (stage + 1)), f"stage {stage}") for stage in range(8)]
    programs: dict[str, tuple[list[int], list[Step]]] = {
        stage.name: (list(stage.ranks), [collective(stage, 1000 + number), wait(0), collective(None, 10), wait(2)])
        for number, stage in enumerate(stages)
    }
    loop = loop_of_steps(programs)
    runs: list[str] = []
    plans: list[int] = []
    original, planned = loop.program, CollectivePlanner.chunks

    def program(steps: Steps, role: Role) -> Program:
        runs.append(role.name)
        return original(steps, role)

    counting = replace(loop, program=program)

    def chunks(planner: CollectivePlanner, *arguments: Any, **named: Any) -> Any:
        plans.append(1)
        return planned(planner, *arguments, **named)

    monkeypatch.setattr(CollectivePlanner, "chunks", chunks)
    described = Programs.of(plain_workload(), 1, (1024,), counting)
    assert len(counted_requests(described)) == 9  # one of each stage, one of all
    assert runs == [stage.name for stage in stages]
    assert len(collective_requests(described)) == 9
    runs.clear()
    network = _network(1024)
    TrainingDriver(network, system("direct", preferred_dataset_splits=1), plain_workload(), loop=counting)
    assert len(plans) == 9
    in_set_up = len(runs) - 1024  # each NPU has its own run through the program to play
    assert in_set_up == 2 * 8  # one to find deadlocks, one to find what to plan


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"a": [0, 1], "b": [1, 2]}, "NPU 1 has role 'a' and role 'b', expected one"),
        ({"a": [0], "b": [1]}, "NPU 2 has no role, expected one of a, b"),
        ({"a": [0, 1, 2, 3]}, "role 'a' has NPU 3, there are 3, 0 to 2"),
    ],
)
def test_every_npu_has_one_role(roles: dict[str, list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_roles(roles, 3)
