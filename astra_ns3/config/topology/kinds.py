"""Topology keys of a network file: every kind, told apart by ``kind``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import key_error, kind_of, shown
from astra_ns3.config.topology.base import MOST_NPUS, LinkChange, TopologyBase, default_local
from astra_ns3.config.topology.direct import Dragonfly, FullMesh, Mesh, Ring, Torus
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.config.topology.nodes import FlatTopology, Hierarchical, RailOptimised, ScaleUp
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.config.topology.routing import Pin, RoutingConfig
from astra_ns3.config.topology.switch import (
    CreditsConfig,
    EcnConfig,
    EcnRate,
    NicConfig,
    PfcConfig,
    SchedulerConfig,
    SwitchConfig,
)
from astra_ns3.config.topology.switched import Clos, ClosLevel, Dumbbell, FatTree, LeafSpine, SingleSwitch
from astra_ns3.errors import nearest
from astra_ns3.user_code import FORM, user_part

__all__ = [
    "KINDS",
    "MOST_NPUS",
    "Clos",
    "ClosLevel",
    "CreditsConfig",
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
    "OwnTopology",
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

_BUILT_IN, _OWN = "built-in", "own"
AnyTopology = FlatTopology | Hierarchical | RailOptimised
DEFAULT_KIND = "single-switch"
KINDS: tuple[str, ...] = tuple(get_args(model.model_fields["kind"].annotation)[0] for model in get_args(AnyTopology))
"""The words that ``kind`` may be."""


def _known_kind(data: object) -> object:
    """``data`` with its kind; a file without one means a single switch."""
    if not isinstance(data, Mapping):
        return data
    kind = data.get("kind", DEFAULT_KIND)
    if kind not in KINDS and user_part(kind) is None:
        raise key_error("kind", f"found {shown(kind)}, allowed: {', '.join(KINDS)}, {FORM}{nearest(str(kind), KINDS)}")
    return {**data, "kind": kind}


def _whose(value: object) -> str:
    return _BUILT_IN if kind_of(value, DEFAULT_KIND) in KINDS else _OWN


TopologyConfig = Annotated[
    Annotated[Annotated[AnyTopology, Field(discriminator="kind")], Tag(_BUILT_IN)] | Annotated[OwnTopology, Tag(_OWN)],
    Discriminator(_whose),
    BeforeValidator(_known_kind),
]
"""Every topology, told apart by ``kind``."""
