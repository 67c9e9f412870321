"""Dispatch and combine beside what DeepEP's kernels take on clusters.

Measured: README and docs/legacy.md of github.com/deepseek-ai/DeepEP at dd758ca (14 July 2026). Hidden size 7,168,
8 experts a token, dispatch in FP8 with its scales, combine in BF16. *Low latency*: H800, 400 Gb/s a GPU, 128 tokens.
*Normal*: version 2, 8,192 tokens on SM90, where the NICs are the bottleneck; rates count what stays in a server, so
here, too. Fewer tokens are played: the rates are those of 8,192 within 1%.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import astra_ns3
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.dispatch import row_bytes
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.system.file import parse_system
from astra_ns3.workload.models.workload import ModelWorkload

HIDDEN, ACTIVE, EXPERTS, NODE = 7168, 8, 256, 8
H800_GBPS, H100_GBPS = 1280, 3026
"""Of a GPU's NVLinks: 160 GB/s by DeepEP's page, and what NCCL's copies reach on an H100 (docs/nccl.md)."""
TOKENS = 1024


def network(ranks: int, nvlink_gbps: int) -> NetworkConfig:
    scale_up = {"link": {"rate": f"{nvlink_gbps}Gbps", "delay": "250ns"}, "switch": {"buffer": "64MiB", "pfc": {}}}
    if ranks == NODE:
        topology: dict[str, Any] = {"kind": "single-switch", "npus": ranks, **scale_up}
    else:
        out = {"kind": "single-switch", "link": {"rate": "400Gbps", "delay": "500ns"}}
        topology = {
            "kind": "hierarchical",
            "nodes": ranks // NODE,
            "npus_per_node": NODE,
            "nics_per_node": NODE,
            "scale_up": scale_up,
            "scale_out": {**out, "switch": {"buffer": "64MiB", "pfc": {}}},
        }
    return parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})


@cache
def times_us(form: str, tokens: int, ranks: int, nvlink_gbps: int, backend: str = "flow") -> tuple[float, float]:
    """What the first dispatch and the first combine take."""
    nodes = {"npus_per_node": NODE} if form == "normal" else {}
    dispatch = {"form": form, "values": "fp8", "combine_values": "bf16"}
    experts = {"count": EXPERTS, "active": ACTIVE, "feed_forward": 8, **nodes, "dispatch": dispatch}
    data = {
        "kind": "transformer",
        "name": "experts",
        "model": {"layers": 1, "hidden": HIDDEN, "heads": 8, "feed_forward": 8, "vocabulary": 8, "experts": experts},
        "training": {"sequence": tokens},
        "parallel": {"expert": ranks},
        "compute": {"kind": "roofline", "device": "h100", "scale_up_efficiency": 1, "overlap_slowdown": 1},
    }
    dimensions = 1 if ranks == NODE else 2
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    algorithms = {f"{kind}-implementation": ["direct"] * dimensions for kind in kinds}
    system = parse_system(
        {"scheduling-policy": "FIFO", "endpoint-delay": 0, "preferred-dataset-splits": 1, **algorithms}
    )
    result = astra_ns3.run(
        workload=ModelWorkload(parse_model_file(Document("experts.yaml", data)), "experts.yaml"),
        system=system,
        network=network(ranks, nvlink_gbps),
        backend=backend,
        passes=1,
    )
    found = result.collectives[result.collectives["kind"] == "ALLTOALL"]["duration_us"]
    return float(found.iloc[0]), float(found.iloc[1])


@pytest.mark.parametrize("backend", ["flow", "ns3"])
def test_one_overhead_explains_the_low_latency_rows(backend: str) -> None:
    """Fitted on dispatch over 16 ranks, 118 us; the other three rows are within 15%."""
    sixteen = times_us("low-latency", 128, 16, H800_GBPS, backend)
    eight = times_us("low-latency", 128, 8, H800_GBPS, backend)
    overhead_us = 118 - sixteen[0]
    assert 30 < overhead_us < 45
    for played, measured in ((sixteen[1], 195), (eight[0], 77), (eight[1], 114)):
        assert played + overhead_us == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize(("ranks", "dispatch_gbps", "combine_gbps"), [(16, 90, 91), (32, 61, 61)])
def test_the_nics_rate_explains_the_normal_rows(ranks: int, dispatch_gbps: float, combine_gbps: float) -> None:
    """With 2 nodes combine reaches 91 GB/s on SM100, 81 on SM90, whose copies are what is slower there."""
    nodes = ranks // NODE
    reached = TOKENS * nodes * (1 - (1 - 1 / nodes) ** ACTIVE)
    sizes = row_bytes("fp8", HIDDEN, 2), row_bytes("bf16", HIDDEN, 2)
    for size, took_us, gbps in zip(
        sizes, times_us("normal", TOKENS, ranks, H100_GBPS), (dispatch_gbps, combine_gbps), strict=True
    ):
        assert reached * size / took_us / 1e3 == pytest.approx(gbps, rel=0.05)
