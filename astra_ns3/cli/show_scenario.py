"""``astra-ns3 show scenario``: who is where and when what happens, as tables and as a picture."""

from __future__ import annotations

import click

from astra_ns3.cli.completion import PICTURES, files, words
from astra_ns3.cli.help import Command
from astra_ns3.cli.options import SCENARIO_ENDINGS
from astra_ns3.cli.output import folder_for, log_warnings, print_result, show_logs
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.network.backends import ABILITIES
from astra_ns3.whole_file import check_free


@click.command(
    "scenario",
    cls=Command,
    short_help="Print who is where and when what happens in a scenario; draw it.",
    examples=(
        "astra-ns3 show scenario inputs/scenarios/flaps.yaml",
        "astra-ns3 show scenario inputs/scenarios/neighbours.yaml -o pair.png --set scenario.jobs.second.start=1ms",
    ),
)
@click.argument("file", shell_complete=files(*SCENARIO_ENDINGS))
@click.option(
    "-n",
    "--network",
    metavar="FILE",
    shell_complete=files(".yaml", ".yml", ".json", ".txt"),
    default="",
    help="Network, instead of the one that FILE names.",
)
@click.option(
    "--set",
    "changes",
    metavar="KEY=VALUE",
    multiple=True,
    help="Another value, as for the command run: scenario.jobs.NAME.KEY, network.KEY and others.",
)
@click.option(
    "--backend",
    shell_complete=words(tuple(ABILITIES)),
    default="ns3",
    show_default=True,
    help="Whose run it is to be: what that knows nothing of is refused.",
)
@click.option("--seed", type=click.IntRange(1), default=1, show_default=True, help="Of what is drawn: placements.")
@click.option(
    "-o", "--output", metavar="FILE", shell_complete=files(*PICTURES), help="Draw it: a picture (.png, .svg, .pdf)."
)
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def show_scenario(
    file: str,
    network: str,
    changes: tuple[str, ...],
    backend: str,
    seed: int,
    output: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Print which NPUs the jobs of FILE have and when they start, and what happens to which part of the network.

    Draws it, if asked to: NPUs in rows by servers or racks, and below them jobs and events over time.
    """
    from astra_ns3.config.core.changing import settings_of
    from astra_ns3.experiments.scenario_request import ScenarioRequest
    from astra_ns3.experiments.scenario_view import view_scenario
    from astra_ns3.report.figures.with_matplotlib import check_target, drawn, write
    from astra_ns3.report.pictures.kind import DOUBLE_INCHES
    from astra_ns3.report.scenario_figure import scenario_figure
    from astra_ns3.report.scenario_text import scenario_text

    show_logs("warning")
    if output:
        check_target(output)
        check_free(output, overwrite=overwrite)
    settings = settings_of(changes)
    asked = ScenarioRequest(scenario=file, network=network, changes=settings, backend=backend, seed=seed)
    view = view_scenario(asked)
    log_warnings(*view.warnings)
    if output:
        with folder_for(output):
            write(drawn(scenario_figure(view.scenario), DOUBLE_INCHES, file), output)
    written = f"written to {output}" if output else ""
    print_result(view.document(), scenario_text(view.scenario), written, as_json=as_json)
