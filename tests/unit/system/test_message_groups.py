"""Which group two NPUs make that send messages to each other: by our rules, another simulator's, and any that comes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.fake_backend import FakeBackend
from support.system_parts import system

from astra_ns3.config.core.compatibility import OURS, Compatibility, preset
from astra_ns3.network.records import Label
from astra_ns3.system.history import History
from astra_ns3.system.launches import ScheduleNumbers
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.messages import Messages
from astra_ns3.system.request import Handle, MessageRequest

OWN_DELAY_PS = 7_000


class Network(FakeBackend):
    """Keeps which groups it was asked for, with their endpoint delay (None: that of all), and what was launched."""

    def __init__(self) -> None:
        super().__init__(4)
        self.asked: list[tuple[tuple[int, ...], int | None]] = []
        self.started: list[tuple[int, int, int]] = []  # NPU, group, bytes

    def register_group(self, npus: Sequence[int]) -> int:
        self.asked.append((tuple(npus), None))
        return len(self.asked) - 1

    def register_delayed_group(self, npus: Sequence[int], delay_ps: int) -> int:
        self.asked.append((tuple(npus), delay_ps))
        return len(self.asked) - 1

    def launch(self, npu: int, schedule: int, group: int, instance: int, bytes: int) -> None:
        self.started.append((npu, group, bytes))


class MessagesOfAnotherRule(Messages):
    """Messages of a rule that nothing else knows: the two ends have an endpoint delay of their own."""

    def _group(self, ends: tuple[int, int]) -> int:
        return self._network.register_delayed_group(ends, OWN_DELAY_PS)


def _nothing(handle: Handle, time_ps: int) -> None: ...


def _message(source: int, destination: int, bytes: int, *, rendezvous: bool = False) -> MessageRequest:
    return MessageRequest(source, destination, bytes, "x", Label(0, "stage", "activations"), rendezvous)


@pytest.mark.parametrize(("rules", "delay_ps"), [(OURS, None), (preset("astra-sim-2"), 0)])
def test_two_ends_are_one_group_with_the_endpoint_delay_of_their_rules(
    rules: Compatibility, delay_ps: int | None
) -> None:
    network = Network()
    layer = SystemLayer(network, system(), (4,), ["a"], _nothing, compatibility=rules)
    for request in (_message(0, 2, 100), _message(0, 2, 200), _message(2, 0, 300)):
        layer.messages.send(request)
        layer.messages.receive(request)
    assert network.asked == [((0, 2), delay_ps), ((2, 0), delay_ps)]
    assert sorted(network.started, key=lambda start: start[2]) == [
        *((npu, 0, bytes) for bytes in (100, 200) for npu in (0, 2)),
        *((npu, 1, 300) for npu in (2, 0)),
    ]


def test_messages_of_another_rule_number_their_groups_by_one_method_of_their_own() -> None:
    network = Network()
    messages = MessagesOfAnotherRule(network, ScheduleNumbers(network), History([]), _nothing, launch=network.launch)
    request = _message(3, 1, 100, rendezvous=True)
    messages.send(request)
    messages.receive(request)
    assert network.asked == [((1, 3), OWN_DELAY_PS)], "the invitation goes the other way"
    assert [(npu, group) for npu, group, _ in network.started] == [(3, 0), (1, 0)]
    assert len(network.schedules) == 1


def test_what_is_posted_with_rendezvous_runs_as_invitation_and_data() -> None:
    """A stalled run names both: the invitation is what may not have come."""
    messages = SystemLayer(Network(), system(), (4,), ["a"], _nothing).messages
    messages.send(_message(0, 2, 100, rendezvous=True))
    messages.send(_message(1, 3, 100))
    assert [len(messages.running(npu)) for npu in range(4)] == [2, 1, 0, 0]
