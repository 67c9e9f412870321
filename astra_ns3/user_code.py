"""Python code of the user's: hooks, policies and congestion controls are loaded, and their failures told, alike."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from astra_ns3.errors import AstraNs3Error, InputError


def load_user_module(file: Path, role: str) -> ModuleType:
    """Run the Python file ``file``; ``role`` says in messages what it is: "hook", "policy", "congestion control".

    Raises InputError, one line that begins with the file, if it is missing, is no Python file, or raises anything,
    SystemExit too.
    """
    if not is_file(file):
        raise InputError(f"{file}: no such {role} file")
    # Two files of one name, in two folders, are two modules.
    name = f"astra_ns3_user_{file.stem}_{hashlib.sha256(bytes(file.resolve())).hexdigest()[:12]}"
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise InputError(f"{file}: a {role} must be a Python file (.py)")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look there for the names in their annotations
    try:
        specification.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        raise InputError(f"{file}: the {role} file failed: {describe_failure(error)}") from error
    return module


def is_file(file: Path) -> bool:
    """Whether there is such a file; a name that can't be one is none."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def guarded(function: Callable[..., Any], file: Path, name: str) -> Callable[..., Any]:
    """``function`` such that whatever it raises is an InputError that names ``file`` and ``name``."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (AstraNs3Error, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise InputError(f"{file}: {name} failed: {describe_failure(error)}") from error

    return call


def describe_failure(error: BaseException) -> str:
    """Kind and first line of what was raised."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
