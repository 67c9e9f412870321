"""Keys of a link, in network files and in graphs that users bring."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Lt
from pydantic import Field

from astra_ns3.config.core.model import ConfigModel, RateBps, TimePs


class LinkConfig(ConfigModel):
    """One full-duplex link: rate of each direction, propagation delay one way, share of packets lost on the way."""

    rate_bps: RateBps = Field(alias="rate")
    """The rate of each direction."""
    delay_ps: TimePs = Field(alias="delay")
    """The propagation delay, one way."""
    error_rate: Annotated[float, Ge(0), Lt(1)] = 0.0
    """The probability that a frame is lost on the way, in each direction."""
