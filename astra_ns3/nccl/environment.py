"""The variables that people set for NCCL, under their own names."""

from __future__ import annotations

from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class Environment:
    """What is set; None: not set, so NCCL decides."""
