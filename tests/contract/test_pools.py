"""Gradients that switches reduce on the way to a storage host, against closed times and bytes of lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from oracles.reduction_times import Level, all_reduce_ps

import astra_ns3
from astra_ns3.errors import InputError

PAYLOAD = 1032
FRAME, ACKNOWLEDGEMENT = PAYLOAD + 62 + 20, 66 + 20
PARAMETERS = 10_320
"""Parameters of the model below: ten payloads of one byte each."""
ENDLESS = "8000000000Gbps"  # a frame takes less than half a picosecond
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 0,
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": "ring" for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
}
MODEL: dict[str, Any] = {
    "kind": "transformer",
    "name": "tiny",
    "model": {"layers": 2, "hidden": 16, "heads": 2, "feed_forward": 64, "vocabulary": 128},
    "training": {"sequence": 8},
    "compute": {"kind": "roofline", "device": "H100"},
    "offload": {"optimizer": {"reduce": "in-network"}},
}


def network(leaves: int, each: int, reduction: Mapping[str, object] | None, **storage: object) -> dict[str, Any]:
    switch = {"buffer": "64MB", **({} if reduction is None else {"reduction": reduction})}
    return {
        "topology": {
            "kind": "leaf-spine",
            "leaves": leaves,
            "spines": 1,
            "hosts_per_leaf": each,
            "link": {"rate": "100Gbps", "delay": "500ns"},
            "uplink": {"rate": "40Gbps", "delay": "2us"},
            "switch": switch,
            "storage": {"per": "fabric", "link": {"rate": "200Gbps", "delay": "700ns"}, **storage},
        },
        "transport": {"kind": "roce", "payload": PAYLOAD, "congestion_control": "none", "ack_every": 1000},
    }


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


@pytest.mark.parametrize("latency", [0, 300_000])
@pytest.mark.parametrize(("gradients", "frames"), [("bfloat16", 20), ("float32", 40)])
@pytest.mark.parametrize("leaves", [2, 3])
def test_a_piece_to_a_pool_and_weights_from_there_take_their_closed_form(
    tmp_path: Path, leaves: int, gradients: str, frames: int, latency: int
) -> None:
    room = frames * PAYLOAD
    net = network(leaves, 2, {"rate": ENDLESS, "latency": f"{latency}ps", "piece": room, "buffer": room})
    model = {"parallel": {"bucket": "1GB"}, "training": {"sequence": 8, "gradients": gradients}}
    result = played(tmp_path, model, net)
    # Members' lines, leaves' lines to the spine, and the storage host's, behind which no reducer waits.
    levels = [Level(100, 500_000, latency), Level(40, 2_000_000, latency), Level(200, 700_000, 0)]
    expected = all_reduce_ps(levels, frames, FRAME, ACKNOWLEDGEMENT, back_frames=20)
    (took_us,) = result.collectives["duration_us"]
    assert round(float(took_us) * 10**6) == expected
    assert result.metadata["workload"]["parameters"] == PARAMETERS


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_lines_carry_what_the_formulas_say(tmp_path: Path, backend: str) -> None:
    leaves, each, passes = 2, 3, 2
    model = {"training": {"sequence": 8, "gradients": "float32"}}
    options: dict[str, Any] = {"output": tmp_path / "run", "record": ["flows"], "backend": backend, "passes": passes}
    result = played(tmp_path, model, network(leaves, each, {}), **options)
    data = result.flows[result.flows["bytes"] > 1]
    sent, got = data.groupby("source")["bytes"].sum(), data.groupby("destination")["bytes"].sum()
    up, down = 4 * passes * PARAMETERS, 2 * passes * PARAMETERS
    npus, of_leaves, spine = leaves * each, range(leaves * each, leaves * each + leaves), leaves * (each + 1)
    pool = spine + 1
    # Every NPU sends its gradients and gets the weights; the pool gets the sum alone, whoever many they are.
    assert set(sent[:npus]) == {up} == {int(got[pool])}
    assert set(got[:npus]) == {down} == {int(sent[pool])}
    for leaf in of_leaves:
        assert int(got[leaf]) == each * up + down
        assert int(sent[leaf]) == up + each * down
    assert (int(got[spine]), int(sent[spine])) == (leaves * up + down, up + leaves * down)
    assert not len(result.collectives[result.collectives["part"].isin(["load", "store"])])


def test_groups_have_pools_in_turn_and_hear_of_each_others_gradients_before(tmp_path: Path) -> None:
    parallel = {"tensor": 2, "sequence": True, "pipeline": 2, "schedule": "zero-bubble", "data": 2}
    keys = {"parallel": parallel, "training": {"sequence": 8, "micro_batches": 2}, "checkpoint": {"every": 1}}
    keys["model"] = {**MODEL["model"], "tied_embeddings": True}
    result = played(tmp_path, keys, network(2, 4, {}, count=4), output=tmp_path / "run", record=["flows"], passes=2)
    assert result.complete
    flows = result.flows
    pools = {int(number) for number in flows["destination"] if number >= 8 + 3}
    assert len(pools) == 4  # two groups of each stage, in turn
    rows = result.collectives
    began = rows.groupby("layer")["start_us"].min()
    pooled = rows[rows["algorithm"] == "sharp"]
    assert float(pooled["start_us"].min()) > max(began["own tokens"], began["tied embedding"])


def test_experts_go_to_pools_of_their_groups(tmp_path: Path) -> None:
    sizes = {**MODEL["model"], "experts": {"count": 4, "active": 2, "feed_forward": 64}}
    result = played(tmp_path, {"model": sizes, "parallel": {"expert": 2}}, network(2, 2, {}))
    pooled = result.collectives[result.collectives["algorithm"] == "sharp"]
    assert set(pooled["npus"]) == {2, 4}


def test_a_pool_keeps_the_states_and_an_npu_has_nothing_to_update(tmp_path: Path) -> None:
    own = played(tmp_path, {"offload": {}}, network(2, 2, {}))
    pooled = played(tmp_path, {}, network(2, 2, {}))
    peak = max(own.memory["optimizer_bytes"])
    assert (peak, max(pooled.memory["optimizer_bytes"])) == (12 * PARAMETERS, 0)


@pytest.mark.parametrize(
    ("model", "net", "options", "words"),
    [
        ({}, network(2, 2, None), {}, "offload.optimizer.reduce: no switch of the network reduces; give one 'reducti"),
        (
            {},
            {**network(2, 2, {}), "transport": {"kind": "tcp"}},
            {},
            "offload.optimizer.reduce: found transport tcp, expected roce, over which switches reduce",
        ),
        ({}, network(2, 2, {}, per="node"), {}, "found storage per node, which hangs on no switch; expected per: rack"),
        ({}, network(2, 2, {}), {"backend": "analytical"}, "found backend 'analytical', expected ns3 or flow"),
        ({"parallel": {"zero": 1}}, network(2, 2, {}), {}, "found in-network beside parallel.zero 1; expected zero: 0"),
        ({"parallel": {"tensor": 2}}, network(1, 2, {}), {}, "group 'gradient' has one NPU, whose gradients nobody"),
        (
            {"offload": {"optimizer": {"reduce": "in-network"}, "weights": {}}},
            network(2, 2, {}),
            {},
            "found in-network beside offload.weights; expected weights on the device",
        ),
        (
            {"offload": {"optimizer": {"reduce": "in-network", "to": "remote"}}},
            network(2, 2, {}),
            {},
            "found in-network with to: remote, expected to: storage, as no lines lead to remote memory",
        ),
        ({"offload": {"optimizer": {"reduce": "switch"}}}, network(2, 2, {}), {}, "found 'switch'"),
    ],
)
def test_what_cannot_be_reduced_on_the_way_is_refused_in_a_line(
    tmp_path: Path, model: dict[str, Any], net: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as raised:
        played(tmp_path, model, net, **options)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_prefetch_of_states_that_never_travel_is_told_and_changes_nothing(tmp_path: Path) -> None:
    told = "offload.optimizer.prefetch (reduce is in-network, so no state travels)"
    usual = played(tmp_path, {}, network(2, 2, {}))
    ahead = played(tmp_path, {"offload": {"optimizer": {"reduce": "in-network", "prefetch": 5}}}, network(2, 2, {}))
    assert usual.finish_ps == ahead.finish_ps
    assert [any(told in words for words in each.metadata["warnings"]) for each in (usual, ahead)] == [False, True]
    loaded = played(tmp_path, {"offload": {"optimizer": {"prefetch": 5}}}, network(2, 2, {}))
    assert not any("prefetch" in words for words in loaded.metadata["warnings"])


def test_explanations_follow_gradients_to_the_pool_and_back(tmp_path: Path) -> None:
    result = played(tmp_path, {}, network(2, 2, {}), output=tmp_path / "run", record=["accounts", "timeline"])
    chain = astra_ns3.explain(result).segments
    assert "other" not in {segment.kind for segment in chain}
    assert {each["group"] for each in result.metadata["exposed_by_group"]} == {"gradient, pool"}
