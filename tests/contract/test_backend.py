"""What every backend owes to the layers above (astra_ns3/network/api.py). No test here knows which one it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.lengths import some_slow
from support.star_network import Listener, Row, by_hand, deadlock, incast, launch_all, one_message

from astra_ns3.collectives.algorithms import ALGORITHMS
from astra_ns3.collectives.channel_tree import channel_tree
from astra_ns3.collectives.in_network import in_network_schedule
from astra_ns3.collectives.lookup import lookup, pairs
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.reduction import NOBODY, Trees
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.network.api import EndpointModel, Limits, NetworkBackend, PendingMessage

Subject = Any  # the fixture's class lives in conftest.py
Bound = Callable[[int], int]

BYTES = 40_000
RING = lookup(CollectiveKind.ALL_REDUCE, "ring", 4)
LATE_PS = 1_000_000_000


class _TestError(Exception):
    """Raised by a callback."""


def run(network: NetworkBackend, listener: Listener | None = None, limits: Limits | None = None) -> Listener:
    listener = listener or Listener()
    network.run(listener, limits or Limits())
    return listener


def expected_deliveries(schedule: Schedule, instance: int, ranks: range | list[int]) -> Counter[tuple[int, int, int]]:
    pairs = zip(schedule.sender.tolist(), schedule.receiver.tolist(), strict=True)
    return Counter((ranks[sender], ranks[receiver], instance) for sender, receiver in pairs)


def every_schedule(ranks: int) -> list[Schedule]:
    """Every registered algorithm and variant that can do with so many ranks, and the narrow windows of direct."""
    found = []
    for name, algorithm in ALGORITHMS.items():
        if algorithm.needs_power_of_two and ranks & (ranks - 1):
            continue
        for kind, builders in algorithm.builders.items():
            windows = ["", "1", str(ranks - 1)] if kind in algorithm.windowed else [""]
            found += [lookup(kind, name + window, ranks, turn) for window in windows for turn in range(len(builders))]
    return found


def test_there_are_as_many_ranks_as_npus(subject: Subject) -> None:
    assert subject.create(5).npus == 5


@pytest.mark.parametrize("ranks", some_slow(range(2, 10), [2, 5, 8]))
def test_every_algorithm_completes_and_each_message_arrives_once(subject: Subject, ranks: int) -> None:
    network = subject.create(ranks)
    schedules = every_schedule(ranks)
    assert len(schedules) >= 14
    for instance, schedule in enumerate(schedules):
        launch_all(network, schedule, 1000, instance)
    listener = run(network)
    done = [(rank, instance) for rank, instance, _ in listener.done]
    assert sorted(done) == [(rank, instance) for rank in range(ranks) for instance in range(len(schedules))]
    expected: Counter[tuple[int, int, int]] = Counter()
    for instance, schedule in enumerate(schedules):
        expected += expected_deliveries(schedule, instance, range(ranks))
    assert subject.deliveries(network) == expected


@pytest.mark.parametrize("ranks", some_slow([2, 3, 5, 8], [2, 5]))
def test_a_schedule_turned_round_plays_as_with_all_its_rows(subject: Subject, ranks: int) -> None:
    for turned in every_schedule(ranks):
        if turned.rotation is not None:
            played = []
            for schedule in (turned, replace(turned)):
                network = subject.create(ranks, EndpointModel(10_000, 3))
                launch_all(network, schedule, 1003)
                before = [network.pending(rank, 0) for rank in range(ranks)]
                played.append((before, run(network).done))
                network.close()
            assert played[0] == played[1], turned.name


@pytest.mark.parametrize("size", [1, 1000, 60_000, 1_000_000])
def test_no_message_is_faster_than_its_bits_and_the_delays(subject: Subject, least_ps: Bound, size: int) -> None:
    network = subject.create(2)
    launch_all(network, one_message(), size)
    assert run(network).done_ps(1) >= least_ps(size)


def test_messages_that_share_a_senders_line_take_turns_or_at_least_their_own_time(
    subject: Subject, least_ps: Bound
) -> None:
    network = subject.create(3)
    launch_all(network, by_hand(3, [Row(0, 1), Row(0, 2)]), BYTES)
    listener = run(network)
    assert min(listener.done_ps(1), listener.done_ps(2)) >= least_ps(BYTES)


def test_a_rank_that_only_sends_is_done_without_waiting_for_arrival(subject: Subject, least_ps: Bound) -> None:
    network = subject.create(2)
    launch_all(network, one_message(), BYTES)
    assert run(network).done_ps(0) < least_ps(BYTES)


@pytest.mark.parametrize("kind", [CollectiveKind.BROADCAST, CollectiveKind.REDUCE])
def test_no_rank_of_a_broadcast_or_a_reduce_is_done_before_its_messages_have_come(
    subject: Subject, least_ps: Bound, kind: CollectiveKind
) -> None:
    ours = [lookup(kind, name, 4) for able, name in pairs() if able is kind]
    of_nccl = [channel_tree(kind, (-1, 0, 1, 2), chunks, 2, confirms=True) for chunks in (1, 2, 5)]
    trees = Trees((0,), ((3, 3, 3, NOBODY),), BYTES // 5, BYTES)  # three members, and a switch as the last rank
    of_switches = [in_network_schedule(kind, name, trees, BYTES) for name in ("sharp", "fred")]
    for schedule in ours + of_nccl + of_switches:
        network = subject.create(4)
        launch_all(network, schedule, BYTES)
        listener = run(network)
        sizes = schedule.message_bytes(BYTES)
        for rank in range(4):
            sent = sizes[(schedule.sender == rank) & (schedule.block_count > 0)]
            assert listener.done_ps(rank) >= least_ps(int(sent.max(initial=0))), schedule.name
        network.close()


def test_callback_times_never_go_backwards_and_are_the_present(subject: Subject) -> None:
    network = subject.create(4)
    times: list[tuple[int, int]] = []

    def note(time_ps: int) -> None:
        times.append((time_ps, network.now_ps()))
        if len(times) < 40:
            network.call_later(0, 300_000, note)

    listener = Listener(lambda rank, instance, time_ps: times.append((time_ps, network.now_ps())))
    network.call_later(0, 300_000, note)
    for instance in range(5):
        launch_all(network, RING, BYTES, instance)
    run(network, listener)
    assert len(listener.done) == 20
    assert len(times) >= 40
    assert [time_ps for time_ps, _ in times] == sorted(time_ps for time_ps, _ in times)
    assert all(time_ps == now_ps for time_ps, now_ps in times)


def test_launch_returns_before_the_phase_is_told_to_be_done(subject: Subject) -> None:
    network = subject.create(2)
    launching = True
    early: list[bool] = []
    listener = Listener(lambda rank, instance, time_ps: early.append(launching))

    def launch(time_ps: int) -> None:
        nonlocal launching
        launching = True
        launch_all(network, one_message(), 1)
        launching = False

    network.call_later(0, 0, launch)
    run(network, listener)
    assert early == [False, False]


@pytest.mark.parametrize("late", range(4))
def test_messages_that_arrive_before_their_receiver_launches_are_kept(subject: Subject, late: int) -> None:
    network = subject.create(4)
    number, group = network.register_schedule(RING), network.register_group(range(4))
    for rank in range(4):
        if rank != late:
            network.launch(rank, number, group, 7, BYTES)
    network.call_later(late, LATE_PS, lambda _: network.launch(late, number, group, 7, BYTES))
    listener = run(network)
    assert sorted(rank for rank, _, _ in listener.done) == [0, 1, 2, 3]
    assert min(listener.times_ps) > LATE_PS  # a ring needs every rank
    assert subject.deliveries(network) == expected_deliveries(RING, 7, range(4))


def test_a_group_is_the_npus_named_in_the_order_named(subject: Subject) -> None:
    members = [5, 2, 7, 0]
    network = subject.create(8)
    launch_all(network, RING, BYTES, 3, ranks=members)
    listener = run(network)
    assert sorted(rank for rank, _, _ in listener.done) == sorted(members)
    assert subject.deliveries(network) == expected_deliveries(RING, 3, members)


def test_several_schedules_at_once_keep_apart(subject: Subject) -> None:
    network = subject.create(4)
    halves = {1: [0, 1], 2: [2, 3], 2**62: [1, 3]}
    launch_all(network, RING, BYTES, 0)
    for instance, members in halves.items():
        launch_all(network, lookup(CollectiveKind.ALL_TO_ALL, "direct", 2), BYTES, instance, members)
    listener = run(network)
    done = Counter((rank, instance) for rank, instance, _ in listener.done)
    assert done == Counter(
        [(rank, 0) for rank in range(4)] + [(rank, which) for which, members in halves.items() for rank in members]
    )


def test_an_instance_may_be_launched_from_the_callback_of_another(subject: Subject) -> None:
    network = subject.create(4)
    number, group = network.register_schedule(RING), network.register_group(range(4))

    def again(rank: int, instance: int, time_ps: int) -> None:
        if instance < 3:
            network.launch(rank, number, group, instance + 1, BYTES)

    listener = Listener(again)
    for rank in range(4):
        network.launch(rank, number, group, 0, BYTES)
    run(network, listener)
    for instance in range(1, 4):
        assert all(listener.done_ps(rank, instance) > listener.done_ps(rank, instance - 1) for rank in range(4))


def test_call_later_calls_in_order_of_time_and_then_of_asking(subject: Subject) -> None:
    network = subject.create(2)
    called: list[tuple[str, int]] = []
    delays = {"d": 500, "a": 0, "e": 500, "c": 1, "b": 0}
    for name, delay_ps in delays.items():
        network.call_later(1, delay_ps, lambda time_ps, name=name: called.append((name, time_ps)))
    run(network)
    assert called == [("a", 0), ("b", 0), ("c", 1), ("d", 500), ("e", 500)]


def test_timers_and_phases_of_one_moment_are_told_in_the_order_of_asking(subject: Subject) -> None:
    """A phase ends when its last message has been handled, which is asked for when that arrives."""
    handled_ps = 10_000

    def told(timer_ps: int, asked_ps: int) -> list[tuple[str, int]]:
        network = subject.create(2, EndpointModel(handled_ps))
        found: list[tuple[str, int]] = []

        def ask(asked_ps: int) -> None:
            network.call_later(1, timer_ps - asked_ps, lambda time_ps: found.append(("timer", time_ps)))

        network.call_later(1, asked_ps, ask)
        launch_all(network, one_message(), BYTES)
        run(network, Listener(lambda rank, _, time_ps: found.append(("phase", time_ps)) if rank == 1 else None))
        network.close()
        return found

    timer, phase = told(0, 0)
    done_ps = phase[1]
    assert (timer, phase) == (("timer", 0), ("phase", done_ps))
    assert told(done_ps, 0) == [("timer", done_ps), ("phase", done_ps)]
    assert told(done_ps, done_ps - handled_ps // 2) == [("phase", done_ps), ("timer", done_ps)]


def test_call_later_counts_from_the_present(subject: Subject) -> None:
    network = subject.create(2)
    called: list[int] = []
    network.call_later(0, 700, lambda _: network.call_later(1, 50, called.append))
    run(network)
    assert called == [750]


@pytest.mark.parametrize("error", [_TestError("own", 3), InputError("ours"), ValueError(), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["phase_done", "call_later"])
def test_exceptions_of_callbacks_come_out_of_run_unchanged(subject: Subject, where: str, error: BaseException) -> None:
    network = subject.create(2)

    def fail(*_: int) -> None:
        raise error

    launch_all(network, one_message(), BYTES)
    listener = Listener(fail if where == "phase_done" else None)
    if where == "call_later":
        network.call_later(0, 100, fail)
    with pytest.raises(type(error)) as caught:
        run(network, listener)
    assert caught.value is error
    network.close()
    after = subject.create(2)
    launch_all(after, one_message(), BYTES)
    assert len(run(after).done) == 2


def test_stop_leaves_run_after_the_present_event(subject: Subject) -> None:
    network = subject.create(2)
    called: list[int] = []

    def stop(time_ps: int) -> None:
        network.stop()
        called.append(time_ps)

    network.call_later(0, 1000, stop)
    network.call_later(0, 1001, called.append)
    run(network)
    assert called == [1000]
    assert network.now_ps() == 1000


def test_a_run_that_drains_returns_with_nothing_lost(subject: Subject) -> None:
    network = subject.create(4)
    launch_all(network, RING, BYTES, 0)
    listener = run(network)
    assert len(listener.done) == 4
    assert all(network.pending(rank, 0) == [] for rank in range(4))
    assert subject.deliveries(network) == expected_deliveries(RING, 0, range(4))


def test_a_run_without_anything_to_do_returns_at_once(subject: Subject) -> None:
    network = subject.create(2)
    run(network)
    assert network.now_ps() == 0


def test_a_limit_on_simulated_time_ends_the_run_there(subject: Subject) -> None:
    network = subject.create(4)
    launch_all(network, RING, BYTES)
    with pytest.raises(LimitReached):
        run(network, limits=Limits(simulated_ps=2_000_000))
    assert network.now_ps() == 2_000_000


def test_a_limit_that_is_not_reached_changes_nothing(subject: Subject) -> None:
    plain, limited = ([0] * 2 for _ in range(2))
    for times, limits in ((plain, Limits()), (limited, Limits(simulated_ps=LATE_PS))):
        network = subject.create(2)
        launch_all(network, one_message(), BYTES)
        times[:] = run(network, limits=limits).times_ps
        network.close()
    assert plain == limited


def test_a_deadlock_drains_and_pending_names_the_messages(subject: Subject) -> None:
    network = subject.create(4)
    launch_all(network, deadlock(), BYTES, 9, ranks=[3, 1])
    assert run(network).done == []
    waits = PendingMessage(sender=1, receiver=3, bytes=BYTES, step=0, sent=True)
    holds = PendingMessage(sender=3, receiver=1, bytes=BYTES, step=0, sent=False)
    assert {message.sent: message for message in network.pending(3, 9)} == {True: waits, False: holds}
    assert len(network.pending(1, 9)) == 2
    assert network.pending(0, 9) == network.pending(3, 8) == []


def test_pending_shrinks_as_messages_arrive(subject: Subject) -> None:
    network = subject.create(3)
    schedule = incast(2)
    number, group = network.register_schedule(schedule), network.register_group(range(3))
    for rank in (0, 1):
        network.launch(rank, number, group, 0, BYTES)
    run(network)
    assert network.pending(0, 0) == [PendingMessage(sender=2, receiver=0, bytes=BYTES, step=0, sent=True)]


def test_endpoint_delay_comes_before_the_first_send_and_after_each_message(subject: Subject) -> None:
    plain, delayed = 0, 0
    for endpoint in (EndpointModel(), EndpointModel(delay_ps=70_000_000)):
        network = subject.create(2, endpoint)
        launch_all(network, one_message(), BYTES)
        plain, delayed = delayed, run(network).done_ps(1)
        network.close()
    assert delayed == plain + 2 * 70_000_000


def test_reducing_takes_three_memory_accesses(subject: Subject) -> None:
    times = []
    for reduces in (False, True):
        network = subject.create(2, EndpointModel(reduction_bytes_per_ns=300))
        launch_all(network, by_hand(2, [Row(0, 1, reduces=reduces)]), 1000)
        times.append(run(network).done_ps(1))
        network.close()
    assert times[1] - times[0] == 3 * (1000 // 300) * 1000


def test_close_may_be_called_twice(subject: Subject) -> None:
    network = subject.create(2)
    network.close()
    network.close()


def test_a_second_backend_after_close_gives_the_same(subject: Subject) -> None:
    runs = []
    for _ in range(2):
        network = subject.create(6)
        for instance in range(3):
            launch_all(network, lookup(CollectiveKind.ALL_REDUCE, "direct", 6), 100_000, instance)
        runs.append(run(network).done)
        network.close()
    assert runs[0] == runs[1]
