"""``astra-ns3 timeline``: a run as a trace for Perfetto's user interface."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from astra_ns3.cli.completion import results
from astra_ns3.cli.help import Command
from astra_ns3.cli.output import print_result, tell
from astra_ns3.cli.overwriting import overwrite_option
from astra_ns3.errors import ends_in
from astra_ns3.report.timeline.usual import FILE, MESSAGES
from astra_ns3.units import counted, format_bytes
from astra_ns3.whole_file import check_free


@click.command(
    "timeline",
    cls=Command,
    examples=("astra-ns3 timeline results/micro", "astra-ns3 timeline results/micro -o micro.pftrace --messages 1000"),
)
@click.argument("folder", metavar="DIR", shell_complete=results)
@click.option("-o", "--output", metavar="FILE", help=f"Where to write.  [default: DIR/{FILE}]")
@click.option(
    "--messages",
    type=click.IntRange(0),
    default=MESSAGES,
    show_default=True,
    help="At most so many messages, evenly among all.",
)
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def timeline_command(folder: str, output: str | None, messages: int, overwrite: bool, as_json: bool) -> None:
    """Write the run in DIR as a trace that Perfetto opens.

    It shows what NPUs did, messages with arrows, and links; https://ui.perfetto.dev opens it in a browser.
    """
    from astra_ns3.experiments.integrity import blaming_damage
    from astra_ns3.experiments.result import Result
    from astra_ns3.report.tables import in_words
    from astra_ns3.report.timeline.timeline import left_out, write_timeline

    with blaming_damage((folder,)):
        result = Result.load(folder)
        if output is not None:  # the file in the run's own folder is this command's
            check_free(output, overwrite=overwrite)
            ends_in("a trace for Perfetto", output, (Path(FILE).suffix,))
        made = write_timeline(result, output, messages)
        advice = left_out(result)
    written = made.written
    if not (written.slices or written.instants or written.samples):
        again = f"run again with {in_words(advice, ' or ')}" if advice else "the run has nothing to show"
        tell(f"astra-ns3: warning: the trace is empty, for nothing of it was recorded: {again}")
    print_result(
        {
            "written": str(made.path),
            "bytes": made.bytes,
            **asdict(written),
            "messages_shown": made.messages_shown,
            "messages": made.messages,
            "more_with": advice,
        },
        f"written to {made.path}: {counted(written.slices, 'slice')}, {counted(written.instants, 'instant')}, "
        f"{counted(written.samples, 'sample')} on {counted(written.tracks, 'track')}, {format_bytes(made.bytes)}",
        made.sampled and f"{made.sampled}; --messages shows more or fewer",
        f"more is shown with {in_words(advice, ', ')}" if advice else "",
        as_json=as_json,
    )
