"""Mistakes in a model file are told with file, line and key, and what would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.errors import InputError
from astra_ns3.workload.models.workload import read_model

TRANSFORMER = """kind: transformer
name: small
model: {layers: 3, hidden: 64, heads: 4, vocabulary: 100, experts: {count: 4, active: 2, feed_forward: 8, LAYERS}}
training: {sequence: 64}
"""
DLRM = """kind: dlrm
name: small
model: {tables: 4, embedding: 8, pooling: 2, dense_features: 4, bottom: [8], top: [1]}
parallel:
  servers: 2
"""


def told(text: str) -> str:
    with pytest.raises(InputError) as error:
        parse_model_file(parse_yaml(text, "m.yaml"))
    return str(error.value)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("first_dense: 3", "first_dense': found 3, expected less than the 3 layers"),
        ("every: 4", "every': found 4, expected at most 3, "),
        ("first_dense: 2, every: 2", "every': found 2, expected at most 1, "),
    ],
)
def test_experts_that_no_layer_has_are_refused(keys: str, expected: str) -> None:
    assert told(TRANSFORMER.replace("LAYERS", keys)).startswith(f"m.yaml:3: key 'model.experts.{expected}")


@pytest.mark.parametrize("keys", ["first_dense: 2", "every: 3", "first_dense: 1, every: 2"])
def test_one_layer_with_experts_will_do(keys: str) -> None:
    assert parse_model_file(parse_yaml(TRANSFORMER.replace("LAYERS", keys), "m.yaml"))


def test_servers_are_refused_by_their_key_where_a_kind_has_none() -> None:
    assert told(DLRM) == "m.yaml:5: key 'parallel.servers': found 2, expected 0: a model of kind dlrm has none"


@pytest.mark.parametrize("key", ["efficiency", "memory_efficiency"])
@pytest.mark.parametrize("share", ["0", "-0.5", "1.5"])
def test_one_efficiency_for_all_is_told_once(key: str, share: str) -> None:
    text = DLRM.replace("parallel:\n  servers: 2", f"compute: {{device: H100, {key}: {share}}}")
    expected = f"m.yaml:4: key 'compute.{key}': found {share}, expected a number above 0 and at most 1"
    assert told(text) == expected


@pytest.mark.parametrize(
    ("schedule", "training", "expected"),
    [
        (
            "interleaved, virtual_stages: 2",
            "micro_batches: 5",
            "3: key 'training.micro_batches': schedule 'interleaved' with 5 m",
        ),
        (
            "interleaved, virtual_stages: 2",
            "global_batch: 5",
            "3: key 'training.global_batch': schedule 'interleaved' with 5 m",
        ),
        (
            "interleaved",
            "micro_batches: 4",
            "4: key 'parallel.virtual_stages': schedule 'interleaved' with 1 virtual stage",
        ),
        ("1f1b, virtual_stages: 2", "micro_batches: 4", "4: key 'parallel.virtual_stages': schedule '1f1b' with 2 v"),
    ],
)
def test_numbers_that_a_schedule_can_not_have_are_told_by_their_key(
    schedule: str, training: str, expected: str, tmp_path: Path
) -> None:
    file = tmp_path / "m.yaml"
    lines = TRANSFORMER.replace("experts: {count: 4, active: 2, feed_forward: 8, LAYERS}", "norm: rms").splitlines()
    lines[2:] = [
        f"training: {{sequence: 64, {training}}}",
        f"parallel: {{pipeline: 2, schedule: {schedule}}}",
        lines[2].replace("layers: 3", "layers: 4"),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_model(file).plan(2)
    assert str(error.value).startswith(f"{file}:{expected}")
