"""A training with every kind of parallelism, in every order and every stage of ZeRO, on every network."""

from __future__ import annotations

import pytest
from support.training import FlopClock, block, layer_of_all_kinds, plan_of, training_system

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.training_plan import Degrees, Sharding, TrainingPlan
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions, RunRecords
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.training.making import training_programs
from astra_ns3.workload.training.schedules import SCHEDULES

DEGREES = Degrees(tensor=2, context=2, data=2, pipeline=2, expert=2)
PARAMETERS = 2_880
NETWORKS = [("ns3", "tcp"), ("ns3", "roce"), ("flow", "roce"), ("analytical", "tcp"), ("analytical-queues", "tcp")]


def _plan(schedule: str, zero: int) -> TrainingPlan:
    parts = 4 if schedule == "interleaved" else 2
    layer = layer_of_all_kinds(PARAMETERS, compute_ps=2_000_000)
    return plan_of(
        DEGREES,
        [[layer]] * parts,
        micro_batches=2,
        schedule=schedule,
        sharding=Sharding(zero),
        tied_parameters=PARAMETERS,
        boundary_bytes=10_000,
    )


def _play(backend: str, transport: str, plan: TrainingPlan, passes: int = 1) -> RunRecords:
    network = create_backend(
        backend, plan_network(_network(transport), EndpointModel(10_000)), seed=1, recorder=RecorderOptions()
    )
    try:
        driver = ProgramsDriver(
            network, training_system(1), training_programs(plan, FlopClock(), passes, (DEGREES.npus,))
        )
        driver.run()
        return driver.records()
    finally:
        network.close()


def _network(transport: str) -> NetworkConfig:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": DEGREES.npus, "link": link, "switch": {"buffer": "1GB"}}
    return parse_network({"topology": topology, "transport": {"kind": transport}})


def _one_of_each() -> list[tuple[str, int]]:
    """Every schedule with a stage of ZeRO, and every one of these."""
    return [(schedule, number % 4) for number, schedule in enumerate(SCHEDULES)]


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
@pytest.mark.parametrize(("schedule", "zero"), _one_of_each())
def test_a_training_computes_and_sends_the_same_on_every_network(
    schedule: str, zero: int, backend: str, transport: str
) -> None:
    """Per NPU and iteration, of each layer and micro-batch; an update moves 30 bytes a parameter, a picosecond each.

    Bytes: a layer's exchanges as its docstring says; gradients and weights as ZeRO says, among 4 NPUs, experts' among
    2; two messages to the other stage, three of an interleaved one's, which has two parts.
    """
    plan = _plan(schedule, zero)
    records = _play(backend, transport, plan)
    parts = plan.virtual_stages
    assert records.complete
    assert all(npu.compute_ps + npu.exposed_ps == npu.finish_ps for npu in records.npus)
    shares = 1 / 4 + 1 / 2 if zero else 2
    update_ps = round(30 * PARAMETERS * shares) * parts
    fast_ps, slow_ps = (2 * parts * (5 + last) * 2_000_000 + update_ps for last in (1, 2))
    assert {npu.compute_ps for npu in records.npus} == {fast_ps, slow_ps}
    layer_bytes = 2 * parts * 4 * PARAMETERS
    times = {0: 2, 1: 2, 2: 2 + 1, 3: 3 * 2}[zero]
    sharded_bytes = parts * times * 2 * PARAMETERS * (3 * 2 + 1 * 4) // 8
    tied_bytes = 2 * PARAMETERS // (4 if zero else 1)
    message_bytes = (2 * parts - 1) * 2 * 10_000
    assert sum(records.sent_bytes) == layer_bytes + sharded_bytes + tied_bytes + message_bytes


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
def test_parameter_servers_serve_on_every_network(backend: str, transport: str, asynchronous: bool) -> None:
    """13 workers and 3 servers: gradients and weights of 2 bytes a parameter each, in parts of 960 parameters."""
    layers = [block(name, 2_000_000, 2_000_000, 2_000_000, PARAMETERS) for name in "ab"]
    plan = plan_of(Degrees(data=13), [layers], micro_batches=2, servers=3, asynchronous=asynchronous)
    records = _play(backend, transport, plan, passes=2)
    assert records.complete
    assert all(npu.compute_ps + npu.exposed_ps == npu.finish_ps for npu in records.npus)
    assert {npu.compute_ps for npu in records.npus[:13]} == {2 * 2 * 2 * 3 * 2_000_000}
    assert sum(record.bytes for record in records.collectives) == 2 * 2 * 13 * (2 + 2) * PARAMETERS


@pytest.mark.parametrize("transport", ["tcp", "roce"])
def test_a_training_takes_the_same_time_again(transport: str) -> None:
    plan = _plan("interleaved", 3)
    assert _play("ns3", transport, plan) == _play("ns3", transport, plan)
