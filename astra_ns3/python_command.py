"""How a process of Python is started: it must not import from the working folder, where anybody may have put files."""

from __future__ import annotations

import sys


def python_command(program: str, *words: str, python: str | None = None) -> list[str]:
    """The command of a process that plays ``program``, which finds the words in ``sys.argv[1:]``.

    The process imports what this one can. ``python``: another interpreter, which imports its own modules.
    """
    path = "[each for each in sys.path if each]" if python else repr([*map(str, sys.path)])  # "" is the working folder
    return [python or sys.executable, "-c", f"import sys; sys.path[:] = {path}; {program}", *words]
