"""LIFO and FIFO over real packets: in which order the layers of a DATA loop get their gradients."""

from __future__ import annotations

from typing import Any

import pytest
from support.star_network import star

import astra_ns3
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

LAYERS = 4
SIZE = 400_000
COMPUTE_NS = 1000
"""Far less than a collective takes, so all have been issued before the first chunks are through."""


def workload() -> Workload:
    lines = [f"layer{index} -1 100 NONE 0 100 NONE 0 {COMPUTE_NS} ALLREDUCE {SIZE} 0" for index in range(LAYERS)]
    return parse_workload("\n".join(["DATA", str(LAYERS), *lines]), "layers.txt")


def system(policy: str, active: int = 1) -> SystemConfig:
    return parse_system(
        {
            "scheduling-policy": policy,
            "active-chunks-per-dimension": active,
            "preferred-dataset-splits": 4,
            "all-reduce-implementation": "ring",
            "reduce-scatter-implementation": "ring",
            "all-gather-implementation": "ring",
            "all-to-all-implementation": "direct",
        }
    )


def finished(policy: str, **system_keys: int) -> Any:
    """The collectives of one pass, in the order in which they ended."""
    result = astra_ns3.run(workload=workload(), system=system(policy, **system_keys), network=star(4))
    collectives = result.collectives
    assert collectives["layer"].tolist() == ["layer3", "layer2", "layer1", "layer0"]  # the backward pass issues them
    return collectives.sort_values("end_us")


def test_fifo_ends_layers_in_the_order_of_issue() -> None:
    assert finished("FIFO")["layer"].tolist() == ["layer3", "layer2", "layer1", "layer0"]


def test_lifo_ends_the_layers_needed_first_before_those_issued_first() -> None:
    """Each newly issued layer overtakes what waits; the running chunk of layer 3 is not preempted, its others wait."""
    assert finished("LIFO")["layer"].tolist() == ["layer0", "layer1", "layer2", "layer3"]


def test_both_take_about_the_same_time_in_all() -> None:
    """The order changes who waits, not how much the network has to carry."""
    ends = [finished(policy)["end_us"].max() for policy in ("FIFO", "LIFO")]
    assert ends[0] == pytest.approx(ends[1], rel=0.02)


def test_with_a_slot_for_every_chunk_there_is_no_order_to_choose() -> None:
    ends = [finished(policy, active=64).sort_index()["end_us"].tolist() for policy in ("FIFO", "LIFO")]
    assert ends[0] == ends[1]
