"""What ns-3 says as it ends the process is followed by what that means here."""

from __future__ import annotations

import pytest

from astra_ns3.experiments.isolated.death import NS3_FAILED_STATUS, Whereabouts, describe_death
from astra_ns3.experiments.isolated.snapshot import Accumulated


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
