"""Keys of a scenario that say how a network finds out that a link is down, and what it does then.

The policies themselves stand in :mod:`astra_ns3.scenario.recovery`, a file each.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from astra_ns3.config.core.model import (
    FOLDER,
    ConfigModel,
    Count,
    OrName,
    PositiveTimePs,
    TimePs,
    checked,
    kind_of,
    refuse_key,
    shown,
)
from astra_ns3.config.core.plain import Json
from astra_ns3.config.scenario.keys import Seed
from astra_ns3.config.topology.own import plain_values
from astra_ns3.errors import InputError, required
from astra_ns3.units import exact_time
from astra_ns3.user_code import FORM, UserPart, check_user_file, user_part

Plain = bool | int | float | str
OWN = FORM
"""How messages call a policy of the user's own."""


def _own_kind(value: str, info: ValidationInfo) -> str:
    """A path begins at the file's folder."""
    try:
        part = required(user_part(value), f"found {shown(value)}, expected {FORM}")
        file = os.path.normpath(Path((info.context or {}).get(FOLDER, "")) / part.file)
        check_user_file(Path(file), "policy")
    except InputError as error:
        raise ValueError(str(error)) from error
    return f"{file}:{part.name}"


class OwnPolicy(ConfigModel):
    """A function of the user's, which is called with a turn of a link and the parameters."""

    kind: Annotated[
        str,
        AfterValidator(_own_kind),
        WithJsonSchema({"type": "string", "pattern": r"\.py:[A-Za-z_]\w*$", "examples": [FORM]}),
    ]
    """`FILE.py:name`, a function that answers. The path begins at the scenario's folder."""
    parameters: Annotated[dict[str, Plain | tuple[Plain, ...]], BeforeValidator(plain_values)] = Field(
        default_factory=dict
    )
    """Arguments by name; quantities become bits per second, picoseconds or bytes."""

    @property
    def part(self) -> UserPart:
        """The function."""
        part = user_part(self.kind)
        assert part is not None
        return part


class LossOfSignal(ConfigModel):
    """Both ends notice at once, as hardware sees the light go."""

    kind: Literal["loss-of-signal"] = "loss-of-signal"


class Hello(ConfigModel):
    """Both ends say hello every so often, and a link is down once so many hellos in a row have not come."""

    kind: Literal["hello"]
    interval_ps: PositiveTimePs = Field(alias="interval")
    """Time between two hellos."""
    multiplier: Count = 3
    """Hellos that have to be missing."""
    seed: Seed | None = None
    """The seed that draws when within the interval each link says hello. Absent: made of the run's seed."""


class AtOnce(ConfigModel):
    """All nodes have new routes at the moment in which the ends of a link notice."""

    kind: Literal["at-once"] = "at-once"


class Converge(ConfigModel):
    """All nodes have new routes some time after the ends of a link noticed."""

    kind: Literal["converge"]
    after_ps: TimePs = Field(alias="after")
    """Time from when a failure is noticed until all routes have followed."""
    local_repair_ps: TimePs | None = Field(alias="local-repair", default=None)
    """Time from when the ends notice until they leave the link out where they have equal ports. Absent: with all
    others."""

    @model_validator(mode="after")
    @checked
    def _repairs_first(self) -> None:
        local_ps = self.local_repair_ps
        words = f"found {exact_time(local_ps or 0)}, expected at most after, which is {exact_time(self.after_ps)}"
        refuse_key(local_ps is not None and local_ps > self.after_ps, "local-repair", words)


def _kind(value: Json | ConfigModel) -> str | None:
    kind = kind_of(value)
    return OWN if kind is not None and ".py:" in kind else kind


Detection = Annotated[
    Annotated[LossOfSignal, Tag("loss-of-signal")] | Annotated[Hello, Tag("hello")] | Annotated[OwnPolicy, Tag(OWN)],
    Discriminator(_kind),
    OrName(),
]
Routes = Annotated[
    Annotated[AtOnce, Tag("at-once")] | Annotated[Converge, Tag("converge")] | Annotated[OwnPolicy, Tag(OWN)],
    Discriminator(_kind),
    OrName(),
]


class RecoveryConfig(ConfigModel):
    """How a network comes to know of links that go down or come up."""

    detection: Detection = LossOfSignal()
    """When the ends of a link notice; until then it loses what it is sent."""
    routes: Routes = AtOnce()
    """When routes follow; until then whatever leads over the link is dropped."""
