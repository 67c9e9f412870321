"""Groups of collectives take what timelines and messages of random runs say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from oracles.group_durations import durations_of_groups, problems_of_groups
from support.lengths import some_slow
from support.training import training_system

import astra_ns3
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.files.astra_sim import parse_workload

LOOPS = ("DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "MICRO")
KINDS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")
BACKENDS = ("analytical", "analytical-queues")


def _layer(draw: random.Random, name: str) -> str:
    passes = (f"{draw.randint(1, 9000)} {draw.choice(KINDS)} {draw.randint(1, 400) * 64}" for _ in range(3))
    return f"{name} -1 {' '.join(passes)} 10"


def _played(seed: int, folder: Path) -> astra_ns3.Result:
    """Two or three dimensions, and NPUs that compute unlike one another: their groups drift apart."""
    draw = random.Random(seed)
    sizes = [draw.choice([2, 3, 4]) for _ in range(draw.randint(2, 3))]
    count = len(sizes)
    network = folder / f"{seed}.yml"
    rates = f"bandwidth: {[50.0] * count}\nlatency: {[500.0] * count}\n"
    network.write_text(f"topology: {['Switch'] * count}\nnpus_count: {sizes}\n{rates}", encoding="utf-8")
    layers = [_layer(draw, name) for name in "abc"]
    text = "\n".join([draw.choice(LOOPS), str(len(layers)), *layers, ""])
    return astra_ns3.run(
        workload=parse_workload(text, "drawn.txt"),
        system=training_system(count, draw.choice(["FIFO", "LIFO"]), draw.randint(1, 3)),
        network=network,
        backend=draw.choice(BACKENDS),
        passes=2,
        compute_slowdown={"jitter": {"spread": 0.5, "seed": seed}},
        record=["timeline", "flows"],
        output=folder / str(seed),
    )


@pytest.mark.parametrize("first", some_slow(range(0, 200, 10), [0]))
def test_groups_of_random_runs_take_what_their_timelines_say(first: int, tmp_path: Path) -> None:
    apart = 0
    for seed in range(first, first + 10):
        run = _played(seed, tmp_path)
        assert list(problems_of_groups(run)) == [], f"seed {seed}"
        whole_us = run.collectives.set_index("collective")["duration_us"]
        apart += sum(
            whole_us[number] * PS_PER_US > max(times_ps) + 1 for number, times_ps in durations_of_groups(run).items()
        )
    assert apart > 0
