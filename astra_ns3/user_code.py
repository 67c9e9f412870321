"""Parts of the user's, ``FILE.py:name``: how they are named, loaded, called, and how their failures are told, alike."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import Any, NamedTuple, cast

from astra_ns3.errors import AstraNs3Error, InputError, nearest, refuse, wrong

FORM = "FILE.py:name"
"""How a part is named, for messages."""
_PYTHON = re.compile(r"(?:file:)?(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)", re.ASCII)
_EITHER = re.compile(r"(?:file:)?(?P<file>.+\.(?:hpp|hh|h|py)):(?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)", re.ASCII)


UserFunction = Callable[..., Any]  # what a user wrote: checked where it is called, for nobody can know its type


class UserPart(NamedTuple):
    """A name in a file of the user's; a relative path begins at the working folder."""

    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"


def user_part(text: object, *, compiled: bool = False) -> UserPart | None:
    """The part that ``FILE.py:name`` names; None if ``text`` has not that form. ``compiled``: ``FILE.hpp:Class`` has it
    too."""
    match = (_EITHER if compiled else _PYTHON).fullmatch(text) if isinstance(text, str) else None
    return UserPart(match["file"], match["name"]) if match else None


def load_part(part: UserPart, role: str, *, a_class: bool = False) -> UserFunction:
    """The function, or the class, that ``part`` names; ``role`` says what it is for: "hook", "policy", "topology".

    Raises InputError as :func:`load_user_module` does, and if there is no such function.
    """
    names = vars(load_user_module(Path(part.file), role))
    found = names.get(part.name)
    if callable(found) and (isinstance(found, type) or not a_class):
        return cast(UserFunction, found)
    wanted = f"{part.file}: the {role} file must define a {'class' if a_class else 'function'} {part.name}"
    refuse(part.name in names, f"{wanted}, found {a_kind_of(found)}")
    raise wrong(wanted + nearest(part.name, (name for name in names if not name.startswith("__"))))


def load_pure_part(part: UserPart, role: str) -> UserFunction:
    """As :func:`load_part`, guarded, for a function of its arguments alone: loaded once for each state of the file."""
    try:
        state = Path(part.file).stat()
    except (OSError, ValueError):
        raise wrong(_missing(role, Path(part.file)), part.file) from None
    return _load_pure_part(part, role, Path(part.file).absolute(), state.st_ctime_ns, state.st_size)


@lru_cache(maxsize=64)
def _load_pure_part(part: UserPart, role: str, _path: Path, _changed_ns: int, _bytes: int) -> UserFunction:
    return guarded(load_part(part, role), part)


def load_user_module(file: Path, role: str) -> ModuleType:
    """Run the Python file ``file``.

    Raises InputError, one line that begins with the file, if it is missing, is no Python file, or raises anything,
    SystemExit too.
    """
    check_user_file(file, role)
    refuse(file.suffix != ".py", f"a {role} must be a Python file (.py)", file)
    # Two files of one name, in two folders, are two modules.
    name = f"astra_ns3_user_{file.stem}_{hashlib.sha256(bytes(file.resolve())).hexdigest()[:12]}"
    loader = _Source(name, str(file.absolute()))
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=loader.path))
    module.__file__ = loader.path
    sys.modules[name] = module  # dataclasses look there for the names in their annotations
    try:
        with _imports_from_sources():
            loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        raise wrong(f"the {role} file failed: {describe_failure(error)}", _place(file, error)) from error
    return module


class _Source(SourceFileLoader):
    """Compiles the file each time, as files of ``__pycache__`` may be stale, or anybody's."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class _UserFinder(PathFinder):
    """Finds the modules of users, to load them from their sources; leaves those of Python, packages and ours."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = super().find_spec(fullname, path, target)
        if found is None or type(found.loader) is not SourceFileLoader or is_installed(Path(found.loader.path)):
            return None
        found.loader = _Source(fullname, found.loader.path)
        return found


def is_installed(file: Path) -> bool:
    """Whether a module's file belongs to Python, to an installed package or to us, rather than to users."""
    ours, python = Path(__file__).parent, Path(sysconfig.get_path("stdlib"))
    return not {"site-packages", "dist-packages"}.isdisjoint(file.parts) or not {ours, python}.isdisjoint(file.parents)


@contextmanager
def _imports_from_sources() -> Iterator[None]:
    finder = _UserFinder()
    sys.meta_path.insert(sys.meta_path.index(PathFinder), finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def check_user_file(file: Path, role: str) -> None:
    """Raise InputError if there is no such file; a name that can't be one is none."""
    try:
        there = file.is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        raise wrong(_missing(role, file), file)


def _missing(role: str, file: Path) -> str:
    return f"no such {role} file" if file.is_absolute() else f"no such {role} file; the path begins at {Path.cwd()}"


def guarded(function: UserFunction, part: UserPart) -> UserFunction:
    """``function`` such that whatever it raises is an InputError that names the file, the line and the function."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:  # as the user has them
        try:
            return function(*arguments, **named)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise told(error, part) from error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)

    return call


def told(error: BaseException, part: UserPart) -> AstraNs3Error:
    """The error that a call of the part raised, as one of ours."""
    if isinstance(error, AstraNs3Error) and not isinstance(error, InputError):
        return error
    what = str(error) if isinstance(error, InputError) else f"{part.name} failed: {describe_failure(error)}"
    return wrong(f"{what}", _place(Path(part.file), error))


def describe_failure(error: BaseException) -> str:
    """Kind and first line of what was raised."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def a_kind_of(value: object) -> str:
    """The words for a value in messages: ``a list``, ``an int``, ``nothing``."""
    if value is None:
        return "nothing"
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiouAEIOU' else ''} {name}"


def _place(file: Path, error: BaseException) -> str:
    """The file, and the line of it in which ``error`` arose, as far as that is known."""
    path = str(file.absolute())
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    if isinstance(error, SyntaxError) and error.filename == path and error.lineno:
        lines.append(error.lineno)
    return f"{file}:{lines[-1]}" if lines else str(file)
