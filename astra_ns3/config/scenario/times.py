"""Keys of a job that say from when to when it plays: a time, another job's end or passes, for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from annotated_types import Ge, Le, MinLen
from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, WithJsonSchema

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.core.model import ConfigModel, Count, PositiveTimePs, TimePs, as_value_error, shown
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import nearest, wrong

_FOREVER = "forever"
MOST_RESTARTS = 64
"""Each try of a job has a player of its own, made before the run."""


class AfterConfig(ConfigModel):
    """A start that follows another job: its end, or the end of so many of its passes."""

    after: Annotated[str, MinLen(1)]
    """The job whose end, or passes, are waited for."""
    passes: Count | None = None
    """Passes of that job that have to be done. Absent: all of them."""
    delay_ps: TimePs = Field(alias="delay", default=0)
    """Time between that and the start."""


class RestartConfig(ConfigModel):
    """A job that begins again when its transport has given up, or a device of it has died.

    It begins after its last checkpoint that was stored as a whole, or with its first pass.
    """

    after_ps: TimePs = Field(alias="after")
    """Time between the failure and the next try."""
    at_most: Annotated[Count, Le(MOST_RESTARTS)] = Field(alias="at-most")
    """How often it may begin again."""
    fails: tuple[PositiveTimePs, ...] = ()
    """Times of the run at which a device of the job dies, and with it what the job plays then. Absent: only its
    transport ends a try."""


def _form(value: Json | AfterConfig) -> str:
    return "follows" if isinstance(value, (Mapping, AfterConfig)) else "time"


StartTime = Annotated[Annotated[TimePs, Tag("time")] | Annotated[AfterConfig, Tag("follows")], Discriminator(_form)]
"""A time of the run, or what is waited for."""


def _passes(value: Json) -> Json:
    """A number, or ``forever``."""
    if isinstance(value, str):
        if value != _FOREVER:
            raise wrong(f"found {shown(value)}, expected a number of passes, or {_FOREVER}{nearest(value, [_FOREVER])}")
        return FOREVER
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(f"found {shown(value)}, expected a number of passes, or {_FOREVER}")
    return value


Passes = Annotated[
    int,
    Ge(1),
    BeforeValidator(as_value_error(_passes)),
    PlainSerializer(lambda passes: _FOREVER if passes == FOREVER else passes, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": _FOREVER}]}),
]
