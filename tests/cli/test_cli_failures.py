"""Runs that fail on the way, through the command in a process of its own: they end soon, and say how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import NEEDS_HEADERS, Finished, run_command

pytestmark = NEEDS_HEADERS

WORKLOAD = "MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 400000 0\n"
SYSTEM = """scheduling-policy: LIFO
endpoint-delay: 10
active-chunks-per-dimension: 1
preferred-dataset-splits: 4
all-reduce-implementation: ring
reduce-scatter-implementation: ring
all-gather-implementation: ring
all-to-all-implementation: direct
"""
NETWORK = """topology:
  kind: single-switch
  npus: 4
  link: {rate: 100Gbps, delay: 500ns}
  switch: {buffer: 1GB}
"""


def run(folder: Path, hook: str) -> Finished:
    for name, text in (("w.txt", WORKLOAD), ("s.txt", SYSTEM), ("n.yaml", NETWORK), ("hook.py", hook)):
        (folder / name).write_text(text)
    words = ("-w", "w.txt", "-s", "s.txt", "-n", "n.yaml", "-o", "out", "--hook", "hook.py")
    return run_command("run", *words, folder=folder, headers=True)


def test_a_connection_that_gives_up_with_the_defaults_is_saved_and_ends(tmp_path: Path) -> None:
    """Fifteen timeouts, doubling to a minute, are minutes of simulated time in which nothing happens."""
    finished = run(
        tmp_path,
        "def on_built(context):\n"
        "    ipv4 = context.nodes[1].GetObject[context.ns.Ipv4]()\n"
        "    context.schedule(5_000_000, lambda: ipv4.SetDown(1))\n",
    )
    assert finished.returncode == 5
    assert "was given up after too many retransmissions" in finished.stderr
    assert json.loads((tmp_path / "out" / "run.json").read_text())["complete"] is False


def test_what_makes_ns3_end_the_process_is_status_5_at_once(tmp_path: Path) -> None:
    finished = run(
        tmp_path,
        "def on_built(context):\n"
        "    context.ns.Config.SetDefault('ns3::NoSuchThing::Value', context.ns.UintegerValue(1))\n",
    )
    assert finished.returncode == 5
    assert "astra-ns3: error: ns-3 ended the process" in finished.stderr


@pytest.mark.parametrize(
    ("code", "message"), [("1 / 0", "ZeroDivisionError"), ("raise SystemExit(0)", "SystemExit")], ids=["error", "exit"]
)
def test_a_failing_callback_of_a_hook_is_status_2_and_what_was_done_is_saved(
    tmp_path: Path, code: str, message: str
) -> None:
    hook = f"def failing():\n    {code}\n\ndef on_built(context):\n    context.schedule(2_000_000, failing)\n"
    finished = run(tmp_path, hook)
    assert finished.returncode == 2
    assert "the hook's code failed: " + message in finished.stderr
    assert json.loads((tmp_path / "out" / "run.json").read_text())["complete"] is False


def test_a_callback_of_a_hook_that_takes_other_arguments_is_told_with_the_file(tmp_path: Path) -> None:
    finished = run(tmp_path, "def on_built(context):\n    context.schedule(2_000_000, lambda number: None)\n")
    assert finished.returncode == 2
    assert "hook.py: the hook's code failed: TypeError: " in finished.stderr


def test_a_hook_that_stops_the_simulation_is_named(tmp_path: Path) -> None:
    finished = run(
        tmp_path, "def on_built(context):\n    context.schedule(2_000_000, lambda: context.ns.Simulator.Stop())\n"
    )
    assert finished.returncode == 5
    assert "a hook stopped the simulation at 2 us" in finished.stderr


def test_a_cable_that_gets_shorter_during_the_run_keeps_its_order(tmp_path: Path) -> None:
    finished = run(
        tmp_path,
        "def on_built(context):\n"
        "    delay = context.ns.TimeValue(context.ns.NanoSeconds(1))\n"
        "    context.schedule(15_000_000, lambda: context.port('switch0:1').SetAttribute('Delay', delay))\n",
    )
    assert finished.returncode == 0, finished.stderr[-400:]
