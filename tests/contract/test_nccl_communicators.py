"""NCCL's communicators have kernels of their own: they wait for nobody else's, and for their own in turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from support.graphs import chakra_bytes as raw

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES
from astra_ns3.workload.files.simai import parse_simai

GROUPS = {"1": range(8), "2": range(4), "3": range(4, 8), "4": range(8)}
SYSTEM = {"collectives": "nccl", "nccl": {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}}
ALL_TO_ALL, REDUCE_SCATTER = ("ALL_TO_ALL", 16 << 20), ("REDUCE_SCATTER", 64 << 20)
Asked = tuple[str, tuple[str, int]]
"""A communicator, and what it is asked for at time 0: a collective and its bytes."""


def _network() -> NetworkConfig:
    link = {"rate": "400Gbps", "delay": "500ns"}
    switch = {"buffer": "64MiB", "pfc": {}}
    inside = {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": switch}
    outside = {"kind": "single-switch", "link": link, "switch": switch}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": inside, "scale_out": outside}
    return parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})


def _ends_ps(asked: Sequence[Asked], backend: str, folder: Path) -> Mapping[str, int]:
    """When the last NPU of each communicator was through with all that was asked of it."""
    traces = [
        [_node(number, *each) for number, each in enumerate(asked, start=1) if npu in GROUPS[each[0]]]
        for npu in range(8)
    ]
    path = raw.write_traces(folder / "traces", traces)
    groups = folder / "groups.json"
    groups.write_text(json.dumps({name: list(ranks) for name, ranks in GROUPS.items()}), encoding="utf-8")
    result = astra_ns3.run(
        workload=path,
        groups=groups,
        system=parse_system(SYSTEM),
        network=_network(),
        backend=backend,
        output=folder / "out",
        record=["timeline"],
    )
    collectives: pd.DataFrame = result.collectives
    ends = collectives["end_us"].groupby(collectives["group"]).max()
    return {str(name): round(end_us * 1e6) for name, end_us in ends.items()}


def _node(number: int, group: str, what: tuple[str, int]) -> bytes:
    kind, size = COLLECTIVE_TYPES.index(what[0]), what[1]
    return raw.node(number, raw.COLLECTIVE, comm_type=kind, comm_size=size, is_cpu_op=False, pg_name=group)


@pytest.mark.parametrize(
    "asked",
    [
        [("1", REDUCE_SCATTER), ("2", ALL_TO_ALL), ("3", ALL_TO_ALL)],
        [("2", ALL_TO_ALL), ("1", REDUCE_SCATTER), ("3", REDUCE_SCATTER)],
        [("4", ALL_TO_ALL), ("1", REDUCE_SCATTER)],  # the same NPUs, as those of experts and of gradients may be
    ],
)
def test_where_lines_are_nobodys_limit_communicators_end_as_if_alone(asked: Sequence[Asked], tmp_path: Path) -> None:
    together = _ends_ps(asked, "analytical", tmp_path / "together")
    alone = {each[0]: _ends_ps([each], "analytical", tmp_path / each[0])[each[0]] for each in asked}
    assert together == alone


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_collectives_of_several_communicators_share_lines_alone(backend: str, tmp_path: Path) -> None:
    """Four NICs (200 GB/s) carry 7/8 of the rings' data out of a server; lines inside (450 GB/s) have 12 MiB more."""
    ends_ps = _ends_ps([("1", REDUCE_SCATTER), ("2", ALL_TO_ALL), ("3", ALL_TO_ALL)], backend, tmp_path / "together")
    alone_ps = _ends_ps([("1", REDUCE_SCATTER)], backend, tmp_path / "alone")["1"]
    # The same work on like servers, whose rings have their ends the other way round.
    assert ends_ps["2"] == pytest.approx(ends_ps["3"], rel=0.1)
    assert alone_ps > 7 / 8 * REDUCE_SCATTER[1] / 0.2
    assert alone_ps <= ends_ps["1"] <= alone_ps + 3 / 4 * ALL_TO_ALL[1] / 0.45
    assert max(ends_ps.values()) == ends_ps["1"]


@pytest.mark.parametrize("backend", ["ns3", "analytical"])
def test_a_communicator_s_collectives_follow_each_other(backend: str, tmp_path: Path) -> None:
    once = _ends_ps([("1", REDUCE_SCATTER)], backend, tmp_path / "once")["1"]
    twice = _ends_ps([("1", REDUCE_SCATTER)] * 2, backend, tmp_path / "twice")["1"]
    assert 1.8 * once < twice <= 2 * once  # an NPU's part of a ring ends before the last one's, and its next one begins


LAYERS = ("experts -1 0 NONE 0 0 ALLTOALL_EP 16777216 0 NONE 0 0", "dense -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 268435456 0")


def _times_us(rows: Sequence[str], experts: int, folder: Path) -> Mapping[str, float]:
    """How long each kind of collective takes in SimAI's loop of 8 data-parallel NPUs; layers go backwards."""
    header = f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: {experts} pp: 1 ga: 1 all_gpus: 8"
    result = astra_ns3.run(
        workload=parse_simai("\n".join([header, str(len(rows)), *rows]), "w"),
        system=parse_system(SYSTEM),
        network=_network(),
        backend="analytical",
        output=folder,
        record=["timeline"],
    )
    found: pd.DataFrame = result.collectives
    return dict((found["end_us"] - found["start_us"]).groupby(found["kind"]).max())


@pytest.mark.parametrize("experts", [4, 8])
def test_all_to_alls_of_experts_never_wait_for_gradients(experts: int, tmp_path: Path) -> None:
    """Megatron makes their communicators apart, even where their members are the same (8 of 8)."""
    together = _times_us([LAYERS[0], LAYERS[1]], experts, tmp_path / "together")
    alone = [_times_us([row], experts, tmp_path / row[0]) for row in LAYERS]
    assert len(together) == len(LAYERS)
    assert together == pytest.approx({**alone[0], **alone[1]}, rel=1e-6)
