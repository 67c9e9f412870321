"""Training loops with ASTRA-sim 1.0's rules against times that this program itself gave, to the nanosecond.

A torus of 4 x 4 x 4 NPUs, as its sample files have it. The layers' exposed and total times are compared too: they fix
where each tick and each update time is booked.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.astra_sim_network import AstraSimNetwork, Network10

from astra_ns3.config.core.compatibility import preset
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import PassTimes, RunRecords
from astra_ns3.system.file import parse_system
from astra_ns3.workload.driver import TrainingDriver
from astra_ns3.workload.files.astra_sim import parse_workload

TORUS = {
    "topologies-per-dim": ["Ring"] * 3,
    "units-count": [4] * 3,
    "links-count": [2] * 3,
    "link-latency": [1] * 3,
    "link-bandwidth": [32, 16, 16],
    "nic-latency": [0] * 3,
    "router-latency": [0] * 3,
    "hbm-latency": [500] * 3,
    "hbm-bandwidth": [370] * 3,
    "hbm-scale": [0] * 3,
}
MODEL = """MODEL
6
mlp0 -1 32291 ALLGATHER 37632 32291 ALLREDUCE 37632 12864 NONE 0 3229
mlp1 -1 7488 ALLGATHER 65536 7488 ALLREDUCE 65536 3648 NONE 0 749
mlp2 -1 7488 ALLGATHER 65536 7488 ALLREDUCE 65536 3456 NONE 0 749
mlp3 -1 14144 ALLGATHER 147456 14144 ALLREDUCE 147456 10368 NONE 0 1414
mlp4 -1 7488 ALLGATHER 65536 7488 ALLREDUCE 65536 3648 NONE 0 749
mlp5 -1 9984 ALLGATHER 65536 9984 ALLREDUCE 65536 3456 NONE 0 998
"""
CUSTOMIZED = """HYBRID_CUSTOMIZED
6
mlp0 -1 32291 ALLGATHER 37632 32291 REDUCESCATTER 37632 32291 ALLREDUCE 37632 3229 HYBRID_DATA_MODEL
mlp1 -1 7488 ALLGATHER 65536 7488 REDUCESCATTER 65536 7488 ALLREDUCE 65536 749 HYBRID_MODEL_DATA
mlp2 -1 7488 NONE 0 7488 NONE 0 7488 ALLREDUCE 65536 749 DATA
mlp3 -1 14144 ALLGATHER 147456 14144 REDUCESCATTER 147456 14144 NONE 0 1414 MODEL
mlp4 -1 7488 ALLGATHER 65536 7488 REDUCESCATTER 65536 7488 NONE 0 749 MODEL
mlp5 -1 9984 ALLGATHER 65536 9984 REDUCESCATTER 65536 9984 ALLREDUCE 65536 998 HYBRID_MODEL_DATA
"""
MICRO = "MICRO\n1\nconv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1048576 5\n"


def _run(folder: Path, workload: str, passes: int) -> RunRecords:
    (folder / "torus.json").write_text(json.dumps(TORUS), encoding="utf-8")
    network = Network10(folder / "torus.json")
    rings = dict.fromkeys(
        (f"{kind}-implementation" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")),
        "ring_ring_ring",
    )
    system = parse_system(
        {
            **rings,
            "scheduling-policy": "LIFO",
            "endpoint-delay": 1,
            "preferred-dataset-splits": 4,
            "active-chunks-per-dimension": 1,
            "collective-optimization": "localBWAware",
        }
    )
    driver = TrainingDriver(
        AstraSimNetwork(network, EndpointModel(1000)),
        system,
        parse_workload(workload),
        passes,
        dimensions=network.dimensions,
        compatibility=preset("astra-sim-1.0"),
    )
    driver.run()
    return driver.records()


def _exposed_and_total(times: PassTimes) -> tuple[int, int]:
    return times.exposed_ps, times.comm_ps


def _ns(*times_ns: int) -> tuple[int, ...]:
    return tuple(1000 * time_ns for time_ns in times_ns)


@pytest.mark.parametrize(
    ("workload", "finish_ns", "compute_ns"), [(MODEL, 1_129_002, 390_412), (CUSTOMIZED, 942_324, 473_298)]
)
def test_two_passes_end_at_the_same_nanosecond(tmp_path: Path, workload: str, finish_ns: int, compute_ns: int) -> None:
    records = _run(tmp_path, workload, 2)
    assert {(npu.finish_ps, npu.compute_ps) for npu in records.npus} == {_ns(finish_ns, compute_ns)}


def test_the_customised_layers_of_two_passes_have_the_same_times(tmp_path: Path) -> None:
    """Layer 0's weight gradient is issued a tick before it is waited for, in each of the passes."""
    layers = _run(tmp_path, CUSTOMIZED, 2).layers
    assert [_exposed_and_total(layer.forward) for layer in layers] == [
        _ns(9_778, 9_778),
        _ns(50_192, 50_192),
        _ns(0, 0),
        _ns(241_082, 241_082),
        _ns(107_416, 107_416),
        _ns(50_690, 50_690),
    ]
    assert [_exposed_and_total(layer.weight_gradient) for layer in layers] == [
        _ns(9_832, 9_834),
        _ns(0, 4_434),
        _ns(0, 4_442),
        _ns(0, 0),
        _ns(0, 0),
        _ns(0, 4_932),
    ]
    assert [_exposed_and_total(layer.input_gradient) for layer in layers] == [
        _ns(0, 0),
        _ns(0, 4_598),
        _ns(0, 0),
        _ns(0, 6_626),
        _ns(0, 3_214),
        _ns(0, 5_096),
    ]


def test_two_passes_of_micro_are_exposed_until_the_first_ends(tmp_path: Path) -> None:
    records = _run(tmp_path, MICRO, 2)
    (layer,) = records.layers
    assert records.finish_ps == 45_861_000
    assert _exposed_and_total(layer.weight_gradient) == _ns(25_799, 71_660)
