"""What is launched at one moment reaches the network in the order of its places, whether it takes several or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from support.system_parts import request

from astra_ns3.network.api import NetworkBackend
from astra_ns3.system.launch_buffer import LaunchBuffer
from astra_ns3.system.task import Collective


class OneByOne:
    """A backend of a user's, with what one needs at least."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def launch(self, *row: int) -> None:
        self.told.append(row)

    def call_later(self, npu: int, delay_ps: int, callback: Callable[[int], None]) -> None:
        self.told.append((npu, delay_ps))


class AtOnce(OneByOne):
    def launch_all(self, rows: Sequence[tuple[int, ...]]) -> None:
        self.told += rows


@pytest.mark.parametrize("kind", [OneByOne, AtOnce])
def test_what_is_kept_is_handed_over_by_place_and_timers_after_launches(kind: type[OneByOne]) -> None:
    network = kind()
    launches = LaunchBuffer(cast(NetworkBackend, network))
    launches.launch(9, 0, 0, 0, 1)
    launches.keep()
    for place, npu in ((1, 4), (0, 2), (1, 3)):
        launches.place = place
        launches.call_later(npu, 7, print)
        launches.launch(npu, 0, 0, 5, 8)
    assert network.told == [(9, 0, 0, 0, 1)]
    launches.hand_over()
    assert network.told[1:4] == [(2, 0, 0, 5, 8), (4, 0, 0, 5, 8), (3, 0, 0, 5, 8)]
    assert network.told[4:] == [(2, 7), (4, 7), (3, 7)]
    launches.launch(1, 0, 0, 6, 1)
    assert network.told[-1] == (1, 0, 0, 6, 1)


def test_a_collective_that_was_held_begins_at_the_last_place_of_its_last_moment() -> None:
    collective = Collective(0, request(), "ring", 4)
    for moment, place, last in ((1, 2, 2), (1, 5, 5), (1, 3, 5), (2, 1, 1), (2, 4, 4)):
        collective.hold(moment, place)
        assert collective.place == last
