"""The system layer on a network without congestion: order, slots, agreement between NPUs, records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracles import collective_times
from support.fake_backend import FakeBackend

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import PassKind
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.instance import unpack_instance
from astra_ns3.network.records import Label
from astra_ns3.system.file import parse_system
from astra_ns3.system.launch_order import LaunchOrder
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import CollectiveRequest, Handle

ENDPOINT_PS = 10_000


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


def _system(policy: str = "LIFO", splits: int = 1, active: int = 1, algorithm: str = "ring") -> SystemConfig:
    keys: dict[str, Any] = {f"{kind}-implementation": algorithm for kind in ("reduce-scatter", "all-gather")}
    keys |= {"all-reduce-implementation": algorithm, "all-to-all-implementation": "direct"}
    keys |= {"scheduling-policy": policy, "preferred-dataset-splits": splits, "active-chunks-per-dimension": active}
    return parse_system(keys)


class _Run:
    """A system layer whose collectives are issued by the test; a listener of the network."""

    def __init__(self, network: FakeBackend, config: SystemConfig, rules: Compatibility = OURS) -> None:
        self.network = network
        self.ends: list[tuple[int, int, int]] = []  # time, rank, collective
        self.system = SystemLayer(network, config, (network.npus,), ["a", "b", "c"], self._ended, compatibility=rules)

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.system.phase_done(rank, instance, time_ps)

    def heartbeat(self, time_ps: int, events: int) -> None: ...

    def issue(self, rank: int, bytes: int, layer: int = 0, policy: str | int | None = None) -> Handle:
        label = Label(0, layer, PassKind.WEIGHT_GRADIENT)
        request = CollectiveRequest(CollectiveKind.ALL_REDUCE, bytes, label, policy)
        return self.system.issue(rank, request)

    def run(self) -> None:
        self.network.run(self, Limits())

    def started(self, rank: int) -> list[tuple[int, int]]:
        """Collective and chunk of each launch of a rank, in order."""
        return [unpack_instance(instance)[:2] for _, who, instance in self.network.launched if who == rank]

    def _ended(self, handle: Handle, time_ps: int) -> None:
        self.ends.append((time_ps, handle.npu, handle.collective))


def _network(ranks: int, **options: Any) -> FakeBackend:
    return FakeBackend(ranks, message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS), **options)


def test_one_slot_runs_the_chunks_of_a_ring_all_reduce_one_after_the_other() -> None:
    run = _Run(_network(4), _system(splits=5))
    for rank in range(4):
        run.issue(rank, 5 * 4 * 100)
    run.run()
    expected = 5 * collective_times.ring_all_reduce(4, 400, _message_ps, ENDPOINT_PS)
    assert sorted(run.ends) == [(expected, rank, 0) for rank in range(4)]
    (record,) = run.system.history.all()
    assert (record.start_ps, record.end_ps, record.chunks, record.algorithm) == (0, expected, 5, "ring")
    assert run.system.busy() == (((0, expected),),)
    assert run.system.sent_bytes == (5 * 6 * 100,)


def test_slots_for_all_chunks_run_them_at_once() -> None:
    run = _Run(_network(4), _system(splits=5, active=5))
    for rank in range(4):
        run.issue(rank, 5 * 4 * 100)
    run.run()
    assert run.ends[-1][0] == collective_times.ring_all_reduce(4, 400, _message_ps, ENDPOINT_PS)


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("LIFO", [(0, 0), (2, 0), (2, 1), (1, 0), (1, 1), (0, 1)]),
        ("FIFO", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
    ],
)
def test_policy_orders_collectives_and_their_chunks_stay_in_order(policy: str, order: list[tuple[int, int]]) -> None:
    run = _Run(_network(2), _system(policy, splits=2))
    for rank in range(2):
        for layer in range(3):
            run.issue(rank, 1000, layer)
    run.run()
    assert run.started(0) == run.started(1) == order


def test_a_request_may_name_its_priority() -> None:
    run = _Run(_network(2), _system("FIFO"))
    for rank in range(2):
        for layer, priority in ((0, 7), (1, -1), (2, 0), (1, 8)):
            run.issue(rank, 1000, layer, priority)
    run.run()
    assert run.started(0) == [(0, 0), (3, 0), (2, 0), (1, 0)]


def test_a_users_policy_gives_priorities_from_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def low_layers_first(counter, request):\n    return -request.label.layer, counter\n\n"
        "def no_counter(counter, request):\n    return 1\n",
        encoding="utf-8",
    )
    run = _Run(_network(2), _system(f"{tmp_path / 'own.py'}:low_layers_first"))
    for rank in range(2):
        for layer in (1, 2, 0, 1):
            run.issue(rank, 1000, layer)
    run.run()
    assert run.started(0) == [(0, 0), (2, 0), (3, 0), (1, 0)]
    run = _Run(_network(2), _system(f"{tmp_path / 'own.py'}:no_counter"))
    with pytest.raises(InputError, match="no_counter' gave 1, expected a priority and the counter after it"):
        run.issue(0, 1000)


def test_highest_goes_before_what_the_system_file_says() -> None:
    run = _Run(_network(2), _system("FIFO"))
    for rank in range(2):
        for layer, policy in ((0, None), (1, None), (2, "HIGHEST")):
            run.issue(rank, 1000, layer, policy)
    run.run()
    assert run.started(0) == [(0, 0), (2, 0), (1, 0)]


def _tree_that_one_npu_leaves_early() -> _Run:
    """The root, NPU 1, has done its part of the first collective after 1.03 us, NPU 0 after 2.05 us.

    In between a third collective comes that goes before the second, which NPU 1 alone has started by then.
    """
    run = _Run(_network(2), _system("FIFO", algorithm="doubleBinaryTree"))

    def issue_third(rank: int) -> Callable[[int], None]:
        def issue(time_ps: int) -> None:
            run.issue(rank, 1000, 2, "HIGHEST")

        return issue

    for rank in range(2):
        run.issue(rank, 1000, 0)
        run.issue(rank, 1000, 1)
        run.network.call_later(rank, 1_500_000, issue_third(rank))
    run.run()
    return run


def test_npus_with_one_slot_agree_on_one_order_where_their_priorities_differ() -> None:
    run = _tree_that_one_npu_leaves_early()
    assert run.started(0) == run.started(1) == [(0, 0), (1, 0), (2, 0)]
    assert len(run.ends) == 6


def test_npus_that_choose_by_themselves_would_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same case without the shared log: each NPU runs what the other one has not started."""
    monkeypatch.setattr(LaunchOrder, "append", lambda order, task: None)
    run = _tree_that_one_npu_leaves_early()
    assert run.started(0) == [(0, 0), (2, 0)]
    assert run.started(1) == [(0, 0), (1, 0)]
    assert len(run.ends) == 2


def test_without_data_a_collective_is_done_at_once_but_uses_a_priority() -> None:
    run = _Run(_network(2), _system("LIFO"))
    for rank in range(2):
        assert run.issue(rank, 0).done
        assert not run.issue(rank, 8).done
    run.run()
    assert [record.index for record in run.system.history.all()] == [1]


def test_schedules_and_groups_are_handed_over_once() -> None:
    run = _Run(_network(4), _system(splits=6, algorithm="ring"))
    for rank in range(4):
        for layer in range(3):
            run.issue(rank, 600 + layer, layer)
    run.run()
    assert len(run.network.schedules) == 1


def test_a_network_of_another_size_and_too_many_splits_are_input_errors() -> None:
    with pytest.raises(InputError, match=r"dimensions \(4,\) make 4 NPUs, the network has 2"):
        SystemLayer(_network(2), _system(), (4,), ["a"], lambda handle, time_ps: None)
    with pytest.raises(InputError, match="'preferred-dataset-splits': found 16777217"):
        SystemLayer(_network(2), _system(splits=2**24 + 1), (2,), ["a"], lambda handle, time_ps: None)


def test_details_hold_the_waits_and_times_of_the_first_npu() -> None:
    run = _Run(_network(2), _system("FIFO", splits=3))
    for rank in range(2):
        run.issue(rank, 6000, layer=1)
    run.run()
    chunk_ps = collective_times.ring_all_reduce(2, 2000, _message_ps, ENDPOINT_PS)
    detail = run.system.details()[1]
    assert (detail.name, detail.chunks, detail.creation_ps) == ("b", 3, 0)
    (phase,), (dimension,) = detail.phases, detail.dimensions
    assert (phase.chunks, phase.queue_ps) == (3, chunk_ps + 2 * chunk_ps)
    assert phase.network_ps == 3 * _message_ps(1000)
    assert (dimension.chunks, dimension.time_ps) == (3, 3 * chunk_ps)
    assert run.system.details()[0].phases == ()


# Finish times in ns measured on ASTRA-sim 1.0 with its analytical network (one switch, 25 GiB/s, 500 ns a link, 10 ns
# in the switch), an endpoint delay of 10 ns and 1 MiB but where said; less its 5 ns of update time.
SWITCH_BYTES_PER_NS = 25 * 2**30 / 1e9
MEASURED = [
    ("direct", 8, 2**20, 4, 1, 17_960),
    ("direct", 8, 2**20, 16, 4, 10_640),
    ("halvingDoubling", 8, 2**20, 4, 1, 92_864),
    ("halvingDoubling", 8, 2**20, 16, 4, 41_600),
    ("ring", 8, 2**20, 4, 1, 125_480),
    ("ring", 8, 2**20, 16, 4, 74_240),
    ("halvingDoubling", 16, 2**24, 4, 1, 1_204_580),
    ("direct", 16, 2**28, 4, 1, 1_258_296),
]


@pytest.mark.parametrize(("algorithm", "ranks", "bytes", "splits", "active", "finish_ns"), MEASURED)
def test_all_reduce_takes_the_time_measured_on_astra_sim(
    algorithm: str, ranks: int, bytes: int, splits: int, active: int, finish_ns: int
) -> None:
    def message_ps(size: int) -> int:
        return (int(1000 + size / SWITCH_BYTES_PER_NS) + 10) * 1000

    network = FakeBackend(ranks, message_ps=message_ps, endpoint=EndpointModel(ENDPOINT_PS))
    rules = Compatibility(first_halving_reduces_nothing=True, trees_reduce_downwards=True)
    run = _Run(network, _system("LIFO", splits, active, algorithm), rules)
    for rank in range(ranks):
        run.issue(rank, bytes)
    run.run()
    assert {time_ps for time_ps, _, _ in run.ends} == {finish_ns * 1000}
