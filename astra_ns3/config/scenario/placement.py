"""Keys that place a job: a rule that chooses its NPUs among those that are free."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from astra_ns3.config.core.model import ConfigModel, Listed, checked, refuse_key
from astra_ns3.config.scenario.keys import Seed

PlacementKind = Literal["packed", "spread", "random", "fragmented", "rack", "rail"]
DRAWN = ("random", "fragmented")
"""Placements that a seed decides."""


class Placement(ConfigModel):
    """NPUs by a rule, of those that no other job has."""

    place: PlacementKind
    """Which rule chooses: `packed`, `spread`, `random`, `fragmented`, `rack` or `rail`."""
    count: Listed
    """How many NPUs."""
    seed: Seed | None = None
    """The seed of the draw; equal seeds give equal places. Absent: made of the run's seed and the job's name."""

    @model_validator(mode="after")
    @checked
    def _draws(self) -> None:
        refuse_key(
            self.seed is not None and self.place not in DRAWN,
            "seed",
            f"is of no use to place: {self.place}, which draws nothing; expected {' or '.join(DRAWN)}",
        )
