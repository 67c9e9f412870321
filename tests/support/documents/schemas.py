"""JSON schemas of the files that users write, as pydantic makes them from the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field, RootModel
from pydantic.json_schema import JsonSchemaValue

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.plan_file import PlanConfig
from astra_ns3.config.prices import PricesConfig
from astra_ns3.config.scenario.file import ScenarioConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.studies.file import StudyConfig

FILES: Mapping[str, type[BaseModel]] = {
    "network": NetworkConfig,
    "system": SystemConfig,
    "model": RootModel[Annotated[ModelFile, Field(discriminator="kind")]],
    "scenario": ScenarioConfig,
    "study": StudyConfig,
    "slowdown": ComputeSlowdown,
    "plan": PlanConfig,
    "prices": PricesConfig,
}


def schema_of(file: str) -> JsonSchemaValue:
    """Return the schema of a kind of file."""
    return FILES[file].model_json_schema(by_alias=True)
