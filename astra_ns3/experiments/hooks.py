"""Loads a user's hook: a Python file that defines ``on_built(context)``, called before the first event."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from astra_ns3.errors import InputError
from astra_ns3.user_code import guarded, load_user_module

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
    on_built = getattr(load_user_module(file, "hook"), "on_built", None)
    if not callable(on_built):
        raise InputError(f"{file}: the hook file must define a function on_built(context)")
    return guarded(on_built, file, "on_built")
