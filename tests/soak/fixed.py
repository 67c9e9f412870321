"""Cases by hand: networks on which a pause once ended the process, and sizes that users run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from astra_ns3.config.transports.roce_control import KINDS
from soak.case import REPOSITORY, Case

CONTROLS = ("none", "dcqcn", "dctcp")
_ECN = {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}
_MIB = 1 << 20
_LINK = {"rate": "100Gbps", "delay": "500ns"}
_LARGE_BUDGET_SECONDS = 1500.0
Topology = dict[str, Any]


def _leaf_spine(leaves: int, spines: int, hosts: int, buffer: str, rate: str = "100Gbps", **keys: Any) -> Topology:
    sizes = {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts}
    return {"kind": "leaf-spine", **sizes, "link": {**_LINK, "rate": rate}, "switch": _switch(buffer), **keys}


def _fat_tree(k: int, buffer: str, rate: str = "100Gbps") -> Topology:
    return {"kind": "fat-tree", "k": k, "link": {**_LINK, "rate": rate}, "switch": _switch(buffer)}


def _switch(buffer: str) -> dict[str, Any]:
    return {"buffer": buffer, "ecn": _ECN, "pfc": {}}


def micro(word: str, size: int, algorithm: str = "direct", splits: int = 4) -> dict[str, Any]:
    """One collective of ``size`` bytes from each NPU."""
    names = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    system: dict[str, Any] = {f"{name}-implementation": algorithm for name in names}
    system |= {"scheduling-policy": "LIFO", "preferred-dataset-splits": splits, "active-chunks-per-dimension": splits}
    text = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {word} {size} 0\n"
    return {"kind": "workload", "text": text, "system": system, "options": {}}


def permutation(npus: int, size: int) -> dict[str, Any]:
    """Each NPU sends to the one half the network away."""
    return {"kind": "flows", "flows": [[npu, (npu + npus // 2) % npus, size, 0] for npu in range(npus)]}


def sample(workload: str, **options: Any) -> dict[str, Any]:
    """A sample workload on the sample system."""
    inputs = REPOSITORY / "inputs"
    system = yaml.safe_load((inputs / "system" / "flat.yaml").read_text(encoding="utf-8"))
    text = (inputs / "workload" / workload).read_text(encoding="utf-8")
    return {"kind": "workload", "text": text, "system": system, "options": options}


def _case(name: str, topology: Mapping[str, Any], job: Mapping[str, Any], control: str, **roce: Any) -> Case:
    network = {"topology": topology, "transport": {"kind": "roce", "congestion_control": {"kind": control}, **roce}}
    return Case(f"{name}, {control}", network, job, budget_seconds=300.0)


def _aborted(control: str) -> list[Case]:
    all_to_all = "micro-all-to-all.txt"
    fast = _leaf_spine(4, 2, 4, "4MB", "400Gbps")
    halved = _leaf_spine(4, 2, 8, "64MB", oversubscription=2.0)
    mib = micro("ALLTOALL", 4 * _MIB)
    return [
        _case("leaf-spine of 400 Gb/s", fast, sample(all_to_all, comm_scale=16.0), control, payload=8192),
        _case("leaf-spine of the README", halved, sample(all_to_all, comm_scale=64.0), control),
        _case("fat tree, payload 4096", _fat_tree(4, "4MB"), mib, control, payload=4096),
        _case("fat tree of 25 Gb/s", _fat_tree(4, "4MB", "25Gbps"), mib, control),
        _case(
            "permutation of 16 MB", _fat_tree(4, "4MB", "400Gbps"), permutation(16, 16_000_000), control, payload=4096
        ),
    ]


FIXED: tuple[Case, ...] = tuple(case for control in CONTROLS for case in _aborted(control))
"""Networks of more than one switch on which a pause once ended the process."""


def _large(control: str) -> list[Case]:
    all_to_all = micro("ALLTOALL", 16 * _MIB, splits=1)
    clos = _leaf_spine(16, 4, 8, "4MB", oversubscription=2.0)
    return [
        _case("128 hosts, fat tree, all-to-all", _fat_tree(8, "8MB"), all_to_all, control, payload=4096),
        _case("128 hosts, Clos, all-to-all", clos, all_to_all, control),
    ]


LARGE: tuple[Case, ...] = tuple(
    Case(case.name, case.network, case.job, budget_seconds=_LARGE_BUDGET_SECONDS)
    for control in KINDS
    for case in _large(control)
)
"""Lossless networks of 128 hosts, minutes long each."""
