"""The longest chain of a text loop of many passes, of which few are played."""

from __future__ import annotations

import random

import pytest

from astra_ns3.playing.dry_run import deadlock
from astra_ns3.playing.dry_run.deadlock import check_programs
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.workload.files.astra_sim import parse_workload


def _drawn_layers(draw: random.Random) -> str:
    lines = []
    for number in range(draw.randint(2, 4)):
        kinds = [draw.choice(["ALLREDUCE", "ALLTOALL", "NONE"]) for _ in range(3)]
        sizes = [0 if kind == "NONE" else draw.choice([800, 48_000]) for kind in kinds]
        passes = [f"{draw.choice([0, 5, 300])} {kind} {size}" for kind, size in zip(kinds, sizes, strict=True)]
        lines.append(f"layer{number} -1 {' '.join(passes)} {draw.choice([0, 10, 250, 4000])}")
    return "\n".join([str(len(lines)), *lines])


@pytest.mark.parametrize(
    "loop", ["MICRO", "DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_DLRM 0", "HYBRID_DLRM_ENHANCED 0"]
)
@pytest.mark.parametrize("passes", [4, 5, 9])
def test_the_chain_of_many_passes_is_that_of_each_played(
    loop: str, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Update times reach into the next pass, and beyond its computations."""
    for seed in range(40):
        text = f"{loop}\n{_drawn_layers(random.Random(seed))}\n"
        dimensions = (4, 2) if loop == "HYBRID_DATA_MODEL" else (8,)
        programs = Programs.of(parse_workload(text), passes, dimensions)
        found = check_programs(programs)
        monkeypatch.setattr(deadlock, "_TELLING_PASSES", passes)
        assert check_programs(programs) == found, text
        monkeypatch.undo()


@pytest.mark.parametrize("passes", [1, 2, 3, 4, 50])
def test_each_pass_takes_its_update(passes: int) -> None:
    text = "DATA\n1\nl -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 8 1000000\n"
    assert check_programs(Programs.of(parse_workload(text), passes, (8,))).time_ps == passes * 1_002_000_000
