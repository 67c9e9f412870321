"""Cycles of a product of matrices on a systolic array, in closed form.

A product is cut into folds, as many rows and columns of what stays in the array as this has cells; each fold takes its
turn. Source: A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN Accelerators using
SCALE-Sim", ISPASS 2020, section III: a fold takes 2 R + C + T - 2 cycles, of R x C cells and T steps: R to fill the
array (or, with outputs in place, to drain it), R + C + T - 2 until the last cell has done its last step. With weights
or inputs in place this is what scalesim 2.x counts; with outputs in place it doesn't count the draining.

Model limits: memory never makes the array wait, and a fold begins when the one before has ended.
"""

from __future__ import annotations

from astra_ns3.config.model.compute import Systolic
from astra_ns3.frozen import dataclass

ProductSizes = tuple[int, int, int]


@dataclass(frozen=True)
class Folds:
    """How many folds a product makes, and the cycles of each."""

    count: int
    cycles: int

    @property
    def all_cycles(self) -> int:
        """Cycles of all folds on one array."""
        return self.count * self.cycles


def folds_of(keys: Systolic, shape: ProductSizes) -> Folds:
    """The folds of a product of m x k by k x n; ``shape``: m, n, k."""
    m, n, k = shape
    down, across, steps = {
        "output_stationary": (m, n, k),
        "weight_stationary": (k, n, m),
        "input_stationary": (k, m, n),
    }[keys.dataflow]
    stays_and_goes = keys.outputs_drain or keys.dataflow != "output_stationary"
    cycles = keys.rows * (2 if stays_and_goes else 1) + keys.columns + steps - 2
    return Folds(-(-down // keys.rows) * -(-across // keys.columns), cycles)
