"""Policies by name: one of ours, or a function in a Python file of the user's."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from astra_ns3.config.policy_names import own_policy
from astra_ns3.errors import AstraNs3Error, InputError, nearest

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
    if not file.is_file():
        raise InputError(f"{file}: no such policy file")
    specification = importlib.util.spec_from_file_location(f"astra_ns3_policy_{file.stem}", file)
    if specification is None or specification.loader is None:
        raise InputError(f"{file}: a policy must be in a Python file (.py)")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look there for their annotations
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{file}: the policy file failed: {_describe(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{file}: the policy file must define a function {name}")

    def policy(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except AstraNs3Error:
            raise
        except Exception as error:
            raise InputError(f"{file}: {name} failed: {_describe(error)}") from error

    return policy


def _describe(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
