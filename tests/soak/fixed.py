"""Cases that once aborted or are of users' sizes, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soak.case import Case

CONTROLS = ("none", "dcqcn", "dctcp")
_ECN = {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}
_MIB = 1 << 20


def _leaf_spine(leaves: int, spines: int, hosts: int, rate: str, buffer: str) -> dict[str, Any]:
    sizes = {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts}
    return {"kind": "leaf-spine", **sizes, "link": {"rate": rate, "delay": "500ns"}, "switch": _switch(buffer)}


def _fat_tree(k: int, rate: str, buffer: str) -> dict[str, Any]:
    return {"kind": "fat-tree", "k": k, "link": {"rate": rate, "delay": "500ns"}, "switch": _switch(buffer)}


def _switch(buffer: str) -> dict[str, Any]:
    return {"buffer": buffer, "ecn": _ECN, "pfc": {}}


def micro(word: str, size: int, algorithm: str = "direct", splits: int = 4) -> dict[str, Any]:
    """One collective of ``size`` bytes from each NPU."""
    reductions = ("all-reduce", "reduce-scatter", "all-gather")
    system: dict[str, Any] = {f"{name}-implementation": algorithm for name in (*reductions, "all-to-all")}
    system |= {"scheduling-policy": "LIFO", "preferred-dataset-splits": splits, "active-chunks-per-dimension": splits}
    text = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {word} {size} 0\n"
    return {"kind": "workload", "text": text, "system": system, "options": {}}


def permutation(npus: int, size: int) -> dict[str, Any]:
    """Each NPU sends to the one half the network away."""
    return {"kind": "flows", "flows": [[npu, (npu + npus // 2) % npus, size, 0] for npu in range(npus)]}


def _case(name: str, topology: Mapping[str, Any], job: Mapping[str, Any], control: str, **roce: Any) -> Case:
    network = {"topology": topology, "transport": {"kind": "roce", "congestion_control": control, **roce}}
    return Case(f"{name}, {control}", network, job, budget_seconds=300.0)


def _aborted(control: str) -> list[Case]:
    all_to_all = micro("ALLTOALL", 16 * _MIB)
    readme = micro("ALLTOALL", 8 * _MIB)
    return [
        _case("leaf-spine 4x2x4 400G", _leaf_spine(4, 2, 4, "400Gbps", "4MB"), all_to_all, control, payload=8192),
        _case("leaf-spine 4x4x8", _leaf_spine(4, 4, 8, "100Gbps", "32MB"), readme, control, payload=4096),
        _case("fat tree of payload 4096", _fat_tree(4, "100Gbps", "4MB"), readme, control, payload=4096),
        _case("fat tree of 25G", _fat_tree(4, "25Gbps", "4MB"), micro("ALLTOALL", 4 * _MIB), control),
        _case(
            "permutation of 16 MB", _fat_tree(4, "400Gbps", "4MB"), permutation(16, 16_000_000), control, payload=4096
        ),
    ]


FIXED: tuple[Case, ...] = tuple(case for control in CONTROLS for case in _aborted(control))
"""Networks of more than one switch on which a pause once ended the process."""
