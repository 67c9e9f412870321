"""The request that a command line with ``--scenario`` comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.options import check_beside_scenario, those_of, values
from astra_ns3.config.core.plain import Json
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.request import RunRequest

if TYPE_CHECKING:  # help and Tab do without what reads a scenario
    from astra_ns3.experiments.scenario_request import ScenarioRequest


def scenario_request(
    scenario: str,
    words: Mapping[str, Json],
    *,
    progress: ProgressSink | None = None,
    isolated: bool | None = None,
) -> ScenarioRequest:
    """Return what is to be run; raises InputError for an option that each job says of itself."""
    from astra_ns3.experiments.scenario_request import ScenarioRequest

    own = options_of(ScenarioRequest)
    check_beside_scenario(click.get_current_context(), own, RunRequest)
    return ScenarioRequest(
        **values(those_of(own, words), words), scenario=scenario, progress=progress, isolated=isolated
    )
