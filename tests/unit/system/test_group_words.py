"""What waiting for a collective or a message is told under, where its loop doesn't say."""

from __future__ import annotations

import pytest

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import Label
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest, MessageRequest, group_words

LABEL = Label(0, 3, "forward")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "all NPUs"),
        ({"dimensions": (0, 2)}, "NPUs along dimension 0, 2"),
        ({"communicator": Communicator((0, 1), "pairs"), "dimensions": (0,)}, "pairs"),
        ({"communicator": Communicator((0, 1))}, "a communicator"),
        ({"communicator": Communicator((0, 1), "pairs"), "group": "tensor"}, "tensor"),
    ],
)
def test_a_collective_is_told_under_its_group_its_communicator_or_its_dimensions(
    keys: dict[str, object], words: str
) -> None:
    assert group_words(CollectiveRequest(CollectiveKind.ALL_REDUCE, 8, LABEL, **keys)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layer", "tag", "group", "words"),
    [
        (3, 0, "", "messages"),
        (3, "halo", "", "halo"),
        ("pipeline", "activation", "", "pipeline"),
        ("pipeline", "activation", "servers", "servers"),
    ],
)
def test_a_message_is_told_under_its_group_its_name_or_its_tag(
    layer: int | str, tag: object, group: str, words: str
) -> None:
    request = MessageRequest(0, 1, 8, tag, Label(0, layer, "forward"), group=group)
    assert group_words(request) == words
