"""Tab completes values: names from their registries, files by their endings, folders of runs; quickly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from astra_ns3.cli.commands import COMMANDS
from astra_ns3.cli.main import cli
from astra_ns3.config.core.compatibility import PRESETS
from astra_ns3.config.transports.roce_control import KINDS
from astra_ns3.experiments.request import RECORDABLE
from astra_ns3.network.backend_makers import BACKENDS
from astra_ns3.workload.generators.flow_sizes import DISTRIBUTIONS


def completed(*words: str) -> list[str]:
    """What may stand in the place of the last word."""
    complete = ShellComplete(cli, {}, "astra-ns3", "_ASTRA_NS3_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "--backend", ""), [*BACKENDS]),
        (("run", "--backend", "analytical-"), ["analytical-queues"]),
        (("validate", "--compat", ""), [*PRESETS]),
        (("run", "--congestion-control", ""), [*KINDS]),
        (("run", "--record", ""), [*RECORDABLE]),
        (("run", "--scheduling-policy", "F"), ["FIFO"]),
        (("show", "collective", "doubleB"), ["doubleBinaryTree"]),
        (("show", "collective", "ring", "--kind", "all_"), ["all_reduce", "all_to_all", "all_gather"]),
        (("plot", "x", "lay"), ["layers"]),
        (("convert", "--to", "chakra"), ["chakra", "chakra-json"]),
        (("generate", "flows", "incast", "--sizes", "web"), [name for name in DISTRIBUTIONS if name[:3] == "web"]),
        (("run", "--record", "flows,acc"), ["flows,accounts"]),
        (("compare", "--backends", "flow,ns"), ["flow,ns3"]),
        (("runs", "--columns", "fin"), ["finish"]),
        (("runs", "--columns", "name,fin"), ["name,finish"]),
        (("runs", "--sort", "npus,-fin"), ["npus,-finish"]),
        (("sho",), ["show"]),
        (("nccl", "all_reduce", "--servers", "2xdgx-h"), ["2xdgx-h100", "2xdgx-h200"]),
        (("nccl", "all_reduce", "--servers", "dgx-h1"), ["dgx-h100"]),
    ],
)
def test_names_are_those_of_the_program(words: tuple[str, ...], expected: list[str]) -> None:
    assert completed(*words) == expected


def test_keys_of_the_files_that_were_named_are_completed(tmp_path: Path) -> None:
    network, broken = tmp_path / "n.yaml", tmp_path / "b.yaml"
    network.write_text("topology: {kind: ring, link: {rate: 1Gbps}}\n", encoding="utf-8")
    broken.write_text("[", encoding="utf-8")
    link = ["network.topology.link", "network.topology.link.rate"]
    assert completed("run", "-n", str(network), "--set", "network.topology.l") == link
    assert completed("plan", "m.yaml", "-n", str(network), "--set", "network.topology.l") == link
    assert completed("run", "-n", str(broken), "-s", "none.yaml", "--set", "n") == []
    assert completed("run", "--set", "network.") == []


def test_files_are_completed_by_their_endings_and_a_folder_alone_is_gone_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("in/net/a.yaml", "in/net/b.json", "in/net/c.png", "in/net/.d.yaml", "in/net/more/e.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert completed("run", "-n", "") == ["in/net/a.yaml", "in/net/b.json", "in/net/more/"]
    assert completed("run", "-n", "in/net/a") == ["in/net/a.yaml"]
    assert completed("run", "-n", "in/net/m") == ["in/net/more/e.yaml"]
    assert completed("run", "--hook", "in/net/c") == []
    assert completed("run", "-n", "nowhere/") == []


def test_folders_of_runs_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("results/one", "results/two", "results/more/three"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps({}), encoding="utf-8")
    (tmp_path / "results/more/three/seed.txt").touch()
    assert completed("explain", "res") == ["results/more/", "results/one", "results/two"]
    assert completed("report", "results/one", "results/t") == ["results/two"]
    assert completed("compare", "results/one", "results/more/") == ["results/more/three"]


def test_folders_are_the_shell_s_own() -> None:
    complete = ShellComplete(cli, {}, "astra-ns3", "_ASTRA_NS3_COMPLETE")
    (item,) = complete.get_completions(["run", "-o"], "res")
    assert item.type == "dir"


def test_a_shell_gets_its_words_without_the_simulator_and_tables() -> None:
    program = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom astra_ns3.cli.main import cli\n"
        "complete = ShellComplete(cli, {}, 'astra-ns3', '_ASTRA_NS3_COMPLETE')\n"
        "for words in sys.argv[1:]:\n"
        "    words = words.split()\n"
        "    assert complete.get_completions(words[:-1], words[-1])\n"
        "    heavy = {'cppyy', 'pandas', 'pyarrow', 'matplotlib', 'dask', 'numpy', 'pydantic'} & set(sys.modules)\n"
        "    print(words[0], *sorted(heavy))"
    )
    last = ("convert", "generate")  # formats of flows are arrays
    light = [name for name in COMMANDS if name not in last]
    command = [sys.executable, "-c", program, "run --backend n", *(f"{name} --" for name in (*light, *last))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["run", *light, *(f"{name} numpy" for name in last)]


def test_a_shell_is_answered_by_the_program() -> None:
    asked = {"_ASTRA_NS3_COMPLETE": "bash_complete", "COMP_WORDS": "astra-ns3 run --backend ", "COMP_CWORD": "3"}
    command = [sys.executable, "-m", "astra_ns3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **asked})
    assert done.stdout.splitlines() == [f"plain,{name}" for name in BACKENDS]


def test_a_help_option_is_completed_too() -> None:
    assert "--help" in completed("run", "--h")
    assert isinstance(cli, click.Group)
