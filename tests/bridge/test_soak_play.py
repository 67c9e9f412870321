"""A run of the soak: played to its rest, and audited from inside."""

from __future__ import annotations

from typing import Any

import pytest
from soak.auditor import Auditor
from soak.case import Case
from soak.fixed import micro
from soak.play import play
from support.command import NEEDS_HEADERS

pytestmark = NEEDS_HEADERS

LINK = {"rate": "100Gbps", "delay": "500ns"}
NETWORK = {
    "topology": {"npus": 3, "link": LINK, "switch": {"buffer": "100KB", "pfc": {}}},
    "transport": {"kind": "roce"},
}


def test_a_run_that_balances_pauses_and_is_played_to_its_rest() -> None:
    outcome = play(Case("small", NETWORK, micro("ALLTOALL", 300_000), look=True))
    assert outcome.end == "finished"
    assert outcome.problems == ()
    assert outcome.drain_ps > 0


def test_a_frame_that_is_never_given_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook takes a frame out of the pool, as a model would that forgets one."""
    taken: list[Any] = []
    built = Auditor.on_built

    def leaking(self: Auditor, context: Any) -> Any:
        ended = built(self, context)
        taken.append((context.ns.FabricFramePool, context.ns.FabricFramePool.Take()))
        return ended

    monkeypatch.setattr(Auditor, "on_built", leaking)
    outcome = play(Case("leak", NETWORK, micro("ALLTOALL", 10_000)))
    for pool, frame in taken:
        pool.Give(frame)
    assert "1 frames are out; 0 wait or travel" in outcome.problems
    assert "at rest there are 1 frames" in outcome.problems
