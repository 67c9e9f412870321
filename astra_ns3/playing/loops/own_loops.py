"""Training loops that users write: generators as in :mod:`astra_ns3.playing.loops.loops`, in a file of theirs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import get_args

from astra_ns3.errors import wrong
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Operation, Program
from astra_ns3.playing.programs.roles import Role
from astra_ns3.user_code import UserFunction, UserPart, a_kind_of, load_pure_part, told

MOST_OWN_PASSES = 100_000
"""Passes of such a loop may differ, so all of them are played to see what it issues: seconds for so many."""
_OPERATIONS = get_args(Operation)


def own_program(part: UserPart) -> tuple[Callable[[Steps, Role], Program], UserFunction]:
    """The program of a loop that the user's function is, and that function.

    Raises InputError as its file is loaded, and as it is played.
    """
    function = load_pure_part(part, "training loop")
    return lambda steps, role: _watched(function, part, steps, role), function


def _watched(function: UserFunction, part: UserPart, *arguments: object) -> Program:
    """The user's program; what it raises names its file and line, and what it yields is an operation."""
    program = function(*arguments)
    if not isinstance(program, Generator):
        raise wrong(f"gave {a_kind_of(program)}, expected a generator: it must yield operations", str(part))
    answer = None
    while True:
        try:
            operation = program.send(answer)
        except StopIteration:
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise told(error, part) from error
        if type(operation) not in _OPERATIONS:
            names = ", ".join(kind.__name__ for kind in _OPERATIONS)
            raise wrong(f"yielded {a_kind_of(operation)}, expected one of {names} (use 'yield from')", str(part))
        answer = yield operation
