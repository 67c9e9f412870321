"""Nodes of all kinds that can be written as Chakra's, for hypothesis to draw."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind


def made(**values: Any) -> GraphNode:
    """A node with these values and no others."""
    return GraphNode(**values)


COMPUTES = st.builds(
    made,
    number=st.integers(0, 2**63),
    name=st.text(max_size=9),
    kind=st.sampled_from([NodeKind.COMPUTE, NodeKind.MEMORY_LOAD, NodeKind.MEMORY_STORE]),
    parents=st.lists(st.integers(0, 2**40), unique=True, max_size=5).map(tuple),
    duration_ps=st.integers(0, 2**60),
    operations=st.none() | st.integers(0, 2**62),
    tensor_bytes=st.none() | st.integers(0, 2**62),
    on_host=st.booleans(),
)
COLLECTIVES = st.builds(
    made,
    number=st.integers(0, 2**63),
    name=st.just("c"),
    kind=st.just(NodeKind.COLLECTIVE),
    collective=st.sampled_from([kind for kind in CollectiveKind if kind is not CollectiveKind.POINT_TO_POINT]),
    bytes=st.integers(0, 2**62),
    group=st.sampled_from(["", "1", "tensor parallel"]),
    dimensions=st.none() | st.lists(st.booleans(), max_size=4).map(tuple),
    priority=st.integers(-5, 5),
)
MESSAGES = st.builds(
    made,
    number=st.integers(0, 2**63),
    name=st.just("m"),
    kind=st.sampled_from([NodeKind.SEND, NodeKind.RECEIVE]),
    bytes=st.integers(0, 2**62),
    peer=st.integers(0, 2**30),
    tag=st.integers(-(2**62), 2**62),
)
WRITTEN = COMPUTES | COLLECTIVES | MESSAGES
