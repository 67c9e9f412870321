"""``python -m soak.flows_beside_packets``: random runs of the soak, played with packets and with flows.

Both must end and send as many messages, and flows must lie above the floor; no analytical network may lie below the
longest chain of computations, where it is the floor. Where packets lost nothing, weren't paused,
had no marks and didn't go over TCP, the two finishes must lie within a factor of each other.
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path

import click

from astra_ns3.errors import InputError
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.network.floor.floor import is_below
from soak.case import write_files
from soak.cases import random_case
from soak.requests import request_of

FACTOR = 1.5
"""Flows know neither queues nor controls; a finish further off than this is looked at."""


def compared(seed: int, folder: Path, *, share: float) -> tuple[float, list[str]] | None:
    """Return the flows' finish over the packets', and what is wrong; None if the seed's case isn't one."""
    case = random_case(seed)
    if case.job["kind"] != "workload" or ".hpp" in case.document():
        return None
    write_files(case, folder)
    request = replace(request_of(case, folder, share=share), isolated=False)
    packets, flows = (execute(replace(request, backend=backend)) for backend in ("ns3", "flow"))
    if packets.error is not None:
        return None
    if flows.error is not None:
        return 0.0, [f"flows: {flows.error}"]
    one, other = packets.result.metadata, flows.result.metadata
    ratio = other["finish_ps"] / max(one["finish_ps"], 1)
    problems = []
    if other["statistics"]["messages"] != one["statistics"]["messages"]:
        problems.append("other messages")
    floor = other.get("floor")
    if floor and is_below(floor["share"]):
        problems.append(f"below the floor: {floor['share']}")
    hindered = ("retransmissions", "dropped_frames", "lost_frames", "pauses", "marked_frames")
    over_tcp = '"kind": "tcp"' in case.document()  # whose windows flows know on idle paths only
    if not over_tcp and not any(one["statistics"].get(name) for name in hindered) and not 1 / FACTOR < ratio < FACTOR:
        problems.append(f"the finish is {ratio:.2f} of that of packets")
    return ratio, [*problems, *_below_chain(request)]


def _below_chain(request: RunRequest) -> list[str]:
    """Play the run on both analytical networks that have one like it; lines may allow less than is played there."""
    problems = []
    for backend in ("analytical", "analytical-queues"):
        try:
            floor = execute(replace(request, backend=backend)).result.metadata["floor"]
        except InputError:
            continue
        if floor and floor["kind"] == "chain" and is_below(floor["share"]):
            problems.append(f"{backend}: below the longest chain: {floor}")
    return problems


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--runs", default=100, help="How many runs.")
@click.option("--share", default=0.1, help="Of the bytes that the soak sends.")
def main(first: int, runs: int, share: float) -> None:
    """Compare random runs. Exit status 1 if one of them has anything wrong."""
    logging.disable(logging.WARNING)
    ratios: list[float] = []
    faulty = 0
    for seed in count(first):
        if len(ratios) == runs:
            break
        with tempfile.TemporaryDirectory(prefix="astra-ns3-flows-") as name:
            found = compared(seed, Path(name), share=share)
        if found is None:
            continue
        ratio, problems = found
        ratios.append(ratio)
        faulty += bool(problems)
        for problem in problems:
            click.echo(f"seed {seed}: FAULT {problem}")
    ratios.sort()
    middle = ratios[len(ratios) // 2]
    click.echo(f"{runs} runs, {faulty} with faults")
    click.echo(f"finish of flows over that of packets: {ratios[0]:.2f} to {ratios[-1]:.2f}, median {middle:.2f}")
    raise SystemExit(bool(faulty))


if __name__ == "__main__":
    main()
