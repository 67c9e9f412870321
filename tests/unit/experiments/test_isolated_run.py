"""A run in a child process: the same results as here, and a caller that lives whatever the child dies of."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import shutil
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_backend import FakeBackend
from support.small_run import (
    NPUS,
    BeatingBackend,
    InterruptedBackend,
    small_network,
    small_run,
    small_system,
    small_workload,
)
from support.training_driver import TrainingDriver

import astra_ns3
from astra_ns3.errors import BackendError, InputError, Interrupted, LimitReached, ResultsNotSaved, SimulationStalled
from astra_ns3.experiments.isolated import snapshot
from astra_ns3.experiments.isolated.channel import Inbox, Stage
from astra_ns3.experiments.isolated.snapshot import Accumulated, SnapshotTaker
from astra_ns3.experiments.metadata import VARYING_KEYS
from astra_ns3.experiments.saving import save_all
from astra_ns3.network.api import Limits, NetworkListener
from astra_ns3.network.recorded import FLOWS

DYING_BEAT = 20
"""After as many beats as InterruptedBackend's, so that the two can be compared."""
PATIENCE_SECONDS = 20
"""A child that is to be ended within a second must be gone by then on any machine."""


class DyingBackend(BeatingBackend):
    """Ends its process in the middle, by ``end()``."""

    def __init__(self, end: Callable[[], object]) -> None:
        super().__init__(NPUS)
        self._end = end

    def beat(self, listener: NetworkListener) -> None:
        super().beat(listener)
        if self._beats == DYING_BEAT:
            self._end()


def kill_with(number: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def isolated(**more: Any) -> astra_ns3.Result:
    return astra_ns3.run(**{**small_run(), **more}, isolated=True)


def contents(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "run.json"}
    document = json.loads((folder / "run.json").read_text())
    return {**found, "run.json": {key: value for key, value in document.items() if key not in VARYING_KEYS}}


def test_a_run_in_a_child_gives_the_same_files_as_one_here(tmp_path: Path) -> None:
    astra_ns3.run(**small_run(), passes=3, output=tmp_path / "here")
    isolated(passes=3, output=tmp_path / "child")
    assert contents(tmp_path / "child") == contents(tmp_path / "here")


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (kill_with(signal.SIGSEGV), "crashed \\(SIGSEGV\\)"),
        (kill_with(signal.SIGILL), "crashed \\(SIGILL\\)"),
        (os.abort, "crashed \\(SIGABRT\\)"),
        (kill_with(signal.SIGKILL), "was killed \\(SIGKILL; perhaps memory ran out"),
        (lambda: os._exit(0), "called exit in the simulation's process \\(status 0\\)"),
        (lambda: os._exit(3), "called exit in the simulation's process \\(status 3\\)"),
        (lambda: os._exit(5), "ns-3 ended the process"),
    ],
    ids=["SIGSEGV", "SIGILL", "abort", "SIGKILL", "exit 0", "exit 3", "ns-3"],
)
def test_whatever_the_child_dies_of_is_an_error_and_what_it_did_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[], object], message: str
) -> None:
    monkeypatch.setattr(snapshot, "MOST_SHARE", 1e9)  # a snapshot at every beat
    with pytest.raises(BackendError, match=message) as caught:
        isolated(backend=DyingBackend(end), passes=3, output=tmp_path / "out")
    result = astra_ns3.Result.load(tmp_path / "out")
    assert not result.complete
    assert result.metadata["stopped"] == {"kind": "BackendError", "message": str(caught.value), "exit_status": 5}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(Interrupted) as interrupted:
        astra_ns3.run(**{**small_run(), "backend": InterruptedBackend(NPUS)}, passes=3)
    expected = interrupted.value.result
    for table in ("npus", "collectives", "end_to_end", "detailed", "dimension_utilization"):
        assert getattr(result, table).equals(getattr(expected, table)), table
    assert caught.value.result.npus.equals(result.npus)


def test_the_native_halfs_last_words_are_in_the_message(capfd: pytest.CaptureFixture[str]) -> None:
    def end() -> None:
        os.write(2, b'NS_ASSERT failed, cond="all is well", file=world.cc, line=42\nNS_FATAL, terminating\n')
        os._exit(5)

    with pytest.raises(BackendError, match=r'cond="all is well", file=world\.cc, line=42'):
        isolated(backend=DyingBackend(end), passes=3)
    assert "NS_FATAL, terminating" in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        {"backend": lambda *_: FakeBackend(NPUS, lost=lambda _, row: row == 3)},
        {"backend": lambda *_: FakeBackend(NPUS), "limits": Limits(simulated_ps=5_000_000)},
    ],
    ids=["stall", "limit"],
)
def test_a_stall_and_a_limit_are_the_same_errors_as_here(arguments: dict[str, Any]) -> None:
    errors = []
    for alone in (False, True):
        with pytest.raises((SimulationStalled, LimitReached)) as caught:
            astra_ns3.run(**{**small_run(), **arguments}, isolated=alone)
        errors.append((type(caught.value), str(caught.value), caught.value.result.complete))
    assert errors[0] == errors[1]


def test_a_mistake_in_the_inputs_is_the_same_error_and_writes_nothing(tmp_path: Path) -> None:
    messages = []
    for alone in (False, True):
        with pytest.raises(InputError) as caught:
            astra_ns3.run(**{**small_run(), "system": tmp_path / "nowhere.txt"}, output=tmp_path / "x", isolated=alone)
        messages.append(str(caught.value))
        assert caught.value.result is None
    assert messages[0] == messages[1]
    assert list(tmp_path.iterdir()) == []


def test_what_the_users_code_raises_comes_out_as_itself_with_its_place_in_the_child() -> None:
    def failing_backend(*_: object) -> FakeBackend:
        raise ZeroDivisionError("of mine")

    with pytest.raises(ZeroDivisionError, match="of mine") as caught:
        isolated(backend=failing_backend)
    assert "failing_backend" in str(caught.value.__cause__)


def test_an_exception_that_cannot_cross_is_named() -> None:
    class Odd(Exception):  # local classes can't be pickled
        pass

    def failing_backend(*_: object) -> FakeBackend:
        raise Odd("of mine")

    with pytest.raises(BackendError, match="Odd: of mine"):
        isolated(backend=failing_backend)


def test_warnings_and_prints_of_the_child_are_those_of_the_caller(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def chatty(*_: object) -> FakeBackend:
        sys.stdout.write("from the child\n")
        logging.getLogger("astra_ns3.network.chatty").warning("it is %s", "dangerous")
        return FakeBackend(NPUS)

    isolated(backend=chatty)
    assert capsys.readouterr().out == "from the child\n"
    assert ("astra_ns3.network.chatty", logging.WARNING, "it is dangerous") in caplog.record_tuples


def test_rows_that_were_streamed_before_the_end_are_kept(tmp_path: Path) -> None:
    rows = 100_000  # more than a row group, and not a multiple of it

    def factory(_plan: object, _seed: int, recorder: Any, _hook: object) -> DyingBackend:
        recorder.sink.open(FLOWS)
        for start in range(0, rows, 12_500):
            recorder.sink.write("flows", [np.arange(start, start + 12_500, dtype=np.int64)] * len(FLOWS.recorded))
        return DyingBackend(kill_with(signal.SIGSEGV))

    with pytest.raises(BackendError):
        isolated(backend=factory, passes=3, record=["flows"], output=tmp_path / "out")
    flows = astra_ns3.Result.load(tmp_path / "out").flows
    assert flows["bytes"].tolist() == list(range(rows))


def sleeping(*_: object) -> FakeBackend:
    time.sleep(10 * PATIENCE_SECONDS)
    return FakeBackend(NPUS)


def greedy(*_: object) -> FakeBackend:
    kept = [bytearray(os.urandom(1)) * 10**9]
    time.sleep(10 * PATIENCE_SECONDS)
    return FakeBackend(len(kept))


@pytest.mark.parametrize(
    ("backend", "limits", "message"),
    [
        (sleeping, Limits(wall_seconds=0.5), "wall time reached its limit of 0.5 s while the run was set up"),
        (greedy, Limits(memory_bytes=800_000_000), "memory reached its limit: .* while the run was set up"),
    ],
)
def test_limits_hold_while_the_run_is_set_up(
    tmp_path: Path, backend: Callable[..., FakeBackend], limits: Limits, message: str
) -> None:
    begin = time.monotonic()
    with pytest.raises(LimitReached, match=message) as caught:
        isolated(backend=backend, limits=limits, output=tmp_path / "out")
    assert time.monotonic() - begin < PATIENCE_SECONDS
    assert caught.value.result is None
    assert list(tmp_path.iterdir()) == []


def test_a_limit_ends_one_long_callback_and_what_was_done_is_saved(tmp_path: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(LimitReached, match="wall time") as caught:
        isolated(
            backend=DyingBackend(lambda: time.sleep(10 * PATIENCE_SECONDS)),
            limits=Limits(wall_seconds=1.0),
            passes=3,
            output=tmp_path / "out",
        )
    assert time.monotonic() - begin < PATIENCE_SECONDS
    assert len(astra_ns3.Result.load(tmp_path / "out").npus) == NPUS
    assert caught.value.result.folder == tmp_path / "out"


class HookedBackend(FakeBackend):
    """Calls the hook, as the real ones do."""

    def __init__(self, hook: Callable[[object], Callable[[], object]]) -> None:
        super().__init__(NPUS)
        self._ended = hook(None)
        self.hook_result: object = None

    def close(self, *, process_ends: bool = False) -> None:
        super().close()
        self.hook_result = self._ended()


@pytest.mark.parametrize("alone", [False, True])
def test_what_a_hooks_end_function_returns_comes_back_as_json(tmp_path: Path, alone: bool) -> None:
    gathered: list[int] = []

    def on_built(_context: object) -> Callable[[], object]:
        gathered.append(7)
        return lambda: {"seen": tuple(gathered)}

    result = astra_ns3.run(
        **{**small_run(), "backend": lambda *arguments: HookedBackend(arguments[-1])},
        on_built=on_built,
        output=tmp_path / "out",
        isolated=alone,
    )
    assert result.hook == {"seen": [7]}
    assert astra_ns3.Result.load(tmp_path / "out").hook == {"seen": [7]}
    assert gathered == ([] if alone else [7])


def test_what_is_no_json_is_left_out_with_a_warning() -> None:
    result = astra_ns3.run(
        **{**small_run(), "backend": lambda *arguments: HookedBackend(arguments[-1])},
        on_built=lambda _context: lambda: object(),
    )
    assert result.hook is None
    (warning,) = result.metadata["warnings"]
    assert "no JSON" in warning


def test_snapshots_add_up_to_the_records_at_every_moment() -> None:
    backend = BeatingBackend(NPUS)
    known = Accumulated()
    compared: list[int] = []

    def compare(_time_ps: int, _events: int) -> None:
        taken = taker.take_if_due()
        assert taken is not None
        known.add(taken)
        assert known.records()[0] == replace(driver.records(), complete=False)
        compared.append(len(known.records()[0].collectives))

    driver = TrainingDriver(
        backend,
        small_system(**{"active-chunks-per-dimension": 2}),
        small_workload(),
        passes=3,
        dimensions=small_network().dimensions,
        on_heartbeat=compare,
    )
    taker = SnapshotTaker([driver], backend, clock=lambda: 0.0)
    driver.run()
    assert len(compared) > 40
    assert compared[-1] == 6


def test_snapshots_take_a_small_share_of_the_time() -> None:
    """Each costs a second of this clock, so the next may begin a hundred seconds after it."""
    now = iter(np.arange(0.0, 10_000.0, 1.0).tolist())
    backend = FakeBackend(NPUS)
    driver = TrainingDriver(backend, small_system(), small_workload())
    taker = SnapshotTaker([driver], backend, clock=lambda: next(now))
    taken = sum(taker.take_if_due() is not None for _ in range(1000))
    assert taken == pytest.approx(1000 * snapshot.MOST_SHARE, abs=2)


def ending_late(seconds: float) -> Callable[..., HookedBackend]:
    """A backend whose hook's end function takes so long."""
    return lambda *_: HookedBackend(lambda _context: lambda: time.sleep(seconds))


def test_a_limit_ends_a_hooks_end_function_and_the_whole_run_is_saved(tmp_path: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(LimitReached, match="wall time"):
        isolated(backend=ending_late(10 * PATIENCE_SECONDS), limits=Limits(wall_seconds=1.0), output=tmp_path / "out")
    assert time.monotonic() - begin < PATIENCE_SECONDS
    assert astra_ns3.Result.load(tmp_path / "out").npus["finish_us"].notna().all()


def test_one_ctrl_c_ends_a_hooks_end_function_and_the_whole_run_is_saved(tmp_path: Path) -> None:
    begin = time.monotonic()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(Interrupted):
            isolated(backend=ending_late(10 * PATIENCE_SECONDS), output=tmp_path / "out")
    finally:
        timer.join()
        signal.signal(signal.SIGINT, previous)
    assert time.monotonic() - begin < PATIENCE_SECONDS
    assert astra_ns3.Result.load(tmp_path / "out").npus["finish_us"].notna().all()


def test_a_ctrl_c_while_results_are_saved_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def save_slowly(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return save_all(*arguments)

    monkeypatch.setattr("astra_ns3.experiments.run.save_all", save_slowly)
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(Interrupted, match="after the run's end"):
            isolated(output=tmp_path / "out")
    finally:
        signal.signal(signal.SIGINT, previous)
    assert astra_ns3.Result.load(tmp_path / "out").complete


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: reap_all()], ids=["ignored", "reaped elsewhere"])
def test_a_caller_that_reaps_children_by_itself_gets_its_results(handler: Any) -> None:
    previous = signal.signal(signal.SIGCHLD, handler)
    try:
        assert isolated().complete
        with pytest.raises(BackendError, match=r"ended|crashed"):
            isolated(backend=DyingBackend(os.abort), passes=3)
    finally:
        signal.signal(signal.SIGCHLD, previous)


def reap_all() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def test_threads_of_a_hook_may_print_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = 2000

    def chatty(*_: object) -> FakeBackend:
        def talk() -> None:
            for number in range(lines):
                sys.stdout.write(f"{number}" * 50 + "\n")

        threads = [threading.Thread(target=talk) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return FakeBackend(NPUS)

    assert isolated(backend=chatty).complete
    assert capsys.readouterr().out.count("\n") == 4 * lines


def test_a_process_forked_by_the_users_code_does_not_disturb_the_run() -> None:
    def forking(*_: object) -> FakeBackend:
        if os.fork() == 0:
            logging.getLogger("astra_ns3").warning("from a grandchild")
            time.sleep(1)
            os._exit(0)
        return FakeBackend(NPUS)

    assert isolated(backend=forking).complete


def test_a_kind_of_error_of_the_users_own_comes_back_as_the_nearest_of_ours(tmp_path: Path) -> None:
    class Mine(LimitReached):
        pass

    def failing_backend(*_: object) -> FakeBackend:
        raise Mine("enough")

    with pytest.raises(LimitReached, match="enough"):
        isolated(backend=failing_backend)


def test_a_reader_that_has_gone_costs_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    def chatty(*_: object) -> FakeBackend:
        sys.stdout.write("to nobody\n")
        return FakeBackend(NPUS)

    monkeypatch.setattr(sys, "stdout", Gone())
    assert isolated(backend=chatty, output=tmp_path / "out").complete
    assert astra_ns3.Result.load(tmp_path / "out").complete


def test_an_output_folder_that_is_removed_meanwhile_costs_no_table(tmp_path: Path) -> None:
    def removing(_plan: object, _seed: int, recorder: Any, _hook: object) -> FakeBackend:
        shutil.rmtree(recorder.directory)
        return FakeBackend(NPUS)

    with pytest.raises(ResultsNotSaved, match="No such file or directory") as caught:
        isolated(backend=removing, output=tmp_path / "out")
    assert caught.value.result.npus["finish_us"].notna().all()


def children() -> set[str]:
    """Processes of this one's, ended ones that nobody has waited for among them: other tests may have left some."""
    lists = Path("/proc/self/task").glob("*/children")
    return {process for file in lists for process in file.read_text(encoding="ascii").split()}


def test_many_runs_leave_no_open_file_and_no_child_behind() -> None:
    isolated()
    before, children_before = set(Path("/proc/self/fd").iterdir()), children()
    for _ in range(20):
        isolated()
    assert len(set(Path("/proc/self/fd").iterdir()) - before) <= 1  # that of the listing itself
    assert children() <= children_before


def test_half_a_message_keeps_nobody_waiting_and_its_other_half_completes_it() -> None:
    ours, theirs = socket.socketpair()
    body = pickle.dumps(Stage("routes"))
    frame = struct.pack("!Q", len(body)) + body
    with ours, theirs:
        ours.settimeout(PATIENCE_SECONDS)
        inbox = Inbox(ours)
        theirs.sendall(frame + frame[:-5])
        assert inbox.fetch() == [Stage("routes")]
        theirs.sendall(frame[-5:-3])
        assert inbox.fetch() == []
        theirs.sendall(frame[-3:])
        assert (inbox.fetch(), inbox.ended) == ([Stage("routes")], False)
