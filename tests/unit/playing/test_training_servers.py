"""Parameter servers: what workers and servers do, how long it takes, and what they send."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.training import FlopClock, block, lines, plan_of, trace, training_system

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.training_plan import Block, Degrees, Elements, Exchange, Group, Sharding, TrainingPlan
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import RunRecords
from astra_ns3.playing.dry_run.counting import counted_messages
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.servers import ServedPrograms
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.workload.models.workload import read_model

ELEMENTS = Elements(weight=2, gradient=4, optimizer=12)
MESSAGE_PS = 1_000
"""What a message takes besides a picosecond a byte."""


def _plan(workers: int, servers: int, **keys: Any) -> TrainingPlan:
    layers = [block("a", 10_000, 5_000, 5_000, 90), block("b", 10_000, 5_000, 5_000, 30)]
    return plan_of(Degrees(data=workers), [layers], servers=servers, **{"elements": ELEMENTS, **keys})


def _programs(plan: TrainingPlan, passes: int = 1) -> TrainingPrograms:
    return training_programs(plan, FlopClock(), passes, (plan.degrees.npus + plan.servers,))


def _play(plan: TrainingPlan, passes: int = 1, slow: int = 0) -> RunRecords:
    """``slow``: what messages of worker 0 take besides."""
    programs = _programs(plan, passes)
    network = FakeBackend(
        programs.grid.npus,
        message_ps=lambda bytes: MESSAGE_PS + bytes,
        endpoint=EndpointModel(0),
        extra_ps=lambda sender, receiver: slow if sender == 0 else 0,
    )
    driver = ProgramsDriver(network, training_system(1), programs)
    driver.run()
    return driver.records()


def test_a_worker_sends_gradients_to_all_servers_and_waits_for_weights_before_the_next_pass_through_a_layer() -> None:
    backward = """
        compute i1.0; compute w1.0
        send gradient 1.0; send gradient 1.0; receive weights 1.0; receive weights 1.0
        compute i0.0; compute w0.0
        send gradient 0.0; send gradient 0.0; receive weights 0.0; receive weights 0.0
        wait gradient 1.0; wait gradient 1.0; wait gradient 0.0; wait gradient 0.0
        """
    assert trace(_programs(_plan(3, 2), 2), 1) == lines(
        f"""
        compute f0.0; compute f1.0; {backward}
        wait weights 0.0; wait weights 0.0; compute f0.0; wait weights 1.0; wait weights 1.0; compute f1.0
        {backward}
        tail weights 1.0; tail weights 1.0; tail weights 0.0; tail weights 0.0
        """
    )


def test_a_server_waits_for_all_workers_and_answers_all() -> None:
    part = "receive gradient {0}; receive gradient {0}; wait gradient {0}; wait gradient {0}; compute update {0};"
    answers = "send weights {0}; send weights {0};"
    assert trace(_programs(_plan(2, 2)), 2) == lines(
        (part + answers).format(1)
        + (part + answers).format(0)
        + "wait weights 1; wait weights 1; wait weights 0; wait weights 0"
    )


def test_workers_send_to_servers_in_turns_of_their_own() -> None:
    """So that they don't all begin with the same one."""
    programs = _programs(_plan(3, 2))
    sent = counted_messages(programs)
    first: dict[int, int] = {}
    for message in sent:
        ((source, to),) = message.pairs
        first.setdefault(source, to)
    assert [first[worker] for worker in range(3)] == [3, 4, 3]


def test_a_synchronous_iteration_takes_as_long_as_its_last_layers_way_to_the_server_and_back() -> None:
    """One server, 2 workers: 120 parameters are updated in two parts, the first behind the last layer's computation.

    The first layer's 90: 360 bytes there, an update that moves 90 x (2 x 4 + 2 x 14) bytes, 180 bytes back. The last
    layer's 30 take 1,120 + 1,080 + 1,060 ps, less than the 10,000 ps that the first layer's gradients take.
    """
    first_ps = (MESSAGE_PS + 360) + 90 * 36 + (MESSAGE_PS + 180)
    assert _play(_plan(2, 1)).finish_ps == 4 * 10_000 + first_ps
    assert _play(_plan(2, 1), passes=3).finish_ps == 3 * (4 * 10_000 + first_ps)


def test_an_asynchronous_worker_does_not_wait_for_a_slower_one() -> None:
    """Worker 0's messages take 100,000 ps longer; servers update by 90 x (4 + 2 x 14) bytes each time."""
    synchronous = [npu.finish_ps for npu in _play(_plan(2, 1), 2, slow=100_000).npus]
    asynchronous = [npu.finish_ps for npu in _play(_plan(2, 1, asynchronous=True), 2, slow=100_000).npus]
    alone_ps = 4 * 10_000 + (MESSAGE_PS + 360) + 90 * 32 + (MESSAGE_PS + 180)
    assert asynchronous[1] == 2 * alone_ps
    assert asynchronous[0] == 2 * (alone_ps + 100_000)
    assert synchronous[0] == synchronous[1] > asynchronous[0]


def test_an_asynchronous_server_updates_for_one_after_the_other() -> None:
    """Both workers' gradients come at once: the second waits for the first one's update."""
    plan = plan_of(
        Degrees(data=2), [[block("a", 10_000, 5_000, 5_000, 90)]], servers=1, asynchronous=True, elements=ELEMENTS
    )
    finishes = [npu.finish_ps for npu in _play(plan).npus][:2]
    first_ps = 2 * 10_000 + (MESSAGE_PS + 360) + 90 * 32 + (MESSAGE_PS + 180)
    assert finishes == [first_ps, first_ps + 90 * 32]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (4, 1), (3, 2), (2, 3)])
def test_a_worker_sends_its_gradients_once_and_gets_its_weights_once(
    workers: int, servers: int, asynchronous: bool
) -> None:
    plan = _plan(workers, servers, asynchronous=asynchronous, micro_batches=3)
    records = _play(plan, passes=2)
    assert records.complete
    assert all(npu.compute_ps + npu.exposed_ps == npu.finish_ps for npu in records.npus)
    assert sum(records.sent_bytes) == 2 * 4 * 120
    assert sum(record.bytes for record in records.collectives) == 2 * workers * (4 + 2) * 120


def test_parts_are_of_whole_elements() -> None:
    """30 and 90 parameters on 4 servers: 8 and 23 each."""
    programs = _programs(_plan(2, 4))
    assert isinstance(programs, ServedPrograms)
    assert [(part.gradient_bytes, part.weight_bytes) for part in programs.parts.values()] == [(32, 16), (92, 46)]


@pytest.mark.parametrize("overlap", [False, True])
def test_a_bucket_is_sent_as_one(overlap: bool) -> None:
    plan = _plan(2, 1, sharding=Sharding(bucket_bytes=1_000_000, overlap=overlap))
    sent = [record for record in _play(plan).collectives if record.bytes == 480]
    assert len(sent) == 2
    assert {record.end_ps for record in sent} == {40_000 + MESSAGE_PS + 480}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"degrees": Degrees(tensor=2)}, "parameter servers, with other parallelism than of data, or ZeRO, expected"),
        ({"sharding": Sharding(1)}, "parameter servers, with other parallelism than of data, or ZeRO, expected data"),
        ({"servers": 3}, "2 workers and 3 servers, but the network has 4 NPUs"),
        (
            {"chunks": ((Block("a", (Exchange(CollectiveKind.ALL_REDUCE, Group.DATA, 8),)),),)},
            "an exchange in groups 'data', which workers of servers haven't",
        ),
    ],
)
def test_what_servers_do_not_serve_is_told(keys: dict[str, Any], message: str) -> None:
    plan = replace(_plan(2, 2), **keys)
    with pytest.raises(InputError, match=message):
        trace(training_programs(plan, FlopClock(), 1, (4,)))


MODEL = """kind: transformer
name: small
model: {layers: 2, hidden: 64, heads: 4, vocabulary: 1000}
training: {sequence: 32, micro_batch: 1}
compute: A100-80GB
"""


def test_a_model_file_has_servers_beside_the_workers(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(MODEL + "parallel: {servers: 2, asynchronous: on}\n")
    plan = read_model(path).plan(8)
    assert (plan.degrees, plan.servers, plan.asynchronous) == (Degrees(data=6), 2, True)
    with pytest.raises(InputError, match=r"parallel.servers is 2, expected fewer than the 2 NPUs"):
        read_model(path).plan(2)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("asynchronous: on", "asynchronous': is on, expected off: there are no servers"),
        ("servers: 1, tensor: 2, zero: 1", "servers': stands beside tensor, zero; expected data parallelism alone"),
    ],
)
def test_servers_stand_beside_data_parallelism_alone(tmp_path: Path, keys: str, message: str) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(MODEL + f"parallel: {{{keys}}}\n")
    with pytest.raises(InputError, match=message):
        read_model(path)
