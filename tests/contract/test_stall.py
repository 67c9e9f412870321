"""A schedule in which two ranks wait for each other never hangs and is never silent, whatever the backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fake_backend import FakeBackend
from support.star_network import deadlock, star

import astra_ns3
from astra_ns3.collectives import lookup
from astra_ns3.collectives.algorithms import ALGORITHMS, Algorithm
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import SimulationStalled
from astra_ns3.network.backend_makers import BACKENDS, Factory
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

WORKLOAD = "DATA\n1\ntower -1 1000 NONE 0 0 NONE 0 2000 ALLREDUCE 8000 0\n"
SYSTEM = {
    "scheduling-policy": "FIFO",
    "preferred-dataset-splits": 2,
    "all-reduce-implementation": "ring",
    "reduce-scatter-implementation": "ring",
    "all-gather-implementation": "ring",
    "all-to-all-implementation": "direct",
}


@pytest.fixture(params=[*BACKENDS, "fake"])
def backend(request: pytest.FixtureRequest) -> str | Factory:
    """A name, or what makes the fake one."""
    if request.param == "fake":
        return lambda *_: FakeBackend(2)
    name: str = request.param
    return name


@pytest.fixture
def _deadlocked_ring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The all-reduce 'ring' is the deadlock for as long as a test runs."""

    def build(ranks: int) -> Schedule:
        assert ranks == 2
        return deadlock()

    lookup._build.cache_clear()
    monkeypatch.setitem(ALGORITHMS, "ring", Algorithm({CollectiveKind.ALL_REDUCE: (build,)}))
    yield
    lookup._build.cache_clear()


@pytest.mark.usefixtures("_deadlocked_ring")
def test_a_deadlock_is_an_error_that_names_npu_layer_collective_chunk_and_messages(
    backend: str | Factory, tmp_path: Path
) -> None:
    with pytest.raises(SimulationStalled) as stalled:
        astra_ns3.run(
            workload=parse_workload(WORKLOAD, "deadlock.txt"),
            system=parse_system(SYSTEM),
            network=star(2),
            backend=backend,
            output=tmp_path / "out",
            isolated=False,  # where the ring is changed
        )
    assert stalled.value.exit_status == 3
    message = str(stalled.value)
    assert "\n" not in message
    for part in (
        "2 of 2 NPUs aren't done",
        "NPU 0",
        "layer 'tower'",
        "collective 0",
        "chunk 0",
        "1 to 0 (step 0, 4000 bytes)",
        "unsent 0 to 1 (step 0, 4000 bytes)",
    ):
        assert part in message
    saved = astra_ns3.Result.load(tmp_path / "out")
    assert not saved.complete
    stopped = saved.metadata["stopped"]
    assert stopped is not None
    assert stopped["kind"] == "SimulationStalled"
