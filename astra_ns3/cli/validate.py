"""``astra-ns3 validate``: reads and builds everything, runs nothing."""

from __future__ import annotations

from typing import Any

import click

from astra_ns3.cli.options import input_options
from astra_ns3.cli.output import log_warning, print_json, show, show_logs
from astra_ns3.experiments.inputs import Options
from astra_ns3.experiments.scaling import joint_scales
from astra_ns3.experiments.validate import validate
from astra_ns3.report.validation import validation_text


@click.command("validate")
@input_options
def validate_command(
    workload: str,
    system: str,
    network: str,
    passes: int,
    scale: float,
    comm_scale: float,
    compute_scale: float,
    as_json: bool,
    log_level: str,
    **options: Any,
) -> int:
    """Check the three files and say how large their run would be.

    Builds the network, the training loop and every collective, then prints the messages, the packets and the estimated
    time and memory. Runs nothing and writes nothing.
    """
    show_logs(log_level)
    comm_scale, compute_scale = joint_scales(scale, comm_scale, compute_scale)
    validation = validate(
        workload,
        system,
        network,
        passes=passes,
        comm_scale=comm_scale,
        compute_scale=compute_scale,
        options=Options(**options),
    )
    document = validation.document()
    for warning in validation.warnings:
        log_warning(warning)
    if as_json:
        print_json({**document, "exit_status": 0})
    else:
        show(validation_text(document))
    return 0
