"""What a run tells of frames lost to failures: one frame is one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from astra_ns3.network.door import counters
from astra_ns3.network.door.counters import lost_to_failures


@pytest.mark.parametrize(
    ("silent", "down", "unrouted", "words"),
    [
        (
            [1, 0],
            [0, 0],
            1,
            [
                "1 frame was lost on links that were down before their ends noticed, at a towards b",
                "1 frame came where no way led on",
            ],
        ),
        (
            [2, 0],
            [1, 3],
            2000,
            [
                "2 frames were lost on links that were down before their ends noticed, most of them (2) at a towards b",
                "4 frames met a link that was known to be down, most of them (3) at b towards a",
                "2,000 frames came where no way led on",
            ],
        ),
    ],
)
def test_frames_are_counted_in_words(
    silent: list[int], down: list[int], unrouted: int, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.array([silent, down]).T
    monkeypatch.setattr(counters, "port_counters", lambda *_, **__: (["silent_frames", "down_frames"], numbers))
    monkeypatch.setattr(counters, "node_name", lambda _, node: "ab"[node])
    native: Any = SimpleNamespace(unroutedFrames=unrouted)
    graph: Any = None
    assert [*lost_to_failures(native, graph, np.array([[0, 0, 1], [1, 0, 0]]))] == words
