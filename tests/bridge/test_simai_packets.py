"""SimAI's groups and pipelines on packets: it ends, and no sooner than the bytes can go through an NPU's link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.system.file import parse_system

ROWS = (
    "embedding -1 1000 ALLREDUCE 65536 1000 NONE 0 1000 NONE 0 1",
    "mlp -1 1000 ALLTOALL_EP 65536 1000 ALLTOALL_EP 65536 1000 NONE 0 1",
)
SYSTEM = {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1}
KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")


def _network(transport: str) -> dict[str, Any]:
    link = {"rate": "100Gbps", "delay": "500ns"}
    switch = {"buffer": "32MiB", "pfc": {}}
    topology = {"kind": "single-switch", "npus": 8, "npus_per_host": 1, "link": link, "switch": switch}
    return {"topology": topology, "transport": {"kind": transport}}


@pytest.mark.parametrize("transport", ["roce", "tcp"])
def test_a_pipeline_with_experts_ends_on_packets(transport: str, tmp_path: Path) -> None:
    """2 stages of 4 NPUs, tp 2, ep 2, 2 micro-batches: NPU 0 sends 2 all-reduces, 4 all-to-alls, 2 activations."""
    header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 2 all_gpus: 8 pp_comm: 32768"
    (tmp_path / "w.txt").write_text("\n".join([header, "4", *ROWS, *ROWS]), encoding="utf-8")
    network = parse_network(_network(transport))
    system = parse_system(
        SYSTEM | {f"{kind}-implementation": ["direct" if kind == "all-to-all" else "ring"] for kind in KINDS}
    )
    result = astra_ns3.run(workload=tmp_path / "w.txt", system=system, network=network)
    assert result.complete
    sent_bytes = 2 * 65536 + 4 * 32768 + 2 * 32768
    compute_ns = 2 * 2 * 3 * 1000
    assert result.finish_ps >= sent_bytes * 80 + compute_ns * 1000
