"""Whole numbers rounded up."""

from __future__ import annotations


def divided_up(value: int, by: int) -> int:
    """Return ``value / by``, rounded up."""
    return -(-value // by)


def rounded_up(value: int, grain: int) -> int:
    """Return the least multiple of ``grain`` that isn't below ``value``."""
    return divided_up(value, grain) * grain
