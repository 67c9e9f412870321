"""Host overheads: of which messages, by which protocol; and the names of what NCCL plays."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl.network_of_servers import network_of
from astra_ns3.frozen import replace
from astra_ns3.nccl.servers import server_named
from astra_ns3.system.groups import Grid
from astra_ns3.system.nccl.parts import named, of_name
from astra_ns3.system.nccl.planner import NcclPlanner
from astra_ns3.system.phases import Phase

FAR_US = {"LL": 2.7, "Simple": 14.0}
"""NCCL's latencies of a ring's hop between servers (tuning.cc)."""
SWITCHES_US = 1.5
SIZE = 1 << 20


def table(keys: Mapping[str, object]) -> NcclConfig:
    return validated(NcclConfig, Document("nccl", {"server": "hgx-h100", "NCCL_ALGO": "Ring", **keys}), {})


def planned(protocol: str, overhead: object) -> Phase:
    """The first channel of a ring over 2 servers of 2 GPUs."""
    config = table({"NCCL_PROTO": protocol, "host-overhead": overhead})
    placed = config.placed(server_named("hgx-h100"), (0, 0, 1, 1), merges=True)
    return NcclPlanner(placed, Grid((4,))).chunks(CollectiveKind.ALL_REDUCE, SIZE, (0,))[0][0]


@pytest.mark.parametrize("protocol", FAR_US)
@pytest.mark.parametrize(
    ("overhead", "added"),
    [
        (0, {}),
        (20, {"LL": 20, "Simple": 20}),
        ({"LL": 3}, {"LL": 3}),
        ({"LL": 3, "Simple": 7.5}, {"LL": 3, "Simple": 7.5}),
    ],
)
def test_each_message_between_servers_waits_for_the_overhead_of_its_protocol(
    protocol: str, overhead: object, added: Mapping[str, float]
) -> None:
    without, phase = planned(protocol, 0), planned(protocol, overhead)
    assert without.channel is not None
    assert phase.channel is not None
    before, costs = without.channel.costs, phase.channel.costs
    assert costs.far_ps == round((FAR_US[protocol] - SWITCHES_US + added.get(protocol, 0)) * 1e6)
    assert (costs.near_ps, costs.start_ps) == (before.near_ps, before.start_ps)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("abc", "found 'abc', expected a valid number"),
        (-1, "found -1, expected greater than or equal to 0"),
        ({"LLL": 1}, r"unknown key; allowed: LL, LL128, Simple; did you mean 'host-overhead.LL'\?"),
        ({"LL": -1}, "'host-overhead.LL': found -1"),
        ([1], r"found \[1\], expected a valid number"),
    ],
)
def test_an_overhead_without_sense_is_refused_in_one_line(value: object, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        table({"host-overhead": value})
    assert "\n" not in str(raised.value)


def test_a_name_says_algorithm_protocol_and_channels() -> None:
    assert named("Ring", "Simple", 16) == "nccl Ring Simple x16"
    assert of_name("nccl NVLSTree LL128 x4") == ("NVLSTree", "LL128", 4)


def test_each_channel_of_a_collective_has_the_name_of_all() -> None:
    assert planned("Simple", 0).algorithm.startswith("nccl Ring Simple x")


def test_servers_without_a_nic_are_refused() -> None:
    alone = replace(server_named("hgx-h100"), nics=())
    with pytest.raises(InputError, match=r"^server 'hgx-h100' has no NIC, and there are 2 servers$"):
        network_of(alone, 2, 8)
