"""Help, versions and Tab come at once: what they load is named here; the list of commands is that of the commands."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from astra_ns3.cli.commands import COMMANDS, load_command
from astra_ns3.cli.main import cli, status_of

LIGHT = {"cli", "errors", "experiments.versions", "experiments"}
"""Rooms that help, versions and Tab may load."""


def loaded_by(words: list[str], environment: dict[str, str] | None = None) -> set[str]:
    """Modules that a command line loads."""
    program = (
        "import sys\nfrom astra_ns3.cli.main import status_of\nstatus = status_of(sys.argv[1:])\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_and_versions_load_no_more_than_they_need(words: list[str]) -> None:
    loaded = loaded_by(words)
    ours = {name.removeprefix("astra_ns3.") for name in loaded if name.startswith("astra_ns3.")}
    assert {name for name in ours if not name.startswith("cli.")} <= LIGHT
    assert loaded.isdisjoint({"numpy", "pydantic", "yaml", "pandas", "pyarrow", "cppyy", "matplotlib"})


def test_tab_names_the_commands_and_their_help() -> None:
    context = click.Context(cli)
    found = {item.value: item.help for item in cli.shell_complete(context, "")}
    assert found == {name: words for name, (_, words) in COMMANDS.items()}
    assert [item.value for item in cli.shell_complete(context, "ru")] == ["run", "runs"]
    assert "--version" in [item.value for item in cli.shell_complete(context, "--")]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_words_of_a_command_are_the_first_line_of_its_own_help(name: str) -> None:
    place, words = COMMANDS[name]
    command = load_command(place)
    assert command.name == name
    assert (command.help or "").partition("\n")[0] == words
    assert cli.get_command(click.Context(cli), name) is command


def test_a_long_value_of_an_option_is_cut_in_the_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert status_of(["validate", "--comm-scale", "x" * 3000]) == 2
    assert f"'{'x' * 160}...' (2,840 more letters) is not a valid float" in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "-w", "LONG", "-s", "s.txt", "-n", "n.yaml"],
        ["show", "workload", "LONG"],
        ["explain", "LONG"],
        ["report", "LONG"],
        ["convert", "LONG", "out"],
        ["generate", "workload", "LONG", "-o", "m.yaml"],
        ["example", "LONG/e"],
        ["runs", "LONG"],
    ],
)
def test_a_path_that_cannot_be_looked_at_is_one_line(words: list[str], command: Any) -> None:
    status, _, err = command(*(word.replace("LONG", "a" * 300) for word in words))
    assert status == 2
    assert err.endswith(": File name too long\n")
    assert err.count("\n") == 1


def test_a_folder_that_may_not_be_entered_is_one_line(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refused)
    status, _, err = command("show", "workload", "locked/w.txt")
    assert (status, err) == (2, "astra-ns3: error: locked/w.txt: Permission denied\n")
