"""Bad input through the command in a process of its own: one line, a documented status, nothing written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import IO

import pytest
from support.command import PROGRAM, TIMEOUT_SECONDS, Finished, run_command
from support.small_run import write_inputs

FILES = ("-w", "workload.txt", "-s", "system.txt", "-n", "network.yaml", "--log-level", "error")
ROCE = """topology:
  kind: single-switch
  npus: 4
  link: {rate: 100Gbps, delay: 500ns}
  switch: {buffer: 1MB, pfc: {}}
transport: {kind: roce}
"""
CONTROL = """#pragma once
#include "roce-congestion-control.h"
%s
class Mine : public ns3::RoceCongestionControl
{
  public:
    explicit Mine(const ns3::RoceControlParameters&) { %s }
    void AckReceived(ns3::RoceSender&, const ns3::RoceAck&) override { %s }
};
"""


class Place:
    """A folder with the three files of a small run, and the command in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = write_inputs(folder)

    def run(self, command: str, *options: str, stdout: IO[str] | None = None) -> Finished:
        return run_command(command, *FILES, *options, folder=self.folder, stdout=stdout)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refused(finished: Finished, status: int = 2) -> str:
    """Its one line."""
    assert finished.returncode == status, finished.stderr
    (line,) = [line for line in finished.stderr.splitlines() if not line.startswith("what was done")]
    assert line.startswith("astra-ns3: error: ")
    return line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--backend", "ns4"),
            "backend 'ns4' is not one of ns3, flow, analytical, analytical-queues; did you mean 'ns3'?",
        ),
        (("--scheduling-policy", "gone.py:first"), "gone.py: no such policy file"),
        (("--intra-dimension-scheduling", "gone.py:first"), "gone.py: no such policy file"),
        (("--inter-dimension-scheduling", "gone.py:first"), "gone.py: no such policy file"),
        (("--rendezvous-protocol",), "the rendezvous protocol needs the backend 'analytical'"),
        (("--rendezvous-protocol", "--backend", "analytical-queues"), "needs the analytical network without queues"),
        (("--injection-scale", "1e300"), "1e+300 times the endpoint delay of 10 ns is too long"),
    ],
)
def test_validate_refuses_the_options_that_run_refuses(place: Place, options: tuple[str, ...], message: str) -> None:
    before = sorted(place.folder.iterdir())
    lines = [refused(place.run(command, *options)) for command in ("validate", "run")]
    assert message in lines[0]
    assert lines[0] == lines[1]
    assert sorted(place.folder.iterdir()) == before


def test_what_packets_would_show_is_a_warning_on_the_analytical_network(place: Place) -> None:
    network = place.folder / "network.yaml"
    network.write_text(network.read_text() + "observe: {queues: [all]}\n")
    for command in ("validate", "run"):
        finished = place.run(command, "--backend", "analytical", "--log-level", "warning")
        assert finished.returncode == 0, finished.stderr
        assert f"network.yaml:{len(network.read_text().splitlines())}: key 'observe': without effect" in finished.stderr


def test_what_the_command_line_records_of_packets_is_refused_on_the_analytical_network(place: Place) -> None:
    assert "accounts" in refused(place.run("run", "--backend", "analytical", "--record", "accounts", "-o", "out"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mine.hpp", "class Mine {", "class Mine can't be compiled"),
        ("mine.hpp", "\xff\xfe", "is not UTF-8 text"),
        ('mi"ne.hpp', CONTROL % ("", "", ""), "a quote"),
        ("mine.hpp", CONTROL % ("static int thrown = [] { throw 5; return 0; }();", "", ""), "can't be loaded"),
        ("mine.py", "raise SystemExit(1)", "the congestion control file failed: SystemExit: 1"),
    ],
)
def test_a_control_that_can_not_be_loaded_is_refused_by_both(place: Place, name: str, text: str, message: str) -> None:
    (place.folder / "network.yaml").write_text(ROCE)
    (place.folder / name).write_bytes(text.encode("latin-1"))
    for command in ("validate", "run"):
        assert message in refused(place.run(command, "--congestion-control", f"{name}:Mine"))


PARTS: dict[str, tuple[str, str, str]] = {
    "algorithm": ("system.txt", "all-reduce-implementation: ring", "all-reduce-implementation: mine.py:part"),
    "training loop": ("workload.txt", "DATA", "mine.py:part"),
    "topology": ("network.yaml", "kind: single-switch", "kind: mine.py:part"),
    "policy": ("system.txt", "scheduling-policy: LIFO", "inter-dimension-scheduling: mine.py:part"),
}


def with_part(place: Place, role: str, text: str) -> None:
    """The three files such that one names a part of mine.py."""
    name, ours, own = PARTS[role]
    file = place.folder / name
    kept = file.read_text().replace(ours, own)
    if role == "topology":
        kept = kept[: kept.index("  npus")] + kept[kept.index("transport") :]
    file.write_text(kept + ("scheduling-policy: LIFO\n" if role == "policy" else ""))
    (place.folder / "mine.py").write_text(text)


@pytest.mark.parametrize("role", PARTS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def part(*given, **named): raise SystemExit(0)", "mine.py:1: part failed: SystemExit: 0"),
        ("import sys\n\nsys.exit()", "mine.py:3: the {role} file failed: SystemExit"),
        ("def prat(): pass", "mine.py: the {role} file must define a function part; did you mean 'prat'?"),
        ("def part(*given, **named): return 3.5", "gave "),
    ],
    ids=["exits when called", "exits when loaded", "misspelt", "nonsense"],
)
def test_a_part_that_can_not_be_used_is_refused_by_both(place: Place, role: str, text: str, message: str) -> None:
    with_part(place, role, text)
    before = sorted(place.folder.iterdir())
    lines = [refused(place.run(command, *more)) for command, more in (("validate", ()), ("run", ("-o", "out")))]
    assert message.format(role=role) in lines[0]
    assert lines[0] == lines[1]
    assert [path for path in sorted(place.folder.iterdir()) if path.name != "__pycache__"] == before


@pytest.mark.parametrize("role", PARTS)
def test_a_part_that_dies_does_not_take_validate_with_it(place: Place, role: str) -> None:
    with_part(place, role, "import os, signal\ndef part(*given, **named): os.kill(os.getpid(), signal.SIGSEGV)\n")
    assert "SIGSEGV" in refused(place.run("validate"))


def test_a_control_that_dies_while_it_is_loaded_does_not_take_validate_with_it(place: Place) -> None:
    (place.folder / "network.yaml").write_text(ROCE)
    (place.folder / "mine.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert "SIGSEGV" in refused(place.run("validate", "--congestion-control", "mine.py:Mine"))


@pytest.mark.parametrize("made", [True, False], ids=["as it is made", "in the run"])
def test_what_a_cpp_control_throws_is_one_line(place: Place, made: bool) -> None:
    (place.folder / "network.yaml").write_text(ROCE)
    (place.folder / "mine.hpp").write_text(CONTROL % (("", "throw 5;", "") if made else ("", "", "throw 5;")))
    line = refused(place.run("run", "--congestion-control", "mine.hpp:Mine"), status=5)
    assert "threw something that is no std::exception" in line


def test_an_output_that_can_not_be_is_refused_before_the_run(place: Place) -> None:
    (place.folder / "dangling").symlink_to("nowhere")
    before = sorted(place.folder.iterdir())
    assert "output is '', expected the path of a folder" in refused(place.run("run", "-o", ""))
    assert "is a link to nowhere, which does not exist" in refused(place.run("run", "-o", "dangling"))
    assert "too long" in refused(place.run("run", "-o", "x" * 300))
    # 72 letters are 216 bytes, and the name of a table is appended.
    assert "bytes, more than 214" in refused(place.run("run", "-o", "out", "--run-name", "\u20ac" * 72))
    assert sorted(place.folder.iterdir()) == before


def test_the_longest_run_name_names_files(place: Place) -> None:
    name = "\u20ac" * 71
    for _ in range(2):  # the second replaces the first
        options = ("--run-name", name, "-o", "out", "--overwrite", "--backend", "analytical")
        assert place.run("run", *options).returncode == 0
    assert (place.folder / "out" / f"{name}_dimension_utilization.csv").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_standard_output_is_status_6(place: Place) -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        for command in ("validate", "run"):
            line = refused(place.run(command, "--backend", "analytical", stdout=full), status=6)
            assert "standard output can't be written: No space left on device" in line


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_streams_do_no_harm(place: Place, closed: tuple[int, ...]) -> None:
    def close() -> None:
        for number in closed:
            os.close(number)

    options = ("--backend", "analytical", "-o", "out")
    finished = subprocess.run(
        [*PROGRAM, "run", *FILES, *options],
        cwd=place.folder,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        preexec_fn=close,
    )
    assert finished.returncode == 0
    assert finished.stderr == b""
    assert (place.folder / "out" / "run.json").is_file()
