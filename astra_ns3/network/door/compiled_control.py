"""A user's congestion control written in C++: compiled at start, once per process."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from astra_ns3.config.core.reading import read_text
from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.network.door.library import control_header, load
from astra_ns3.user_files import files_taken_in

_CONTROL_FACTORY = """
namespace astra_ns3_control {{
ns3::RoceCongestionControl* Make{number}(const ns3::RoceControlParameters& parameters) {{
    return new ::{name}(parameters);
}}
uint64_t AddressOfMake{number}() {{ return reinterpret_cast<uint64_t>(&Make{number}); }}
}}
"""


@cache
def _compiled(path: Path) -> list[dict[Path, bytes]]:
    """Where :func:`compiled_control_factory` keeps the files of a header as it compiled them; empty: not yet."""
    return []


def _compile_header(path: Path, name: str) -> None:
    compiled, files = _compiled(path), files_taken_in(path)
    refuse(
        any(letter in str(path) for letter in '"\n\\'),
        "a C++ file with a quote, a backslash or a line end in its path can't be included",
        path,
    )
    if compiled:
        for file in {**compiled[0], **files}:
            same = compiled[0].get(file) == files.get(file)
            refuse(not same, "has changed since this process compiled it; start a new one", file)
        return
    _compile(path, name, f'{control_header()}#include "{path}"\n')
    compiled.append(files)


def _compile(path: Path, name: str, source: str) -> None:
    import cppyy

    try:
        cppyy.cppdef(source)
    except SyntaxError as error:
        reason = next((line for line in str(error).splitlines() if "error:" in line), str(error).strip())
        classes = re.findall(r"\b(?:class|struct)\s+(\w+)", read_text(path))
        meant = "" if name.split("::")[-1] in classes else nearest(name, classes)
        raise wrong(f"class {name} can't be compiled: {reason.strip()}{meant}", path) from error
    except Exception as error:
        # What it has at namespace scope is made at once, and that may throw.
        reason = str(error).strip().splitlines()[-1].strip()
        raise wrong(f"class {name} can't be loaded: {reason}", path) from error


@cache
def _control_factory(path: Path, name: str) -> int:
    import cppyy

    number = _control_factory.cache_info().currsize
    _compile(path, name, _CONTROL_FACTORY.format(name=name, number=number))
    return int(getattr(cppyy.gbl.astra_ns3_control, f"AddressOfMake{number}")())


def compiled_control_factory(path: Path, name: str) -> int:
    """Compile a user's congestion control; the address of the function that makes one.

    Raises InputError if the file does not compile, has no such class, or has changed since it was compiled: C++ can't
    forget a class, so that needs a new process.
    """
    load()
    resolved = path.resolve()
    _compile_header(resolved, name)
    return _control_factory(resolved, name)
