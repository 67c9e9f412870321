"""How unevenly the experts of a training's layers are chosen, worked out from its plan."""

from __future__ import annotations

from fractions import Fraction

from astra_ns3.config.training_plan import Block, ExpertLoad, TrainingPlan
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class LayerSkew:
    """Skew of a layer in a micro-batch: rows of tokens that the busiest place of an expert group computes, which one
    that is, what all places compute together, and what is dropped besides.
    """

    layer: str
    most_rows: int
    busiest: int
    places: int
    rows: int
    dropped: int

    @property
    def most_over_mean(self) -> float:
        """Rows of the busiest place over the mean; 1 where all have as many, or nothing."""
        return self.most_rows * self.places / self.rows if self.rows else 1.0

    @property
    def dropped_share(self) -> Fraction:
        """Return what part of the tokens' choices is dropped."""
        return Fraction(self.dropped, self.rows + self.dropped)


def expert_skew(plan: TrainingPlan) -> tuple[LayerSkew, ...]:
    """Each layer whose experts aren't chosen alike, in the model's order; none if they all are."""
    blocks = (block for chunk in plan.chunks for block in chunk)
    return tuple(_skew(block, block.expert_load) for block in blocks if block.expert_load is not None)


def _skew(block: Block, load: ExpertLoad) -> LayerSkew:
    most = max(load.rows)
    return LayerSkew(block.name, most, load.rows.index(most), len(load.rows), sum(load.rows), load.dropped)
