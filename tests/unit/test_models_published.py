"""The model files that come with the program have the parameters that were published."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.workload.models.workload import read_model

FOLDER = Path(__file__).resolve().parents[2] / "inputs" / "workload" / "models"
WITHIN = 0.01
"""Published numbers have three digits."""
ROUNDED_TO_TWO_DIGITS = 0.015
"""Published as 17 billion and 340 million; 17.2 billion and 335 million come of the published sizes."""

# Name: parameters, those that a token uses, tolerance, NPUs of a copy times what experts need.
# Sources: each file's comment; Llama-3: the numbers of weights in the published checkpoints.
PUBLISHED = {
    "gpt-3-175b": (174.6e9, 174.6e9, WITHIN, 64),
    "llama-3-8b": (8.03e9, 8.03e9, WITHIN, 32),
    "llama-3-70b": (70.6e9, 70.6e9, WITHIN, 32),
    "llama-3-405b": (405.85e9, 405.85e9, WITHIN, 128),
    "mixtral-8x7b": (46.7e9, 12.9e9, WITHIN, 16),
    "deepseek-v3": (671e9, 37e9, ROUNDED_TO_TWO_DIGITS, 1024),
    "turing-nlg-17b": (17e9, 17e9, ROUNDED_TO_TWO_DIGITS, 4),
    "transformer-1t": (1008e9, 1008e9, WITHIN, 512),
    "bert-large": (340e6, 340e6, ROUNDED_TO_TWO_DIGITS, 1),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_has_its_published_parameters(name: str) -> None:
    total, active, tolerance, _ = PUBLISHED[name]
    found = read_model(FOLDER / f"{name}.yaml").totals()
    assert found.parameters == pytest.approx(total, rel=tolerance)
    assert found.active_parameters == pytest.approx(active, rel=tolerance)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_blocks_of_a_copy_hold_all_parameters_and_little_twice(name: str) -> None:
    workload, npus = read_model(FOLDER / f"{name}.yaml"), PUBLISHED[name][3]
    plan = workload.plan(npus)
    parallel = plan.degrees
    held = sum(
        parallel.tensor * (block.parameters + parallel.expert * block.expert_parameters)
        for chunk in plan.chunks
        for block in chunk
    )
    once = held - parallel.tensor * plan.tied_parameters
    assert once == pytest.approx(workload.totals().parameters, rel=0.002)
    assert once >= workload.totals().parameters


def test_every_model_file_has_its_published_parameters_tested() -> None:
    assert {file.stem for file in FOLDER.glob("*.yaml")} == set(PUBLISHED)
