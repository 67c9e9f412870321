"""ASTRA-sim's file of communicators: ``{"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from astra_ns3.config.core.json_reading import each_once, reading_json
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import read_text
from astra_ns3.errors import of_type, refuse, wrong
from astra_ns3.workload.files.chakra.names import plain_name

Groups = Mapping[str, tuple[int, ...]]
GROUPS_SUFFIX = ".groups.json"
"""After the prefix of a trace: the name under which its communicators are written, and found."""


def read_groups(path: str | os.PathLike[str]) -> Groups:
    """The members of each communicator, in the file's order; raises InputError with the file and what is wrong.

    Group 0 is all NPUs, which needs no line; as ASTRA-sim has it, one that says otherwise is never used.
    """
    source = os.fspath(path)
    with reading_json(source):
        document = json.loads(read_text(source), object_pairs_hook=each_once)
    document = of_type(document, dict, 'expected communicators by name, like {"1": [0, 1]}', source)
    found: dict[str, tuple[int, ...]] = {}
    for name, members in document.items():
        plain = plain_name(name)
        refuse(plain in found, f"communicator '{name}' is '{plain}', which stands there already", source)
        found[plain] = _members(name, members, source)
    return found


def _members(name: str, members: Json, source: str) -> tuple[int, ...]:
    if not isinstance(members, list) or not members:
        raise wrong(f"communicator '{name}' is {members!s}, expected a list of NPUs", source)
    for member in members:
        if isinstance(member, bool) or not isinstance(member, int) or member < 0:
            raise wrong(f"communicator '{name}' has member {member!r}, expected a number of an NPU", source)
    if len(set(members)) < len(members):
        twice = next(member for member in members if members.count(member) > 1)
        raise wrong(f"communicator '{name}' has NPU {twice} twice", source)
    return tuple(members)
