"""``astra-ns3 show workload``: what a workload amounts to, and a picture of its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import PICTURES, files
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import log_warnings, print_result, show_logs
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.errors import refuse
from astra_ns3.units import counted, format_bytes, format_time
from astra_ns3.whole_file import check_free

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.config.flow_list import FlowList
    from astra_ns3.workload.models.workload import ModelWorkload

_DEFAULT_NPUS = 8


@click.command(
    "workload",
    cls=Command,
    short_help="Print what a workload amounts to.",
    examples=(
        "astra-ns3 show workload inputs/workload/models/llama-3-8b.yaml --dimensions 8x4",
        "astra-ns3 show workload inputs/workload/resnet-50.txt -o levels.png --set layers.0.forward.compute_ns=2ms",
    ),
)
@click.argument("file", shell_complete=files())
@click.option(
    "--dimensions",
    metavar="SIZES",
    help="Of a training loop or model: NPUs along each, such as 2x4.  [default: as many as it says or needs, or 8]",
)
@click.option(
    "--groups", metavar="FILE", shell_complete=files(".json"), help="Communicators of a Chakra trace, ASTRA-sim's JSON."
)
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Another value, as for the command run.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=files(*PICTURES),
    help="Draw the graph's levels: a picture (.png, .svg, .pdf).",
)
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def show_workload(
    file: str,
    dimensions: str | None,
    groups: str | None,
    changes: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Print what the workload FILE amounts to: nodes, bytes of each collective, computation, longest chain, memory.

    A training loop is shown as the graph of one of its passes, a model by its parameters and what an iteration takes.
    A prefix or folder of Chakra's traces is one workload.
    """
    from astra_ns3.cli.convert import read, sizes_of
    from astra_ns3.config.core.changing import settings_of
    from astra_ns3.config.flow_list import FlowList
    from astra_ns3.config.workload import Workload
    from astra_ns3.experiments.changes.setting import changed_workload
    from astra_ns3.playing.converting.conversion import Unrolling, as_graphs
    from astra_ns3.report.workload.figure import draw_levels
    from astra_ns3.report.workload.text import overview_document, overview_text
    from astra_ns3.workload.graphs.overview import overview
    from astra_ns3.workload.models.workload import ModelWorkload

    show_logs("warning")
    if output:
        check_free(output, overwrite=overwrite)
    workload = changed_workload(read(file, groups), file, settings_of(changes))
    if isinstance(workload, FlowList):
        _show_flows(workload, output, as_json=as_json)
        return
    if isinstance(workload, ModelWorkload):
        _show_model(workload, sizes_of(dimensions) or (workload.least_npus,), output, as_json=as_json)
        return
    usual = (workload.npus or _DEFAULT_NPUS,) if isinstance(workload, Workload) else None
    sizes = sizes_of(dimensions) or usual
    graphs = as_graphs(workload, Unrolling(sizes))
    found = overview(graphs)
    document = {**overview_document(graphs, found), "warnings": list(graphs.warnings)}
    log_warnings(*graphs.warnings)
    if output:
        draw_levels(found, output, f"{document['source']}, {counted(document['npus'], 'NPU')}")
        document["written"] = output
    print_result(document, overview_text(document, found), _written(output), as_json=as_json)


def _show_model(workload: ModelWorkload, dimensions: tuple[int, ...], output: str | None, *, as_json: bool) -> None:
    """A model's numbers; its graph is drawn if asked for, and not told in numbers."""
    from astra_ns3.experiments.forecasting.foreseen import Foreseen, foreseen_document
    from astra_ns3.playing.converting.conversion import Unrolling, as_graphs
    from astra_ns3.playing.training.model_summary import summary_of
    from astra_ns3.report.foreseen_text import foreseen_rows, stage_rows
    from astra_ns3.report.workload.figure import draw_levels
    from astra_ns3.report.workload.model import model_document, model_text
    from astra_ns3.workload.experts.skew import expert_skew
    from astra_ns3.workload.graphs.overview import overview
    from astra_ns3.workload.memory.peaks import memory_of, memory_warnings

    found = summary_of(workload, dimensions)
    plan = found.plan
    foreseen = foreseen_document(Foreseen(memory_of(plan), plan.memory_bytes, expert_skew(plan)))
    document = {**model_document(found), **foreseen}
    warnings = [*workload.warnings(plan.degrees.npus + plan.servers), *memory_warnings(plan)]
    if output:
        graphs = as_graphs(workload, Unrolling(dimensions))
        warnings = list(dict.fromkeys((*warnings, *graphs.warnings)))
        draw_levels(overview(graphs), output, f"{document['source']}, {counted(document['npus'], 'NPU')}")
        document["written"] = output
    log_warnings(*warnings)
    told = [f"{name:<17} {words}" for name, words in foreseen_rows(foreseen)]
    stages = stage_rows(foreseen)
    for stage, peak, when, most in stages if len(stages) > 1 else ():
        told.append(f"  {stage:<15} {', '.join(filter(None, (peak, when)))}" + (f": {most}" if most else ""))
    print_result({**document, "warnings": warnings}, model_text(document), *told, _written(output), as_json=as_json)


def _written(output: str | None) -> str:
    return f"written to {output}" if output else ""


def _show_flows(flows: FlowList, output: str | None, *, as_json: bool) -> None:
    """A list of flows has neither nodes nor levels."""
    from astra_ns3.experiments.jobs.flows import FlowsJob

    refuse(bool(output), "is a list of flows, which has no graph to draw; leave out --output", flows.source)
    document = FlowsJob(flows).document()
    first, last = (format_time(int(time_ps)) for time_ps in (flows.starts_ps.min(), flows.starts_ps.max()))
    smallest, largest = (format_bytes(int(size)) for size in (flows.sizes_bytes.min(), flows.sizes_bytes.max()))
    print_result(
        {**document, "warnings": list(flows.warnings)},
        f"workload  {document['source']}, {document['loop']}\n"
        f"flows     {document['flows']:,}, {document['waiting_for_others']:,} of them after others\n"
        f"bytes     {format_bytes(int(flows.sizes_bytes.sum()))}, {smallest} to {largest} each\n"
        f"starts    {first} to {last}",
        as_json=as_json,
    )
