"""A pipeline of two stages, with messages between them and an all-reduce in each, on every backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.role_programs import pipeline, plain_workload
from support.system_parts import system
from support.training_driver import TrainingDriver

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.parquet import ParquetTables
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions, RunRecords
from astra_ns3.system.messages import INVITATION_BYTES

NPUS, BATCHES, BYTES = 4, 3, 20_000


def _network(transport: str) -> NetworkConfig:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": NPUS, "link": link, "switch": {"buffer": "1GB"}}
    return parse_network({"topology": topology, "transport": {"kind": transport}})


def _play(backend: str, transport: str, recorder: RecorderOptions | None = None, **options: Any) -> RunRecords:
    network = create_backend(
        backend,
        plan_network(_network(transport), EndpointModel(10_000)),
        seed=1,
        recorder=recorder or RecorderOptions(),
    )
    try:
        loop = pipeline(BATCHES, NPUS // 2, BYTES, **options)
        driver = TrainingDriver(network, system(active_chunks_per_dimension=1), plain_workload(), loop=loop)
        driver.run()
        return driver.records()
    finally:
        network.close()


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize(
    ("backend", "transport"),
    [("ns3", "tcp"), ("ns3", "roce"), ("flow", "tcp"), ("analytical", "tcp"), ("analytical-queues", "tcp")],
)
def test_a_pipeline_comes_to_its_end_and_no_stage_before_what_it_waits_for(
    backend: str, transport: str, rendezvous: bool
) -> None:
    records = _play(backend, transport, rendezvous=rendezvous)
    assert records.complete
    assert {npu.compute_ps for npu in records.npus} == {BATCHES * 3_000_000}
    messages = [record for record in records.collectives if record.kind is CollectiveKind.POINT_TO_POINT]
    assert len(messages) == 2 * BATCHES * NPUS // 2
    wire_ps = BYTES * 8 * 10  # at 100 Gb/s, once, and two links of 500 ns
    assert all(record.end_ps - record.start_ps > wire_ps + 1_000_000 for record in messages if record.end_ps)
    reduced = [record for record in records.collectives if record.kind is CollectiveKind.ALL_REDUCE]
    assert sorted(record.ranks for record in reduced) == [2, 2]
    # Forward, there, both of the last stage's passes, back, and the last gradient of the first.
    assert records.finish_ps > 2 * (wire_ps + 1_000_000) + 1_000_000 + 3_000_000 + 2_000_000


def test_messages_go_through_the_network_as_packets_and_so_do_invitations(tmp_path: Path) -> None:
    tables = ParquetTables(tmp_path)
    _play("ns3", "roce", RecorderOptions(tmp_path, flows=True, sink=tables), rendezvous=True)
    tables.close()
    rows = pq.read_table(tmp_path / "flows.parquet").to_pylist()
    pairs = [(0, 2), (1, 3)]
    for source, destination in [*pairs, *((b, a) for a, b in pairs)]:
        sizes = [row["bytes"] for row in rows if (row["source"], row["destination"]) == (source, destination)]
        assert sorted(sizes) == [INVITATION_BYTES] * BATCHES + [BYTES] * BATCHES


def test_a_pipeline_takes_the_same_time_again() -> None:
    assert _play("ns3", "tcp") == _play("ns3", "tcp")
