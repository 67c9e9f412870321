"""``astra-ns3 generate workload``: what a model file, or a config.json, comes to, written as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from astra_ns3.cli.completion import files
from astra_ns3.cli.convert import MOST_PASSES, check_workload_free, sizes_of, tell_of
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import folder_for
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.errors import of_type, refuse
from astra_ns3.units import counted

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.workload.models.workload import ModelWorkload

# What models are written as, and what conversion calls it.
_MODEL_FORMATS = {"chakra": "chakra", "chakra-json": "chakra-json", "text": "astra-sim", "yaml": "model"}
_BY_ENDING = {".yaml": "yaml", ".yml": "yaml"}


@click.command(
    "workload",
    cls=Command,
    short_help="Write what a model file or a config.json comes to.",
    examples=(
        "astra-ns3 generate workload inputs/workload/models/llama-3-8b.yaml --dimensions 8x4 -o traces/llama",
        "astra-ns3 generate workload config.json -o model.yaml --set training.sequence=2048 --set parallel.tensor=8",
    ),
    groups={
        "Model": ("changes", "dimensions", "passes"),
        "Output": ("output", "written_as", "overwrite", "as_json"),
    },
)
@click.argument("model", metavar="MODEL", shell_complete=files(".yaml", ".yml", ".json"))
@click.option("-o", "--output", metavar="OUT", required=True, help="Where to write.")
@click.option(
    "--format",
    "written_as",
    type=click.Choice(tuple(_MODEL_FORMATS)),
    help="Chakra's traces (OUT.<rank>.et, or .json), ASTRA-sim's text, or a model file with all keys written out.  "
    "[default: yaml if OUT ends in .yaml or .yml, or MODEL is a config.json; else chakra]",
)
@click.option(
    "--dimensions",
    metavar="SIZES",
    help="NPUs along each dimension, such as 8 or 2x4.  [default: as few as can be, cut where their groups end]",
)
@click.option(
    "--passes",
    type=click.IntRange(1, MOST_PASSES),
    default=1,
    show_default=True,
    help="Iterations, of Chakra's traces.",
)
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Another value, such as parallel.tensor=4.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def generate_workload(
    model: str,
    output: str,
    written_as: str | None,
    dimensions: str | None,
    passes: int,
    changes: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write the training of MODEL on a number of NPUs. MODEL is a model file, or a Hugging Face config.json."""
    from astra_ns3.config.core.changing import settings_of
    from astra_ns3.config.formats.kinds import MODEL, told_apart
    from astra_ns3.playing.converting.conversion import Unrolling, convert
    from astra_ns3.workload.files.workload_formats import read_workload
    from astra_ns3.workload.models.changes import changed
    from astra_ns3.workload.models.hugging_face import read_as_model
    from astra_ns3.workload.models.workload import ModelWorkload

    read = read_as_model(model)
    with told_apart(model, MODEL):
        workload = read_workload(model) if read is None else read.workload
    workload = of_type(workload, ModelWorkload, "isn't a model file; astra-ns3 convert writes other workloads", model)
    settings = {key.removeprefix("workload."): value for key, value in settings_of(changes).items()}
    workload = changed(workload, settings)
    usual = "chakra" if read is None else "yaml"
    target = _MODEL_FORMATS[written_as or _BY_ENDING.get(Path(output).suffix.lower(), usual)]
    refuse(
        target == "model" and Path(output).suffix.lower() not in _BY_ENDING,
        f"expected a name that ends in {' or '.join(_BY_ENDING)} for a model file, or --format chakra for traces",
        output,
    )
    _check_acts(target, dimensions, passes)
    sizes = sizes_of(dimensions) or _usual_sizes(workload)
    check_workload_free(workload, target, output, overwrite=overwrite)
    with folder_for(output):
        converted = convert(workload, target, output, Unrolling(sizes, passes))
    notes: tuple[str, ...] = () if read is None else (*read.notes, *read.defaults(settings))
    if target != "model" and dimensions is None and _is_one_copy(workload):
        npus = workload.least_npus
        why = "data: auto is 1 copy without --dimensions"
        told = f"written for {counted(npus, 'NPU')} ({why}), so no copies exchange gradients"
        notes = (*notes, f"{model}: {told}; give --dimensions, such as {8 * npus}")
    tell_of(converted._replace(warnings=(*notes, *converted.warnings)), as_json=as_json)


def _check_acts(target: str, dimensions: str | None, passes: int) -> None:
    """Raise InputError for an option that changes nothing of what is written."""
    refuse(
        target == "model" and dimensions is not None,
        "--dimensions has no effect on a model file, whose NPUs are those of the network it is played on; "
        "parallel.* in --set changes its degrees",
    )
    refuse(
        target in ("model", "astra-sim") and passes != 1,
        "--passes has no effect on a file without passes; give it to astra-ns3 run, or --format chakra",
    )


def _is_one_copy(workload: ModelWorkload) -> bool:
    """Return whether as few NPUs as can be have one copy of the model, and its file doesn't say how many."""
    return workload.file.parallel.data == "auto" and workload.plan(workload.least_npus).degrees.data == 1


def _usual_sizes(workload: ModelWorkload) -> tuple[int, ...]:
    """Return as few NPUs as can be, along as many dimensions as its groups of NPUs end at."""
    from astra_ns3.playing.training.making import training_programs

    npus = workload.least_npus
    return training_programs(workload.plan(npus), workload.clock(), 1, (npus,)).grid.sizes
