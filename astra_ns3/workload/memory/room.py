"""Whether a training that fits leaves room for all that isn't counted, such as workspaces and gaps of the allocator.

Source: Fujii et al., "Accelerating Large Language Model Training with 4D Parallelism and Memory Consumption Estimator",
2024 (arXiv:2411.06465). In their 454 trainings on A100s and H100s, none ran out of memory whose estimate was below 80%.
"""

from __future__ import annotations

from fractions import Fraction

from astra_ns3.units import format_bytes

_SURE = Fraction(4, 5)
WHY_TIGHT = "real peaks are some GB higher"


def roomy_bytes(capacity_bytes: int) -> int:
    """Return how much of an NPU's memory a training needs at least to be tight."""
    return int(_SURE * capacity_bytes)


def is_tight(needed_bytes: float | None, capacity_bytes: float | None) -> bool | None:
    """Return whether a training fits but leaves little room; None: it isn't known what it needs, or what there is."""
    if needed_bytes is None or capacity_bytes is None:
        return None
    return _SURE * int(capacity_bytes) <= needed_bytes <= capacity_bytes


def memory_text(needed_bytes: int, *, tight: bool | None) -> str:
    """Return what an NPU needs, as a cell of a table."""
    return f"{format_bytes(needed_bytes)}{' tight' if tight else ''}"
