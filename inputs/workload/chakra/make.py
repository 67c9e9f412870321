"""Writes the traces in this folder: a training step of eight NPUs, two that share each layer, four copies of the model.

    python inputs/workload/chakra/make.py FOLDER

Shows how a program of one's own writes Chakra's traces: give ``write_chakra`` something with nodes for each NPU.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.chakra.writer import write_chakra

LAYERS = 4
ACTIVATION_BYTES, WEIGHT_BYTES = 256 << 10, 1 << 20
NPUS = 8
PAIRS = {str(1 + pair): (2 * pair, 2 * pair + 1) for pair in range(NPUS // 2)}
COPIES = {str(5 + place): tuple(range(place, NPUS, 2)) for place in range(2)}


@dataclass(frozen=True)
class Step:
    """Each layer's activations are summed by the pair that shares it, its gradients by the copies of the model."""

    npus: int = NPUS

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Four pairs for activations, two communicators of four for gradients."""
        return PAIRS | COPIES

    def nodes(self, npu: int) -> list[GraphNode]:
        """Forward through the layers, and back; a gradient is under way while the next layer is computed."""
        shares, copies = str(1 + npu // 2), str(5 + npu % 2)
        nodes: list[GraphNode] = []

        def add(name: str, parents: tuple[int, ...], us: int, size: int = 0, group: str = "") -> int:
            kind = NodeKind.COLLECTIVE if size else NodeKind.COMPUTE
            summed = CollectiveKind.ALL_REDUCE if size else None
            node = GraphNode(len(nodes), name, kind, parents, us * PS_PER_US)
            nodes.append(node._replace(collective=summed, bytes=size or None, group=group))
            return node.number

        last: tuple[int, ...] = ()
        for layer in range(LAYERS):
            last = (add(f"forward {layer}", last, 100),)
            last = (add(f"activations {layer}", last, 0, ACTIVATION_BYTES, shares),)
        for layer in reversed(range(LAYERS)):
            last = (add(f"backward {layer}", last, 200),)
            add(f"gradients {layer}", last, 0, WEIGHT_BYTES, copies)
        return nodes


if __name__ == "__main__":
    write_chakra(Step(), Path(sys.argv[1]) / "step")
