"""How rows of an all-to-all with counts go by way of one place of each node."""

from __future__ import annotations

from astra_ns3.frozen import dataclass

Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Relay:
    """Between nodes a row travels once, however many places of the node it is for.

    ``node``: places of a node, which follow each other. ``crossing``: what travels between each place and each node,
    shape (places, nodes); a place's own node is ignored. The gate of a place in another node is the place there with
    its own number in the node. ``gathers``: places send to gates, which add up what belongs together and send it home
    (combine); else each place sends to its gates, which pass it on (dispatch). ``pieces``: in how many parts at most
    each message between nodes is cut, so that the gate goes on with the first before the last has come.
    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.2.
    """

    node: int
    crossing: Rows
    gathers: bool = False
    pieces: int = 1
