"""A study says nothing of where its folder lies: its points have the same names and files wherever it is played."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.studies import INPUTS

import astra_ns3
from astra_ns3.experiments.metadata import VARYING_KEYS
from astra_ns3.studies.places import from_the_study, json_from_the_study, places_of
from astra_ns3.whole_file import POINT_FILE, RUN_FILE

GRAPH = "3 1 2\n2\n0 2 100Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n"
POLICY = "def first(counter, request):\n    return 0, counter\n"
STUDY = """
base: {workload: ../in/micro-all-to-all.txt, system: ../in/flat.txt, network: ../in/star.yaml, backend: flow}
parts:
  policy:
    axes: {policy: {own: {system.scheduling-policy: "../in/policy.py:first"}, usual: {}}}
  graphs: {base: {workload: ../in/chakra, network: ../in/eight.yaml}}
  flows: {base: {workload: ../in/flows.csv}}
  file: {base: {network: {topology: {kind: file, path: ../in/graph.txt, switch: {buffer: 1MB}}}}}
"""
MEASURED = ("peak_memory_bytes", "run_wall_seconds", "setup_wall_seconds")


def made(place: Path) -> Path:
    """Return the file of a study, whose paths lead to a folder beside its own."""
    files, folder = place / "in", place / "studies"
    folder.mkdir(parents=True)
    shutil.copytree(INPUTS / "workload" / "chakra", files / "chakra")
    shutil.copy(INPUTS / "workload" / "micro-all-to-all.txt", files)
    shutil.copy(INPUTS / "system" / "flat.txt", files)
    link, switch = "{rate: 100Gbps, delay: 500ns}", "{buffer: 1MB}"
    flows = "source,destination,bytes,start\n0,1,1000,0\n3,1,1000,0\n"
    texts = {"graph.txt": GRAPH, "policy.py": POLICY, "flows.csv": flows}
    for name, npus in {"star": 4, "eight": 8}.items():
        texts[f"{name}.yaml"] = f"topology: {{kind: single-switch, npus: {npus}, link: {link}, switch: {switch}}}\n"
    for name, text in texts.items():
        (files / name).write_text(text, encoding="utf-8")
    study = folder / "study.yaml"
    study.write_text(STUDY, encoding="utf-8")
    return study


def contents(folder: Path) -> dict[str, Any]:
    """Return all files of a study's points by their paths, without what a run takes of the machine."""
    found: dict[str, Any] = {}
    for file in (each for each in (folder / "points").rglob("*") if each.is_file()):
        content: Any = file.read_bytes()
        if file.name in (RUN_FILE, POINT_FILE):
            content = json.loads(content)
            for name in (*VARYING_KEYS, "cost"):
                content.pop(name, None)
            for name in MEASURED:
                content.get("measures", {}).pop(name, None)
        found[str(file.relative_to(folder))] = content
    return found


def test_files_of_points_are_equal_wherever_a_study_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for place, stands in (("one", "one/studies"), ("some/where/else", "some")):
        study = made(tmp_path / place)
        monkeypatch.chdir(tmp_path / stands)
        astra_ns3.study(os.path.relpath(study), output=tmp_path / place / "out")
        found.append(contents(tmp_path / place / "out"))
    assert len([name for name in found[0] if name.endswith(RUN_FILE)]) == 5
    assert found[0] == found[1]
    assert str(tmp_path) not in str(found)


def test_paths_are_told_from_the_folder_on_within_words_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places = places_of(tmp_path / "all" / "mine", "base: {network: ../net.yaml}")
    told = [f"{tmp_path}/all/mine/a.yaml:3: wrong", "in all/net.yaml", "all/mine/b", "small/mine/c", "/else/all/d"]
    expected = ["a.yaml:3: wrong", "in ../net.yaml", "b", "small/mine/c", "/else/all/d"]
    assert [from_the_study(text, places) for text in told] == expected
    document = {told[0]: [f'one "\n{told[0]}', "\\", 1, None]}
    shown = json.loads(json_from_the_study(json.dumps(document), places))
    assert shown == {expected[0]: [f'one "\n{expected[0]}', "\\", 1, None]}
