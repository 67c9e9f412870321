"""Messages between NPUs, and a pipeline of two stages made of them."""

from __future__ import annotations

from typing import Any

import pytest
from oracles import collective_times
from support.fake_backend import FakeBackend
from support.role_programs import Await, Step, loop_of_steps, pipeline, plain_workload, wait
from support.system_parts import system
from support.training_driver import TrainingDriver

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError, ProgramMismatch
from astra_ns3.experiments.run_tables import collective_table
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import Label, RunRecords
from astra_ns3.playing.dry_run.counting import PlannedMessages, counted_messages, expected_computation
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.programs.operations import Compute, Receive, Send
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.messages import INVITATION_BYTES

ENDPOINT_PS = 10_000
SLOW = Compute(Label(0, 0, "forward"), 50_000_000)
A, B = Communicator([0], "a"), Communicator([1], "b")


def _message_ps(bytes: int) -> int:
    return 1_000_000 + 10 * bytes


def _play(*steps: list[Step], reactive: bool = False) -> RunRecords:
    """NPU i runs ``steps[i]``."""
    network = FakeBackend(len(steps), message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS))
    loop = loop_of_steps({"abcdef"[rank]: ([rank], own) for rank, own in enumerate(steps)}, reactive=reactive)
    driver = TrainingDriver(network, system(), plain_workload(), loop=loop)
    driver.run()
    return driver.records()


def _finishes(*steps: list[Step], **options: Any) -> list[int]:
    return [npu.finish_ps for npu in _play(*steps, **options).npus]


ONE_WAY_PS = ENDPOINT_PS + _message_ps(1000) + ENDPOINT_PS


def test_an_eager_sender_is_done_when_the_transport_has_its_message_and_the_receiver_when_it_came() -> None:
    assert _finishes([Send(B, 1000, "x"), wait(0)], [Receive(A, 1000, "x"), wait(0)]) == [ENDPOINT_PS, ONE_WAY_PS]


def test_an_eager_message_that_comes_early_is_kept() -> None:
    late = _finishes([Send(B, 1000, "x"), wait(0)], [SLOW, Receive(A, 1000, "x"), wait(1)])
    assert late == [ENDPOINT_PS, SLOW.time_ps + ENDPOINT_PS]


def test_by_rendezvous_a_message_leaves_when_the_receiver_has_posted_and_its_invitation_came() -> None:
    send, receive = Send(B, 1000, "x", rendezvous=True), Receive(A, 1000, "x", rendezvous=True)
    invitation_ps = ENDPOINT_PS + _message_ps(INVITATION_BYTES) + ENDPOINT_PS
    receivers: dict[int, list[Step]] = {0: [receive, wait(0)], SLOW.time_ps: [SLOW, receive, wait(1)]}
    for late_ps, receiver in receivers.items():
        assert _finishes([send, wait(0)], receiver) == [
            late_ps + invitation_ps + ENDPOINT_PS,
            late_ps + invitation_ps + ONE_WAY_PS,
        ]


@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_record_of_a_message_starts_when_it_can_leave_however_long_its_receiver_waits(rendezvous: bool) -> None:
    send, receive = Send(B, 1000, "x", rendezvous=rendezvous), Receive(A, 1000, "x", rendezvous=rendezvous)
    (record,) = _play([SLOW, send, wait(1)], [receive, wait(0)]).collectives
    assert record.start_ps == SLOW.time_ps
    taken_ps = rendezvous * ENDPOINT_PS  # the invitation came long ago
    assert record.end_ps == SLOW.time_ps + taken_ps + ONE_WAY_PS
    (record,) = _play([send, wait(0)], [SLOW, receive, wait(1)]).collectives  # the receiver comes late
    assert record.start_ps == rendezvous * SLOW.time_ps


def test_the_kth_message_of_a_tag_is_the_kth_received_and_tags_are_told_apart() -> None:
    sends: list[Step] = [Send(B, 100, "x"), Send(B, 200, "y"), Send(B, 300, "x"), wait(0, 1, 2)]
    receives: list[Step] = [Receive(A, 200, "y"), Receive(A, 100, "x"), Receive(A, 300, "x"), wait(0, 1, 2)]
    records = _play(sends, receives)
    assert sorted(record.bytes for record in records.collectives) == [100, 200, 300]
    assert all(record.end_ps is not None for record in records.collectives)


def test_the_ends_of_a_message_must_say_the_same_of_it() -> None:
    send = Send(B, 1000, "x")
    for receive, said in (
        (Receive(A, 999, "x"), "999 bytes"),
        (Receive(A, 1000, "x", rendezvous=True), "by rendezvous"),
    ):
        for reactive in (False, True):  # found before the run, and in it
            with pytest.raises(ProgramMismatch, match=rf"'x'.*{said}|{said}.*'x'"):
                _play([send, wait(0)], [receive, wait(0)], reactive=reactive)


def test_a_message_to_oneself_or_without_bytes_is_an_input_error() -> None:
    with pytest.raises(InputError, match="NPU 0 sends a message tagged 'x' to itself"):
        _play([Send(A, 1, "x"), Receive(A, 1, "x"), wait(0, 1)])
    with pytest.raises(InputError, match="'x' has 0 bytes, expected at least 1"):
        _play([Send(B, 0, "x"), wait(0)], [Receive(A, 0, "x"), wait(0)])


def test_a_message_is_a_row_of_the_collectives_with_its_label_and_counts_as_sent() -> None:
    label = Label(3, "boundary", "forward", 7)
    records = _play([Send(B, 1000, "x", label), wait(0)], [Receive(A, 1000, "x", label), wait(0)])
    (record,) = records.collectives
    assert (record.label, record.kind, record.ranks) == (label, CollectiveKind.POINT_TO_POINT, 2)
    row = dict(zip(*(lambda table: (table.header, table.rows[0]))(collective_table(records)), strict=True))
    assert [row[name] for name in ("layer", "iteration", "part", "kind", "group", "npus")] == [
        "boundary", 3, "forward", "POINTTOPOINT", "boundary", 2,
    ]  # fmt: skip
    assert records.sent_bytes == (1000,)
    (layer,) = [layer for layer in records.layers if layer.name == "boundary"]
    assert layer.forward.comm_ps == layer.forward.exposed_ps == ENDPOINT_PS


def test_waiting_for_any_goes_on_with_the_first_that_is_done() -> None:
    """NPU 1 hears from NPU 2 long before it hears from NPU 0."""
    c = Communicator([2], "c")
    finishes = _finishes(
        [SLOW, Send(B, 1000, "x"), wait(1)],
        [Receive(A, 1000, "x"), Receive(c, 1000, "x"), Await((0, 1), any=True)],
        [Send(B, 1000, "x"), wait(0)],
    )
    assert finishes == [SLOW.time_ps + ENDPOINT_PS, ONE_WAY_PS, ENDPOINT_PS]


def test_each_npu_of_a_role_sends_to_the_one_in_its_place_and_round_a_ring() -> None:
    ring = Communicator([0, 1, 2])
    after, before = Communicator([1, 2, 0]), Communicator([2, 0, 1])
    loop = loop_of_steps({"ring": (ring.ranks, [Receive(before, 8, "x"), Send(after, 8, "x"), wait(0, 1)])})
    network = FakeBackend(3, message_ps=_message_ps)
    driver = TrainingDriver(network, system(), plain_workload(), loop=loop)
    driver.run()
    assert sorted(map(tuple, network._groups)) == [(0, 1), (1, 2), (2, 0)]
    (planned,) = counted_messages(Programs.of(plain_workload(), 1, (3,), loop))
    assert planned == PlannedMessages(((0, 1), (1, 2), (2, 0)), 8, False, 1)


def test_a_role_of_another_size_than_its_peers_is_told_so() -> None:
    loop = loop_of_steps({"two": ([0, 1], [Send(Communicator([2]), 8, "x")]), "one": ([2], [])})
    with pytest.raises(ProgramMismatch, match=r"role 'two' sends 8 bytes tagged 'x' .*: expected as many NPUs .* 2"):
        TrainingDriver(FakeBackend(3), system(), plain_workload(), loop=loop)


BATCHES, NPUS, BYTES = 4, 2, 1000


def _pipeline_ps() -> tuple[int, int]:
    """When either stage has computed all, step by step: 1 us forward, 2 us for each gradient.

    A message is received an endpoint delay after it came and was asked for, whatever is later.
    """
    first_ps = last_ps = 0
    gradient_came_ps = 0
    for step in range(BATCHES + 1):
        activation_came_ps = 0
        if step < BATCHES:
            first_ps += 1_000_000
            activation_came_ps = first_ps + ONE_WAY_PS
        if step > 0:
            first_ps = max(first_ps + ENDPOINT_PS, gradient_came_ps) + 2_000_000
        if step < BATCHES:
            last_ps = max(last_ps + ENDPOINT_PS, activation_came_ps) + 3_000_000
            gradient_came_ps = last_ps + ONE_WAY_PS
    return first_ps, last_ps


@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_pipeline_of_two_stages_takes_what_its_critical_path_does(rendezvous: bool) -> None:
    network = FakeBackend(2 * NPUS, message_ps=_message_ps, endpoint=EndpointModel(ENDPOINT_PS))
    loop = pipeline(BATCHES, NPUS, BYTES, rendezvous=rendezvous)
    driver = TrainingDriver(network, system(preferred_dataset_splits=1), plain_workload(), loop=loop)
    driver.run()
    records = driver.records()
    reduce_ps = collective_times.ring_all_reduce(NPUS, BYTES, _message_ps, ENDPOINT_PS)
    assert records.complete
    assert {npu.compute_ps for npu in records.npus} == {BATCHES * 3_000_000}
    messages = [record for record in records.collectives if record.kind is CollectiveKind.POINT_TO_POINT]
    assert len(messages) == 2 * BATCHES * NPUS
    assert {(record.label.part, record.label.micro_batch) for record in messages} == {
        (part, batch) for part in ("forward", "input gradient") for batch in range(BATCHES)
    }
    if not rendezvous:
        first_ps, last_ps = _pipeline_ps()
        assert [npu.finish_ps for npu in records.npus] == [
            *[first_ps + reduce_ps] * NPUS,
            *[last_ps + ENDPOINT_PS + reduce_ps] * NPUS,
        ]
    assert {role.role: role.npu for role in records.roles} == {"first": 0, "last": NPUS}
    assert expected_computation(Programs.of(plain_workload(), 1, (2 * NPUS,), loop)) == (
        BATCHES * 3_000_000,
        NPUS * (2 * BATCHES + 2 * BATCHES),
    )


@pytest.mark.parametrize("times_us", [(1, 5), (5, 1)])
def test_the_computation_that_is_expected_is_that_of_npu_0_however_long_others_compute(
    times_us: tuple[int, int],
) -> None:
    roles = {
        name: ([npu], [Compute(Label(0, 0, "forward"), time_us * 1_000_000)])
        for npu, (name, time_us) in enumerate(zip("ab", times_us, strict=True))
    }
    programs = Programs.of(plain_workload(), 1, (2,), loop_of_steps(roles))
    assert expected_computation(programs) == (times_us[0] * 1_000_000, 2)


def test_a_pipeline_that_sends_by_rendezvous_and_waits_for_it_at_once_on_both_sides_is_refused() -> None:
    """Each stage would wait for the other to receive before it receives itself."""
    send = {name: Send(peer, 8, "x", rendezvous=True) for name, peer in (("a", B), ("b", A))}
    receive = {name: Receive(peer, 8, "x", rendezvous=True) for name, peer in (("a", B), ("b", A))}
    with pytest.raises(InputError) as error:
        _play([send["a"], wait(0), receive["a"], wait(2)], [send["b"], wait(0), receive["b"], wait(2)])
    assert type(error.value).__name__ == "ProgramsDeadlock"
    assert "role 'a' waits for the receiver of message 'x' from role 'b'; role 'b' waits for" in str(error.value)
