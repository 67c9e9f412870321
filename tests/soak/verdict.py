"""Whether the end of a case is one that it may have."""

from __future__ import annotations

from soak.play import DEADLOCK, FINISHED, GAVE_UP, Outcome
from soak.traits import Traits


def faults(traits: Traits, outcome: Outcome) -> list[str]:
    """What is wrong with an outcome, each one line; nothing if all is well."""
    found = list(outcome.problems)
    if outcome.end == DEADLOCK:
        if not traits.has_pfc or not traits.has_circle:
            found.append("a deadlock where no paths close a circle")
    elif outcome.end == GAVE_UP:
        if traits.data_safe and traits.in_order and not traits.answers_wait:
            found.append("gave up where nothing can be lost")
    elif outcome.end != FINISHED:
        found.append(f"{outcome.end}: {outcome.message}")
    return [*found, *_losses(traits, outcome)]


def _losses(traits: Traits, outcome: Outcome) -> list[str]:
    found = []
    if traits.all_safe and outcome.dropped:
        found.append(f"{outcome.dropped} frames were dropped where none may be")
    numbers = outcome.numbers or {}
    nacks, overtaken = numbers.get("nacks", 0), numbers.get("out_of_order_packets", 0)
    if traits.data_safe and traits.in_order and nacks:
        found.append(f"{nacks} NACKs where nothing is lost or overtaken")
    if traits.in_order and overtaken:
        found.append(f"{overtaken} packets out of order where none can overtake")
    return found
