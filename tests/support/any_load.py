"""Runs as a busy machine plays them: looked at at random moments.

What a run reads of wall time are its heartbeats alone: then it hands over rows and takes snapshots. Here that happens
at random. A heartbeat parts nothing that is told at once: it waits until all of that has been told.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from astra_ns3.experiments.isolated.snapshot import SnapshotTaker
from astra_ns3.experiments.play import LocalReporter
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.scenario.company import Company


@contextmanager
def busy_machine(seed: int, *, beats: float = 0.1) -> Iterator[None]:
    """Every run of this process, and of those forked from it, has a heartbeat in so large a share of its callbacks."""
    draw = random.Random(seed)
    call, begun = SessionBackend._call, LocalReporter.begun

    def call_and_beat(self: Any, function: Any, *arguments: Any) -> None:
        call(self, function, *arguments)
        told = function != self._recording.fetch and function != self._beat  # by an event of the simulation
        if self._listener is not None and told and draw.random() < beats:
            call(self, self._beat, self.now_ps(), 0)

    def begun_and_looked_at(self: LocalReporter, company: Company, network: Any, setup_seconds: float) -> None:
        begun(self, company, network, setup_seconds)
        taker, beat = SnapshotTaker([member.driver for member in company.members], network), self.beat

        def beat_and_look(progress: Any) -> None:
            beat(progress)
            company.hand_over_rows()
            taker.take_if_due()

        self.beat = beat_and_look  # type: ignore[method-assign]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SessionBackend, "_call", call_and_beat)
        patch.setattr(LocalReporter, "begun", begun_and_looked_at)
        patch.setattr("astra_ns3.experiments.isolated.snapshot.MOST_SHARE", 1e9)
        yield
