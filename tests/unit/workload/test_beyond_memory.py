"""Memory of stages whose states, weights or activations lie beyond the device, and the bytes of a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.training import FlopClock

from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.training_plan import Beyond as TrainingBeyond
from astra_ns3.config.training_plan import Block, Degrees, Elements, Offloading, Sharding, TrainingPlan
from astra_ns3.errors import InputError
from astra_ns3.playing.dry_run.counting import counted_accesses
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.model_summary import Beyond, summary_of
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.report.workload.model import model_document, model_text
from astra_ns3.workload.memory.peaks import memory_of
from astra_ns3.workload.memory.states import ModelStates
from astra_ns3.workload.models.workload import ModelWorkload, read_model

MODELS = Path(__file__).resolve().parents[3] / "inputs" / "workload" / "models"
PUBLISHED_BYTES = 13.8e12
"""Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021, section 5.10."""
CLOSE = 0.03


def workload(**keys: Any) -> ModelWorkload:
    model = {
        "kind": "transformer",
        "name": "tiny",
        "model": {"layers": 4, "hidden": 32, "heads": 2, "feed_forward": 128, "vocabulary": 64},
        "training": {"sequence": 16, "micro_batches": 3},
        "compute": "H100",
        **keys,
    }
    return ModelWorkload(parse_model_file(parse_yaml(json.dumps(model), "model")))


def plan(**keys: Any) -> TrainingPlan:
    return workload(**keys).plan(1)


def test_a_checkpoint_of_1t_has_the_published_bytes() -> None:
    own = read_model(MODELS / "transformer-1t.yaml").plan(3072)
    states = ModelStates(own)
    stages = [[block for chunk in own.stage(number) for block in chunk] for number in range(own.degrees.pipeline)]
    stored = sum(own.degrees.stage_npus * states.checkpoint_bytes(blocks) for blocks in stages)
    assert stored == pytest.approx(PUBLISHED_BYTES, rel=CLOSE)


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_states_beyond_the_device_are_there_for_an_update_alone(prefetch: int) -> None:
    whole, away = plan(), plan(offload={"optimizer": {"prefetch": prefetch}})
    (before,), (found,) = memory_of(whole), memory_of(away)
    *passes, update = found.moments
    assert all(moment.usage.optimizer == 0 for moment in passes)
    sizes = [12 * block.parameters for block in whole.chunks[0]]
    blocks = 1 + 2 * prefetch
    most = max(sum(sizes[number : number + blocks]) for number in range(len(sizes)))
    assert update.usage.optimizer == most
    for one, other in zip(before.moments, found.moments, strict=True):
        assert one.usage._replace(optimizer=0) == other.usage._replace(optimizer=0)


def test_one_layer_is_fetched_ahead_unless_a_file_says_more() -> None:
    """Of alike layers the update has the one that works, the one that comes and the one that leaves."""
    (found,) = memory_of(plan(offload={"optimizer": {}}))
    sizes = [12 * block.parameters for block in plan().chunks[0]]
    assert found.moments[-1].usage.optimizer == max(sum(sizes[number : number + 3]) for number in range(len(sizes)))


def test_no_more_is_fetched_ahead_than_any_model_has() -> None:
    with pytest.raises(InputError, match=r"offload\.activations\.prefetch"):
        plan(offload={"activations": {"prefetch": 10**20}})


@pytest.mark.parametrize("prefetch", [0, 1, 9])
def test_weights_and_activations_of_a_pass_are_there_as_far_as_loads_begin_ahead(prefetch: int) -> None:
    beyond = {"prefetch": prefetch}
    own = plan(offload={"weights": beyond, "activations": beyond})
    blocks = own.chunks[0]
    (found,) = memory_of(own)
    backward = next(moment for moment in found.moments if moment.work and moment.work.kind.name == "BACKWARD")
    names = [block.name for block in blocks]
    last = names.index(backward.block)
    here = blocks[max(0, last - prefetch) : last + 1]
    assert backward.usage.activations == sum(block.activation_bytes for block in here)
    assert backward.usage.weights == sum(2 * block.parameters for block in here)


@pytest.mark.parametrize("zero", [0, 1, 2])
def test_a_tied_table_beyond_the_device_is_loaded_forward_and_stays_until_its_backward_pass(zero: int) -> None:
    """A table of 100 bytes, two layers of 10 that compute much again, and a head that has the table's weights alone."""
    table, layer = Block("table", (), parameters=100), Block("layer", (), parameters=10, again_bytes=1000)
    blocks = (table, layer, layer, Block("head", (), tied_parameters=100))
    away = Offloading(weights=TrainingBeyond(prefetch=0))
    keys: dict[str, Any] = {"elements": Elements(1, 2, 4), "sharding": Sharding(zero), "micro_batches": 3}
    own = TrainingPlan("m", "m.yaml", Degrees(data=4), (blocks,), offload=away, **keys)
    (found,) = memory_of(own)
    assert [moment.usage.weights for moment in found.moments[1:-1:2]] == [100 + 10] * 3
    assert [moment.block for moment in found.moments[1:-1:2]] == ["layer"] * 3
    assert found.moments[-1].usage.weights == 100
    accesses = counted_accesses(TrainingPrograms.of(own, FlopClock(), 1, (4,)))
    times = {each.bytes: each.times for each in accesses if each.loads}
    update = {0: {100: 1, 10: 2}}.get(zero, {25: 1, 3: 2})  # of the shard alone
    passes = {100: 3, 10: 2 * 2 * 3}
    assert times == {size: passes.get(size, 0) + update.get(size, 0) for size in {*passes, *update}}


def test_a_model_shows_what_goes_beyond_the_device() -> None:
    keys: dict[str, Any] = {"offload": {"optimizer": {}}, "checkpoint": {"every": 10}}
    found = summary_of(workload(**keys), [1])
    parameters = found.totals.parameters
    assert found.beyond == Beyond(12 * parameters, 12 * parameters, 2 * parameters)  # states are copied where they lie
    assert "checkpoint" in model_text(model_document(found))


@pytest.mark.parametrize(("passes", "every"), [(1, 1), (7, 1), (7, 2), (8, 3), (3, 5), (10**9, 4)])
def test_checkpoints_of_all_passes_are_counted_without_playing_all(passes: int, every: int) -> None:
    found = workload(checkpoint={"every": every})
    programs = training_programs(found.plan(1), found.clock(), passes, [1])
    assert [each.times for each in counted_accesses(programs)] == [passes // every] * (passes >= every)


def test_a_model_on_more_npus_than_memory_holds_is_refused() -> None:
    with pytest.raises(InputError, match=r"9,999,999,999,999 NPUs would need about .* use a smaller parallel\.data"):
        summary_of(workload(parallel={"data": 9_999_999_999_999}), [9_999_999_999_999])
