"""When a message counts as arrived: read by its receiver, or acknowledged to its sender."""

from __future__ import annotations

import pytest
from support.star_network import OPEN_WINDOW_SEGMENTS, one_message, play, star

PS_PER_BYTE = 80  # 100 Gb/s
LINK_DELAY_PS = 500_000
ACK_ON_THE_LINE_BYTES = 64 + 20  # the smallest Ethernet frame, preamble and gap
HOPS = 2


def done_ps(size: int, completion: str) -> int:
    network = star(
        2, initial_window_segments=OPEN_WINDOW_SEGMENTS, delayed_ack_count=1, window="1MB", completion=completion
    )
    return play(network, one_message(), size).done_ps(1)


@pytest.mark.parametrize("size", [1, 1000, 50_000])
def test_an_acknowledged_message_takes_the_way_back_of_its_last_acknowledgement_longer(size: int) -> None:
    way_back_ps = HOPS * (ACK_ON_THE_LINE_BYTES * PS_PER_BYTE + LINK_DELAY_PS)
    assert done_ps(size, "acknowledged") - done_ps(size, "arrival") == way_back_ps


def test_messages_complete_one_by_one_in_order() -> None:
    assert done_ps(200_000, "acknowledged") > done_ps(100_000, "acknowledged") > done_ps(100_000, "arrival")
