"""The keys of a run's three files, by the schema, and other values that each may have."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.system.file import parse_system
from astra_ns3.workload.training.schedules import SCHEDULES
from soak.case import REPOSITORY
from soak.rewritten import unit_of
from soak.users import Asked

Place = tuple[str | int, ...]
"""The file of a key, and its groups."""
Key = tuple[Place, str, Any, Any]
"""Place, the field's name and type, and the value."""
_SET: Mapping[str, Any] = {"ps": "5us", "bps": "3Gbps", "bytes": 3000, "ns": 50, "": 3}
"""What a number that is 0 or left out becomes, by its unit."""
_PRIORITY = 5
_NAMES = {"ring": "direct", "direct": "ring", "LIFO": "FIFO", "FIFO": "LIFO", "ascending": "roundRobin"}


def keys_of(run: Asked) -> Iterator[Key]:
    """Yield each key of a run's files, be it written or not; those of packets only where there are any."""
    yield from _keys(parse_system(run.system), ("system",))
    if run.options["backend"] == "ns3":
        yield from _keys(parse_network(run.network), ("network",))
    if not isinstance(run.work, str):
        source = str(REPOSITORY / "inputs" / "workload" / "models" / "soak.yaml")  # tables stand in that folder
        yield from _keys(parse_model_file(Document(source, run.work), SCHEDULES), ("work",))


def _keys(model: ConfigModel, place: Place) -> Iterator[Key]:
    for name, field in type(model).model_fields.items():
        value, here = getattr(model, name), (*place, field.alias or name)
        groups = value if isinstance(value, tuple) else ()
        if isinstance(value, ConfigModel):
            yield from _keys(value, here)
        elif groups and isinstance(groups[0], ConfigModel):
            for number, each in enumerate(groups):
                yield from _keys(each, (*here, number))
        else:
            yield here, name, field.annotation, value


def other_values(name: str, kind: Any, value: Any) -> list[Any]:
    """Return other values that a key may have, far from its own."""
    if isinstance(value, tuple):
        return [[other, *value[1:]] for other in other_values(name, kind, value[0])] if value else []
    unit, parts = unit_of(name), [*_parts(kind)]
    if isinstance(value, bool) or (value is None and bool in parts):
        return [not value]
    if isinstance(value, int | float) and value:
        numbers = dict.fromkeys(type(value)(value * factor) for factor in (2, 0.5, 8, 0.001))
        return [f"{number}ps" if unit == "ps" else number for number in numbers if number not in (0, value)]
    if name.endswith("priority"):  # of which another may be the one in use
        return [_PRIORITY]
    if value == 0 or (value is None and {int, float} & {*parts}):
        return [_SET.get(unit, _SET[""])]
    words = [each for part in parts if get_origin(part) is Literal for each in get_args(part) if each != value]
    return words or [_NAMES[word] for word in (str(value),) if word in _NAMES]


def _parts(kind: Any) -> Iterator[Any]:
    yield kind
    for part in () if get_origin(kind) is Literal else get_args(kind):
        yield from _parts(part)


def with_value(file: Any, place: list[str | int], value: Any) -> Any:
    """Return a copy of a file's keys with one that is set."""
    changed = group = copy.deepcopy(file)
    for key in place[:-1]:
        if isinstance(group, dict) and not isinstance(group.get(key), dict | list):
            group[key] = {} if group.get(key) is None else {"kind": group[key]}
        group = group[key]
    group[place[-1]] = value
    return changed
