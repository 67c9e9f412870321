"""Tables of embeddings in the memory of an NPU: each has its part, which nobody shares."""

from __future__ import annotations

import pytest
from support.studies import INPUTS

from astra_ns3.workload.memory.states import ModelStates
from astra_ns3.workload.models.workload import read_model

TABLES, ROWS, EMBEDDING, BYTES = 64, 1_000_000, 64, 2
"""Of the DLRM of the talk that the file follows."""


@pytest.mark.parametrize("npus", [2, 8, 64])
def test_all_tables_together_are_in_the_memory_of_all_npus(npus: int) -> None:
    plan = read_model(INPUTS / "workload/models/dlrm-hoti-2020.yaml").plan(npus)
    (blocks,) = plan.chunks
    dense = sum(block.parameters for block in blocks) * plan.elements.weight
    tables_bytes = TABLES * ROWS * EMBEDDING * BYTES // npus
    assert ModelStates(plan).kept(blocks).weights == dense + tables_bytes
