"""``astra-ns3 example``: copies all examples, and the command that it prints runs."""

from __future__ import annotations

import shlex
from pathlib import Path

from support.command import run_command


def test_the_examples_are_copied_and_the_printed_command_is_one_that_is_valid(tmp_path: Path, repository: Path) -> None:
    done = run_command("example", "mine", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    there = {path.relative_to(repository / "inputs") for path in (repository / "inputs").rglob("*") if path.is_file()}
    there = {path for path in there if "__pycache__" not in path.parts}
    assert {path.relative_to(tmp_path / "mine") for path in (tmp_path / "mine").rglob("*") if path.is_file()} == there
    (words,) = [line for line in done.stdout.splitlines() if line.startswith("    ")]
    program, command, *options = shlex.split(words)
    assert (program, command) == ("astra-ns3", "run")
    assert options[options.index("-o") + 1] == "results/example"  # whatever the workload is called
    assert run_command("validate", *options[: options.index("-o")], folder=tmp_path).returncode == 0


def test_the_copied_parts_of_ones_own_are_found(tmp_path: Path) -> None:
    run_command("example", "mine", folder=tmp_path)
    words = "-w mine/extending/accumulate.txt -s mine/system/flat.yaml -n mine/extending/hypercube.yaml"
    done = run_command("validate", *words.split(), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "mine" / "extending" / "accumulate.py").unlink()
    gone = run_command("validate", *words.split(), folder=tmp_path).stderr
    assert "accumulate.txt: mine/extending/accumulate.py: no such training loop file; the path begins at /" in gone
    (tmp_path / "mine" / "extending" / "hypercube.py").unlink()
    gone = run_command("validate", *words.split(), folder=tmp_path).stderr
    assert "hypercube.yaml:3: key 'topology.kind': mine/extending/hypercube.py: no such topology file" in gone


def test_a_folder_with_something_in_it_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    done = run_command("example", "mine", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "astra-ns3: error: mine: is there already, expected a new or an empty folder\n"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
