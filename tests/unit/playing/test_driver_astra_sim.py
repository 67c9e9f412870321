"""Training loops with ASTRA-sim 1.0's rules against an oracle written from these, to the nanosecond.

The network is the pure-Python one of the tests. The layers' exposed and total times are compared too: they fix where
each tick and each update time is booked.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracles.astra_sim import Dimension
from support.astra_sim_network import AstraSimNetwork, Network10
from support.astra_sim_runs import LOOPS, LoopRun, loop_run
from support.training_driver import TrainingDriver

from astra_ns3.config.core.compatibility import preset
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import RunRecords
from astra_ns3.system.file import parse_system, read_system
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.files.astra_sim import parse_workload, read_workload

SEEDS = (100, 101)
"""Others than those of the analytical backend."""


def played(run: LoopRun, folder: Path) -> RunRecords:
    files = run.write(folder)
    network = Network10(files.network)
    driver = TrainingDriver(
        AstraSimNetwork(network, EndpointModel(run.system.endpoint_ns * PS_PER_NS)),
        read_system(files.system),
        read_workload(files.workload),
        run.passes,
        dimensions=network.dimensions,
        bandwidths=network.bandwidths,
        compatibility=preset("astra-sim-1.0"),
    )
    driver.run()
    return driver.records()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_ends_at_the_same_nanosecond_and_its_layers_have_the_same_times(
    loop: str, seed: int, tmp_path: Path
) -> None:
    run = loop_run(loop, seed)
    records, expected = played(run, tmp_path), run.outcome
    assert {npu.finish_ps for npu in records.npus} == {expected.finish_ns * PS_PER_NS}
    assert {npu.compute_ps for npu in records.npus} == {sum(expected.compute_ns.values()) * PS_PER_NS}
    for number, layer in enumerate(records.layers):
        for name, times in zip("fiw", (layer.forward, layer.input_gradient, layer.weight_gradient), strict=True):
            found = (times.exposed_ps, times.comm_ps)
            assert found == tuple(PS_PER_NS * of[number, name] for of in (expected.exposed_ns, expected.total_ns)), (
                number,
                name,
            )


def test_two_passes_of_micro_are_exposed_until_the_first_ends(tmp_path: Path) -> None:
    """Both are issued at once. When a chunk of the first has ended, all of the second, being later, go first."""
    network = {
        "topologies-per-dim": ["Switch"],
        "units-count": [4],
        "links-count": [1],
        "link-latency": [500],
        "link-bandwidth": [25],
        "nic-latency": [0],
        "router-latency": [10],
        "hbm-latency": [0],
        "hbm-bandwidth": [1],
        "hbm-scale": [0],
    }
    (tmp_path / "network.json").write_text(json.dumps(network), encoding="utf-8")
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    system = parse_system(
        {
            "scheduling-policy": "LIFO",
            "endpoint-delay": 10,
            "preferred-dataset-splits": 4,
            "active-chunks-per-dimension": 1,
            **{f"{kind}-implementation": "ring" for kind in kinds},
        }
    )
    network_10 = Network10(tmp_path / "network.json")
    driver = TrainingDriver(
        AstraSimNetwork(network_10, EndpointModel(10 * PS_PER_NS)),
        system,
        parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1048576 5\n"),
        2,
        dimensions=network_10.dimensions,
        compatibility=preset("astra-sim-1.0"),
    )
    driver.run()
    dimension = Dimension("Switch", 4, 1, 25, 500, 10)
    chunk_ns = dimension.phase_ns("ALLREDUCE", 1048576 // 4, 10)
    (layer,) = driver.records().layers
    assert driver.records().finish_ps == (8 * chunk_ns + 5) * PS_PER_NS
    assert layer.weight_gradient.exposed_ps == (5 * chunk_ns + 5) * PS_PER_NS
    assert layer.weight_gradient.comm_ps == (5 * chunk_ns + 5 + 8 * chunk_ns + 5) * PS_PER_NS
