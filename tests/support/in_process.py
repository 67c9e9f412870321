"""Runs in the process of their test: a child of its own takes a third of the time of a small run."""

from __future__ import annotations

import pytest

from astra_ns3.experiments.request import RunRequest


@pytest.fixture(autouse=True)
def runs_are_played_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test asks for ``isolated=True``. That both play alike is tested in ``tests/regression``."""
    monkeypatch.setattr(RunRequest, "in_a_child", property(lambda self: bool(self.isolated)))
