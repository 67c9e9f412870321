"""The studies of congestion control and of transports play: a small point of each."""

from __future__ import annotations

from pathlib import Path

import pytest

import astra_ns3

FOLDER = Path(__file__).parents[2] / "inputs" / "studies"
LEAST_A2A_US = 2 * 2**20 * 31 / 32 * 8 / 200e9 * 1e6
"""2 MiB of each of 32 NPUs, of which a 32nd stays, through a NIC of 200 Gb/s."""
LEAST_RING_US = 2 * 2**18 * 31 / 32 * 8 / 400e9 * 1e6
"""256 KiB, through a NIC of 400 Gb/s, in each half of an all-reduce."""


@pytest.mark.parametrize(
    ("name", "only", "least_us"),
    [
        pytest.param("roce", ("part=sizes", "comm_scale=2", "control=none"), LEAST_A2A_US, marks=pytest.mark.slow),
        ("transport", ("part=size", "comm_scale=0.25", "pattern=ring"), LEAST_RING_US),
    ],
)
def test_a_point_of_the_study_plays(name: str, only: tuple[str, ...], least_us: float, tmp_path: Path) -> None:
    result = astra_ns3.study(FOLDER / f"{name}.yaml", tmp_path / name, jobs=1, only=only)
    assert list(result.frame["npus"]) == [32]
    assert result.frame["finish_us"].iloc[0] > least_us
    assert result.frame["drops"].iloc[0] == 0
    assert (tmp_path / name / "study.csv").is_file()
