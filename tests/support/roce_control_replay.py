"""Congestion controls of RoCE without a network: a C++ one driven by the oracles' events, and random events for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from oracles.roce_control import US, Event, Hop, Path

from astra_ns3.network.door.library import load

EVENTS = 400
LINE = 100_000_000_000
PS_PER_PACKET = 1082 * 80


@cache
def native() -> Any:
    """The C++ namespace with RoceControlReplay, whose header holds plain types only."""
    load()
    import cppyy

    cppyy.include("roce-control-replay.h")
    return cppyy.gbl.ns3


def native_parameters(numbers: Mapping[str, float]) -> Any:
    """Parameters by name."""
    values = native().RoceControlParameters()
    for key, value in numbers.items():
        values.Set(key, value)
    return values


def native_path(path: Path) -> Any:
    """The path of a queue pair."""
    values = native().RoceReplayPath()
    values.lineRateBps = path.line_rate
    values.baseRoundTripPs = path.base_round_trip
    values.bandwidthDelayBytes = path.bandwidth_delay
    values.payloadBytes = path.payload
    values.packetBytes = path.packet
    values.switches = path.switches
    values.windowBytes = path.window
    return values


def make_replay(name: str, path: Path, numbers: Mapping[str, float]) -> Any:
    """A ``RoceControlReplay`` of a control by name."""
    return native().RoceControlReplay(name, native_parameters(numbers), native_path(path))


class Replay:
    """A C++ control driven by the oracle's events."""

    def __init__(self, replay: Any) -> None:
        self.replay = replay

    def step(self, event: Event) -> tuple[int, float, int]:
        """What the oracle gives for the same event."""
        self.replay.Advance(event.time)
        for hop in event.hops:
            self.replay.AddHop(hop.time, hop.sent, hop.queue, hop.rate)
        if event.utilisation is not None:
            self.replay.SetPathUtilisation(event.utilisation)
        calls: dict[str, Callable[[], None]] = {
            "sent": lambda: self.replay.Sent(event.size),
            "ack": lambda: self.replay.Ack(event.round_trip, event.size, event.marked),
            "cnp": self.replay.Cnp,
            "nack": lambda: self.replay.Lost(False),
            "timeout": lambda: self.replay.Lost(True),
        }
        calls[event.kind]()
        return event.time, self.replay.GetRateBps(), self.replay.GetWindowBytes()


class Story:
    """Random events of a queue pair: congestion that comes and goes, acknowledgements in order, losses, idle times."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = Path(switches=self.random.randint(1, 5), window=self.random.choice([0, 12_345, 80_000]))
        self.now = 0
        self.in_flight = 0
        self.congestion = 0.0
        self.hops = [Hop(0, 0, 0, self.random.choice([LINE, 4 * LINE])) for _ in range(self.path.switches)]

    def events(self) -> list[Event]:
        """``EVENTS`` of them."""
        return [self.event() for _ in range(EVENTS)]

    def event(self) -> Event:
        pick = self.random.random
        self.now += int(PS_PER_PACKET * 10 ** (4 * pick() ** 6) * (0.2 + pick()))
        self.congestion = min(1.0, max(0.0, self.congestion + self.random.uniform(-0.2, 0.2)))
        if pick() < 0.3 * self.congestion:
            return Event(self.now, "cnp")
        if pick() < 0.01:
            return Event(self.now, self.random.choice(["nack", "timeout", "timeout"]))
        if self.in_flight and pick() < 0.6:
            return self.acknowledgement(self.random.choice([1, 1, 1, self.random.randint(1, self.in_flight)]))
        packets = self.random.choice([1, 1, 1, 2, 20])
        self.in_flight += packets
        return Event(self.now, "sent", packets * self.path.payload)

    def acknowledgement(self, packets: int) -> Event:
        pick = self.random.random
        self.in_flight -= packets
        self.hops = [self.moved(hop) for hop in self.hops]
        return Event(
            self.now,
            "ack",
            packets * self.path.payload,
            round_trip=int(self.path.base_round_trip * (1 + 20 * self.congestion**2 * pick())),
            marked=pick() < self.congestion,
            hops=tuple(self.hops),
            utilisation=1.5 * self.congestion * pick() if pick() < 0.7 else None,
        )

    def moved(self, hop: Hop) -> Hop:
        """The port's next entry: never more bytes than its line takes."""
        time = max(hop.time + 1000, self.now - int(self.random.random() * US))
        most = (time - hop.time) * hop.rate // (8 * 10**12)
        queue = int(60_000 * self.congestion * self.random.random())
        return Hop(time, hop.sent + int(most * self.random.random()), queue, hop.rate)
