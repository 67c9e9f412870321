"""Accesses to a remote memory wait for each other, an NPU's own as well as those of NPUs that share it."""

from __future__ import annotations

import pytest

from astra_ns3.config.core.compatibility import OURS, preset
from astra_ns3.config.formats.remote_memory import RemoteMemory
from astra_ns3.system.remote_memory import RemoteAccesses

ONE_PS = 200_000 + 4_000_000 // 40
"""4,000 bytes at 40 GB/s, and 200 ns."""


@pytest.mark.parametrize(
    ("kind", "turns"),
    [
        ("PER_NPU_MEMORY_EXPANSION", [1, 1, 1, 1]),
        ("PER_NODE_MEMORY_EXPANSION", [1, 2, 1, 2]),
        ("MEMORY_POOL", [1, 2, 3, 4]),
    ],
)
def test_each_access_waits_for_all_before_it(kind: str, turns: list[int]) -> None:
    """Four NPUs, two in a node, ask at one moment; once all is done nobody waits."""
    keys = {"memory-type": kind, "remote-mem-latency": 200, "remote-mem-bw": 40, "num-npus-per-node": 2}
    remote = RemoteAccesses(RemoteMemory.model_validate(keys), OURS)
    assert [remote.duration_ps(npu, 4000, 1000) for npu in range(4)] == [turn * ONE_PS for turn in turns]
    assert remote.duration_ps(0, 4000, 1000 + 4 * ONE_PS) == ONE_PS


@pytest.mark.parametrize(
    ("kind", "compat", "turns"),
    [
        ("PER_NPU_MEMORY_EXPANSION", "none", [1, 2, 3]),
        ("PER_NPU_MEMORY_EXPANSION", "astra-sim-2", [1, 1, 1]),
        ("MEMORY_POOL", "astra-sim-2", [1, 2, 3]),
    ],
)
def test_accesses_of_one_npu_wait_for_each_other_but_for_own_memory_of_astra_sim_2(
    kind: str, compat: str, turns: list[int]
) -> None:
    keys = {"memory-type": kind, "remote-mem-latency": 200, "remote-mem-bw": 40}
    remote = RemoteAccesses(RemoteMemory.model_validate(keys), preset(compat))
    assert [remote.duration_ps(0, 4000, 1000) for _ in turns] == [turn * ONE_PS for turn in turns]
