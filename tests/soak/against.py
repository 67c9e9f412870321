"""Whether another tree of the program writes the same files, for rebuilds that are to change nothing.

``python -m soak.against TREE`` asks for random runs by files and a command, in that tree and in this one. Each has its
native library. Tables are compared by the values of each column, run.json by key, other files byte for byte. Files,
columns and keys that only this tree has are new and don't count. Neither does what ``--but`` names because the
changelog does.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from shutil import copy
from typing import Any

import click
from pyarrow import parquet

from astra_ns3.experiments.metadata import VARYING_KEYS
from soak import models
from soak.case import CONFIG_FILE, REPOSITORY, Case, network_document, network_of, write_files
from soak.cases import random_case
from soak.draw import Draw
from soak.jobs import read_text
from soak.requests import SYSTEM_OF_FLOWS, write_list, write_traces
from soak.transports import draw_tcp

WAYS = ("analytical", "analytical-queues", "tcp", "drawn")
"""The backends without packets, packets over TCP, and packets over what the case draws, mostly RoCE."""
SHARE = 0.1
"""Of the soak's bytes."""
SECONDS = 120.0
VARIES = (*VARYING_KEYS, "digests")
"""Keys of run.json that aren't compared; digests are of files that are."""


def drawn(first: int) -> Iterator[tuple[int, Case]]:
    """The soak's cases that a command asks for, without those that need a C++ compiler; their seeds."""
    for seed in count(first):
        case = replace(random_case(seed), cores=1)
        if case.job["kind"] != "collective" and ".hpp" not in case.document():
            yield seed, case


def over_tcp(case: Case, seed: int) -> Case:
    """The case with TCP instead of its transports, if it has a network of our own format."""
    if not case.network:
        return case
    network = {key: value for key, value in case.network.items() if key not in ("transport", "transports", "observe")}
    return replace(case, network=network | {"transport": draw_tcp(Draw(f"tcp {seed}"))})


def command_of(case: Case, backend: str, folder: Path) -> list[str]:
    """Write the files of a case into ``folder``, and return the arguments of ``run``."""
    write_files(case, folder)
    network = (
        _document(folder / "network.yaml", network_document(case, folder)) if case.network else folder / CONFIG_FILE
    )
    words: list[object] = ["-n", network, "--backend", backend, "--seed", case.seed, "--comm-scale", SHARE]
    if case.job["kind"] == "flows":
        return _words(*words, "-s", _document(folder / "system.yaml", SYSTEM_OF_FLOWS), "-w", write_list(case, folder))
    options, text = case.job["options"], case.job["text"]
    words[-1] = SHARE * options["comm_scale"]
    words += ["-s", _document(folder / "system.yaml", case.job["system"]), "--compat", options["compat"]]
    if case.job.get("written"):
        dimensions = network_of(case, folder).dimensions  # type: ignore[union-attr]
        prefix, groups = write_traces(read_text(text), dimensions, options["passes"], folder)
        return _words(*words, "-w", prefix, *([] if groups is None else ["--groups", groups]))
    workload = folder / ("workload.yaml" if text.startswith(models.WORD) else "workload.txt")
    workload.write_text(text, encoding="utf-8")
    for table in (REPOSITORY / "inputs" / "workload" / "models").glob("*.csv"):
        copy(table, folder)
    return _words(*words, "-w", workload, "--passes", options["passes"])


def _words(*words: object) -> list[str]:
    return [str(word) for word in words]


def _document(path: Path, data: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")  # which is YAML, too
    return path


def played(tree: Path, command: Sequence[str], folder: Path, output: str) -> str:
    """Play a run by a tree's own program; return what it complained of, nothing if the run came to its end."""
    surroundings = {**os.environ, "PYTHONPATH": str(tree)}
    program = [sys.executable, "-m", "astra_ns3", "run", *command, "--record", "all", "--quiet"]
    done = subprocess.run(
        [*program, "--run-name", "soak", "-o", output],
        cwd=folder, env=surroundings, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    return "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr.strip()}"


def contents(folder: Path) -> dict[str, Any]:
    """Return tables by column, run.json by key without what differs between two equal runs, other files as bytes."""
    found: dict[str, Any] = {}
    for file in folder.iterdir():
        if file.name == "run.json":
            document = json.loads(file.read_text(encoding="utf-8"))
            found |= _leaves("run.json", {key: each for key, each in document.items() if key not in VARIES})
        elif file.suffix == ".parquet":
            table = parquet.read_table(file)
            found |= {f"{file.name}: {name}": table[name].to_pylist() for name in table.column_names}
        elif file.suffix == ".csv":
            with file.open(encoding="utf-8", newline="") as lines:
                header, *rows = csv.reader(lines)
            found |= {f"{file.name}: {name}": [row[place] for row in rows] for place, name in enumerate(header)}
        else:
            found[file.name] = file.read_bytes()
    return found


def _leaves(where: str, value: Any) -> dict[str, Any]:
    """Return plain data by the path of each of its keys; a list is one value if it has no groups of keys."""
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        value = {str(place): each for place, each in enumerate(value)}
    if not isinstance(value, dict) or not value:
        return {where: value}
    return {name: each for key in value for name, each in _leaves(f"{where}: {key}", value[key]).items()}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what the tree before has, and the tree after lacks or has otherwise; another order of rows is one line."""
    found = [name for name in before if name not in after or after[name] != before[name]]
    for file in {name.split(": ")[0] for name in found if ".parquet: " in name and "run.json" not in name}:
        columns = [name for name in before if name.startswith(f"{file}: ") and name in after]
        if _rows(before, columns) == _rows(after, columns):
            found = [f"{file}: order of rows", *(name for name in found if name not in columns)]
    return found


def _rows(contents: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    return sorted(str(row) for row in zip(*(contents[name] for name in columns), strict=True))


@click.command()
@click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--this", default=REPOSITORY, type=click.Path(path_type=Path), help="Instead of this tree.")
@click.option("--first", default=1, help="The first seed.")
@click.option("--runs", default=50, help="How many runs of each way.")
@click.option("--but", multiple=True, help="Leave out what begins so, such as 'run.json: floor'.")
@click.option("--way", "ways", multiple=True, type=click.Choice(WAYS), default=WAYS, help="What plays; all ways.")
def main(tree: Path, this: Path, first: int, runs: int, but: tuple[str, ...], ways: tuple[str, ...]) -> None:
    """Play random runs in TREE and here. Exit status 1 if a file differs."""
    differing: Counter[str] = Counter()
    for way in ways:
        compared = equal = refused = 0
        for seed, case in drawn(first):
            if compared == runs:
                break
            with tempfile.TemporaryDirectory(prefix="astra-ns3-against-") as name:
                folder = Path(name)
                backend = way if way in WAYS[:2] else "ns3"
                command = command_of(over_tcp(case, seed) if way == "tcp" else case, backend, folder)
                said = [played(each, command, folder, output) for each, output in ((tree, "before"), (this, "after"))]
                if all(said):
                    refused += 1
                    continue
                found = [] if any(said) else differences(contents(folder / "before"), contents(folder / "after"))
                found = [name for name in found if not name.startswith(but)]
            compared += 1
            equal += not found and not any(said)
            differing.update([*found, *(["one tree alone ends the run"] if any(said) else [])])
            for fault in (*found, *filter(None, said)):
                click.echo(f"{way}, seed {seed}: {fault}")
        click.echo(f"{way}: {compared} runs, {equal} with the same files; both trees refuse {refused} others")
    for name, times in differing.most_common():
        click.echo(f"  {times} times {name}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
