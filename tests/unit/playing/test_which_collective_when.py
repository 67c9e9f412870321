"""The table "which collective when" of distributed training: each kind of parallelism with a model file.

From the tutorials on ASTRA-sim: collectives for the update of weights (none with parameter servers), and for
activations and gradients of inputs (none in data and pipeline parallelism, usually in tensor parallelism); data and
tensor parallelism all-reduce, FSDP and ZeRO reduce-scatter and all-gather, hybrid parallelism does all three.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.training import FlopClock

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.playing.dry_run.counting import collective_requests, counted_messages
from astra_ns3.playing.training.making import training_programs
from astra_ns3.workload.models.workload import read_model

AR, RS, AG, AA = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.ALL_TO_ALL,
)
MODEL = """kind: transformer
name: small
model: {{layers: 4, hidden: 64, heads: 4, vocabulary: 1000{model}}}
training: {{sequence: 32, micro_batch: 1, micro_batches: 2}}
compute: A100-80GB
parallel: {{{parallel}}}
"""
EXPERTS = ", experts: {count: 4, active: 2, feed_forward: 64}"
NPUS = 4


@pytest.mark.parametrize(
    ("parallel", "weights", "activations", "messages"),
    [
        ("data: 4", {AR}, set(), False),
        ("tensor: 4", set(), {AR}, False),
        ("tensor: 4, sequence: on", {AR}, {AG, RS, AR}, False),
        ("tensor: 2, sequence: on, data: 2", {AR}, {AG, RS, AR}, False),
        ("pipeline: 4", set(), set(), True),
        ("pipeline: 2, data: 2", {AR}, set(), True),
        ("data: 4, zero: 1", {RS, AG}, set(), False),
        ("data: 4, zero: 2", {RS, AG}, set(), False),
        ("data: 4, zero: 3", {RS, AG}, set(), False),
        ("context: 4", {AR}, set(), True),
        ("servers: 1", set(), set(), True),
        ("servers: 1, asynchronous: on", set(), set(), True),
    ],
)
def test_each_parallelism_has_its_collectives(
    parallel: str,
    weights: set[CollectiveKind],
    activations: set[CollectiveKind],
    messages: bool,
    tmp_path: Path,
) -> None:
    """With the sequence split, too, of activations the loss alone is all-reduced: its sums over the vocabulary.

    Of weights those of normalisations are then, of which each NPU knows its own tokens' part.
    """
    assert _found(tmp_path, MODEL.format(model="", parallel=parallel)) == (weights, activations, messages)


def test_experts_exchange_tokens_all_to_all(tmp_path: Path) -> None:
    """Their own weights are nobody else's here; the others' are everybody's."""
    text = MODEL.format(model=EXPERTS, parallel="data: 4, expert: 4")
    assert _found(tmp_path, text) == ({AR}, {AA}, False)


def _found(folder: Path, text: str) -> tuple[set[CollectiveKind], set[CollectiveKind], bool]:
    path = folder / "model.yaml"
    path.write_text(text, encoding="utf-8")
    programs = training_programs(read_model(path).plan(NPUS), FlopClock(), 1, (NPUS,))
    weights: set[CollectiveKind] = set()
    activations: set[CollectiveKind] = set()
    for request in collective_requests(programs):
        (weights if request.label.part in ("gradient", "weights") else activations).add(request.kind)
    return weights, activations, bool(counted_messages(programs))
