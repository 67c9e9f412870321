"""A training loop of the user's: a generator in a file, named on the first line of a workload."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_backend import FakeBackend
from support.small_run import NPUS, WORKLOAD, small_network, small_system

import astra_ns3
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.validate import validate
from astra_ns3.playing.dry_run.counting import collective_requests, counted_requests
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.loops import loop_of
from astra_ns3.report.summary import run_text
from astra_ns3.workload.files.astra_sim import format_workload, parse_workload, read_workload
from astra_ns3.workload.loops.parallelism import parallelism_of

LAYERS = WORKLOAD.split("\n", 1)[1]
HEAD = (
    "from astra_ns3.playing.loops.loops import *; from astra_ns3.errors import InputError\n"
    "from astra_ns3.playing.loops.steps import *\n"
)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine.py"


def workload(first_line: str = "mine.py:loop") -> Workload:
    return parse_workload(f"{first_line}\n{LAYERS}", "mine.txt")


def play(loop: Workload, passes: int = 1) -> Result:
    return astra_ns3.run(
        workload=loop, system=small_system(), network=small_network(), backend=FakeBackend(NPUS), passes=passes
    )


def test_a_loop_that_does_as_ours_runs_as_ours(mine: Path) -> None:
    mine.write_text(f"{HEAD}def loop(steps, role): return data_parallel(steps, role)\n")
    own, ours = play(workload(), passes=3), play(workload("DATA"), passes=3)
    assert own.finish_ps == ours.finish_ps
    assert own.collectives.equals(ours.collectives)
    assert len(own.collectives) == 6


def test_collectives_that_a_loop_does_not_wait_for_are_told(mine: Path) -> None:
    issues = f"{HEAD}def loop(steps, role):\n    yield from steps.issue(0, 0, WEIGHT_GRADIENT)\n"
    for more, told in (("    yield from steps.drain()\n", False), ("", True)):
        mine.write_text(issues + more)
        found = play(workload(), 1).metadata
        assert ("; 1 had not ended when the loop did" in run_text(found, None)) is told
        warning = "1 collective had not ended when the loop did, and the finish leaves them out: end the loop with"
        assert any(each.startswith(warning) for each in found["warnings"]) is told


def test_lines_have_no_least_time_for_what_a_loop_does_not_wait_for(mine: Path) -> None:
    """It computes 100 ns, and leaves an all-reduce of 1 MB behind, for which lines need 120 us."""
    begins = f"{HEAD}def loop(steps, role):\n    yield from steps.issue(0, 0, WEIGHT_GRADIENT)\n"
    work = parse_workload("mine.py:loop\n1\none -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 1000000 0\n", "mine.txt")
    floors = []
    for more in ("    yield from steps.drain()\n", ""):
        mine.write_text(begins + more)
        found = astra_ns3.run(workload=work, system=small_system(), network=small_network(), backend="flow")
        assert not [each for each in found.metadata["warnings"] if "below the floor" in each]
        floors.append(found.metadata["floor"])
    assert floors[0] is not None
    assert floors[0]["lines_ps"] == pytest.approx(120_000_000, rel=0.1)
    assert floors[1] is None


@pytest.mark.parametrize(("passes", "exchanges"), [(1, 1), (4, 1), (5, 2), (8, 2), (10, 3)])
def test_gradients_are_accumulated_over_four_passes(
    passes: int, exchanges: int, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is forecast is what is played, though passes differ."""
    monkeypatch.chdir(repository)
    loop = read_workload("inputs/extending/accumulate.txt")
    assert len(play(loop, passes).collectives) == 2 * exchanges
    found = validate(loop, small_system(), small_network(), Options(passes=passes))
    assert (found.forecast.collectives, found.warnings) == (2 * exchanges, ())
    assert [count for _, count in counted_requests(Programs.of(loop, passes, (4,)))] == [exchanges, exchanges]


def test_collectives_go_over_all_dimensions_unless_a_layer_has_a_policy(mine: Path) -> None:
    mine.write_text(
        f"{HEAD}def loop(steps, role):\n    yield from steps.issue(0, 0, FORWARD)\n    yield from steps.drain()\n"
    )
    text = "mine.py:loop\n1\nlayer -1 0 ALLREDUCE 8 0 NONE 0 0 NONE 0 0"
    for policy, dimensions in (("", None), (" HYBRID_DATA_MODEL", (0,)), (" HYBRID_MODEL_DATA", (1,)), (" DATA", ())):
        read = parse_workload(text + policy)
        (request,) = collective_requests(Programs.of(read, 1, (2, 2)))
        assert request.dimensions == dimensions
        assert parse_workload(format_workload(read)) == read
    assert parallelism_of(read, (2, 2)).cut is None
    with pytest.raises(InputError, match=r"w:3: policy 'DATTA' is not one of MICRO, DATA, .*did you mean 'DATA'"):
        parse_workload(f"{text} DATTA", "w")
    with pytest.raises(InputError, match=r"w:3: found 14 columns, expected 13"):
        parse_workload(f"{text} DATA 1", "w")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [1]", r"mine\.py:loop: gave a list, expected a generator: it must yield operations"),
        ("return None", r"mine\.py:loop: gave nothing, expected a generator"),
        ("yield 3", r"mine\.py:loop: yielded an int, expected one of .*Compute"),
        ("yield steps.issue(0, 0, FORWARD)", r"mine\.py:loop: yielded a generator, .*use 'yield from'"),
        ("yield from steps.compute(0, 7, FORWARD)", r"mine\.py:3: loop failed: IndexError"),
        ("yield MOVE; raise SystemExit(0)", r"mine\.py:3: loop failed: SystemExit: 0"),
        ("raise BaseException('odd'); yield", r"mine\.py:3: loop failed: BaseException: odd"),
        ("raise InputError('no such model'); yield", r"mine\.py:3: no such model$"),
    ],
)
def test_what_is_no_loop_is_refused_in_one_line(mine: Path, body: str, message: str) -> None:
    mine.write_text(f"{HEAD}def loop(steps, role): {body}\n")
    for call in (lambda: play(workload()), lambda: validate(workload(), small_system(), small_network())):
        with pytest.raises(InputError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_the_system_file_is_not_blamed_for_a_loop(mine: Path) -> None:
    mine.write_text("def loop(steps, role): yield 3\n")
    system = Path(__file__).parents[3] / "inputs" / "system" / "flat.txt"
    with pytest.raises(InputError, match=r"^mine\.py:loop: yielded an int"):
        validate(workload(), system, small_network())


def test_more_passes_than_can_be_played_beforehand_are_refused(mine: Path) -> None:
    mine.write_text(f"{HEAD}def loop(steps, role): return data_parallel(steps, role)\n")
    with pytest.raises(
        InputError, match="the number of passes is 100001, expected at most 100000 with a loop of your own"
    ):
        validate(workload(), small_system(), small_network(), Options(passes=100_001))
    loop_of(workload(), 100_000)  # as many are allowed
    assert (
        validate(workload("DATA"), small_system(), small_network(), Options(passes=100_001)).forecast.collectives
        == 200_002
    )


def test_a_first_line_that_names_no_loop_says_what_may_stand_there() -> None:
    with pytest.raises(
        InputError, match=r"mine\.txt:1: training loop 'mine\.py' is not one of MICRO, .*, FILE\.py:name"
    ):
        workload("mine.py")
    with pytest.raises(InputError, match=r"mine\.txt:1: found '4' after mine\.py:loop, expected nothing"):
        workload("mine.py:loop 4")


def test_a_loop_may_have_roles(mine: Path) -> None:
    """Two NPUs compute for 5 us and send to their partners, which wait for it."""
    mine.write_text(
        f"{HEAD}"
        "from astra_ns3.network.records import Label\n"
        "from astra_ns3.playing.programs.operations import Compute, Receive, Send, Wait\n"
        "LABEL = Label(0, 0, FORWARD)\n"
        "def loop(steps, role):\n"
        "    if role.name == 'first':\n"
        "        yield Compute(LABEL, 5_000_000)\n"
        "        handle = yield Send(steps.roles['last'].communicator, 1000, 'x', LABEL)\n"
        "    else:\n"
        "        handle = yield Receive(steps.roles['first'].communicator, 1000, 'x', LABEL)\n"
        "    yield Wait(handle)\n"
        "loop.roles = lambda workload, grid: {'first': [0, 1], 'last': [2, 3]}\n"
    )
    played = play(workload())
    assert played.collectives["kind"].tolist() == ["POINTTOPOINT"] * 2
    assert played.npus["compute_us"].tolist() == [5.0, 5.0, 0.0, 0.0]
    assert (played.npus["finish_us"] >= 5.0).all()


def test_what_roles_must_be_is_said(mine: Path) -> None:
    mine.write_text(f"{HEAD}def loop(steps, role): return data_parallel(steps, role)\nloop.roles = 3\n")
    with pytest.raises(InputError, match=r"mine\.py:loop: its 'roles' is an int, expected a function of"):
        play(workload())
