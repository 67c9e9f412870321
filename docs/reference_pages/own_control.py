"""A congestion control of the user's own: all that it is told and may set, read from the header that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reference_pages.markdown import cell, code, table

HEADER = Path(__file__).resolve().parents[2] / "ns3-scratch" / "roce" / "model" / "roce-congestion-control.h"
_BEGIN = """# A congestion control of your own

Made from `roce-congestion-control.h`, which a C++ class includes. [How to write and name one](../congestion-
control.md#your-own).

Times are picoseconds, rates bits per second, positions and sizes bytes. A Python class has a mapping `parameters`
instead of `Get`, and no `Follow` and `IsLikeNew`. It says what telemetry it wants in an attribute `telemetry`
(`"hops"` or `"path"`), and its estimate in an attribute `alpha`.

`GetTelemetry` is asked once. It gives `NONE`, `HOPS` or `PATH`. With `HOPS` each switch adds an entry of `timePs`,
`sentBytes`, `queueBytes` and `rateBps` (Python: a list of tuples). With `PATH` packets bring one number,
`pathUtilisation`. An acknowledgement is valid during the call only.
"""
_SECTIONS = (
    ("RoceCongestionControl", "Methods to override"),
    ("RoceSender", "The sender"),
    ("RoceAck", "An acknowledgement"),
    ("RoceControlParameters", "Parameters"),
)
_NOT_IN_PYTHON = ("Follow", "IsLikeNew", "GetTelemetry", "GetAlpha", "Get", "hops")
_NOT_FOR_USERS = ("Set",)


def own_control_page() -> str:
    """Return the page: a section for each class of the header."""
    text = HEADER.read_text(encoding="utf-8")
    parts = [_BEGIN]
    for name, title in _SECTIONS:
        rows = [
            (code(cpp), code("" if cpp.partition("(")[0] in _NOT_IN_PYTHON else python_name(cpp)), cell(words))
            for cpp, words in members(text, name)
            if cpp.partition("(")[0] not in _NOT_FOR_USERS
        ]
        parts.append(f"## {title} (`{name}`)\n\n{table(('C++', 'Python', 'Meaning'), rows)}")
    return "\n".join(parts)


def members(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield methods as ``Name(arguments)`` and fields of a class, each with its words."""
    body = re.search(rf"^(?:class|struct) {name}\n{{\n(.*?)^}};", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    field = re.compile(r"^ {4}[\w:* ]+?(?P<field>\w+)\{.*?\};\s*//!< (?P<words>.*)$")
    doc: list[str] = []
    for line in body[1].splitlines():
        stripped = line.strip()
        found = field.match(line)
        method = re.match(r"^ {4}(?:virtual )?[\w:*& ]*?\b([A-Z]\w*)\((.*)\)", line)
        if found is not None and not found["field"].startswith("m_"):
            yield found["field"], f"{found['words'][0].upper()}{found['words'][1:]}."
        elif stripped.startswith(("///", "/**", "*")):
            doc.append(stripped.strip("/* "))
        elif method is not None and doc and not method[1].startswith("Roce"):
            yield f"{method[1]}({_names(method[2])})", _words(doc)
            doc = []
        elif stripped:
            doc = []


def python_name(cpp: str) -> str:
    """Return what Python calls a member: without ``Get``, in lower case; a setter is set by assignment."""
    name, _, arguments = cpp.partition("(")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"^(?:Get|Set)", "", name)).lower()
    if name == "GetRandom":
        return "random()"
    if name.startswith("Set"):
        return f"{snake} = ..."
    return snake if name.startswith("Get") or not arguments else f"{snake}({_snake(arguments)}"


def _snake(arguments: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", arguments).lower()


def _names(arguments: str) -> str:
    """Return the names of arguments without their types."""
    return ", ".join(one.split("=")[0].split()[-1].strip("&*") for one in arguments.split(",") if one.strip())


def _words(doc: list[str]) -> str:
    r"""Return a comment without the names of Doxygen's parts: ``\return``, ``\param``."""
    text = " ".join(doc).strip()
    lead, *parameters = re.split(r"\\param ", text)
    lead = lead.replace("\\return ", "").strip()
    told = [re.sub(r"^(\w+) ", r"`\1`: ", each.replace("\\return ", "returns ").strip()) for each in parameters]
    told = [
        each for each in told if not re.match(r"`(?:sender|rateBps|bytes|timer)`: (?:its|the) (?:sender|number)$", each)
    ]
    words = "; ".join(filter(None, [lead.rstrip("."), *told]))
    return f"{words[0].upper()}{words[1:]}." if words else ""
