"""Topology keys of a network file: every kind, told apart by ``kind``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field

from astra_ns3.config.model import key_error, shown
from astra_ns3.config.routing import Pin, RoutingConfig
from astra_ns3.config.switch import EcnConfig, EcnRate, LinkConfig, NicConfig, PfcConfig, SchedulerConfig, SwitchConfig
from astra_ns3.config.topology_base import MOST_NPUS, LinkChange, TopologyBase, default_local
from astra_ns3.config.topology_direct import Dragonfly, FullMesh, Mesh, Ring, Torus
from astra_ns3.config.topology_file import FileTopology
from astra_ns3.config.topology_nodes import FlatTopology, Hierarchical, RailOptimised, ScaleUp
from astra_ns3.config.topology_switched import Clos, ClosLevel, Dumbbell, FatTree, LeafSpine, SingleSwitch
from astra_ns3.errors import nearest

__all__ = [
    "KINDS",
    "MOST_NPUS",
    "Clos",
    "ClosLevel",
    "Dragonfly",
    "Dumbbell",
    "EcnConfig",
    "EcnRate",
    "FatTree",
    "FileTopology",
    "FlatTopology",
    "FullMesh",
    "Hierarchical",
    "LeafSpine",
    "LinkChange",
    "LinkConfig",
    "Mesh",
    "NicConfig",
    "PfcConfig",
    "Pin",
    "RailOptimised",
    "Ring",
    "RoutingConfig",
    "ScaleUp",
    "SchedulerConfig",
    "SingleSwitch",
    "SwitchConfig",
    "TopologyBase",
    "TopologyConfig",
    "Torus",
    "default_local",
]

AnyTopology = FlatTopology | Hierarchical | RailOptimised
DEFAULT_KIND = "single-switch"
KINDS: tuple[str, ...] = tuple(get_args(model.model_fields["kind"].annotation)[0] for model in get_args(AnyTopology))
"""The words that ``kind`` may be."""


def _known_kind(data: object) -> object:
    """``data`` with its kind; a file without one means a single switch."""
    if not isinstance(data, Mapping):
        return data
    kind = data.get("kind", DEFAULT_KIND)
    if kind not in KINDS:
        raise key_error("kind", f"found {shown(kind)}, allowed: {', '.join(KINDS)}{nearest(str(kind), KINDS)}")
    return {**data, "kind": kind}


TopologyConfig = Annotated[Annotated[AnyTopology, Field(discriminator="kind")], BeforeValidator(_known_kind)]
"""Every topology, told apart by ``kind``."""
