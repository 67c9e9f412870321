"""A run that is asked for from Python is played in a process of its own, unless something of the user's lives here."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.command import NEEDS_HEADERS
from support.small_run import small_network, small_system, small_workload

import astra_ns3
from astra_ns3.errors import BackendError
from astra_ns3.experiments.hooks import HookFile

HOOK = """
import os, sys

def on_built(context):
    return lambda: {"pid": os.getpid(), "folder": os.getcwd(), "word": os.environ.get("A_WORD"), "path": sys.path[0],
                    "pyarrow": "pyarrow" in sys.modules}

def dies(context):
    os.abort()
"""


def small(**more: Any) -> astra_ns3.Result:
    files: dict[str, Any] = {"workload": small_workload(), "system": small_system(), "network": small_network()}
    return astra_ns3.run(**{**files, **more})


@NEEDS_HEADERS
def test_a_run_has_a_process_of_its_own_with_the_surroundings_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")  # is in this process then, and not in that of ns-3
    (tmp_path / "hook.py").write_text(HOOK, encoding="utf-8")
    pids = {os.getpid()}
    for word in ("one", "two"):
        folder = tmp_path / word
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("A_WORD", word)
        monkeypatch.syspath_prepend(str(folder))
        seen = small(on_built=HookFile("../hook.py:on_built")).hook
        pids.add(seen.pop("pid"))
        assert seen == {"folder": str(folder), "word": word, "path": str(folder), "pyarrow": False}
    assert len(pids) == 3
    with pytest.raises(BackendError, match="SIGABRT"):
        small(on_built=HookFile("../hook.py:dies"))
    assert small().complete, "the next run has a sound server"


@NEEDS_HEADERS
def test_a_hook_that_is_a_function_lives_here() -> None:
    pids: list[int] = []
    small(on_built=lambda context: pids.append(os.getpid()))
    assert pids == [os.getpid()]


def test_threads_play_side_by_side() -> None:
    finishes: list[int] = []
    threads = [threading.Thread(target=lambda: finishes.append(small().finish_ps)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert finishes == [small(isolated=False).finish_ps] * 3


def test_a_sink_of_progress_stays_here() -> None:
    class Told:
        """Can't be handed over to another process: its class is a function's."""

        done = False

        def update(self, progress: object) -> None:
            """It goes on."""

        def finish(self) -> None:
            """It is over."""
            self.done = True

    told = Told()
    assert small(progress=told).complete
    assert told.done


ENDS = """
import os, sys, warnings
sys.path.insert(0, sys.argv[1])
from test_isolated_by_default import small

assert small().complete
if os.fork() == 0:
    warnings.simplefilter("ignore")
    sys.exit()  # the servers are not the fork's, which leaves them alone
os.wait()
assert small().complete
"""


def test_an_interpreter_that_ends_leaves_no_server_and_no_warning() -> None:
    places = [str(Path(__file__).parent), str(Path(__file__).parents[1]), *sys.path]
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", ENDS, places[0]],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
