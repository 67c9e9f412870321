"""A file of a plan: a model, a network, and options of ``astra-ns3 plan``, so that others can make the same plan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from annotated_types import Ge
from pydantic import Field, JsonValue

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel, OnOff, PositiveTimePs, validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.frozen import dataclass

_SIGNS = {"model", "network"}


class PlayConfig(ConfigModel):
    """How far a plan goes. Each key is the option of the same name."""

    bounds_only: OnOff = False
    """Whether nothing is played; with `vary`."""
    cpu_time_ps: PositiveTimePs | None = Field(alias="cpu_time", default=None)
    """CPU time for playing each plan as flows. Absent: as the option has it."""
    packets: Annotated[int, Ge(0)] | None = None
    """How many of the best are played on packets. Absent: as the option has it."""
    packets_cpu_time_ps: PositiveTimePs | None = Field(alias="packets_cpu_time", default=None)
    """CPU time that a run on packets may be forecast to take. Absent: as the option has it."""


class PlanConfig(ConfigModel):
    """A plan, or one for each value of some keys. Paths begin at the file's folder."""

    model: str
    """The model file."""
    network: str
    """The network file."""
    system: str | None = None
    """The system file. Absent: rings in each dimension, one chunk, all-reduces by `localBWAware`."""
    samples: Annotated[int, Ge(1)] | None = None
    """Samples an iteration. Absent: as the model file has them."""
    hold: dict[str, JsonValue] = Field(default_factory=dict)
    """Keys of the model that aren't chosen, and their values."""
    set: dict[str, JsonValue] = Field(default_factory=dict)
    """Other values of options and of keys of files, as a study names them."""
    vary: dict[str, list[JsonValue]] = Field(default_factory=dict)
    """One or two keys and their values: a plan for each value."""
    play: PlayConfig = Field(default_factory=PlayConfig)
    """How far the plan goes."""


@dataclass(frozen=True)
class PlanFile:
    """A file of a plan as it was read: what it says, and where each key stands."""

    config: PlanConfig
    document: Document


def read_plan_file(path: str | os.PathLike[str]) -> PlanFile | None:
    """Read a file of a plan; None if the file is another one, such as a model file or a workload's text.

    Raises InputError with file, line and key.
    """
    if Path(path).suffix.lower() not in (".yaml", ".yml", ".json"):
        return None
    document = parse_yaml(read_text(path), os.fspath(path))
    if not isinstance(document.data, dict) or not document.data.keys() >= _SIGNS or "kind" in document.data:
        return None
    return PlanFile(validated(PlanConfig, document), document)
