"""What ns-3 says as it ends the process is followed by what that means here."""

from __future__ import annotations

import pytest

from astra_ns3.experiments.isolated.death import NS3_FAILED_STATUS, Whereabouts, describe_death
from astra_ns3.experiments.isolated.snapshot import Accumulated
from astra_ns3.experiments.progress import Progress


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("node 0 is missing the required protocol", "hosts have TCP, UDP and ICMP only where the network file has"),
    ],
)
def test_a_message_of_ns3s_that_has_a_known_reason_comes_with_it(words: str, hint: str) -> None:
    where = Whereabouts(stage=None, over=False, time_ps=5, progress=None, resident_bytes=0, known=Accumulated())
    told = describe_death(NS3_FAILED_STATUS << 8, words, where)
    assert told.startswith("ns-3 ended the process at 5 ps")
    assert words in told
    assert hint in told


@pytest.mark.parametrize(("done", "words"), [(0, "in pass 1 of 3"), (2, "in pass 3 of 3"), (3, "in pass 3 of 3")])
def test_passes_are_told_from_1_on_and_what_follows_the_last_belongs_to_it(done: int, words: str) -> None:
    progress = Progress(passes_done=done, passes=3, steps_done=0, steps=8, time_ps=5, events=1, wall_seconds=0.1)
    where = Whereabouts(stage=None, over=False, time_ps=5, progress=progress, resident_bytes=0, known=Accumulated())
    assert describe_death(NS3_FAILED_STATUS << 8, "", where) == f"ns-3 ended the process at 5 ps, {words}"
