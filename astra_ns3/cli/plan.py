"""``astra-ns3 plan``: the best degrees of parallelism for a model on a network."""

from __future__ import annotations

import sys

import click

from astra_ns3.cli.completion import files, folders
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import print_result, show_logs
from astra_ns3.cli.signals import run_is_over
from astra_ns3.cli.study_progress import StudyLine
from astra_ns3.config.core.changing import settings_of
from astra_ns3.errors import refuse
from astra_ns3.planning.plan import make_plan
from astra_ns3.planning.request import USUAL_CPU_SECONDS, PlanRequest
from astra_ns3.planning.result import document
from astra_ns3.planning.saving import save_plan
from astra_ns3.planning.text import plan_text
from astra_ns3.planning.varying.result import document as varied_document
from astra_ns3.planning.varying.saving import save_varied
from astra_ns3.planning.varying.text import varied_text
from astra_ns3.planning.varying.varying import varied_keys, vary
from astra_ns3.units import PS_PER_SECOND, parse_time_ps

_TEXTS = (".yaml", ".yml", ".json", ".txt")


@click.command(
    "plan",
    cls=Command,
    examples=(
        "astra-ns3 plan inputs/workload/models/llama-3-70b.yaml -n inputs/network/roce-nvswitch-clos-512.yaml",
        "astra-ns3 plan model.yaml -n network.yaml --vary network.topology.link.rate=100Gbps,200Gbps,400Gbps",
    ),
    groups={
        "What is planned": ("network", "system", "samples", "held", "changes"),
        "Several clusters": ("varied", "bounds_only"),
        "How far": ("cpu_time", "jobs"),
        "Output": ("output", "as_json", "quiet"),
    },
)
@click.argument("model", metavar="MODEL", shell_complete=files(".yaml", ".yml", ".json"))
@click.option("-n", "--network", required=True, metavar="FILE", shell_complete=files(*_TEXTS), help="Network.")
@click.option(
    "-s", "--system", metavar="FILE", shell_complete=files(*_TEXTS), help="System.  [default: rings in each dimension]"
)
@click.option(
    "--samples", type=click.IntRange(min=1), metavar="N", help="Samples an iteration.  [default: the model file's]"
)
@click.option(
    "--hold",
    "held",
    multiple=True,
    metavar="KEY=VALUE",
    help="A key of the model that isn't chosen, as parallel.zero=1; may be repeated.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another value of a key, as workload.training.global_batch; may be repeated.",
)
@click.option(
    "--vary",
    "varied",
    multiple=True,
    metavar="KEY=VALUE,VALUE",
    help="A plan for each value of a key, as network.topology.nodes; may be repeated once.",
)
@click.option("--bounds-only", is_flag=True, help="With --vary: play nothing, and tell the least bounds.")
@click.option(
    "--cpu-time",
    default=f"{USUAL_CPU_SECONDS:.0f}s",
    show_default=True,
    metavar="TIME",
    help="CPU time for playing each plan; none: until no plan can be faster.",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at once.  [default: one a core]")
@click.option(
    "-o", "--output", metavar="DIR", shell_complete=folders, help="Folder.  [default: results/plan-MODEL-NETWORK]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.option("--quiet", is_flag=True, help="No progress line.")
def plan_command(
    model: str,
    network: str,
    system: str | None,
    samples: int | None,
    held: tuple[str, ...],
    changes: tuple[str, ...],
    varied: tuple[str, ...],
    bounds_only: bool,
    cpu_time: str,
    jobs: int | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Find the best way to cut a model over the NPUs of a network.

    Bounds rule out most degrees; the rest is played on the flow-level network, the least bound first. What the folder
    has isn't played again.
    """
    show_logs("error")
    limit = None if cpu_time == "none" else parse_time_ps(cpu_time) / PS_PER_SECOND
    request = PlanRequest(model, network, system, output, settings_of(changes), samples, settings_of(held), limit, jobs)
    refuse(bounds_only and not varied, "--bounds-only goes with --vary")

    def line() -> StudyLine | None:
        return None if quiet else StudyLine(sys.stderr, live=sys.stderr.isatty())

    if varied:
        points = vary(request, varied_keys(varied), line, play=not bounds_only)
        run_is_over()
        save_varied(points)
        print_result(varied_document(points), varied_text(points), as_json=as_json)
        return 0
    plan = make_plan(request, line())
    run_is_over()
    save_plan(plan)
    print_result(document(plan), plan_text(plan), as_json=as_json)
    return 0
