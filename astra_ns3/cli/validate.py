"""``astra-ns3 validate``: reads and builds everything, runs nothing."""

from __future__ import annotations

from collections.abc import Mapping

import click

from astra_ns3.cli.help import Command
from astra_ns3.cli.of_scenario import scenario_request
from astra_ns3.cli.options import OF_THE_NETWORK, files_of, groups_of, input_parameters, values, without_effect
from astra_ns3.cli.output import log_warnings, print_result, show_logs
from astra_ns3.config.core.plain import Json
from astra_ns3.experiments.garbage import no_search
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest

_FILES = "-w inputs/workload/resnet-50.txt -s inputs/system/flat.txt -n inputs/network/fat-tree-16.yaml"
_PARAMETERS = input_parameters(RunRequest)


@click.command(
    "validate",
    cls=Command,
    params=_PARAMETERS,
    groups=groups_of(_PARAMETERS, RunRequest),
    others={
        **dict.fromkeys(("--record", "--output", "-o", "--overwrite"), "nothing is written; leave it out"),
        **OF_THE_NETWORK,
    },
    examples=(
        f"astra-ns3 validate {_FILES}",
        f"astra-ns3 validate {_FILES} --passes 100 --set network.topology.link.rate=400Gbps --json",
    ),
)
def validate_command(as_json: bool, log_level: str, scenario: str | None, **words: Json) -> None:
    """Check the three files and say how large their run would be.

    Builds the network, the training loop and every collective, then prints the messages, the packets and the estimated
    time and memory. Runs nothing and writes nothing.
    """
    show_logs(log_level)
    if scenario is not None:
        _validate_scenario(scenario, words, as_json)
        return
    with no_search():
        from astra_ns3.experiments.validate import validate
        from astra_ns3.report.validation import validation_text

    files = values(files_of(RunRequest), words)
    validation = validate(**files, options=Options(**values(options_of(Options), words)))
    document = validation.document()
    log_warnings(*without_effect(words), *validation.warnings)
    print_result(document, validation_text(document), as_json=as_json)


def _validate_scenario(scenario: str, words: Mapping[str, Json], as_json: bool) -> None:
    from astra_ns3.experiments.scenario_view import view_scenario
    from astra_ns3.report.scenario_text import scenario_validation_text

    view = view_scenario(scenario_request(scenario, words))
    document = view.document()
    log_warnings(*without_effect(words), *view.warnings)
    print_result(document, scenario_validation_text(view.scenario, view.forecast.document()), as_json=as_json)
