"""An option of a run is a field of a dataclass that carries its words and its flags; all else is made of these."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, ParamSpec, TypeVar, get_type_hints

from astra_ns3.frozen import MISSING, dataclass, field, fields

_DECLARED = "astra_ns3.option"
_KINDS = (bool, int, float)
_DOCSTRING_WIDTH = 112
_INDENT = "    "

INPUTS, SIZE, RULES, SEEDS = "Inputs", "Size of the run", "Rules", "Seeds"
OUTPUT, RECORDS, LIMITS = "Output", "Records", "Limits"
GROUPS = (INPUTS, SIZE, RULES, SEEDS, OUTPUT, RECORDS, LIMITS)
"""Headings under which options stand, in their order."""

Value = TypeVar("Value")
Asked = ParamSpec("Asked")
Request = TypeVar("Request")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Flag:
    """How the command line asks for an option, or for a part of one; plain data.

    ``names``: all of it, with blanks between them. ``quantity``: reads a number with
    a unit, which has to be above 0. ``valued``: a switch that may have ``=true`` or ``=false`` behind it. ``many``: it
    may be given again, and its option is made of all its words. For a shell that completes: ``suggested`` words, which
    may be ``listed`` with commas, files with some ``endings`` (none: any), a ``folder``, ``keys`` of the files.
    """

    names: str
    help: str
    metavar: str | None = None
    quantity: Callable[[str | int], int] | None = None
    valued: bool = False
    many: bool = False
    suggested: tuple[str, ...] | Callable[[], Iterable[str]] = ()
    listed: bool = False
    endings: tuple[str, ...] | None = None
    folder: bool = False
    keys: bool = False


@dataclass(frozen=True)
class Declared:
    """The part of an option that its field declares besides name, type and default."""

    words: str
    flags: tuple[Flag, ...]
    made: Callable[..., object] | None
    group: str


@dataclass(frozen=True)
class Option(Declared):
    """An option as its field declares it; ``default`` is None if it is ``needed``.

    ``kind``: bool, int, float, or str for all else; read off the ``annotation``. ``many``: it is an iterable of these.
    ``made``: makes its value of those of its flags, each None if it was not given; without it the value is that of its
    one flag. ``group``: the heading under which help has its flags, or empty.
    """

    name: str
    annotation: str
    kind: type
    many: bool
    needed: bool
    default: Any  # of the kind of the option

    @property
    def parameter(self) -> inspect.Parameter:
        """As a parameter of a function."""
        default = inspect.Parameter.empty if self.needed else self.default
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=self.annotation)


def option(
    default: Value, words: str, *flags: Flag, made: Callable[..., object] | None = None, group: str = ""
) -> Value:
    """A dataclass's field that is an option: what ``help`` says of it, and the command line's ways to it.

    Its type is said to be that of ``default``, so that type checkers see a plain field with that default.
    """
    return field(default=default, metadata=needed(words, *flags, made=made, group=group))


def needed(
    words: str, *flags: Flag, made: Callable[..., object] | None = None, group: str = ""
) -> Mapping[str, object]:
    """Metadata for the field of an option without a default, which type checkers have to see as one."""
    return {_DECLARED: Declared(words, flags, made, group)}


def options_of(request: type) -> tuple[Option, ...]:
    """The options that the fields of a dataclass are, in their order, but those that are needed first."""
    found = []
    for one_field in (one_field for one_field in fields(request) if one_field.init):
        declared: Declared = one_field.metadata[_DECLARED]
        annotation = str(one_field.type)
        without_default = one_field.default is MISSING
        found.append(
            Option(
                name=one_field.name,
                annotation=annotation,
                kind=next((kind for kind in _KINDS if kind.__name__ in annotation.split(" | ")), str),
                many=annotation.startswith(Iterable.__name__),
                needed=without_default,
                default=None if without_default else one_field.default,
                **vars(declared),
            )
        )
    return tuple(sorted(found, key=lambda found: not found.needed))


def function_of(
    request: Callable[Asked, Request],
    answer: Callable[[Request], Found],
    name: str,
    returns: type[Found],
    before: str,
    after: str,
    names: Mapping[str, object],
) -> Callable[Asked, Found]:
    """Return the function ``name``, which answers a request made of its arguments; ``request`` is a class of them.

    Its docstring has the words of the request's options between two texts. ``names``: those that their types have.
    """

    def called(*files: Asked.args, **options: Asked.kwargs) -> Found:
        try:
            signature.bind(*files, **options)
        except TypeError as error:  # in the words of a call of this function, not of the class behind it
            raise TypeError(f"{name}(): {error}") from None
        return answer(request(*files, **options))

    assert isinstance(request, type)
    signature = inspect.signature(request)
    called.__qualname__ = called.__name__ = name
    explain(called, request, returns, before, after, names)
    return called


def explain(
    function: Callable[..., object], request: type, returns: type, before: str, after: str, names: Mapping[str, object]
) -> None:
    """Give ``function`` the signature of a request's fields, and a docstring of their words between two texts."""
    options = options_of(request)
    described: Any = function  # a function's type has no __signature__
    described.__signature__ = inspect.Signature([one.parameter for one in options], return_annotation=returns.__name__)
    hints = get_type_hints(request, localns=dict(names))
    described.__annotations__ = {**{one.name: hints[one.name] for one in options}, "return": returns}
    described.__doc__ = f"{before}\n\nArgs:\n{_arguments_text(options)}\n\n{after}"


def _arguments_text(options: Iterable[Option]) -> str:
    """A paragraph for each option; neighbours of the same words share one."""
    paragraphs = []
    for words, alike in groupby(options, key=lambda one: one.words):
        names = ", ".join(one.name for one in alike)
        paragraphs.append(
            textwrap.fill(
                f"{names}: {words}",
                _DOCSTRING_WIDTH,
                initial_indent=_INDENT,
                subsequent_indent=2 * _INDENT,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(paragraphs)
