"""Factors on bytes and on times of a whole workload."""

from __future__ import annotations

import math

from astra_ns3.errors import refuse


def check_scales(comm_scale: float, compute_scale: float) -> None:
    """Raise InputError for a factor on bytes that is not above 0, or a factor on times that is below 0."""
    refuse(not (_is_finite(comm_scale) and comm_scale > 0), f"comm-scale is {comm_scale!r}, expected a number above 0")
    refuse(
        not (_is_finite(compute_scale) and compute_scale >= 0),
        f"compute-scale is {compute_scale!r}, expected a number not below 0",
    )


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
