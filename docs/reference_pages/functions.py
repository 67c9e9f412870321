"""The public functions and classes of the package, by their docstrings and signatures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property

import astra_ns3
from astra_ns3.experiments.result import Frame
from reference_pages.attributes import words_of
from reference_pages.markdown import cell, code, table

_BEGIN = """# The package `astra_ns3`

Made from the code. [How it is used, with examples](../python.md).
"""
_SECTIONS = ("Args", "Arguments", "Returns", "Raises", "Yields")


def functions_page() -> str:
    """Return the page: a section for each public name."""
    return "\n".join([_BEGIN, *(_section(name) for name in sorted(astra_ns3.__all__, key=str.casefold))])


def _section(name: str) -> str:
    thing = getattr(astra_ns3, name)
    if inspect.isclass(thing):
        body = f"{_text(thing)}\n\n{_signature(name, thing)}{_members(thing)}"
    elif inspect.isfunction(thing):
        body = f"{_signature(name, thing)}{_text(thing)}\n"
    else:
        kind = "The version of the package" if name == "__version__" else cell(type(thing).__doc__ or "")
        body = f"{kind}: {code(repr(thing))}.\n" if name == "__version__" else f"{kind}\n"
    return f"## `{name}`\n\n{body}"


def _signature(name: str, thing: object) -> str:
    """Return how it is called, an argument a line."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    arguments = [_argument(each) for each in signature.parameters.values() if each.name != "self"]
    starred = [each.kind for each in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in starred and inspect.Parameter.VAR_POSITIONAL not in starred:
        arguments.insert(starred.index(inspect.Parameter.KEYWORD_ONLY), "*")
    listed = "".join(f"    {each},\n" for each in arguments)
    answer = signature.return_annotation
    given = "" if answer is inspect.Signature.empty or inspect.isclass(thing) else f" -> {_type(answer)}"
    return f"```python\n{name}(\n{listed}){given}\n```\n\n".replace("(\n)", "()")


def _argument(parameter: inspect.Parameter) -> str:
    kind = "" if parameter.annotation is parameter.empty else f": {_type(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}{kind}{default if kind else default.replace(' ', '')}"


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _text(thing: object) -> str:
    """Return a docstring as Markdown: paragraphs stay, sections become lists."""
    text = inspect.cleandoc(inspect.getdoc(thing) or "")
    lines: list[str] = []
    for line in text.splitlines():
        heading = line.strip().rstrip(":")
        if heading in _SECTIONS and line.strip().endswith(":"):
            lines += ["", f"**{heading}**", ""]
        elif re.match(r" {4}\S", line) and any(each.startswith("**") for each in lines):
            lines.append("* " + re.sub(r"^(\w+):", r"`\1`:", line.strip()))
        else:
            lines.append(line)
    joined = "\n".join(lines)
    joined = re.sub(r":\w+:`~?\.?([^`<]+?)`", lambda role: f"`{role[1].rpartition('.')[2]}`", joined)
    return joined.replace("``", "`")


def _members(owner: type) -> str:
    """Return the tables of a class: attributes, and methods."""
    named = list(members(owner))
    words = words_of(owner)
    rows = [(code(name), cell(words.get(name) or _first(value))) for name, value in named if not _is_method(value)]
    rows += [
        (code(name), cell(text)) for name, text in words.items() if not name.startswith("_") and name not in dict(named)
    ]
    calls = [(code(f"{name}{_arguments(value)}"), cell(_first(value))) for name, value in named if _is_method(value)]
    parts = [table(("Attribute", "Meaning"), rows)] if rows else []
    parts += [table(("Method", "What it does"), calls)] if calls else []
    return "\n".join(parts)


def members(owner: type) -> Iterator[tuple[str, object]]:
    """Yield the public members of a class and of its bases in this package."""
    seen: set[str] = set()
    for each in owner.__mro__:
        if not each.__module__.startswith("astra_ns3"):
            continue
        annotated = [name for name in inspect.get_annotations(each) if name not in each.__dict__]
        for name in (*annotated, *each.__dict__):
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, each.__dict__.get(name)


def _is_method(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, (classmethod, staticmethod))


def _arguments(value: object) -> str:
    function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return f"({', '.join(names)})"


def _first(value: object) -> str:
    """Return the first paragraph of what a member says of itself."""
    if isinstance(value, cached_property):
        value = value.func
    text = (
        value.__doc__ if isinstance(value, (Frame, property)) or callable(value) or hasattr(value, "__func__") else ""
    )
    return inspect.cleandoc(text or "").partition("\n\n")[0]
