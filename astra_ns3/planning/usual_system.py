"""The system that plans and budgets use unless a file is named."""

from __future__ import annotations

from astra_ns3.config.core.plain import Json

_KINDS = ("all-reduce", "reduce-scatter", "all-gather")


def usual_system(dimensions: int) -> dict[str, Json]:
    """Return rings in each dimension, all-to-alls directly, one chunk, dimensions by what each carries."""
    rings: dict[str, Json] = {f"{kind}-implementation": ["ring"] * dimensions for kind in _KINDS}
    return {
        "scheduling-policy": "LIFO",
        "preferred-dataset-splits": 1,
        "all-to-all-implementation": ["direct"] * dimensions,
        "collective-optimization": "localBWAware",
        **rings,
    }
