"""Which cases of a test `make test` plays, and which are left to `make test-slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

Value = TypeVar("Value")


def some_slow(values: Iterable[Value], quick: Collection[Value]) -> list[Value | ParameterSet]:
    """All values for ``pytest.mark.parametrize``; those that aren't quick are marked as slow.

    A tuple is a value for several names.
    """
    listed = list(values)
    unknown = [value for value in quick if value not in listed]
    assert not unknown, f"no cases: {unknown}"
    return [value if value in quick else _slow(value) for value in listed]


def _slow(value: object) -> ParameterSet:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
