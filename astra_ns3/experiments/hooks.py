"""Loads a user's hook: a Python file that defines ``on_built(context)``, called before the first event."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from astra_ns3.errors import AstraNs3Error, InputError

Hook = Callable[[Any], object]


class HookFile:
    """A user's hook that is loaded when it is needed, in the process that needs it."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._hook: Hook | None = None

    def load(self) -> None:
        """Run the file; raises InputError as :func:`load_hook` does."""
        self._hook = load_hook(self._path)

    def __call__(self, context: Any) -> object:
        """Call its ``on_built``."""
        if self._hook is None:
            self.load()
        assert self._hook is not None
        return self._hook(context)


def load_hook(path: str | Path) -> Hook:
    """The function ``on_built`` of the Python file ``path``; it runs that file.

    Raises InputError if the file can't be read or run, or has no such function; the function returned raises it when
    the user's code fails, naming the file and what was raised.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such hook file")
    specification = importlib.util.spec_from_file_location(f"astra_ns3_hook_{file.stem}", file)
    if specification is None or specification.loader is None:
        raise InputError(f"{file}: a hook must be a Python file (.py)")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{file}: the hook file failed: {_describe(error)}") from error
    on_built = getattr(module, "on_built", None)
    if not callable(on_built):
        raise InputError(f"{file}: the hook file must define a function on_built(context)")

    def call(context: Any) -> object:
        try:
            return on_built(context)
        except AstraNs3Error:
            raise
        except (Exception, SystemExit) as error:
            raise InputError(f"{file}: on_built failed: {_describe(error)}") from error

    return call


def _describe(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
