"""Keys of run.json, from the types that write and read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args, get_type_hints, is_typeddict

from astra_ns3.experiments.described.run_json import SEEDS, STATISTICS
from astra_ns3.network.run_document import RunDocument
from reference_pages.attributes import words_of
from reference_pages.markdown import cell, code, plain, table

_BEGIN = """# Keys of run.json

Made from the code. Which keys there are depends on the workload, the backend, and how the run ended.
[What some of them mean](../results.md).
"""


def run_json_page() -> str:
    """Return the page: a section for each group of keys, then the statistics, then the file of several seeds."""
    parts = [_BEGIN, f"## The file (`Result.metadata`)\n\n{_section(RunDocument)}"]
    parts += [f"## `{path}`\n\n{plain(group.__doc__ or '')}\n\n{_section(group)}" for path, group in groups()]
    parts += [f"## `statistics`\n\n{_named(STATISTICS)}", f"## The file of several seeds\n\n{_named(SEEDS)}"]
    return "\n".join(parts)


def groups() -> Iterator[tuple[str, type]]:
    """Yield the groups of keys inside run.json, each once, with the first key that has it."""
    waiting: list[tuple[str, type]] = [("", RunDocument)]
    seen = {RunDocument}
    while waiting:
        path, group = waiting.pop(0)
        if group is not RunDocument:
            yield path, group
        for key, kind in get_type_hints(group).items():
            for inner, way in _inside(kind):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append((f"{path}.{key}{way}".lstrip("."), inner))


def _inside(kind: object, way: str = "") -> Iterator[tuple[type, str]]:
    if is_typeddict(kind) and isinstance(kind, type):
        yield kind, way
    origin = getattr(kind, "__origin__", None)
    is_list = isinstance(origin, type) and origin is not dict and not issubclass(origin, Mapping)
    for each in get_args(kind):
        yield from _inside(each, way + "[]" if is_list else way)


def _section(group: type) -> str:
    words = words_of(group)
    return table(("Key", "Meaning"), [(code(key), cell(words.get(key, ""))) for key in get_type_hints(group)])


def _named(words: Mapping[str, str]) -> str:
    return table(("Key", "Meaning"), [(code(key), cell(about)) for key, about in words.items()])
