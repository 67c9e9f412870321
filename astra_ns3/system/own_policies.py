"""Policies by name: one of ours, or a function in a Python file of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from astra_ns3.config.policy_names import own_policy
from astra_ns3.errors import InputError, nearest
from astra_ns3.user_code import guarded, load_user_module

_Policy = TypeVar("_Policy", bound=Callable[..., Any])


def is_own(name: str) -> bool:
    """Whether ``name`` is a function in a file of the user's."""
    return own_policy(name) is not None


def find_policy(name: str, registry: Mapping[str, _Policy]) -> _Policy:
    """The policy called ``name`` in ``registry``, or the function that ``PATH.py:FUNCTION`` names.

    A relative path is taken from the working directory. Raises InputError; a function from a file raises it too when
    the user's code fails.
    """
    if name in registry:
        return registry[name]
    own = own_policy(name)
    if own is None:
        allowed = f"{', '.join(registry)}, PATH.py:FUNCTION"
        raise InputError(f"policy '{name}' is not one of {allowed}{nearest(name, registry)}")
    return cast(_Policy, _load(Path(own[0]), own[1]))


def _load(file: Path, name: str) -> Callable[..., Any]:
    function = getattr(load_user_module(file, "policy"), name, None)
    if not callable(function):
        raise InputError(f"{file}: the policy file must define a function {name}")
    return guarded(function, file, name)
