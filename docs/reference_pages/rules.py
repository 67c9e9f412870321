"""Rules of other simulators that a preset switches on, from the docstrings of the options."""

from __future__ import annotations

from dataclasses import fields

from astra_ns3.config.core.compatibility import OURS, PRESETS, Compatibility
from reference_pages.attributes import words_of
from reference_pages.markdown import cell, code, table

_BEGIN = """# Rules of other simulators

Made from the code. Each option is a rule that a [preset](../astra-sim-compatibility.md) switches on.
By default none holds.
"""


def rules_page() -> str:
    """Return the page: a row for each option, with the presets that have it."""
    words = words_of(Compatibility)
    rows = [(code(each.name), presets_with(each.name), cell(words[each.name])) for each in fields(Compatibility)]
    return f"{_BEGIN}\n{table(('Option', 'Presets', 'Meaning'), rows)}"


def presets_with(option: str) -> str:
    """Return the presets that switch an option on, with the value that they set if it is a number."""
    found = [(name, getattr(preset, option)) for name, preset in PRESETS.items()]
    shown = [(name, value) for name, value in found if value != getattr(OURS, option)]
    return ", ".join(code(name) + ("" if value is True else f" ({value})") for name, value in shown)
