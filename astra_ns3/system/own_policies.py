"""Policies by name: one of ours, or a function in a Python file of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from astra_ns3.errors import nearest, wrong
from astra_ns3.user_code import FORM, guarded, load_part, user_part

_Policy = TypeVar("_Policy")


def is_own(name: str) -> bool:
    """Whether ``name`` is a function in a file of the user's."""
    return user_part(name) is not None


def find_policy(name: str, registry: Mapping[str, _Policy]) -> _Policy:
    """The policy called ``name`` in ``registry``, or the function that ``FILE.py:name`` names.

    A relative path is taken from the working directory. Raises InputError; a function from a file raises it too when
    the user's code fails.
    """
    if name in registry:
        return registry[name]
    own = user_part(name)
    if own is None:
        allowed = f"{', '.join(registry)}, {FORM}"
        raise wrong(f"policy '{name}' is not one of {allowed}{nearest(name, registry)}")
    return cast(_Policy, guarded(load_part(own, "policy"), own))
