"""Several seeds draw several paths on ns-3, unless something holds them fixed."""

from __future__ import annotations

from typing import Any

import pytest
from support.many_networks import leaf_spine
from support.small_run import NPUS, small_system, small_workload

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.seeds import execute_seeds
from astra_ns3.report.seeds import seeds_text

DIRECT = {"all-reduce-implementation": "direct"}


@pytest.mark.parametrize(
    ("routing", "transport", "fixed"),
    [
        ({}, "tcp", []),
        ({"seed": 0}, "tcp", ["paths: routing.seed is 0 in the network file"]),
        (
            {},
            {"kind": "roce", "congestion_control": "none", "ecmp": "per-message-port"},
            ["paths: ecmp per-message-port hashes without a seed"],
        ),
    ],
    ids=["drawn", "routing.seed", "per-message-port"],
)
def test_seeds_draw_the_paths_or_say_what_holds_them_fixed(
    routing: dict[str, int], transport: Any, fixed: list[str]
) -> None:
    """Two leaves of two hosts, and two ways between them: four flows each way share these fairly or not."""
    topology = leaf_spine(leaves=2, spines=2, hosts_per_leaf=NPUS // 2, uplink={}, routing=routing)
    network = parse_network({"topology": topology, "transport": transport})
    outcome = execute_seeds(
        RunRequest(workload=small_workload(), system=small_system(**DIRECT), network=network, comm_scale=100.0), 6
    )
    assert outcome.document["held_fixed"] == fixed
    times = {run["finish_ps"] for run in outcome.document["runs"]}
    assert (len(times) == 1) == bool(fixed)
    text = seeds_text(outcome.document, None)
    assert ("held fixed" in text) == bool(fixed)
    assert all(what in text for what in fixed)
