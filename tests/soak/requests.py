"""The run that a case asks for, as a user would ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from astra_ns3.experiments.request import RunRequest
from astra_ns3.network.limits import Limits
from astra_ns3.playing.converting.conversion import Unrolling, as_graphs
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.chakra.writer import write_chakra
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload
from soak.case import Case, network_of
from soak.jobs import read_text

SYSTEM_OF_FLOWS = {
    "scheduling-policy": "LIFO",
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": ["oneRing"] for kind in ("all-reduce", "reduce-scatter", "all-gather")},
    "all-to-all-implementation": ["oneDirect"],
}
"""None of it counts for a list of flows but the endpoint delay."""
_HEADER = "source,destination,bytes,start,after"


def request_of(case: Case, folder: Path, *, share: float = 1.0) -> RunRequest:
    """A training loop, a model, or flows as a list; ``share``: of the bytes of collectives. ``folder`` has its files.

    Nothing is recorded and written, unless that is put into what is returned.
    """
    network = network_of(case, folder)
    if case.job["kind"] == "flows":
        system, options = case.job.get("system", SYSTEM_OF_FLOWS), options_of(case.job)
        workload: AnyWorkload = read_workload(write_list(case, folder))
    else:
        system, options = case.job["system"], options_of(case.job)
        workload = read_text(case.job["text"])
        if case.job.get("written"):
            dimensions: tuple[int, ...] = network.dimensions  # type: ignore[union-attr]
            workload, options = _as_traces(workload, dimensions, options, folder), {**options, "passes": 1}
    options["cores"] = case.cores
    request = RunRequest(workload=workload, system=parse_system(system), network=network, seed=case.seed, **options)
    return request if share == 1.0 else replace(request, comm_scale=share * request.scales[0])


def options_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that a job asks for."""
    options = dict(job.get("options", {}))
    return options | ({"limits": Limits(**options["limits"])} if "limits" in options else {})


def _as_traces(workload: AnyWorkload, dimensions: tuple[int, ...], options: Any, folder: Path) -> AnyWorkload:
    """The loop as Chakra's traces, written and read again."""
    return read_chakra(*write_traces(workload, dimensions, options["passes"], folder))


def write_traces(
    workload: AnyWorkload, dimensions: tuple[int, ...], passes: int, folder: Path
) -> tuple[Path, Path | None]:
    """Write a loop as Chakra's traces into ``folder``; return their prefix and the file of their groups, if any."""
    write_chakra(as_graphs(workload, Unrolling(dimensions, passes)), folder / "job")
    groups = folder / "job.groups.json"
    return folder / "job", groups if groups.exists() else None


def write_list(case: Case, folder: Path) -> Path:
    """Write the flows of a case as a list into ``folder``."""
    path = folder / "flows.csv"
    path.write_text(list_text(case.job["flows"]), encoding="utf-8")
    return path


def list_text(flows: Sequence[Sequence[Any]]) -> str:
    """Return flows as a list: (sender, receiver, bytes, start_ps), and the numbers of those that come before."""
    rows = [
        f"{sender},{receiver},{size},{start_ps}ps,{';'.join(map(str, after))}"
        for sender, receiver, size, start_ps, *after in flows
    ]
    return "\n".join([_HEADER, *rows, ""])


def is_list(text: str) -> bool:
    """Whether a text is a list of flows."""
    return text.startswith(_HEADER)
