"""A congestion control of the user's own: the C++ and the Python form do the same, and what is wrong in one is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from oracles.roce_times import Star
from support.roce_network import LOSSLESS, roce_star
from support.star_network import Played, incast, one_message, play

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import InputError
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.workload.files.astra_sim import parse_workload

SENDERS = 4
SIZE = 400_000
ADDITIVE = "inputs/congestion-control/additive"
MARKING = {"kmin": "50KB", "kmax": "50KB"}
LINE = Star(100 * 10**9, 500_000)


def congested(control: object) -> NetworkConfig:
    """Senders into one port that marks all above 50 kB."""
    switch = {"ecn": MARKING, "pfc": LOSSLESS}
    return roce_star(SENDERS + 1, switch=switch, congestion_control=control, window="bdp")


def finishes(played: Played) -> list[tuple[int, int]]:
    """End of each message, by its sender."""
    flows = played.table("flows")
    return sorted(zip(flows["source"].tolist(), flows["end_ps"].tolist(), strict=True))


def play_form(repository: Path, folder: Path, form: str, parameters: dict[str, object]) -> Played:
    folder = folder / form
    folder.mkdir()
    kind = f"{repository / ADDITIVE}.{form}:AdditiveControl"
    return play(congested({"kind": kind, "parameters": parameters}), incast(SENDERS), SIZE, directory=folder)


@pytest.mark.parametrize("parameters", [{}, {"step": "200Mbps", "factor": 0.5}], ids=["defaults", "given"])
def test_the_cpp_and_the_python_form_finish_at_the_same_picosecond(
    repository: Path, tmp_path: Path, parameters: dict[str, object]
) -> None:
    compiled, interpreted = (play_form(repository, tmp_path, form, parameters) for form in ("hpp", "py"))
    assert finishes(compiled) == finishes(interpreted)
    assert compiled.ports == interpreted.ports
    # It did something: marks came and rates went down, so less waited than with the window alone.
    (tmp_path / "none").mkdir()
    window_alone = play(congested("none"), incast(SENDERS), SIZE, directory=tmp_path / "none")
    assert compiled.statistics["marked_frames"] > 0
    assert finishes(compiled) != finishes(window_alone)
    assert compiled.statistics["marked_frames"] < window_alone.statistics["marked_frames"]


def test_its_parameters_reach_it(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    (tmp_path / "other").mkdir()
    usual = play_form(repository, tmp_path / "usual", "hpp", {})
    other = play_form(repository, tmp_path / "other", "hpp", {"factor": 0.3})
    assert usual.done_ps(0) < other.done_ps(0)


def python_control(folder: Path, method: str) -> str:
    """A class whose ``method`` (name, arguments, what it does) is all there is besides the start."""
    path = folder / "mine.py"
    path.write_text(f"class Mine:\n    def __init__(self, parameters):\n        pass\n\n    {method}\n")
    return f"{path}:Mine"


@pytest.mark.parametrize(
    "method",
    [
        "def start(self, sender): raise LookupError('no such thing')",
        "def ack_received(self, sender, ack): raise LookupError('no such thing')",
        "def packet_sent(self, sender, bytes): raise LookupError('no such thing')",
    ],
)
def test_an_exception_in_a_python_control_names_its_line(method: str, tmp_path: Path) -> None:
    network = roce_star(2, congestion_control=python_control(tmp_path, method))
    with pytest.raises(InputError, match=r"mine\.py:5: Mine failed: LookupError: no such thing$") as told:
        play(network, one_message(), SIZE)
    assert isinstance(told.value.__cause__, LookupError)
    assert play(roce_star(2), one_message(), SIZE).finish_ps == LINE.message_ps(SIZE, 1000)  # the next run is untouched


def test_an_exception_as_a_python_control_is_made_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def __init__(self, parameters):\n        raise LookupError('no such thing')\n")
    with pytest.raises(InputError, match=r"mine\.py:3: Mine failed: LookupError: no such thing$"):
        play(roce_star(2, congestion_control=f"{path}:Mine"), one_message(), SIZE)


@pytest.mark.parametrize("name", ["ack_received", "telemetry"])
def test_an_attribute_of_a_python_control_that_raises_names_its_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "class Mine:\n    def __init__(self, parameters): pass\n    def __getattr__(self, name):\n"
        f"        if name == '{name}': raise LookupError(name)\n        raise AttributeError(name)\n"
    )
    with pytest.raises(InputError, match=rf"mine\.py:4: Mine failed: LookupError: '?{name}'?$"):
        play(roce_star(2, congestion_control=f"{path}:Mine"), one_message(), SIZE)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sender.start_timer(9, 5)", "timer of sender.start_timer is 9, expected a number from 0 to 3"),
        ("sender.start_timer(0, -5)", "delay_ps of sender.start_timer is -5, expected a number from 0 to"),
        ("sender.stop_timer('x')", "timer of sender.stop_timer is 'x', expected a number from 0 to 3"),
        ("sender.window_bytes = float('inf')", "sender.window_bytes is inf, expected a number from 0 to"),
        ("sender.window_bytes = 10**30", "sender.window_bytes is 1000000000000000000000000000000, expected"),
    ],
)
def test_a_number_that_no_sender_takes_is_told_with_what_it_takes(line: str, told: str, tmp_path: Path) -> None:
    network = roce_star(2, congestion_control=python_control(tmp_path, f"def start(self, sender): {line}"))
    with pytest.raises(InputError, match=rf"mine\.py:5: congestion control: {told}".replace("(", r"\(")):
        play(network, one_message(), SIZE)


def test_a_python_control_sets_the_rate(tmp_path: Path) -> None:
    """At an eighth of the line each packet but the last takes eight times as long; the first leaves at once."""
    method = "def start(self, sender): sender.rate_bps = sender.line_rate_bps / 8"
    network = roce_star(2, congestion_control=python_control(tmp_path, method))
    expected_ps = (SIZE // 1000 - 1) * 8 * LINE.data_ps(1000) + LINE.message_ps(1000, 1000)
    assert play(network, one_message(), SIZE).done_ps(1) == expected_ps


def test_a_python_control_sets_the_window(tmp_path: Path) -> None:
    method = "def start(self, sender): sender.window_bytes = 10 * sender.payload_bytes"
    network = roce_star(2, congestion_control=python_control(tmp_path, method))
    assert play(network, one_message(), SIZE).done_ps(1) == LINE.windowed_ps(SIZE, 1000, 10_000)


def test_a_python_control_sees_the_round_trip_of_the_idle_network(tmp_path: Path) -> None:
    wanted = LINE.round_trip_ps(1000)
    method = f"""def ack_received(self, sender, ack):
        assert ack.round_trip_ps == sender.base_round_trip_ps == {wanted}, (ack.round_trip_ps, {wanted})
        assert (ack.new_bytes, ack.marked, ack.switches, sender.switches) == (1000, False, 1, 1)
        assert ack.telemetry == []"""
    network = roce_star(2, congestion_control=python_control(tmp_path, method))
    played = play(network, one_message(), SIZE, stop_when_done=False)
    assert played.done_ps(1) == LINE.message_ps(SIZE, 1000)


def test_a_python_control_has_timers(tmp_path: Path) -> None:
    """It starts at an eighth of the line and goes on at all of it after 10 us, at which packet 14 leaves."""
    method = """def start(self, sender):
        sender.rate_bps = sender.line_rate_bps / 8
        sender.start_timer(2, 10_000_000)

    def timer_due(self, sender, timer):
        assert (timer, sender.now_ps) == (2, 10_000_000)
        sender.rate_bps = sender.line_rate_bps"""
    network = roce_star(2, congestion_control=python_control(tmp_path, method))
    slow_ps, fast_ps = 8 * LINE.data_ps(1000), LINE.data_ps(1000)
    before = 10_000_000 // slow_ps + 1  # packets that have left at the slow rate
    resumed_ps = max(10_000_000, (before - 1) * slow_ps + fast_ps)
    expected_ps = resumed_ps + LINE.message_ps(SIZE - before * 1000, 1000)
    assert play(network, one_message(), SIZE).done_ps(1) == expected_ps


GOOD = """#include "roce-congestion-control.h"
class {name} : public ns3::RoceCongestionControl
{{
  public:
    explicit {name}(const ns3::RoceControlParameters&) {{}}
    void Start(ns3::RoceSender& sender) override {{ sender.SetRateBps(sender.GetLineRateBps() / {share}.0); }}
}};
"""


def test_a_file_that_does_not_compile_is_an_input_error_with_the_compilers_words(tmp_path: Path) -> None:
    path = tmp_path / "broken.hpp"
    path.write_text(GOOD.format(name="BrokenControl", share=2).replace("SetRateBps", "SetTheRate"))
    network = roce_star(2, congestion_control=f"{path}:BrokenControl")
    with pytest.raises(InputError, match=r"broken\.hpp.*BrokenControl.*error: no member named 'SetTheRate'") as caught:
        play(network, one_message(), SIZE)
    assert "\n" not in str(caught.value)


def test_a_file_that_was_mended_is_compiled_anew(tmp_path: Path) -> None:
    """Whoever works in one Python session mends a control and runs it again."""
    path = tmp_path / "mended.hpp"
    path.write_text(GOOD.format(name="MendedControl", share=2).replace("SetRateBps", "SetTheRate"))
    network = roce_star(2, congestion_control=f"{path}:MendedControl")
    with pytest.raises(InputError):
        play(network, one_message(), SIZE)
    path.write_text(GOOD.format(name="MendedControl", share=2))
    half_ps = (SIZE // 1000 - 1) * 2 * LINE.data_ps(1000) + LINE.message_ps(1000, 1000)
    assert play(network, one_message(), SIZE).done_ps(1) == half_ps


def test_a_file_may_have_several_classes(tmp_path: Path) -> None:
    path = tmp_path / "several.hpp"
    path.write_text(GOOD.format(name="HalfControl", share=2) + GOOD.format(name="QuarterControl", share=4))
    for name, share in (("HalfControl", 2), ("QuarterControl", 4), ("HalfControl", 2)):
        expected_ps = (SIZE // 1000 - 1) * share * LINE.data_ps(1000) + LINE.message_ps(1000, 1000)
        assert play(roce_star(2, congestion_control=f"{path}:{name}"), one_message(), SIZE).done_ps(1) == expected_ps


def test_a_changed_file_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """A class can't be compiled twice in one process; to go on with the old one would be a wrong result."""
    path = tmp_path / "changed.hpp"
    path.write_text(GOOD.format(name="ChangedControl", share=2))
    network = roce_star(2, congestion_control=f"{path}:ChangedControl")
    play(network, one_message(), SIZE)
    path.write_text(GOOD.format(name="ChangedControl", share=4))
    with pytest.raises(InputError, match=r"changed\.hpp.* changed"):
        play(network, one_message(), SIZE)


def test_a_changed_header_that_a_file_includes_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.hpp", tmp_path / "outer.hpp"
    inner.write_text("#pragma once\n" + GOOD.format(name="InnerControl", share=2))
    outer.write_text(
        '#include "inner.hpp"\nclass OuterControl : public InnerControl { using InnerControl::InnerControl; };'
    )
    network = roce_star(2, congestion_control=f"{outer}:OuterControl")
    play(network, one_message(), SIZE)
    inner.write_text("#pragma once\n" + GOOD.format(name="InnerControl", share=4))
    with pytest.raises(InputError, match=r"inner\.hpp.* changed"):
        play(network, one_message(), SIZE)


@pytest.mark.parametrize("suffix", ["hpp", "py"])
def test_a_class_that_is_not_in_the_file_is_an_input_error(repository: Path, suffix: str) -> None:
    network = roce_star(2, congestion_control=f"{repository / ADDITIVE}.{suffix}:SubtractiveControl")
    with pytest.raises(InputError, match=rf"additive\.{suffix}.*SubtractiveControl"):
        play(network, one_message(), SIZE)


def test_a_python_file_that_is_broken_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("class Mine\n")
    with pytest.raises(InputError, match=r"broken\.py:1: the congestion control file failed: SyntaxError"):
        play(roce_star(2, congestion_control=f"{path}:Mine"), one_message(), SIZE)


@pytest.mark.parametrize("name", ["nowhere.hpp", "nowhere.py"])
def test_a_file_that_is_not_there_is_an_input_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=name):
        play(roce_star(2, congestion_control=f"{tmp_path / name}:Mine"), one_message(), SIZE)


def test_a_python_control_that_asks_for_telemetry_sees_what_each_switch_reported(tmp_path: Path) -> None:
    # The first packet has crossed a line and 500 ns when the switch sends it on; nothing was sent before it.
    hop = (LINE.data_ps(1000) + 500_000, 0, 0, 10**11)
    method = (
        "telemetry = 'hops'\n\n    def ack_received(self, sender, ack):\n"
        "        if ack.acknowledged_bytes == 1000:\n            raise LookupError(ack.telemetry)"
    )
    with pytest.raises(InputError) as caught:
        play(roce_star(2, congestion_control=python_control(tmp_path, method)), one_message(), SIZE)
    cause = caught.value.__cause__
    assert cause is not None
    assert cause.args == ([hop],)


def test_what_a_python_control_raises_names_its_file_and_line_in_a_run(tmp_path: Path) -> None:
    network = roce_star(2, congestion_control=python_control(tmp_path, "def ack_received(self, sender, ack): ack.rtt"))
    with pytest.raises(InputError, match=r"mine\.py:5: Mine failed: AttributeError: .*'rtt'$"):
        astra_ns3.run(
            workload=parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4000 0\n", "micro"),
            system=Path(__file__).parents[2] / "inputs/system/flat.yaml",
            network=network,
        )


SEVERAL_RUNS = """
import gc, sys
import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

topology = {"npus": 8, "link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "4MB", "pfc": {}}}
roce = {"kind": "roce", "queue_pairs": "per-message", "congestion_control": {"kind": sys.argv[1] + ":AdditiveControl"}}
kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
algorithms = {kind + "-implementation": "ring" for kind in kinds}
system = parse_system({"scheduling-policy": "LIFO", "preferred-dataset-splits": 4, **algorithms})
workload = parse_workload("MICRO\\n1\\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 200000 0\\n", "x")
network = parse_network({"topology": topology, "transport": roce})
finishes = set()
for _ in range(5):
    finishes.add(astra_ns3.run(workload=workload, system=system, network=network, passes=4).finish_ps)
    gc.collect()
print(len(finishes))
"""


def test_a_python_control_lives_through_many_runs_of_one_process(repository: Path) -> None:
    """Objects of one run lie where those of the run before lay; what is left of these must not be taken for them."""
    control = repository / "inputs" / "congestion-control" / "additive.py"
    program = [sys.executable, "-c", SEVERAL_RUNS, str(control)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr[-500:]


@pytest.mark.parametrize("form", ["hpp", "py"])
def test_flows_say_that_they_leave_it_out(repository: Path, form: str) -> None:
    network = congested({"kind": f"{repository / ADDITIVE}.{form}:AdditiveControl"})
    backend = create_backend("flow", plan_network(network), seed=1, recorder=RecorderOptions())
    said = backend.warnings()
    backend.close()
    assert any("AdditiveControl not at all: senders share lines evenly at once" in words for words in said)
