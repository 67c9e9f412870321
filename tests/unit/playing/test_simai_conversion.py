"""SimAI's workloads written in other formats: again as SimAI's text, and as graphs that send the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from astra_ns3.config.graph_workload import NodeKind
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.playing.converting.conversion import Unrolling, as_graphs, convert
from astra_ns3.playing.converting.unrolled import UnrolledLoop
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.loops.loop_kinds import SIMAI_LOOPS


@pytest.fixture(name="workload")
def read_example(repository: Path) -> Workload:
    found = read_workload(repository / "inputs" / "workload" / "moe-simai-16.txt")
    assert isinstance(found, Workload)
    return found


def test_simais_text_says_all_of_it(workload: Workload, tmp_path: Path) -> None:
    convert(workload, "simai", tmp_path / "w.txt", Unrolling())
    again = read_workload(tmp_path / "w.txt")
    assert isinstance(again, Workload)
    assert again == replace(workload, source=again.source)


def test_what_a_text_cannot_say_is_told(workload: Workload, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SimAI's, whose groups ASTRA-sim's text can't say; say --to simai"):
        convert(workload, "astra-sim", tmp_path / "w.txt", Unrolling())
    plain = replace(workload, loop=SIMAI_LOOPS[workload.loop])
    with pytest.raises(InputError, match="whose graph depends on the NPUs that play it; say --dimensions"):
        convert(plain, "simai", tmp_path / "w.txt", Unrolling())
    checkpointed = Workload("DATA", workload.layers, checkpoints=(0,))
    with pytest.raises(InputError, match="workload: ASTRA-sim's text can't say all that it says"):
        convert(checkpointed, "astra-sim", tmp_path / "w.txt", Unrolling())
    assert not (tmp_path / "w.txt").exists()


@pytest.mark.parametrize(("chunks", "messages"), [(1, 4), (2, 12)])
def test_as_a_graph_every_npu_sends_its_tensor_once_a_micro_batch(
    workload: Workload, chunks: int, messages: int
) -> None:
    """4 micro-batches, each of NPUs 0 to 7 with the one 8 further: stage 0 sends activations, stage 1 gradients.

    With two chunks, from stage 0 to 1 two activations, and a gradient from its second chunk to stage 1's first.
    """
    graphs = as_graphs(replace(workload, virtual_stages=chunks), Unrolling((16,)))
    sends = [(npu, node) for npu in (0, 8) for node in graphs.nodes(npu) if node.kind is NodeKind.SEND]
    sent = {(npu, node.peer): 0 for npu, node in sends}
    for npu, node in sends:
        sent[npu, node.peer] += node.bytes or 0
    assert sent == {(0, 8): messages * 1048576, (8, 0): messages * 1048576}


@pytest.mark.parametrize("dimensions", [(16,), (1, 16), (16, 1), (2, 8), (2, 4, 2), (2, 4, 1, 2), (4, 4), (8, 1, 2)])
def test_the_network_that_a_conversion_advises_is_one_on_which_no_group_ends_inside_a_dimension(
    workload: Workload, dimensions: tuple[int, ...]
) -> None:
    """Groups of 2 (tensor), 4 (times experts) and 8 (a stage) of 16 NPUs end where dimensions of 2 do."""
    (warning,) = UnrolledLoop.of(workload, 1, dimensions).warnings
    assert warning.endswith("; on a network of 2x2x2x2 it has the loop's queues")
    assert UnrolledLoop.of(workload, 1, (2, 2, 2, 2)).warnings == ()
