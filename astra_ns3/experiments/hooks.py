"""Loads a user's hook: a function of a context in a Python file, called before the first event."""

from __future__ import annotations

from pathlib import Path

from astra_ns3.user_code import UserFunction, UserPart, guarded, load_part, user_part

Hook = UserFunction


class HookFile:
    """A user's hook, ``FILE.py:name`` or ``FILE.py``, loaded when it is needed, in the process that needs it."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._hook: Hook | None = None

    @property
    def path(self) -> str:
        """As it was given."""
        return str(self._path)

    def __reduce__(self) -> tuple[type[HookFile], tuple[str]]:
        """In another process it is loaded anew."""
        return HookFile, (str(self._path),)

    def load(self) -> None:
        """Run the file; raises InputError as :func:`load_hook` does."""
        self._hook = load_hook(self._path)

    def __call__(self, context: object) -> object:
        """Call it."""
        if self._hook is None:
            self.load()
        assert self._hook is not None
        return self._hook(context)


def load_hook(path: str | Path) -> Hook:
    """The function that ``FILE.py:name`` names, ``on_built`` if it is ``FILE.py`` alone; it runs that file.

    Raises InputError if the file can't be read or run, or has no such function; the function returned raises it when
    the user's code fails, naming the file and what was raised.
    """
    part = user_part(str(path)) or UserPart(str(path), "on_built")
    return guarded(load_part(part, "hook"), part)


def named_hook(hook: Hook | None) -> Hook | None:
    """Return ``hook`` such that whatever it raises is an InputError, as :func:`load_hook`'s is."""
    if hook is None or isinstance(hook, HookFile):
        return hook
    code = getattr(hook, "__code__", None) or getattr(type(hook).__call__, "__code__", None)
    return guarded(hook, UserPart(code.co_filename if code else "on_built", getattr(hook, "__name__", "on_built")))
