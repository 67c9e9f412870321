"""What the documentation shows of runs on ns-3 is what comes out: its programs, its commands, and the demonstration."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.command import NEEDS_HEADERS, run_command, run_program
from support.documents.pages import OWN_PARTS, ROOT, blocks, commands, text_of
from support.documents.tutorial import says
from support.lengths import some_slow

import astra_ns3
from astra_ns3.report.summary import run_text

VARYING_LINES = ("wall time", "peak memory", "files")

pytestmark = NEEDS_HEADERS


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder from which the repository's inputs can be read and in which files may be written."""
    (tmp_path / "inputs").symlink_to(ROOT / "inputs")
    return tmp_path


WITH_EXAMPLES = ["docs/compute.md", "docs/extending.md", "docs/hooks.md", "docs/python.md"]
QUICK = ["docs/extending.md", "docs/hooks.md", "docs/python.md"]


@pytest.mark.parametrize("page", some_slow(WITH_EXAMPLES, QUICK))
def test_python_examples_run_and_print_what_the_page_says(page: str, work: Path) -> None:
    program = "\n".join(blocks(page, "run"))
    assert program
    done = run_program(program, folder=work)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(blocks(page, "printed"))


@pytest.mark.parametrize("command", re.findall(r"^ {4}(astra-ns3 .*)$", text_of(OWN_PARTS), re.MULTILINE))
def test_every_command_with_a_part_of_the_users_runs(command: str, work: Path) -> None:
    done = run_command(*shlex.split(command)[1:], folder=work, headers=True)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def test_what_the_demo_prints_is_what_readme_shows(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    files = re.findall(r"-[wsn] (\S+) \\", text_of("Makefile"))
    result = astra_ns3.run(workload=files[0], system=files[1], network=files[2])
    printed = run_text(result.metadata, Path("results/demo")).splitlines()
    (shown,) = blocks("README.md", "output: demo")
    assert len(printed) == len(shown.splitlines())
    for line, expected in zip(printed, shown.splitlines(), strict=True):
        if expected.startswith(VARYING_LINES):
            assert line.split("  ")[0] == expected.split("  ")[0]
        else:
            assert line == expected


def test_what_readme_compares_is_what_comes_out(work: Path) -> None:
    files = re.findall(r"-([wsn]) (\S+) \\", text_of("Makefile"))
    demo = [word for option, file in files for word in (f"-{option}", file)]
    assert run_command("run", *demo, "-o", "results/demo", folder=work).returncode == 0
    run, compare = commands("README.md", "compare")
    assert run_command(*run, folder=work).returncode == 0
    (shown,) = blocks("README.md", "output: compare")
    beginning, more = shown.rsplit("...\n", 1)
    assert more == ""
    printed = run_command(*compare, folder=work).stdout
    assert printed.startswith(beginning)
    assert printed != beginning


def test_the_quick_start_of_nccl_prints_what_the_page_says(work: Path) -> None:
    (command,) = commands("docs/nccl.md", "quick-start")
    done = run_command(*command, folder=work)
    assert done.returncode == 0, done.stderr
    (shown,) = blocks("docs/nccl.md", "output: quick-start")
    assert says(shown.splitlines(), done.stdout.splitlines()), done.stdout


MICRO_ALL_TO_ALL = ["-w", "inputs/workload/micro-all-to-all.txt", "-s", "inputs/system/flat.txt"]


@pytest.mark.slow
def test_several_seeds_print_what_the_page_says(work: Path) -> None:
    network = ["-n", "inputs/network/leaf-spine-32.yaml", "--set", "start-jitter=1000"]
    done = run_command("run", *MICRO_ALL_TO_ALL, *network, "--seeds", "8", folder=work)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^ {4}((?:seeds|finish|exposed communication)  .*)$", text_of("docs/cli.md"), re.MULTILINE)
    assert len(shown) == 3
    assert set(shown) <= set(done.stdout.splitlines())


def test_start_jitter_costs_hpcc_what_the_page_says(work: Path) -> None:
    page = " ".join(text_of("docs/system-file.md").split())
    words = re.findall(r"takes ([\d,]+) us without jitter, and ([\d,]+) us", page)
    found = []
    for jitter in (0, 1000):
        result = astra_ns3.run(
            workload=work / "inputs/workload/micro-all-to-all.txt",
            system=work / "inputs/system/flat.txt",
            network=work / "inputs/network/roce-16-hpcc.yaml",
            comm_scale=16,
            changes={"system.preferred-dataset-splits": 1, "system.start-jitter": jitter},
        )
        found.append(f"{result.finish_ps / 1e6:,.0f}")
    assert words == [tuple(found)]


@pytest.mark.parametrize("case", ["a2a", "incast"])
def test_a_case_is_explained_as_its_page_says(case: str, work: Path) -> None:
    run, explained = commands("docs/cases.md", case)
    done = run_command(*run, folder=work)
    assert done.returncode == 0, done.stderr
    (shown,) = blocks("docs/cases.md", f"output: {case}")
    printed = run_command(*explained, folder=work).stdout
    assert says(shown.splitlines(), printed.splitlines()), printed
