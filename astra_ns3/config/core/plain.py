"""Plain data: what a JSON file can say. Who reads some narrows it; who writes some need not copy lists and mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]


def dotted_keys(data: Mapping[str, Json], before: str = "") -> Iterator[str]:
    """Yield all keys of ``data`` and of the groups in it, with dots between them."""
    for name, value in data.items():
        yield f"{before}{name}"
        if isinstance(value, Mapping):
            yield from dotted_keys(value, f"{before}{name}.")
