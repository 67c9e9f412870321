"""Remote memory of jobs that share a network: one queue for all, nodes of the network's NPUs; and who never uses it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import astra_ns3

INPUTS = Path(__file__).resolve().parents[2] / "inputs"
LATENCY_NS, GBYTES = 200, 40
LINE = {"rate": "100Gbps", "delay": "500ns"}
NETWORK = {
    "topology": {"kind": "single-switch", "npus": 4, "link": LINE, "switch": {"buffer": "64MB", "pfc": {}}},
    "transport": {"kind": "roce", "congestion_control": "none"},
}
MODEL: dict[str, Any] = {
    "kind": "transformer",
    "name": "tiny",
    "model": {"layers": 1, "hidden": 16, "heads": 2, "feed_forward": 64, "vocabulary": 128},
    "training": {"sequence": 8},
    "compute": "H100",
    "offload": {"optimizer": {"to": "remote", "prefetch": 0}},
}
ALGORITHMS = {f"{kind}-implementation": "ring" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")}


def system(kind: str, **keys: object) -> dict[str, object]:
    remote = {"memory-type": kind, "remote-mem-latency": LATENCY_NS, "remote-mem-bw": GBYTES, **keys}
    common = {"scheduling-policy": "LIFO", "endpoint-delay": 10, "preferred-dataset-splits": 1}
    return {**common, **ALGORITHMS, "remote-memory": remote}


def first_loads(folder: Path, jobs: Mapping[str, Any], systems: Mapping[str, object], backend: str) -> dict[str, Any]:
    """Return for each job the bytes and the picoseconds of the first load of each of its NPUs."""
    for name, content in {"model": MODEL, "network": NETWORK, **systems}.items():
        (folder / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    entries = [{"name": name, "workload": "model.yaml", "system": "one.yaml", **keys} for name, keys in jobs.items()]
    scenario = folder / "scenario.yaml"
    scenario.write_text(json.dumps({"network": "network.yaml", "jobs": entries}), encoding="utf-8")
    found = {}
    for name, result in astra_ns3.run_scenario(scenario=scenario, isolated=False, backend=backend).tenants.items():
        rows = result.collectives[result.collectives["part"] == "load"].iloc[: len(jobs[name]["npus"])]
        pairs = zip(rows["bytes"], rows["duration_us"], strict=True)
        found[name] = [(int(size), round(float(time_us) * 10**6)) for size, time_us in pairs]
    return found


def access_ps(size: int) -> int:
    return round((LATENCY_NS + size / GBYTES) * 1000)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_pool_of_two_jobs_serves_one_access_at_a_time(tmp_path: Path, backend: str) -> None:
    jobs = {"a": {"npus": [0]}, "b": {"npus": [3]}}
    found = first_loads(tmp_path, jobs, {"one": system("MEMORY_POOL")}, backend)
    size = found["a"][0][0]
    assert found == {"a": [(size, access_ps(size))], "b": [(size, 2 * access_ps(size))]}


def test_a_job_that_starts_later_waits_for_what_is_left_of_the_others_access(tmp_path: Path) -> None:
    alone = first_loads(tmp_path, {"a": {"npus": [0]}}, {"one": system("MEMORY_POOL")}, "ns3")
    size, late_ps = alone["a"][0][0], 50_000
    jobs = {"a": {"npus": [0]}, "b": {"npus": [1], "start": f"{late_ps}ps"}}
    found = first_loads(tmp_path, jobs, {"one": system("MEMORY_POOL")}, "ns3")
    assert late_ps < access_ps(size)
    assert found["b"] == [(size, 2 * access_ps(size) - late_ps)]


def test_nodes_are_those_of_the_network(tmp_path: Path) -> None:
    node = system("PER_NODE_MEMORY_EXPANSION", **{"num-npus-per-node": 2})
    jobs = {"a": {"npus": [0]}, "b": {"npus": [1]}, "c": {"npus": [2]}}
    found = first_loads(tmp_path, jobs, {"one": node}, "ns3")
    (size, _) = found["a"][0]
    assert [found[name][0][1] for name in "abc"] == [access_ps(size), 2 * access_ps(size), access_ps(size)]


def test_jobs_whose_memories_are_described_otherwise_have_their_own(tmp_path: Path) -> None:
    systems = {"one": system("MEMORY_POOL"), "other": system("MEMORY_POOL", **{"num-nodes": 2})}
    jobs = {"a": {"npus": [0]}, "b": {"npus": [3], "system": "other.yaml"}}
    found = first_loads(tmp_path, jobs, systems, "ns3")
    assert found["a"] == found["b"]


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (str(INPUTS / "workload" / "micro-all-reduce.txt"), "for its format has no loads and stores"),
        ("model.yaml", "for no part of 'offload' is to: remote"),
    ],
)
def test_who_never_accesses_remote_memory_is_told_its_keys(tmp_path: Path, workload: str, words: str) -> None:
    given = {**MODEL, "offload": {}}
    for name, content in {"model": given, "network": NETWORK, "one": system("MEMORY_POOL")}.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    files: dict[str, Any] = {"system": tmp_path / "one.yaml", "network": tmp_path / "network.yaml"}
    found = astra_ns3.run(workload=tmp_path / workload, **files, isolated=False, comm_scale=1e-6)
    (line,) = [each for each in found.metadata["warnings"] if "remote memory" in each]
    assert words in line
    assert line.endswith("without effect on it: memory-type, remote-mem-latency, remote-mem-bw")


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("MEMORY_POOL", "num-nodes, num-npus-per-node"), ("PER_NODE_MEMORY_EXPANSION", "num-nodes")],
)
def test_numbers_of_nodes_that_the_kind_of_a_memory_does_not_read_are_told(
    tmp_path: Path, kind: str, keys: str
) -> None:
    given = {"model": {**MODEL, "offload": {"optimizer": {"to": "remote"}}}, "network": NETWORK}
    given["one"] = system(kind, **{"num-nodes": 2, "num-npus-per-node": 2})
    for name, content in given.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    workload, one, network = (tmp_path / f"{name}.yaml" for name in ("model", "one", "network"))
    found = astra_ns3.run(workload=workload, system=one, network=network, isolated=False, comm_scale=1e-6)
    (line,) = [each for each in found.metadata["warnings"] if "remote-memory" in each]
    assert line.endswith(f"without effect with {kind}: {keys}")


@pytest.mark.parametrize(("compat", "keeps"), [("none", True), ("astra-sim-2", False)])
def test_no_stretch_of_time_has_more_bytes_than_an_own_memory_serves(tmp_path: Path, compat: str, keeps: bool) -> None:
    """Bytes of accesses that begin and end within a stretch of time; the four NPUs do the same."""
    model = {**MODEL, "model": {**MODEL["model"], "layers": 4}, "offload": {"optimizer": {"to": "remote"}}}
    for name, content in {"model": model, "network": NETWORK, "one": system("PER_NPU_MEMORY_EXPANSION")}.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    files = {"workload": "model.yaml", "system": "one.yaml", "network": "network.yaml"}
    given: dict[str, Any] = {kind: tmp_path / name for kind, name in files.items()}
    table = astra_ns3.run(**given, isolated=False, compat=compat).collectives
    one_npu = table[table["part"].isin(["load", "store"])].drop_duplicates(["layer", "part"])
    columns = (one_npu[name] for name in ("start_us", "end_us", "bytes"))
    accesses = [(round(start * 10**6), round(end * 10**6), size) for start, end, size in zip(*columns, strict=True)]
    within = [
        sum(size for start, end, size in accesses if begin <= start and end <= last) <= (last - begin) * GBYTES / 1000
        for begin, _, _ in accesses
        for _, last, _ in accesses
        if begin < last
    ]
    assert len(accesses) > 8
    assert all(within) == keeps
