"""Keys of a model file's experts that say which experts tokens choose, and how they get there."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import Field, ValidationInfo, field_validator, model_validator

from astra_ns3.config.core.model import ConfigModel, Count, Number, checked, key_error, refuse_key
from astra_ns3.config.model.dispatch import NORMAL, Dispatch
from astra_ns3.config.model.relative_path import from_the_file

UNIFORM = "uniform"
ZIPF = "zipf"


class Routing(ConfigModel):
    """Which experts tokens choose. A group of experts takes it over among its own keys."""

    routing: Annotated[str, MinLen(1)] = UNIFORM
    """``uniform``: all alike; ``zipf``: the more popular the fewer; else a CSV file of tokens for each expert."""
    skew: Annotated[float, Ge(0), Le(10)] | None = None
    """Zipf's exponent; 1 if it isn't said."""
    seed: Number = 1
    """Which experts are popular in which layer, and what is drawn."""
    capacity: Annotated[float, Gt(0)] | None = None
    """Factor: an expert takes so many times its even share of a place's tokens, and no more; None: it takes all."""
    node_limit: Count | None = None
    """A token goes to experts on so many nodes at most."""
    npus_per_node: Count | None = None
    """NPUs of a node, for limits and dispatch by node."""
    dispatch: Dispatch = Field(default_factory=Dispatch)
    """How tokens travel to experts."""

    @field_validator("routing")
    @classmethod
    def _beside_the_file(cls, routing: str, info: ValidationInfo) -> str:
        return routing if routing in (UNIFORM, ZIPF) else from_the_file(routing, info)

    @model_validator(mode="after")
    @checked
    def _nothing_without_effect(self) -> None:
        refuse_key(
            self.skew is not None and self.routing != ZIPF,
            "skew",
            f"stands beside routing: {self.routing}; only zipf has one",
        )
        why = "node_limit" if self.node_limit is not None else "dispatch: {form: normal}"
        if self.is_drawn and self.npus_per_node is None:
            raise key_error("npus_per_node", f"is missing: {why} needs it")
        refuse_key(
            self.npus_per_node is not None and self.node_limit is None and self.dispatch.form is None,
            "npus_per_node",
            "stands alone; expected node_limit or dispatch: {form: normal} beside it",
        )
        refuse_key(
            self.is_drawn and self.capacity is not None, "capacity", f"stands beside {why}; expected one of them"
        )

    @property
    def exponent(self) -> float:
        """Zipf's; 0 where all experts are alike."""
        if self.routing != ZIPF:
            return 0.0
        return 1.0 if self.skew is None else self.skew

    @property
    def file(self) -> str | None:
        """The CSV file, if there is one."""
        return None if self.routing in (UNIFORM, ZIPF) else self.routing

    @property
    def form(self) -> str | None:
        """How tokens go to experts; None: by the system's all-to-all."""
        return self.dispatch.form or (None if self.node_limit is None else NORMAL)

    @property
    def is_drawn(self) -> bool:
        """Whether each token's experts are drawn: it must be known which it goes to together."""
        return self.node_limit is not None or self.form == NORMAL

    @property
    def is_even(self) -> bool:
        """Whether every expert gets as many tokens, so that there is nothing to work out, and nothing to drop."""
        drops = self.capacity is not None and self.capacity < 1
        return not self.exponent and self.file is None and not drops and self.form is None
