"""``run`` from arguments to results, on the fake backend."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.small_run import (
    NPUS,
    BeatingBackend,
    InterruptedBackend,
    small_network,
    small_run,
    small_system,
    write_inputs,
)

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import AstraNs3Error, BackendError, InputError, Interrupted, LimitReached, SimulationStalled
from astra_ns3.experiments.metadata import VARYING_KEYS
from astra_ns3.experiments.progress import Progress
from astra_ns3.network.api import Limits
from astra_ns3.units import format_time

TABLES = {
    "EndToEnd.csv",
    "detailed.csv",
    "backend_end_to_end.csv",
    "run_dimension_utilization.csv",
    "npus.csv",
    "collectives.csv",
    "switch.csv",
}


def contents(folder: Path) -> dict[str, Any]:
    """Every file of a run; run.json without what differs from run to run."""
    found: dict[str, Any] = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "run.json"}
    document = json.loads((folder / "run.json").read_text())
    found["run.json"] = {key: value for key, value in document.items() if key not in VARYING_KEYS}
    return found


def saved_document(folder: Path) -> dict[str, Any]:
    document = json.loads((folder / "run.json").read_text())
    assert isinstance(document, dict)
    return document


def test_importing_the_package_loads_neither_ns3_nor_pandas_and_a_run_neither_pandas(repository: Path) -> None:
    program = (
        "import sys, astra_ns3\n"
        "assert not {'cppyy', 'pandas', 'pyarrow', 'numpy', 'pydantic'} & set(sys.modules)\n"
        "from support.small_run import small_run\n"
        "astra_ns3.run(**small_run())\n"
        "assert not {'cppyy', 'pandas', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "assert astra_ns3.Result.__name__ == 'Result' and astra_ns3.__version__\n"
    )
    path = f"import sys; sys.path[:0] = [{str(repository / 'tests')!r}]\n"
    subprocess.run([sys.executable, "-c", path + program], check=True, timeout=60)


def test_finish_is_the_last_npus() -> None:
    # In a tree the root is done before the leaves hear of it.
    tree = small_system(**{"all-reduce-implementation": "doubleBinaryTree", "preferred-dataset-splits": 1})
    result = astra_ns3.run(**{**small_run(), "system": tree})
    finishes = [round(1e6 * finish_us) for finish_us in result.npus["finish_us"]]
    assert result.finish_ps == max(finishes) > min(finishes)
    assert result.finish_ns == result.finish_ps / 1000
    assert result.complete


def test_compute_and_exposed_time_add_up_to_the_finish_of_every_npu() -> None:
    npus = astra_ns3.run(**small_run(), passes=2).npus
    assert (npus["compute_us"] + npus["exposed_us"] - npus["finish_us"]).abs().max() < 1e-6
    # Two passes: 3 us of forward, 3 us of weight gradients, 2 us of the second layer's input gradient.
    assert set(npus["compute_us"]) == {16.0}


def test_a_saved_run_loads_as_the_same_result(tmp_path: Path) -> None:
    kept, saved = astra_ns3.run(**small_run()), astra_ns3.run(**small_run(), output=tmp_path / "out")
    assert kept.folder is None
    assert saved.folder == tmp_path / "out"
    loaded = astra_ns3.Result.load(tmp_path / "out")
    assert loaded.metadata == saved.metadata
    assert {file.name for file in saved.folder.iterdir()} == {*TABLES, "run.json"} == set(loaded.metadata["files"])
    for name in ("end_to_end", "detailed", "npus", "collectives", "switches", "backend_end_to_end"):
        assert getattr(kept, name).equals(getattr(loaded, name)), name
    assert loaded.finish_ps == kept.finish_ps


def test_columns_of_frames_name_their_units() -> None:
    result = astra_ns3.run(**small_run())
    for frame in (result.end_to_end, result.detailed):
        assert list(frame.columns[:2]) == ["layer_name", "run_name"]
        assert all(column.endswith("_us") for column in frame.columns[2:])
    assert list(result.dimension_utilization.columns) == ["time_us", "dim1_percent"]


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        astra_ns3.run(**small_run(), output=tmp_path / name, passes=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_run_json_is_enough_to_do_the_run_again(tmp_path: Path) -> None:
    first = astra_ns3.run(**small_run(), passes=2, seed=7, comm_scale=0.5, output=tmp_path / "out")
    document = saved_document(tmp_path / "out")
    assert (document["seed"], document["passes"], document["comm_scale"]) == (7, 2, 0.5)
    assert [layer["weight_gradient"]["bytes"] for layer in document["workload"]["layers"]] == [2000, 4000]
    again = {
        **small_run(),
        "system": astra_ns3_system(document["system"]),
        "network": parse_network(document["network"]),
    }
    assert astra_ns3.run(**again, passes=2, comm_scale=0.5).finish_ps == first.finish_ps


def astra_ns3_system(document: dict[str, Any]) -> Any:
    from astra_ns3.system.file import parse_system

    return parse_system(document)


def test_paths_and_objects_are_alike(tmp_path: Path) -> None:
    files = write_inputs(tmp_path)
    from_files = astra_ns3.run(**files, backend=FakeBackend(NPUS))
    assert from_files.finish_ps == astra_ns3.run(**small_run()).finish_ps
    assert from_files.metadata["workload"]["source"] == files["workload"]


def test_a_factory_gets_what_a_backend_is_made_from() -> None:
    seen: list[Any] = []

    def factory(*arguments: Any) -> FakeBackend:
        seen.extend(arguments)
        return FakeBackend(NPUS)

    def hook(context: object) -> None:
        """Never called: the factory ignores it."""

    astra_ns3.run(**{**small_run(), "backend": factory}, seed=3, on_built=hook)
    plan, seed, recorder, on_built = seen
    assert (plan.config, seed, on_built) == (small_network(), 3, hook)
    assert plan.endpoint.delay_ps == 10_000
    assert (recorder.directory, recorder.flows) == (None, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"passes": 0}, "passes is 0, expected a whole number, at least 1"),
        ({"passes": 1.5}, "passes is 1.5"),
        ({"passes": 10**5000}, "passes is too large, expected at most 9223372036854775807"),
        ({"cores": 0}, "cores is 0, expected a whole number from 1 to 1024, or auto"),
        ({"cores": "all"}, "cores is 'all', expected a whole number from 1 to 1024, or auto"),
        ({"cores": True}, "cores is True, expected a whole number from 1 to 1024, or auto"),
        ({"seed": 0}, "seed is 0, expected a whole number from 1 to 4294967295"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"comm_scale": 0}, "comm-scale is 0"),
        ({"comm_scale": float("inf")}, "comm-scale is inf"),
        ({"compute_scale": -1.0}, "compute-scale is -1.0"),
        ({"compute_scale": float("nan")}, "compute-scale is nan"),
        (
            {"record": ("flow",)},
            "record 'flow' is not one of flows, accounts, layers, timeline, nodes, all; did you mean",
        ),
        ({"backend": []}, "backend is [], expected a name"),
        ({"compat": 3}, "compat is 3, expected a name"),
        ({"compat": None}, "compat is None, expected a name"),
        ({"rendezvous": 1}, "rendezvous is 1, expected True or False"),
        ({"congestion_control": 1.5}, "congestion-control is 1.5, expected a name"),
        ({"overwrite": "x"}, "overwrite is 'x', expected True or False"),
        ({"record": 3}, "record is 3, expected names of tables: flows"),
        ({"limits": Limits(wall_seconds=True)}, "the limit on wall time is True, expected a number"),
        ({"run_name": "a/b"}, "run name 'a/b'"),
        ({"run_name": ""}, "run name ''"),
        (
            {"backend": "ns4"},
            "backend 'ns4' is not one of ns3, flow, analytical, analytical-queues; did you mean 'ns3'",
        ),
        ({"backend": FakeBackend(3)}, "the backend has 3 NPUs, the network 4"),
        ({"limits": Limits(wall_seconds=0)}, "the limit on wall time is 0"),
        ({"system": 5}, "system: found an int, expected the path of a file or a SystemConfig"),
        ({"system": {}}, "a SystemConfig, which parse_system() makes of a mapping"),
        ({"workload": "nowhere.txt"}, "nowhere.txt: no such file"),
        ({"system": small_system(**{"all-reduce-implementation": "ring_ring"})}, "found 2 algorithms"),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        astra_ns3.run(**{**small_run(), "output": tmp_path / "deep" / "out", **arguments})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_algorithm_that_needs_a_power_of_two_is_refused_by_the_name_of_the_file(tmp_path: Path) -> None:
    files = write_inputs(tmp_path)
    Path(files["network"]).write_text(Path(files["network"]).read_text().replace("npus: 4", "npus: 6"))
    system = Path(files["system"])
    system.write_text(
        system.read_text().replace("all-reduce-implementation: ring", "all-reduce-implementation: halvingDoubling")
    )
    with pytest.raises(InputError, match=r"system\.txt: .*power of two, got 6"):
        astra_ns3.run(**files, backend=FakeBackend(6))


def test_a_folder_that_holds_a_run_is_refused_unless_overwritten(tmp_path: Path) -> None:
    astra_ns3.run(**small_run(), output=tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(InputError, match="holds a run"):
        astra_ns3.run(**small_run(), output=tmp_path / "out", passes=2)
    assert contents(tmp_path / "out") == before
    astra_ns3.run(**small_run(), output=tmp_path / "out", passes=2, overwrite=True)
    assert saved_document(tmp_path / "out")["passes"] == 2


class FailedBackend(FakeBackend):
    def run(self, listener: object, limits: object) -> None:
        raise BackendError("a connection gave up")


STOPS: list[tuple[type[AstraNs3Error], int, dict[str, Any], str]] = [
    (SimulationStalled, 3, {"backend": lambda *_: FakeBackend(NPUS, lost=lambda _, row: row == 3)}, "NPU 1 waits"),
    (LimitReached, 4, {"limits": Limits(simulated_ps=5_000_000)}, "simulated time"),
    (LimitReached, 4, {"backend": lambda *_: BeatingBackend(NPUS), "limits": Limits(wall_seconds=1e-9)}, "wall time"),
    (LimitReached, 4, {"backend": lambda *_: BeatingBackend(NPUS), "limits": Limits(memory_bytes=1000)}, "memory"),
    (BackendError, 5, {"backend": lambda *_: FailedBackend(NPUS)}, "gave up"),
    (Interrupted, 130, {"backend": lambda *_: InterruptedBackend(NPUS)}, "interrupted"),
]


@pytest.mark.parametrize(("error", "status", "arguments", "message"), STOPS)
def test_a_run_that_stops_early_saves_what_it_did_and_says_why(
    tmp_path: Path, error: type[AstraNs3Error], status: int, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(error, match=message):
        astra_ns3.run(**{**small_run(), **arguments}, passes=3, output=tmp_path / "out")
    result = astra_ns3.Result.load(tmp_path / "out")
    assert not result.complete
    stopped = result.metadata["stopped"]
    assert stopped is not None
    assert stopped["kind"] == error.__name__
    assert stopped["exit_status"] == status
    assert message in stopped["message"]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {*TABLES, "run.json"}
    assert result.npus["finish_us"].isna().all()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_training_that_stops_early_says_in_which_of_its_passes_it_was() -> None:
    """It stops halfway between the ends of runs of one pass more each."""
    ends_ps = [astra_ns3.run(**small_run(), passes=passes).finish_ps for passes in (1, 2, 3)]
    for done, limit_ps in enumerate([ends_ps[0] // 2, *(sum(pair) // 2 for pair in pairwise(ends_ps))]):
        with pytest.raises(LimitReached, match=rf"; NPU 0 was in pass {done + 1} of 3$"):
            astra_ns3.run(**small_run(), limits=Limits(simulated_ps=limit_ps), passes=3)
    with pytest.raises(LimitReached, match=r"simulated time$"):
        astra_ns3.run(**small_run(), limits=Limits(simulated_ps=ends_ps[0] // 2))
    with pytest.raises(Interrupted, match=r"^interrupted; NPU 0 was in pass [123] of 3$"):
        astra_ns3.run(**{**small_run(), "backend": InterruptedBackend(NPUS)}, passes=3)


def test_collectives_of_an_interrupted_run_are_kept() -> None:
    from astra_ns3.experiments.request import RunRequest
    from astra_ns3.experiments.run import execute

    outcome = execute(RunRequest(**{**small_run(), "backend": InterruptedBackend(NPUS)}, passes=3))
    assert isinstance(outcome.error, Interrupted)
    ended = outcome.result.collectives["end_us"].notna()
    assert 0 < ended.sum() < len(ended)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_results_are_saved_does_not_undo_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    from astra_ns3.experiments.saving import save_all

    before = signal.getsignal(number)

    def disturbed(*arguments: Any) -> Any:
        signal.raise_signal(number)
        return save_all(*arguments)

    monkeypatch.setattr("astra_ns3.experiments.run.save_all", disturbed)
    astra_ns3.run(**small_run(), output=tmp_path / "out")
    assert astra_ns3.Result.load(tmp_path / "out").complete
    assert signal.getsignal(number) is before


def test_a_handler_of_a_program_around_python_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python can't set such a handler again, and getsignal() returns None for it."""
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: pytest.fail(f"{number} set to {handler}"))
    assert astra_ns3.run(**small_run()).complete


def test_ctrl_c_while_the_network_is_built_writes_nothing(tmp_path: Path) -> None:
    def interrupted(*_: object) -> FakeBackend:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        astra_ns3.run(**{**small_run(), "backend": interrupted}, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_backend_is_closed_however_the_run_ends() -> None:
    class Closing(InterruptedBackend):
        closed = 0

        def close(self, *, process_ends: bool = False) -> None:
            type(self).closed += 1

    with pytest.raises(Interrupted):
        astra_ns3.run(**{**small_run(), "backend": Closing(NPUS)}, passes=3)
    assert Closing.closed == 1


def test_progress_goes_forward_to_the_end() -> None:
    class Sink:
        def __init__(self) -> None:
            self.seen: list[Progress] = []
            self.stages: list[tuple[str, float]] = []
            self.finished = 0

        def stage(self, name: str, wall_seconds: float) -> None:
            assert not self.seen
            self.stages.append((name, wall_seconds))

        def update(self, progress: Progress) -> None:
            self.seen.append(progress)

        def finish(self) -> None:
            self.finished += 1

    sink = Sink()
    astra_ns3.run(**{**small_run(), "backend": BeatingBackend(NPUS)}, passes=3, progress=sink)
    fractions = [progress.fraction for progress in sink.seen]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] <= 1
    assert all(progress.passes == 3 for progress in sink.seen)
    stages = ["reading the files", "building the network", "planning the collectives"]
    assert [name for name, _ in sink.stages] == stages
    assert sink.finished == 1


def test_tables_that_were_not_recorded_are_an_error() -> None:
    result = astra_ns3.run(**small_run())
    asked = {
        "flows": "--record flows",
        "layers": "--record layers",
        "queues": r"observe\.queues in the network file",
        "completions": "a workload that is a list of flows, with a folder for the results or --record flows",
    }
    for name, remedy in asked.items():
        with pytest.raises(
            InputError, match=rf"run '.*': there is no {name}\.parquet; was it recorded\? expected {remedy}"
        ):
            getattr(result, name)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("flow_completion", "a workload that is a list of flows"),
        ("goodput", "a workload that is a list of flows"),
        ("memory", "a workload that is a model"),
        ("experts", "a workload that is a model whose experts aren't chosen alike"),
    ],
)
def test_an_error_says_which_workload_has_a_csv_file(name: str, remedy: str) -> None:
    with pytest.raises(InputError, match=rf"there is no {name}\.csv; was it recorded\? expected {remedy}$"):
        getattr(astra_ns3.run(**small_run()), name)


def test_flows_without_an_output_folder_live_as_long_as_the_result() -> None:
    pandas = pytest.importorskip("pandas")

    def factory(_plan: object, _seed: int, recorder: Any, _hook: object) -> FakeBackend:
        assert recorder.flows
        pandas.DataFrame({"source": [0], "bytes": [5]}).to_parquet(recorder.directory / "flows.parquet")
        return FakeBackend(NPUS)

    result = astra_ns3.run(**{**small_run(), "backend": factory}, record=["flows"])
    assert result.flows.to_dict("list") == {"source": [0], "bytes": [5]}
    assert "flows.parquet" in result.metadata["files"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not the folder of a run"),
        ("{", r"run\.json:1: is not JSON in column 2: found the end of the file, expected a key in double quotes"),
        ("[]", "was not written by this program"),
        ('{"format": "astra-ns3 run", "format_version": 99}', "format_version is 99"),
        (
            '{"format": "astra-ns3 run", "finish_ps": Infinity}',
            r"run\.json: is not JSON that can be read: .* compliant",
        ),
        (
            '{"format": "astra-ns3 run", "finish_ps": 1e999}',
            r"run\.json: is not JSON that can be read: .* compliant",
        ),
    ],
)
def test_loading_what_is_no_run_is_an_error(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=message):
        astra_ns3.Result.load(tmp_path)


def test_runs_leave_nothing_behind_in_the_process_of_their_caller() -> None:
    """Nor do they keep the search for garbage from what the caller leaves."""

    def objects() -> int:
        astra_ns3.run(**small_run())
        gc.collect()
        return len(gc.get_objects())

    first = [objects() for _ in range(3)][-1]
    assert gc.get_freeze_count() == 0
    assert abs([objects() for _ in range(5)][-1] - first) < 100


class HalfABackend:
    npus = NPUS


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("backend", 5, "backend is 5, expected a name, a NetworkBackend or a function"),
        ("backend", object(), "backend is <object object .*, expected a name"),
        ("backend", HalfABackend(), "which is no NetworkBackend: it has no register_schedule, register_group, launch"),
        ("backend", lambda: 1, r"which can't be called with \(network plan, seed"),
        ("backend", int, r"which can't be called with \(network plan"),
        ("backend", lambda *_: None, "what the backend function returned is None, which is no NetworkBackend"),
        ("workload", 5, "workload: found an int, expected the path of a file or a Workload"),
        ("network", [], "network: found a list, expected the path of a file or a NetworkConfig or AnalyticalNetwork"),
        ("progress", 5, "progress is 5, which is no ProgressSink: it has no update"),
        ("on_built", 5, "on_built is 5, expected a function"),
        ("limits", 5, "limits is 5, expected a Limits"),
        ("passes", "two", "passes is 'two'"),
    ],
)
def test_an_argument_of_a_wrong_kind_is_one_line(argument: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        astra_ns3.run(**{**small_run(), argument: value})
    assert "\n" not in str(raised.value)


def test_a_hook_that_takes_no_context_is_refused_before_anything_is_built() -> None:
    with pytest.raises(InputError, match=r"on_built is .* can't be called with one argument, the context"):
        astra_ns3.run(**{**small_run(), "backend": "ns3", "on_built": lambda: None})


def test_a_folder_of_runs_says_what_to_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        astra_ns3.run(**small_run(), output=tmp_path / name)
    with pytest.raises(InputError, match=r"runs lie in it: name one, as .*/a \(astra-ns3 runs .* lists them\)"):
        astra_ns3.Result.load(tmp_path)


def test_a_folder_is_no_result(tmp_path: Path) -> None:
    folder: Any = str(tmp_path)
    for wrong_call in (lambda: astra_ns3.explain(folder), lambda: astra_ns3.compare(folder, folder)):
        with pytest.raises(InputError, match="found a str, expected a Result, such as"):
            wrong_call()


@pytest.mark.parametrize(("compat", "told"), [("none", False), ("astra-sim-1.0", False), ("astra-sim-2", True)])
def test_a_stall_names_the_preset_under_which_runs_may_deadlock(compat: str, told: bool) -> None:
    """ASTRA-sim 2 lets each NPU order its chunks alone; no other preset does."""
    with pytest.raises(SimulationStalled) as stalled:
        astra_ns3.run(**{**small_run(), "backend": FakeBackend(NPUS, lost=lambda _, row: row == 3)}, compat=compat)
    assert ("may deadlock: see --compat none" in str(stalled.value)) is told


def test_a_result_shows_itself_with_the_time_in_a_unit_for_people() -> None:
    result = astra_ns3.run(**small_run())
    assert repr(result) == f"<Result '{result.metadata['run_name']}': complete, finish {format_time(result.finish_ps)}>"
