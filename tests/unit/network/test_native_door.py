"""The door to C++ as far as it can be seen closed: what is filled lives on, and a network is planned once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.star_network import star

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import BackendError
from astra_ns3.network.api import EndpointModel, NetworkBackend
from astra_ns3.network.door.description import Description
from astra_ns3.network.door.reducers import ReducerPlayers
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.network.plan import plan_network


def test_arrays_live_as_long_as_what_views_them() -> None:
    description = Description()
    array = np.arange(3, dtype=np.uint32)
    description.add("network", {"links": array})
    assert vars(description)["_words"][-3:] == [str(array.ctypes.data), "3", ""]
    assert any(kept is array for kept in vars(description)["_kept"])


def test_a_session_backend_has_all_of_the_contract() -> None:
    wanted = {name for name in vars(NetworkBackend) if not name.startswith("_")}
    own = {"before_hook", "hook_result"}  # set when it is made
    assert {name for name in wanted if hasattr(SessionBackend, name)} == wanted - own


@pytest.fixture
def built_graphs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    built: list[object] = []
    from astra_ns3.network import plan

    build: Any = vars(plan)["build_graph"]

    def counted(config: object) -> object:
        built.append(config)
        return build(config)

    monkeypatch.setattr(plan, "build_graph", counted)
    return built


def test_the_plan_of_a_network_builds_its_graph_and_its_grid_once(built_graphs: list[object]) -> None:
    plan = plan_network(star(4), EndpointModel(delay_ps=5))
    assert plan.grid is plan.grid
    assert plan.endpoint.delay_ps == 5
    assert plan.transport_of_dimensions == ((4, "tcp"),)
    assert len(built_graphs) == 1


def test_channels_of_the_same_members_share_a_reducers_player_and_each_group_has_its_own() -> None:
    switch = {"buffer": "8MB", "reduction": {"groups": 2}}
    topology = {"kind": "single-switch", "npus": 4, "link": {"rate": "100Gbps", "delay": "500ns"}, "switch": switch}
    network = parse_network({"topology": topology, "transport": {"kind": "roce"}})
    reducers = ReducerPlayers(plan_network(network).graph)
    assert reducers.players((0, 1, 2, 4), shared=True) == [0, 1, 2, 4]
    assert reducers.players((4, 2, 1, 0), shared=True) == [4, 2, 1, 0]
    assert reducers.players((0, 3, 4)) == [0, 3, 5]
    with pytest.raises(BackendError, match="switch 0 has room for 2 of the groups of a run"):
        reducers.players((1, 3, 4), shared=True)
