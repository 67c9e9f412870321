"""Attributes of a Chakra node: those that count, whatever kind of number they are written as.

Traces write the same attribute as int32, int64, uint64, bool, ...; all are taken alike, and a whole double too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from astra_ns3.config.graph_workload import NodeKind
from astra_ns3.errors import wrong
from astra_ns3.units import LARGEST_INTEGER
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES, plain_name
from astra_ns3.workload.files.chakra.schema import Broken, Message, messages

REMEMBERED = 16_384
"""Different attributes, and lists of them, whose meaning is kept; then all are forgotten, so that memory is bounded."""

Written = bool | int | float | str | bytes | tuple[bool | int | float | str | bytes, ...] | None
"""A value of an attribute as protobuf has it."""
Read = bool | int | str | tuple[bool, ...] | None
Values = dict[str, Any]  # of attributes by name, each of the kind that its reader in READ gives
Attribute = tuple[str, Read]
IGNORED: Attribute = ("", None)


def _whole_number(name: str, value: Written) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise wrong(f"{name} is {_shown(value)}, expected a whole number")
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        raise wrong(f"{name} is {value}, expected at most {LARGEST_INTEGER}")
    return int(value)


def _amount(name: str, value: Written) -> int:
    number = _whole_number(name, value)
    if number < 0:
        raise wrong(f"{name} is {number}, expected 0 or more")
    return number


def _collective(name: str, value: Written) -> int | str:
    """The number of a collective, which JSON may call by its name; an unknown name as it stands, for sends have any."""
    if not isinstance(value, str):
        return _amount(name, value)
    return COLLECTIVE_TYPES.index(value) if value in COLLECTIVE_TYPES else value


def _group(name: str, value: Written) -> str:
    """The name of a communicator; Chakra's group 0, and none, is all NPUs."""
    text = plain_name(value if isinstance(value, str) else str(_whole_number(name, value)))
    return "" if text == "0" else text


def _flags(name: str, value: Written) -> tuple[bool, ...]:
    if not isinstance(value, tuple) or not all(isinstance(flag, int) for flag in value):
        raise wrong(f"{name} is {_shown(value)}, expected a list of true and false")
    return tuple(bool(flag) for flag in value)


READ: Mapping[str, Callable[[str, Written], Read]] = {
    "duration_ps": _amount,
    "is_cpu_op": lambda name, value: bool(_whole_number(name, value)),
    "num_ops": _amount,
    "tensor_size": _amount,
    "comm_type": _collective,
    "comm_size": _amount,
    "comm_src": _amount,
    "comm_dst": _amount,
    "comm_tag": _whole_number,
    "comm_priority": _whole_number,
    "pg_name": _group,
    "involved_dim": _flags,
}
"""The attributes that are read, each with what its value must be; ``duration_ps`` is ours, the others are Chakra's."""

_READ_BYTES = frozenset(name.encode() for name in READ)


class Common(NamedTuple):
    """The parts that nodes of one type and with the same attributes have in common: their fields beside the five that
    differ, ``duration_ps`` if the attributes tell it, and who sends, if a message says so."""

    kind: NodeKind
    duration_ps: int | None
    sender: int | None
    rest: tuple[Any, ...]  # the values of the others, each of the kind that its reader gives


class AttributeReader:
    """Reads attributes given as bytes, and remembers what they came to; a copy, or one in a pickle, begins anew."""

    def __init__(self) -> None:
        self._class, self._broken = messages().attribute, messages().decode_error
        self._known: dict[bytes, Attribute] = {}
        self.common: dict[tuple[int, tuple[bytes, ...]], Common] = {}
        """By type and attributes, what was kept with :meth:`keep`."""
        self.texts: dict[bytes, str] = {}
        """Names of nodes, which many nodes share, that were read with :meth:`text`."""

    def __reduce__(self) -> tuple[type[AttributeReader], tuple[()]]:
        return AttributeReader, ()

    def read_all(self, attributes: tuple[bytes, ...]) -> Values:
        """The values of a node's attributes, each name's first; raises InputError, Broken."""
        values: Values = {}
        for content in attributes:
            name, value = self._known.get(content) or self.read(content)
            values.setdefault(name, value)
        return values

    def keep(self, type_: int, attributes: tuple[bytes, ...], common: Common) -> Common:
        """Remember what nodes of this type with these attributes have in common, and return it."""
        if len(self.common) >= REMEMBERED:
            self.common.clear()
        self.common[type_, attributes] = common
        return common

    def text(self, content: bytes) -> str:
        """A name, remembered; what isn't UTF-8 in it is replaced."""
        if len(self.texts) >= REMEMBERED:
            self.texts.clear()
        text = self.texts[content] = str(content, "utf-8", "replace")
        return text

    def read(self, content: bytes) -> Attribute:
        """The name and value of an attribute, :data:`IGNORED` if it doesn't count; raises InputError, Broken."""
        # Most begin with their name: a tag, a length of one byte, the text. What doesn't count is left unread.
        if content[:1] == b"\n" and b"" < content[1:2] < b"\x80" and content[2 : 2 + content[1]] not in _READ_BYTES:
            return IGNORED
        try:
            message = self._class.FromString(content)
        except self._broken as error:
            raise Broken("it has an attribute that is none") from error
        if message.name not in READ:
            return IGNORED
        attribute = (message.name, READ[message.name](message.name, value_of(message)))
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[content] = attribute
        return attribute


def value_of(attribute: Message) -> Written:
    """The value of an attribute: a number, text, bytes, a tuple of those, or None if it has none."""
    field = attribute.WhichOneof("value")
    if field is None:
        return None
    value = getattr(attribute, field)
    return tuple(value.values) if field.endswith("_list") else value


def _shown(value: Written) -> str:
    return "not given" if value is None else repr(value)[:60]
