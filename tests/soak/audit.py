"""What must hold in the books of any simulation at any time, and once it has come to rest."""

from __future__ import annotations

from collections.abc import Iterator

from soak.books import Books, PortBook

_PS_TIMES_BITS = 8e12
_LARGEST_FRAME_BYTES = 70_000
_ROUNDED = 1.05
"""Where transmission times are rounded, a line may seem this much faster."""


def problems_at_any_time(books: Books, *, changes: bool = False) -> list[str]:
    """Accounts that don't balance, each one line: frames of links, switches and the pool, bytes of buffers.

    ``changes``: links change, so lines had other rates, pauses may be lost, and a switch may know no way.
    """
    found = [*_links(books), *_switches(books, changes), *_pool(books)]
    if not changes:
        found += [*_lines(books), *_pauses(books), *_unrouted(books)]
    return found


def problems_at_rest(books: Books) -> list[str]:
    """What isn't empty though nobody has anything left to do, and messages that were not delivered."""
    found = [*_still_there(books), *_still_stopped(books)]
    sent = sum(npu.sent_bytes for npu in books.npus), sum(npu.sent_messages for npu in books.npus)
    received = sum(npu.received_bytes for npu in books.npus), sum(npu.received_messages for npu in books.npus)
    if sent != received:
        found.append(f"NPUs have sent {sent[1]} messages of {sent[0]} bytes, and {received[1]} of {received[0]} came")
    return found


def _links(books: Books) -> Iterator[str]:
    for port in books.ports:
        if port.sent != port.arrived + port.lost + port.cut + port.on_wire:
            yield (
                f"{port.name} has sent {port.sent} frames; {port.arrived} arrived, {port.lost} were lost, "
                f"{port.cut} were cut, {port.on_wire} travel"
            )


def _lines(books: Books) -> Iterator[str]:
    for port in books.ports:
        # What is on the line is counted whole; a few frames more are no matter.
        most = port.rate_bps * books.time_ps / _PS_TIMES_BITS * _ROUNDED + _LARGEST_FRAME_BYTES
        if port.sent_bytes > most:
            yield f"{port.name} has sent {port.sent_bytes} bytes in {books.time_ps} ps, more than its line can"


def _pauses(books: Books) -> Iterator[str]:
    """Each pause frame stops one priority of the port at its far end, or lets one go on."""
    by_link: dict[int, list[PortBook]] = {}
    for port in books.ports:
        by_link.setdefault(port.link, []).append(port)
    for one, other in by_link.values():
        for stopper, port in ((one, other), (other, one)):
            changes = 0 if port.credit_bytes else 2 * port.pauses - port.paused.bit_count()
            if stopper.pauses_arrived != changes:
                yield (
                    f"{stopper.name} has had {stopper.pauses_arrived} pause frames arrive; {port.name} was stopped "
                    f"{port.pauses} times and is in {port.paused:#04x}, which takes {changes}"
                )


def _switches(books: Books, changes: bool) -> Iterator[str]:
    for switch in books.switches:
        own = [port for port in books.ports if port.node == switch.node]
        came = sum(port.arrived - port.pauses_arrived for port in books.ports if port.peer == switch.node)
        went = sum(port.sent - port.pauses_sent for port in own)
        waiting, dropped = sum(port.waiting for port in own), sum(port.dropped + port.down for port in own)
        name = _name(books, switch.node)
        # Nobody counts how many of the pause frames were lost, or forgotten with their link.
        unsure = (
            sum(port.pause_frames for port in books.ports if switch.node in (port.node, port.peer)) if changes else 0
        )
        if abs(came - (went + waiting + dropped + switch.unrouted)) > unsure:
            yield (
                f"{name} has received {came} frames; {went} left, {waiting} wait, {dropped} were dropped, "
                f"{switch.unrouted} had no route"
            )
        held = sum(port.waiting_bytes for port in own)
        if held > switch.capacity_bytes:
            yield f"{name} holds {held} bytes, and has room for {switch.capacity_bytes}"
        if switch.used_bytes != held:
            yield f"{name} counts {switch.used_bytes} bytes in its buffer; {held} wait at its ports"


def _unrouted(books: Books) -> Iterator[str]:
    for switch in books.switches:
        if switch.unrouted:
            yield f"{_name(books, switch.node)} had no route for {switch.unrouted} frames"


def _pool(books: Books) -> Iterator[str]:
    seen = sum(port.waiting + port.waiting_pauses + port.on_wire for port in books.ports)
    if books.frames != seen:
        yield f"{books.frames} frames are out; {seen} wait or travel"
    if books.telemetry > books.frames:
        yield f"{books.telemetry} pieces of telemetry are out, with {books.frames} frames"
    if books.trails > books.frames:
        yield f"{books.trails} trails are out, with {books.frames} frames"
    if books.roce_frames > books.frames:
        yield f"queue pairs count {books.roce_frames} frames in the network; {books.frames} are out"


def _still_there(books: Books) -> Iterator[str]:
    counts = {
        "frames": books.frames,
        "pieces of telemetry": books.telemetry,
        "trails": books.trails,
        "frames of queue pairs": books.roce_frames,
        "queue pairs with something to do": books.busy_queue_pairs,
    }
    for what, count in counts.items():
        if count:
            yield f"at rest there are {count} {what}"
    for switch in books.switches:
        if switch.used_bytes or not switch.at_rest:
            yield (
                f"at rest {_name(books, switch.node)} holds {switch.used_bytes} bytes and is "
                f"{'' if switch.at_rest else 'not '}at rest: something is counted, or a neighbour stopped"
            )


def _still_stopped(books: Books) -> Iterator[str]:
    for port in books.ports:
        if port.paused:
            yield f"at rest {port.name} is stopped in priorities {port.paused:#04x}"
        if port.lanes_short:
            yield f"at rest {port.lanes_short} lanes of {port.name} lack credit"


def _name(books: Books, node: int) -> str:
    return f"switch{node - books.hosts}"
