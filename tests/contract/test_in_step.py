"""NPUs that are in step are played together: nothing may come out differently for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
from support.lengths import some_slow
from support.training import FlopClock, block, layer_of_all_kinds, plan_of, training_system

from astra_ns3.config.compute_slowdown import CommunicationShares, ComputeSlowdown
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.training_plan import Degrees, Sharding, TrainingPlan
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.recorded import Columns, RecordedTable, TableSink
from astra_ns3.network.records import RecorderOptions, RunRecords
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.player import cohort_player
from astra_ns3.playing.player.programs_driver import ProgramsDriver
from astra_ns3.playing.training.making import training_programs
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import CollectiveRequest, Handle
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.training.schedules import SCHEDULES

PARAMETERS = 2_880
NETWORKS = [("ns3", "tcp"), ("ns3", "roce"), ("flow", "roce"), ("analytical", "tcp"), ("analytical-queues", "tcp")]
SEEDS = (1, 2, 4)
ALL_SEEDS = some_slow(range(1, 13), SEEDS)


def _drawn_plan(seed: int) -> TrainingPlan:
    """On 8 to 64 NPUs, any schedule and stage of ZeRO."""
    draw = random.Random(seed)
    degrees = Degrees(tensor=2, context=2, data=draw.choice([1, 2]), pipeline=draw.choice([1, 2, 4]), expert=2)
    schedule = draw.choice(list(SCHEDULES))
    parts = degrees.pipeline * (2 if schedule == "interleaved" and degrees.pipeline > 1 else 1)
    layer = layer_of_all_kinds(PARAMETERS, compute_ps=draw.choice([2_000_000, 20_000_000]))
    layers = draw.randint(1, 3)
    return plan_of(
        degrees,
        [[layer] * layers] * parts,
        micro_batches=degrees.pipeline * draw.randint(1, 2),
        schedule=schedule if degrees.pipeline > 1 else "1f1b",
        sharding=Sharding(draw.randrange(4), overlap=draw.random() < 0.7),
        tied_parameters=draw.choice([0, PARAMETERS]) if degrees.pipeline > 1 else 0,
        boundary_bytes=10_000,
    )


def _servers(asynchronous: bool) -> TrainingPlan:
    layers = [block(name, 2_000_000, 2_000_000, 2_000_000, PARAMETERS) for name in "ab"]
    return plan_of(Degrees(data=13), [layers], micro_batches=2, servers=3, asynchronous=asynchronous)


def _network(transport: str, npus: int, buffer: str) -> NetworkConfig:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": npus, "link": link, "switch": {"buffer": buffer}}
    return parse_network({"topology": topology, "transport": {"kind": transport}})


def _play(
    plan: TrainingPlan,
    npus: int,
    backend: str,
    transport: str,
    splits: int,
    *,
    buffer: str = "1GB",
    report_npu: int = 0,
    journal_to: TableSink | None = None,
    slowdown: ComputeSlowdown | None = None,
) -> RunRecords:
    planned = plan_network(_network(transport, npus, buffer), EndpointModel(10_000))
    network = create_backend(backend, planned, seed=1, recorder=RecorderOptions())
    try:
        driver = ProgramsDriver(
            network,
            training_system(1, splits=splits),
            training_programs(plan, FlopClock(), 2, (npus,)),
            report_npu=report_npu,
            journal_to=journal_to,
            slowdown=slowdown,
        )
        driver.run()
        return driver.records()
    finally:
        network.close()


def _unnumbered(records: RunRecords) -> list[str]:
    """All collectives and messages; what NPUs begin at one moment may be numbered in another order."""
    return sorted(str(replace(record, index=0)) for record in records.collectives)


def _times(records: RunRecords) -> tuple[object, ...]:
    return records.finish_ps, records.npus, _unnumbered(records)


def _same_alone(play: Callable[[], RunRecords], monkeypatch: pytest.MonkeyPatch) -> None:
    together = play()
    with monkeypatch.context() as patch:
        patch.setattr(SystemLayer, "plays_alike", False)
        alone = play()
    assert together.complete
    assert _unnumbered(together) == _unnumbered(alone)
    assert replace(together, collectives=alone.collectives) == alone


class _NoRows:
    """A sink of tables that keeps nothing."""

    def open(self, table: RecordedTable) -> None: ...

    def label(self, name: str, column: str, number: int, text: str) -> None: ...

    def write(self, name: str, columns: Columns) -> None: ...

    def failed(self, file: str, reason: str) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("seed", ALL_SEEDS)
def test_a_training_is_the_same_recorded_where_packets_are_lost(seed: int) -> None:
    """Buffers of a few packets lose some, so a tie in another order would change times; so would the NPU reported."""
    plan = _drawn_plan(seed)
    play = partial(_play, plan, plan.degrees.npus, "ns3", "roce", 1 + seed % 3, buffer="40KB")
    alone = play()
    assert alone.complete
    recorded = play(journal_to=_NoRows())
    assert _times(recorded) == _times(alone)
    assert _times(play(report_npu=plan.degrees.npus - 2)) == _times(alone)


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
@pytest.mark.parametrize("seed", ALL_SEEDS)
def test_a_training_is_the_same_played_alone(
    seed: int, backend: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _drawn_plan(seed)
    _same_alone(lambda: _play(plan, plan.degrees.npus, backend, transport, 1 + seed % 3), monkeypatch)


def _drawn_slowdown(seed: int, npus: int) -> ComputeSlowdown:
    """Collectives slow computing; so do stragglers from some time on, mostly."""
    draw = random.Random(seed)
    shares = {"processors": draw.choice([0.159, 0.5]), "memory_bandwidth": draw.choice([0.159, 0.25])}
    slow = sorted(draw.sample(range(npus), draw.randrange(3)))
    straggler = {"npus": slow, "factor": 1.5, "from": draw.choice(["0ns", "30us"])}
    return ComputeSlowdown.model_validate({"communication": shares, "stragglers": [straggler] if slow else []})


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
@pytest.mark.parametrize("seed", ALL_SEEDS)
def test_a_training_whose_computing_is_slowed_is_the_same_played_alone(
    seed: int, backend: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _drawn_plan(seed)
    npus = plan.degrees.npus
    slowdown = _drawn_slowdown(seed, npus)
    play = partial(_play, plan, npus, backend, transport, 1 + seed % 3, slowdown=slowdown)
    _same_alone(play, monkeypatch)


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
@pytest.mark.parametrize("slowed", [False, True])
@pytest.mark.parametrize("seed", some_slow([1, 2, 3, 4], [2, 4]))
def test_npus_that_play_alone_from_some_time_on_do_the_same(
    seed: int, slowed: bool, backend: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _drawn_plan(seed)
    slowdown = _drawn_slowdown(seed, plan.degrees.npus) if slowed else None
    play = partial(_play, plan, plan.degrees.npus, backend, transport, 1, slowdown=slowdown)
    together = play()
    monkeypatch.setattr(cohort_player, "_LOOK_EVERY", 2 * seed)
    monkeypatch.setattr(cohort_player, "_MOST_ALONE", -1)
    alone = play()
    assert _unnumbered(together) == _unnumbered(alone)
    assert replace(together, collectives=alone.collectives) == alone


@pytest.mark.parametrize("slowed", [False, True])
def test_npus_in_step_issue_together(slowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above compare the same with itself."""
    sizes: list[int] = []
    issue_all = SystemLayer.issue_all

    def counted(
        self: SystemLayer, npus: Sequence[int], turns: Sequence[int], request: CollectiveRequest
    ) -> list[Handle]:
        sizes.append(len(npus))
        return issue_all(self, npus, turns, request)

    monkeypatch.setattr(SystemLayer, "issue_all", counted)
    for seed in SEEDS:
        plan = _drawn_plan(seed)
        sizes.clear()
        slowdown = ComputeSlowdown(communication=CommunicationShares(processors=0.2)) if slowed else None
        _play(plan, plan.degrees.npus, "analytical", "tcp", 1, slowdown=slowdown)
        assert sizes
        assert max(sizes) > 1


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_parameter_servers_are_the_same_played_alone(
    asynchronous: bool, backend: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _servers(asynchronous)
    _same_alone(lambda: _play(plan, 16, backend, transport, 1), monkeypatch)


def _drawn_loop(seed: int) -> Programs:
    """Layers whose collectives count as done an update later."""
    draw = random.Random(seed)
    lines = []
    for number in range(draw.randint(1, 4)):
        kinds = [draw.choice(["ALLREDUCE", "ALLTOALL", "NONE"]) for _ in range(3)]
        sizes = [0 if kind == "NONE" else draw.choice([800, 48_000]) for kind in kinds]
        passes = [f"{draw.choice([0, 500, 3000])} {kind} {size}" for kind, size in zip(kinds, sizes, strict=True)]
        lines.append(f"layer{number} -1 {' '.join(passes)} {draw.choice([0, 100, 2500])}")
    strategy = draw.choice(["DATA", "MODEL", "MICRO"])
    return Programs.of(parse_workload("\n".join([strategy, str(len(lines)), *lines]) + "\n"), 2, (8,))


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
@pytest.mark.parametrize("seed", ALL_SEEDS)
def test_a_loop_with_update_times_is_the_same_played_alone(
    seed: int, backend: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = "40KB" if backend == "ns3" and seed % 2 else "1GB"

    def play() -> RunRecords:
        planned = plan_network(_network(transport, 8, buffer), EndpointModel(10_000))
        network = create_backend(backend, planned, seed=1, recorder=RecorderOptions())
        try:
            driver = ProgramsDriver(network, training_system(1, splits=1 + seed % 3), _drawn_loop(seed))
            driver.run()
            return driver.records()
        finally:
            network.close()

    _same_alone(play, monkeypatch)
