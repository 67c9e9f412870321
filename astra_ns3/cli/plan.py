"""``astra-ns3 plan``: the best degrees of parallelism for a model on a network."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from astra_ns3.cli.completion import files, folders
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import print_result, show_logs, tell
from astra_ns3.cli.planning import TEXTS, changes_option, json_option, quiet_option, seconds_of, system_option
from astra_ns3.cli.signals import run_is_over
from astra_ns3.cli.study_progress import StudyLine
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import replace
from astra_ns3.planning.usual_limits import USUAL_CPU_SECONDS, USUAL_PACKET_SECONDS, USUAL_PACKETS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from astra_ns3.planning.plan_files import Asked

Value = TypeVar("Value")


class _Options(TypedDict):
    """Values of the options; None: not given."""

    network: str | None
    system: str | None
    samples: int | None
    held: tuple[str, ...]
    changes: tuple[str, ...]
    varied: tuple[str, ...]
    bounds_only: bool
    cpu_time: str | None
    packets: int | None
    packets_cpu_time: str | None
    jobs: int | None
    output: str | None


@click.command(
    "plan",
    cls=Command,
    examples=(
        "astra-ns3 plan inputs/workload/models/llama-3-70b.yaml -n inputs/network/roce-nvswitch-clos-512.yaml",
        "astra-ns3 plan inputs/studies/comet.yaml",
    ),
    groups={
        "What is planned": ("network", "system", "samples", "held", "changes"),
        "Several clusters": ("varied", "bounds_only"),
        "How far": ("cpu_time", "packets", "packets_cpu_time", "jobs"),
        "Output": ("output", "as_json", "quiet"),
    },
    others={"--overwrite": "a plan replaces the tables of an earlier one, whose runs stay; leave it out"},
)
@click.argument("file", metavar="MODEL", shell_complete=files(".yaml", ".yml", ".json"))
@click.option("-n", "--network", metavar="FILE", shell_complete=files(*TEXTS), help="Network.")
@system_option
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
@changes_option
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
    metavar="TIME",
    help=f"CPU time for playing each plan as flows; none: until no plan can be faster.  "
    f"[default: {USUAL_CPU_SECONDS:.0f}s]",
)
@click.option(
    "--packets",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"How many of the best are played on packets, too.  [default: {USUAL_PACKETS}, with --vary 0]",
)
@click.option(
    "--packets-cpu-time",
    metavar="TIME",
    help="CPU time that a run on packets may be forecast to take; what takes more is played smaller. none: no limit.  "
    f"[default: {USUAL_PACKET_SECONDS:.0f}s]",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at once.  [default: one a core]")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    shell_complete=folders,
    help="Folder. A plan with --vary and one without replace each other's tables.  [default: "
    "results/plan-MODEL-NETWORK]",
)
@json_option
@quiet_option
def plan_command(file: str, as_json: bool, quiet: bool, **options: Unpack[_Options]) -> int:
    """Find the best way to cut a model over the NPUs of a network.

    Bounds rule out most degrees; the rest is played on the flow-level network, the least bound first, and the best on
    packets. What the folder has isn't played again. MODEL may be a file of a plan, which names model, network and
    options.
    """
    from astra_ns3.planning.plan import make_plan
    from astra_ns3.planning.result import document
    from astra_ns3.planning.saving import save_plan
    from astra_ns3.planning.text import plan_text
    from astra_ns3.planning.varying.result import document as varied_document
    from astra_ns3.planning.varying.saving import save_varied
    from astra_ns3.planning.varying.text import varied_text
    from astra_ns3.planning.varying.varying import vary

    show_logs("error")
    asked = _asked(file, options)
    refuse(not asked.play and not asked.varied, "--bounds-only goes with --vary")

    def line() -> StudyLine | None:
        return None if quiet else StudyLine(sys.stderr, live=sys.stderr.isatty())

    def warn(words: str) -> None:
        tell(f"astra-ns3: warning: {words}")

    if asked.varied:
        points = vary(asked.request, asked.varied, line, play=asked.play)
        run_is_over()
        save_varied(points)
        for words in dict.fromkeys(point.few_copies for point in points.points if point.few_copies):
            warn(words)
        print_result(varied_document(points), varied_text(points), as_json=as_json)
        return 0
    plan = make_plan(asked.request, line(), None, warn)
    run_is_over()
    save_plan(plan)
    print_result(document(plan), plan_text(plan), as_json=as_json)
    return 0


def _asked(file: str, options: _Options) -> Asked:
    """Return what the file asks for, and what options say instead."""
    from astra_ns3.config.core.changing import settings_of
    from astra_ns3.config.formats.kinds import MODEL, told_apart
    from astra_ns3.config.plan_file import read_plan_file
    from astra_ns3.planning.plan_files import Asked, asked_by
    from astra_ns3.planning.request import PlanRequest
    from astra_ns3.planning.varying.varying import varied_keys

    plan_file = read_plan_file(file)
    if plan_file is None:
        with told_apart(file, MODEL):
            if options["network"] is None:
                raise wrong("no network is named, expected -n FILE, or a file of a plan that names both files", file)
        asked = Asked(PlanRequest(file, options["network"]))
    else:
        asked = asked_by(plan_file)
    request = asked.request
    changed, held = settings_of(options["changes"]), settings_of(options["held"], "--hold")
    varied = varied_keys(options["varied"]) or asked.varied
    play = asked.play and not options["bounds_only"]
    request = replace(
        request,
        network=_given(options["network"], request.network),
        system=_given(options["system"], request.system),
        output=_given(options["output"], request.output),
        changes={**request.changes, **changed},
        samples=_given(options["samples"], request.samples),
        held={**request.held, **held},
        places={**request.places, **dict.fromkeys(changed, "--set"), **dict.fromkeys(held, "--hold")},
        cpu_seconds=_seconds(options["cpu_time"], request.cpu_seconds),
        packets=_given(options["packets"], request.packets),
        packet_seconds=_seconds(options["packets_cpu_time"], request.packet_seconds),
        jobs=_given(options["jobs"], request.jobs),
    )
    return Asked(request, varied, play)


def _given(value: Value | None, other: Value) -> Value:
    return other if value is None else value


def _seconds(words: str | None, other: float | None) -> float | None:
    return other if words is None else seconds_of(words)
