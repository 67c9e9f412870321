"""Systems, requests and tasks for tests of the system layer."""

from __future__ import annotations

from typing import Any

from astra_ns3.collectives.volume import RankCosts
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import PassKind
from astra_ns3.network.records import Label
from astra_ns3.system.file import parse_system
from astra_ns3.system.launches import Launch
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.task import Collective, Task

KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")


def system(algorithms: str = "ring", **changes: Any) -> SystemConfig:
    """``algorithms`` for every collective; ``changes``: keys of the file, with underscores."""
    keys: dict[str, Any] = {f"{kind}-implementation": algorithms for kind in KINDS}
    keys |= {"scheduling-policy": "LIFO", "preferred-dataset-splits": 4}
    return parse_system(keys | {name.replace("_", "-"): value for name, value in changes.items()})


def request(
    kind: CollectiveKind = CollectiveKind.ALL_REDUCE,
    bytes: int = 1000,
    dimensions: tuple[int, ...] | None = None,
    policy: str | int | None = None,
    layer: int = 0,
) -> CollectiveRequest:
    return CollectiveRequest(kind, bytes, Label(0, layer, PassKind.WEIGHT_GRADIENT), policy, dimensions)


def task(
    instance: int,
    priority: int = 0,
    kind: CollectiveKind = CollectiveKind.ALL_REDUCE,
    bytes: int = 1000,
    phases_left: int = 0,
) -> Task:
    launch = Launch(0, [], [], bytes, lambda rank: RankCosts(bytes, 1, 0))
    collective = Collective(0, request(kind, bytes), "ring", 2)
    return Task(instance, 0, priority, kind, bytes, 0, phases_left, launch, None, collective)
