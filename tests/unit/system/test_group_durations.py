"""How long the groups of a collective take: each counts from its own first issue to its own last end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from oracles import collective_times
from support.fake_backend import FakeBackend
from support.training import FlopClock, plan_of, takes, training_system

from astra_ns3.config.compute_slowdown import ComputeSlowdown, Straggler
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Degrees, Exchange, Group
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.records import CollectiveRecord, Label
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import CollectiveRequest

BYTES = 4_000
WORLD = (2, 3)
"""Groups along dimension 0 are NPUs 0 and 1, 2 and 3, 4 and 5; along dimension 1 they are 0, 2, 4 and 1, 3, 5."""


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


PAIR_PS = collective_times.ring_all_reduce(2, BYTES, _message_ps, 0)


class _Listener:
    def __init__(self, system: SystemLayer) -> None:
        self.phase_done = system.phase_done

    def heartbeat(self, time_ps: int, events: int) -> None: ...


def _record(
    issues_ps: Mapping[int, int],
    dimensions: tuple[int, ...] | None = (0,),
    communicator: Communicator | None = None,
    slowness: Mapping[int, int] | None = None,
) -> CollectiveRecord:
    """The record of an all-reduce that NPUs issue at some times."""
    network = FakeBackend(6, message_ps=_message_ps, endpoint=EndpointModel(0), slowness=slowness)
    system = SystemLayer(network, training_system(2), WORLD, ["a"], lambda handle, time_ps: None)
    request = CollectiveRequest(CollectiveKind.ALL_REDUCE, BYTES, Label(), None, dimensions, communicator)

    def issue(npu: int) -> Callable[[int], None]:
        def at(_: int) -> None:
            system.issue(npu, request)

        return at

    for npu, time_ps in issues_ps.items():
        network.call_later(npu, time_ps, issue(npu))
    network.run(_Listener(system), Limits())
    (record,) = system.history.all()
    return record


def test_a_group_that_begins_later_takes_as_long_as_alone() -> None:
    apart_ps = 7_000_000
    record = _record({npu: npu // 2 * apart_ps for npu in range(6)})
    assert (record.start_ps, record.end_ps) == (0, 2 * apart_ps + PAIR_PS)
    assert record.groups_ps == record.durations_ps == (PAIR_PS, PAIR_PS)


def test_a_slow_npu_lengthens_its_own_group_alone() -> None:
    """It gets a half after the time of a message, and sends the second one for five times as long."""
    slow_ps = 6 * _message_ps(BYTES // 2)
    record = _record(dict.fromkeys(range(6), 0), slowness={5: 5})
    assert record.groups_ps == (-(-(2 * PAIR_PS + slow_ps) // 3), slow_ps)


def test_a_member_that_comes_late_is_waited_for_in_the_time_of_its_group() -> None:
    """Who has issued may send before: counted from the last issue, a group might look faster than its lines."""
    late_ps = 3_000_000
    record = _record({npu: late_ps * (npu == 3) for npu in range(6)})
    assert record.groups_ps == (PAIR_PS + late_ps // 3, PAIR_PS + late_ps)


@pytest.mark.parametrize(
    ("dimensions", "members"), [(None, None), ((0, 1), None), (None, (0, 3, 5)), ((1,), (1, 3, 5)), ((0,), (4, 5))]
)
def test_one_group_takes_the_whole_time(dimensions: tuple[int, ...] | None, members: Sequence[int] | None) -> None:
    communicator = None if members is None else Communicator(members)
    record = _record({npu: npu for npu in members or range(6)}, dimensions, communicator)
    assert record.end_ps is not None
    assert record.groups_ps is None
    assert record.durations_ps == (record.end_ps - record.start_ps,) * 2


def test_a_collective_with_a_group_that_has_not_ended_has_no_durations() -> None:
    record = _record(dict.fromkeys(range(5), 0))
    assert (record.end_ps, record.groups_ps, record.durations_ps) == (None, None, None)


def _pipeline(slow: tuple[int, ...] = ()) -> dict[str, CollectiveRecord]:
    """The tensor groups' all-reduces of a pipeline of two stages with two replicas, by what they are called."""
    exchange = Exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, BYTES)
    layers = [
        Block(name, (takes(2_000_000), exchange), (takes(2_000_000), exchange), (takes(1_000_000),)) for name in "ab"
    ]
    plan = plan_of(Degrees(tensor=2, data=2, pipeline=2), [[layer] for layer in layers], micro_batches=3)
    network = FakeBackend(8, message_ps=_message_ps, endpoint=EndpointModel(0))
    slowdown = ComputeSlowdown(stragglers=(Straggler(npus=slow, factor=3.0),)) if slow else None
    programs = TrainingPrograms.of(plan, FlopClock(), 1, (8,))
    driver = ProgramsDriver(network, training_system(1), programs, slowdown=slowdown)
    driver.run()
    return {str(record.label): record for record in driver.records().collectives if record.group == "tensor"}


def test_tensor_groups_of_a_pipeline_that_drift_apart_take_what_each_takes_alone() -> None:
    """The second replica, NPUs 2 and 3 of stage a and 6 and 7 of stage b, computes three times as long."""
    together, apart = _pipeline(), _pipeline(slow=(2, 3, 6, 7))
    assert together.keys() == apart.keys()
    assert len(apart) == 2 * 3 * 2
    for name, record in apart.items():
        assert record.groups_ps == together[name].groups_ps == (PAIR_PS, PAIR_PS)
        assert _whole_ps(record) > _whole_ps(together[name]) == PAIR_PS


def _whole_ps(record: CollectiveRecord) -> int:
    assert record.end_ps is not None
    return record.end_ps - record.start_ps
