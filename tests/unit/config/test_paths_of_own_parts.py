"""Where paths of own parts begin: at the folder of a scenario, study or plan file, else at the working folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.plan_file import read_plan_file
from astra_ns3.config.scenario.file import read_scenario
from astra_ns3.config.topology.own import OwnTopology
from astra_ns3.errors import InputError
from astra_ns3.planning.plan_files import asked_by
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.file import read_study

TRANSPORT = {"kind": "roce"}
OWN = {"topology": {"kind": "mine.py:ring"}, "transport": TRANSPORT}
RING = """
from astra_ns3.topology.builders import build_graph
from astra_ns3.config.topology.direct import Ring


def ring():
    link = {"rate": "100Gbps", "delay": "500ns"}
    return build_graph(Ring.model_validate({"kind": "ring", "npus": 4, "link": link, "switch": {"buffer": "32MiB"}}))


def notice(turn):
    return turn.time_ps
"""
TEXT = "MICRO\n1\na -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1024 0\n"


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a part of the user's, below the working folder."""
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "mine.py").write_text(RING, encoding="utf-8")
    (folder / "work.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def written(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_the_page_on_own_parts_says_where_paths_begin(repository: Path) -> None:
    page = " ".join((repository / "docs" / "extending.md").read_text(encoding="utf-8").split())
    assert (
        "Paths in scenario, study and plan files are relative to the file, all others to the folder in which you start"
    ) in page


def test_a_network_file_s_part_begins_at_the_working_folder(below: Path) -> None:
    network = read_network_file(
        written(below / "network.yaml", {**OWN, "topology": {"kind": "below/mine.py:ring"}})
    ).network
    assert network.npus == 4
    with pytest.raises(InputError, match="no such topology file; the path begins at"):
        read_network_file(written(below / "other.yaml", OWN))


def test_a_study_s_part_begins_at_the_study_s_folder(below: Path) -> None:
    system = {"collectives": "nccl", "endpoint-delay": 0}
    base = {"workload": "work.txt", "system": system, "network": OWN}
    file = written(below / "study.yaml", {"title": "one", "base": base, "parts": {"a": {"axes": {"passes": [1]}}}})
    (point,) = expand(read_study(file)).points
    network = point.request.network
    assert isinstance(network, NetworkConfig)
    assert isinstance(network.topology, OwnTopology)
    assert (network.npus, Path(network.topology.part.file).resolve()) == (4, below / "mine.py")


def test_a_plan_s_part_begins_at_the_plan_s_folder(below: Path) -> None:
    keys = {"system.scheduling-policy": "mine.py:notice"}
    file = written(below / "plan.yaml", {"model": "model.yaml", "network": "network.yaml", "set": keys})
    plan = read_plan_file(file)
    assert plan is not None
    (value,) = asked_by(plan).request.changes.values()
    part, _, name = str(value).rpartition(":")
    assert (Path(part).resolve(), name) == (below / "mine.py", "notice")


def test_a_scenario_s_part_begins_at_the_scenario_s_folder(below: Path) -> None:
    ring = {"kind": "ring", "npus": 4, "link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "32MiB"}}
    written(below / "network.yaml", {"topology": ring, "transport": TRANSPORT})
    job = {"name": "a", "workload": "work.txt", "system": "work.txt", "npus": "0-3"}
    recovery = {"detection": {"kind": "mine.py:notice"}}
    file = written(below / "scenario.yaml", {"network": "network.yaml", "jobs": [job], "recovery": recovery})
    detection: Any = read_scenario(file).config.recovery.detection
    assert Path(detection.part.file).resolve() == below / "mine.py"
