"""The same configuration with other numbers, or the same numbers in other units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from astra_ns3.config.core.model import ConfigModel
from soak.draw import Draw

Change = Callable[[str, int], Any]
"""What stands in the place of a number; its unit is the end of its field's name."""
_UNITS: Mapping[str, Mapping[str, int]] = {
    "ps": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    "bps": {"bps": 1, "Mbps": 10**6, "Gb/s": 10**9, "Tbit/s": 10**12},
    "bytes": {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
}


def rewritten(model: ConfigModel, change: Change) -> dict[str, Any]:
    """Return the document of a configuration in which each number with a unit is changed."""
    document = model.document()
    for name, field in type(model).model_fields.items():
        key = field.alias or name
        if key in document:
            document[key] = _value(unit_of(name), getattr(model, name), document[key], change)
    return document


def unit_of(name: str) -> str:
    """Return the unit of a field by the end of its name, none of ``bytes_per_ns``."""
    return "" if "_per_" in name else name.rstrip("_").rpartition("_")[2]


def _value(unit: str, value: Any, written: Any, change: Change) -> Any:
    if isinstance(value, ConfigModel):
        return rewritten(value, change)
    if isinstance(value, (tuple, list)):
        return [_value(unit, one, other, change) for one, other in zip(value, written, strict=True)]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return change(unit, value) if whole and unit in ("ns", *_UNITS) else written


def times(**factors: Fraction | int) -> Change:
    """Return the change that multiplies each number of one of these units, cut to whole ones."""
    return lambda unit, value: _plain(unit, int(value * factors.get(unit, 1)))


def _plain(unit: str, value: int) -> Any:
    return f"{value}ps" if unit == "ps" else value


def in_other_units(draw: Draw) -> Change:
    """Return the change that writes each number in a unit that is drawn."""
    return lambda unit, value: _in_unit(value, *draw.pick(*_UNITS[unit].items())) if unit in _UNITS else value


def _in_unit(value: int, unit: str, factor: int) -> str:
    """``value``, exactly: a number of bytes can have thirty digits behind the point in GiB."""
    whole, rest = divmod(value, factor)
    digits = f"{10**30 * rest // factor:030}".rstrip("0")
    return f"{whole}.{digits}{unit}" if digits else f"{whole}{unit}"
