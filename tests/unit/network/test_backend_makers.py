"""Backends by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.config.network.packet_network import read_network
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions


def test_an_unknown_backend_is_an_input_error_with_the_nearest_name(repository: Path) -> None:
    network = read_network(repository / "inputs" / "network" / "single-switch-16.yaml")
    with pytest.raises(InputError, match=r"backend 'ns4' is not one of ns3, flow, analytical, analytical-queues; did"):
        create_backend("ns4", plan_network(network, EndpointModel()), seed=1, recorder=RecorderOptions())
