"""``astra-ns3 show network``: numbers, a picture, and the same network in other formats."""

from __future__ import annotations

from contextlib import ExitStack

import click

from astra_ns3.cli.completion import PICTURES, files
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import log_warnings, print_result, show_logs
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.whole_file import check_free, whole_file

ENDINGS = (".yaml", ".yml", ".json", ".txt")


@click.command(
    "network",
    cls=Command,
    short_help="Print what a network amounts to; draw it, or convert it.",
    examples=(
        "astra-ns3 show network inputs/network/leaf-spine-32.yaml --set topology.spines=4",
        "astra-ns3 show network inputs/network/hier.yaml -o hier.svg --export hier.graphml",
    ),
)
@click.argument("file", shell_complete=files(*ENDINGS))
@click.option(
    "-o", "--output", metavar="FILE", shell_complete=files(*PICTURES), help="Draw it: a picture (.png, .svg, .pdf)."
)
@click.option("--export", "target", metavar="FILE", help="Write it: .graphml, .json (node-link), .txt (HPCC), .yaml.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Another value, as for the command run.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def show_network(
    file: str, output: str | None, target: str | None, changes: tuple[str, ...], overwrite: bool, as_json: bool
) -> None:
    """Print what the network of FILE amounts to: counts, diameter, bisection bandwidth, base round trip.

    Draws it, or writes it in another program's format, if asked to. .yaml is ASTRA-sim 2's analytical network.
    """
    from astra_ns3.config.core.changing import settings_of
    from astra_ns3.experiments.network_summary import load_network, network_summary
    from astra_ns3.report.network.figure import draw_network
    from astra_ns3.report.network.text import network_text
    from astra_ns3.topology.checks import check_topology
    from astra_ns3.topology.files.writing import export_text

    show_logs("warning")
    written = [path for path in (output, target) if path]
    for path in written:
        check_free(path, overwrite=overwrite)
    network = load_network(file, settings_of(changes))
    plan = network.plan
    routing, sizes = plan.config.topology.routing, plan.outermost.wire_sizes
    tables, evenly = None if routing.weighted else plan.tables, routing.shares_evenly
    warnings = check_topology(plan.graph, *sizes, shares_evenly=evenly, tables=tables, slowest=plan.slowest)
    document = {**network_summary(network), "warnings": warnings}
    log_warnings(*warnings)
    with ExitStack() as files:  # if one of them can't be written, neither is
        if target:
            text = export_text(plan.graph, plan.config.topology, target)
            files.enter_context(whole_file(target)).write_text(text, encoding="utf-8")
        if output:
            draw_network(plan.graph, output, f"{document['kind']}, {document['npus']} NPUs")
    document |= {name: path for name, path in (("written", output), ("exported", target)) if path}
    print_result(document, network_text(document), *(f"written to {path}" for path in written), as_json=as_json)
