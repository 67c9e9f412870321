"""Storage hosts: what NPUs store there and load from there, against bytes by formula and closed times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from oracles.storage_times import Line, load_ps, store_ps

import astra_ns3

PAYLOAD, DELAY_NS = 1000, 10
LINE = {"rate": "100Gbps", "delay": "500ns"}
UPLINK = {"rate": "50Gbps", "delay": "300ns"}
STORAGE = {"rate": "200Gbps", "delay": "700ns"}
FAST, SLOW, OWN = Line(10**11, 500_000), Line(5 * 10**10, 300_000), Line(2 * 10**11, 700_000)
WAYS: Mapping[str, Sequence[Line]] = {"node": [OWN], "rack": [FAST, OWN], "fabric": [FAST, SLOW, OWN]}
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": DELAY_NS,
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": "ring" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
}
MODEL: dict[str, Any] = {
    "kind": "transformer",
    "name": "tiny",
    "model": {"layers": 2, "hidden": 16, "heads": 2, "feed_forward": 64, "vocabulary": 128},
    "training": {"sequence": 8},
    "compute": {"kind": "roofline", "device": "H100"},
}
WEIGHT, STATES = 2, 12
US = 10**6


def network(per: str, npus: int = 1, *, transport: str = "roce", **storage: Any) -> dict[str, Any]:
    topology = {
        "kind": "leaf-spine",
        "leaves": 1,
        "spines": 1,
        "hosts_per_leaf": npus,
        "link": LINE,
        "uplink": UPLINK,
        "switch": {"buffer": "64MB"},
        "storage": {"per": per, "link": STORAGE, **storage},
    }
    roce = {"payload": PAYLOAD, "congestion_control": "none"} if transport == "roce" else {}
    return {"topology": topology, "transport": {"kind": transport, **roce}}


def played(folder: Path, model: Mapping[str, Any], net: Mapping[str, Any], **options: Any) -> Any:
    for name, content in (("model", {**MODEL, **model}), ("network", net), ("system", SYSTEM)):
        (folder / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    return astra_ns3.run(
        workload=folder / "model.yaml",
        system=folder / "system.yaml",
        network=folder / "network.yaml",
        isolated=False,
        **options,
    )


def accesses(result: Any, part: str) -> list[tuple[str, int, int]]:
    """Return layer, bytes and picoseconds of each store or load, in the order of their begins."""
    table = result.collectives
    own = table[table["part"] == part]
    rows = zip(own["layer"], own["bytes"], own["duration_us"], strict=True)
    return [(layer, int(size), round(float(time_us) * US)) for layer, size, time_us in rows]


@pytest.mark.parametrize("per", [*WAYS])
def test_a_store_alone_takes_its_closed_time_and_has_weights_and_states_of_all_parameters(
    tmp_path: Path, per: str
) -> None:
    result = played(tmp_path, {"checkpoint": {"every": 1}}, network(per))
    size_bytes = (WEIGHT + STATES) * result.metadata["workload"]["parameters"]
    closed_ps = store_ps(WAYS[per], size_bytes, PAYLOAD, DELAY_NS * 1000)
    assert accesses(result, "store") == [("checkpoint", size_bytes, closed_ps)]


@pytest.mark.parametrize("per", [*WAYS])
def test_loads_and_stores_of_optimizer_states_one_by_one_take_their_closed_times(tmp_path: Path, per: str) -> None:
    result = played(tmp_path, {"offload": {"optimizer": {"prefetch": 0}}}, network(per))
    loads, stores = accesses(result, "load"), accesses(result, "store")
    assert [size for _, size, _ in loads] == [size for _, size, _ in stores]
    assert sum(size for _, size, _ in loads) == STATES * result.metadata["workload"]["parameters"]
    for (_, size, load), (_, _, store) in zip(loads, stores, strict=True):
        assert load == load_ps(WAYS[per], size, PAYLOAD, DELAY_NS * 1000)
        assert store == store_ps(WAYS[per], size, PAYLOAD, DELAY_NS * 1000)
