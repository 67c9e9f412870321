"""A file of prices: what bandwidth, switches, NICs and NPUs of a cluster cost, and how much may be spent."""

from __future__ import annotations

import os
from typing import Annotated

from annotated_types import Ge, Gt
from pydantic import Field, model_validator

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel, RateBps, checked, refuse_key, validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.frozen import dataclass

_GBPS = 10**9
Price = Annotated[float, Ge(0)]


class DimensionPrices(ConfigModel):
    """The price of bandwidth in one dimension of the network, and between which rates one may choose."""

    gbps: Annotated[float, Gt(0)]
    """The price of 1 Gb/s of one NPU in this dimension, one way, with all that grows with it: links, their share of
    switches and NICs."""
    least_bps: RateBps = Field(alias="least", default=_GBPS)
    """The least rate of an NPU in this dimension."""
    most_bps: RateBps | None = Field(alias="most", default=None)
    """The largest rate of an NPU in this dimension. Absent: what the budget buys."""

    @model_validator(mode="after")
    @checked
    def _in_order(self) -> None:
        refuse_key(self.most_bps is not None and self.most_bps < self.least_bps, "most", "is below least")


class PricesConfig(ConfigModel):
    """Prices of a cluster, all in one currency."""

    budget: Annotated[float, Gt(0)]
    """How much may be spent on the cluster."""
    currency: str = ""
    """The word behind amounts."""
    dimensions: Annotated[tuple[DimensionPrices, ...], Field(min_length=1)]
    """The dimensions of the network, the innermost first."""
    npu: Price = 0.0
    """The price of an NPU."""
    nic: Price = 0.0
    """The price of a NIC, whatever its rate."""
    switch: Price = 0.0
    """The price of a switch, whatever its rates. Routers inside NPUs cost nothing."""


@dataclass(frozen=True)
class PricesFile:
    """Prices as they were read, and where each key stands."""

    config: PricesConfig
    document: Document


def read_prices(path: str | os.PathLike[str]) -> PricesFile:
    """Read a file of prices; raises InputError with file, line and key."""
    document = parse_yaml(read_text(path), os.fspath(path))
    return PricesFile(validated(PricesConfig, document), document)
