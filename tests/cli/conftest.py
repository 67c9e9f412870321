"""The command line in this process, on the fake backend."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.small_run import NPUS, InterruptedBackend, write_inputs

from astra_ns3.cli.main import main
from astra_ns3.network.backend_makers import BACKENDS as REAL

BACKENDS: dict[str, Callable[..., Any]] = {
    **REAL,
    "fake": lambda *_: FakeBackend(NPUS),
    "interrupted": lambda *_: InterruptedBackend(NPUS),
    "lossy": lambda *_: FakeBackend(NPUS, lost=lambda _, row: row == 3),
}


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


Command = Callable[..., Finished]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``astra-ns3`` with the words given."""
    monkeypatch.setattr("astra_ns3.network.backend_makers.BACKENDS", BACKENDS)

    def run(*words: str) -> Finished:
        with pytest.raises(SystemExit) as caught:
            main(words)
        captured = capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Finished(caught.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The three files of a small run, by option name."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    return write_inputs(folder)


@pytest.fixture
def words(files: dict[str, str]) -> list[str]:
    """The options that name the three files."""
    return ["-w", files["workload"], "-s", files["system"], "-n", files["network"]]
