"""Who called whom in PyTorch's traces, which stands there as control dependencies.

Chakra's converter leaves nodes out and numbers others anew, so these name nodes that aren't there, the node itself, or
one that starts later: waited for, a training step would never end. The converter says again as data dependencies what
must come before a node. So of the callers only those count that are there and come before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from astra_ns3.workload.files.chakra.schema import Message, messages

_SCHEMA = "schema"


class Callers(NamedTuple):
    """The oddities of a file's control dependencies: nodes that aren't there, and how often a node that isn't
    earlier."""

    missing: frozenset[int]
    late: int


def is_of_pytorch(metadata: Message) -> bool:
    """Whether the first message of a file says that PyTorch's observer made what it was converted from."""
    return any(attribute.name == _SCHEMA for attribute in metadata.attr)


def find_callers(contents: Iterable[bytes]) -> Callers:
    """Return what the control dependencies of a file's nodes name; raises DecodeError."""
    read = messages().played_node.FromString
    numbers: set[int] = set()
    named: set[int] = set()
    late: list[int] = []
    for content in contents:
        message = read(content)
        control = message.ctrl_deps[:]
        numbers.add(message.id)
        named.update(control)
        late.extend(caller for caller in control if caller >= message.id)
    return Callers(frozenset(named - numbers), sum(caller in numbers for caller in late))
