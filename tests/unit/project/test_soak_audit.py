"""The audit of a run's books: silent when they balance, and not when any one number is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from soak.audit import problems_at_any_time, problems_at_rest
from soak.books import Books, NpuBook, PortBook, SwitchBook


def port(name: str, node: int, peer: int, **counts: int) -> PortBook:
    fields = (
        "rate_bps",
        "sent",
        "sent_bytes",
        "arrived",
        "lost",
        "dropped",
        "pause_frames",
        "waiting",
        "waiting_bytes",
        "waiting_pauses",
    )
    found = dict.fromkeys((*fields, "on_wire", "wire_pauses", "paused", "pauses"), 0)
    return PortBook(name, node, peer, min(node, peer), **{**found, **counts})


def busy() -> Books:
    """Host 0 has sent 10 frames to host 1 over a switch, which has stopped it once, let it go on, stopped it again.

    The last pause frame still waits, the one before it travels. Of the frames 1 was lost, 1 dropped, 3 wait, 2 travel.
    """
    return Books(
        time_ps=1,
        hosts=2,
        ports=(
            port("host0", 0, 2, sent=10, arrived=8, lost=1, on_wire=1, paused=1 << 3, pauses=1),
            port("host1", 1, 2),
            port("switch0:0", 2, 0, sent=2, arrived=1, pause_frames=3, waiting_pauses=1, on_wire=1, wire_pauses=1),
            port("switch0:1", 2, 1, sent=4, arrived=3, on_wire=1, dropped=1, waiting=3, waiting_bytes=3000),
        ),
        switches=(SwitchBook(2, 100_000, used_bytes=3000, at_rest=False, unrouted=0),),
        npus=(NpuBook(5000, 2, 0, 0), NpuBook(0, 0, 2000, 1)),
        frames=7,
        telemetry=4,
        trails=2,
        roce_frames=5,
        busy_queue_pairs=1,
    )


def at_rest() -> Books:
    """The same at its end, without a loss."""
    ports = (
        port("host0", 0, 2, sent=10, arrived=10, pauses=1),
        port("host1", 1, 2),
        port("switch0:0", 2, 0, sent=2, arrived=2, pause_frames=2),
        port("switch0:1", 2, 1, sent=10, arrived=10),
    )
    return replace(
        busy(),
        ports=ports,
        switches=(SwitchBook(2, 100_000, used_bytes=0, at_rest=True, unrouted=0),),
        npus=(NpuBook(5000, 2, 0, 0), NpuBook(0, 0, 5000, 2)),
        frames=0,
        telemetry=0,
        trails=0,
        roce_frames=0,
        busy_queue_pairs=0,
    )


def test_balanced_books_have_no_problem() -> None:
    assert problems_at_any_time(busy()) == []
    assert problems_at_any_time(at_rest()) == []
    assert problems_at_rest(at_rest()) == []


def test_where_links_change_lost_pauses_slower_lines_and_frames_without_a_way_are_no_problem() -> None:
    (nic, other, *ports), (switch,) = at_rest().ports, at_rest().switches
    forgotten = replace(nic, pauses=2, rate_bps=1), other, *ports
    unrouted = replace(at_rest(), ports=forgotten, switches=(replace(switch, unrouted=1),))
    assert len(problems_at_any_time(unrouted)) > 2
    assert problems_at_any_time(unrouted, changes=True) == []
    assert problems_at_any_time(replace(at_rest(), ports=(replace(nic, cut=1), other, *ports)), changes=True)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    "field",
    [
        "sent",
        "arrived",
        "lost",
        "cut",
        "down",
        "on_wire",
        "waiting",
        "waiting_pauses",
        "wire_pauses",
        "pause_frames",
        "pauses",
        "paused",
        "dropped",
    ],
)
def test_any_wrong_count_of_a_switch_or_link_is_found(place: int, field: str) -> None:
    books = busy()
    if field in ("dropped", "down") and place < 2:
        return  # what a host's NIC drops was never sent, and nobody counts it but itself
    ports = list(books.ports)
    ports[place] = replace(ports[place], **{field: getattr(ports[place], field) + 1})
    assert problems_at_any_time(replace(books, ports=tuple(ports)))


def test_a_line_that_is_faster_than_its_rate_and_a_buffer_that_holds_more_than_it_has_room_for_are_found() -> None:
    books = replace(busy(), time_ps=10**6)
    fast = replace(books.ports[0], rate_bps=10**9, sent_bytes=200_000)
    assert problems_at_any_time(replace(books, ports=(fast, *books.ports[1:])))
    small = replace(books.switches[0], capacity_bytes=2999)
    assert problems_at_any_time(replace(books, switches=(small,)))


@pytest.mark.parametrize("field", ["used_bytes", "unrouted"])
def test_a_wrong_buffer_is_found(field: str) -> None:
    books = busy()
    switch = replace(books.switches[0], **{field: getattr(books.switches[0], field) + 1})
    assert problems_at_any_time(replace(books, switches=(switch,)))


@pytest.mark.parametrize(
    ("field", "change"), [("frames", 1), ("frames", -1), ("telemetry", 5), ("trails", 6), ("roce_frames", 4)]
)
def test_a_leak_is_found(field: str, change: int) -> None:
    books = busy()
    changed: Any = {field: getattr(books, field) + change}
    assert problems_at_any_time(replace(books, **changed))


@pytest.mark.parametrize("field", ["frames", "telemetry", "trails", "roce_frames", "busy_queue_pairs"])
def test_what_is_left_at_rest_is_found(field: str) -> None:
    changed: Any = {field: 1}
    assert len(problems_at_rest(replace(at_rest(), **changed))) == 1


def test_a_port_left_stopped_a_buffer_not_empty_and_a_message_not_delivered_are_found() -> None:
    books = at_rest()
    stopped = replace(books.ports[0], paused=1 << 3)
    assert problems_at_rest(replace(books, ports=(stopped, *books.ports[1:]))) == [
        "at rest host0 is stopped in priorities 0x08"
    ]
    for switch in (replace(books.switches[0], used_bytes=1), replace(books.switches[0], at_rest=False)):
        assert len(problems_at_rest(replace(books, switches=(switch,)))) == 1
    late = replace(books.npus[1], received_messages=1)
    assert len(problems_at_rest(replace(books, npus=(books.npus[0], late)))) == 1
