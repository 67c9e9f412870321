"""Every file that a run writes is the same in repeats, isolated or not, however busy the machine is."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet
from soak.case import REPOSITORY, write_files
from soak.cases import random_case
from soak.files import contents, differing, writing
from soak.requests import request_of
from support.any_load import busy_machine
from support.lengths import some_slow

from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.network.parquet import GROUP_ROWS, TableWriter
from astra_ns3.network.recorded import Column, RecordedTable

RUNS = 50
"""A fifth of a second of CPU time for each, with its repeats."""
SHARE = 0.05
"""Of the soak's bytes."""
AT_ONCE = 10
WITH_NOTIFICATIONS = 115
"""A seed of the soak that captures packets of DCQCN's receivers."""
INPUTS = REPOSITORY / "inputs"


def played(request: RunRequest, folder: Path, *, isolated: bool) -> dict[str, Any]:
    execute(replace(request, output=folder, record=("all",), isolated=isolated))
    return contents(folder)


def differences(request: RunRequest, seed: int, folder: Path) -> list[str]:
    """Files and keys in which three runs differ: in this process, again while it is busy, and isolated while busy."""
    first = played(request, folder / "first", isolated=False)
    found = []
    for name, isolated in (("again", False), ("isolated", True)):
        with busy_machine(seed + isolated):
            other = played(request, folder / name, isolated=isolated)
        found += [f"seed {seed}, {name}: {key}" for key in differing(first, other)]
    return found


@pytest.mark.parametrize("begin", some_slow(range(0, RUNS, AT_ONCE), [30]))
def test_random_runs_write_the_same_files(begin: int, tmp_path: Path) -> None:
    found = []
    kinds = set()
    for seed, case in islice(writing(), begin, begin + AT_ONCE):
        folder = tmp_path / str(seed)
        folder.mkdir()
        write_files(case, folder)
        found += differences(request_of(case, folder, share=SHARE), seed, folder)
        kinds.add((case.job["kind"], bool(case.job.get("written"))))
    assert found == []
    assert len(kinds) > 1


def test_a_sample_of_chakra_traces_does(tmp_path: Path) -> None:
    request = RunRequest(
        workload=INPUTS / "workload" / "chakra",
        system=INPUTS / "system" / "flat.yaml",
        network=INPUTS / "network" / "ring-8.yaml",
    )
    assert differences(request, 1, tmp_path) == []


def test_a_capture_has_nothing_of_frames_that_an_earlier_run_used(tmp_path: Path) -> None:
    """Congestion notifications, whose number was that of some packet before."""
    case = random_case(WITH_NOTIFICATIONS)
    assert "dcqcn" in case.document()
    assert "pcap" in case.network["observe"]
    request = request_of(case, tmp_path, share=10 * SHARE)
    assert differences(request, 1, tmp_path) == []
    assert json.loads((tmp_path / "first" / "run.json").read_text())["statistics"]["cnps"] > 0


def test_a_table_is_the_same_file_however_early_its_texts_are_known(tmp_path: Path) -> None:
    """The timeline's texts are made known with its rows, which are handed over when a heartbeat asks for them."""
    table = RecordedTable("texts", "texts", "nothing", (Column("text", "int32", "", "a text", labelled=True),))
    rows = np.arange(GROUP_ROWS + 10) // GROUP_ROWS

    def file(name: str, *, early: bool) -> bytes:
        (tmp_path / name).mkdir()
        writer = TableWriter(tmp_path / name, table)
        writer.label("text", 0, "first")
        if early:
            writer.label("text", 1, "second")
        writer.write([rows[:GROUP_ROWS]])
        if not early:
            writer.label("text", 1, "second")
        writer.write([rows[GROUP_ROWS:]])
        writer.close()
        return (tmp_path / name / table.file).read_bytes()

    assert file("early", early=True) == file("late", early=False)


def test_a_table_has_the_same_row_groups_in_however_large_batches_its_rows_come(tmp_path: Path) -> None:
    table = RecordedTable("numbers", "numbers", "nothing", (Column("number", "int64", "", "a number"),))
    rows = np.arange(3 * GROUP_ROWS + 10)

    def written(name: str, batch_rows: int) -> Path:
        (tmp_path / name).mkdir()
        writer = TableWriter(tmp_path / name, table)
        for begin in range(0, len(rows), batch_rows):
            writer.write([rows[begin : begin + batch_rows]])
        writer.close()
        return tmp_path / name / table.file

    whole = written("whole", len(rows))
    about = parquet.ParquetFile(whole).metadata
    groups = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
    assert groups == [GROUP_ROWS, GROUP_ROWS, GROUP_ROWS, 10]
    assert whole.read_bytes() == written("pieces", 1_000).read_bytes()
