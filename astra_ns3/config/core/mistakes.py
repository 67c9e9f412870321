"""All that is wrong with a document at once: an unknown key hides no other mistake of its group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.errors import InputError

UNKNOWN_KEYS = "unknown"
"""In an error's context: the keys that its group hasn't."""
MEANT = "; did you mean "
"""Stands before the nearest keys, as in ``errors.nearest``."""


def every_error(
    model: type[BaseModel], document: Document, error: ValidationError, context: Mapping[str, object]
) -> list[ErrorDetails]:
    """``error``'s own, and those of the document without its unknown keys, which are told before a group is read.

    Of the latter not what may come of a misspelt key: that it is missing, or how the others fit together without it.
    """
    found: list[ErrorDetails] = []
    meant: set[KeyPath] = set()
    data = document.data
    while True:
        errors = error.errors(include_url=False)
        unknown = [details for details in errors if UNKNOWN_KEYS in details.get("ctx", {})]
        found += unknown
        left = data
        for details in unknown:
            group = document_path(details, document.data)[:-1]
            meant |= {
                (*group, *word.split(".")) for word in re.findall(r"'([^']+)'", details["msg"].partition(MEANT)[2])
            }
            left = _without(left, group, frozenset(details["ctx"][UNKNOWN_KEYS]))
        if left == data:  # nothing is unknown, or what a model made of other keys
            others = [details for details in errors if details not in unknown]
            return found + [each for each in others if not found or not _follows(each, document, meant)]
        data = left
        try:
            model.model_validate(data, context=dict(context))
        except ValidationError as next_error:
            error = next_error
        except InputError:  # of another file, which is read when all is right
            return found
        else:
            return found


def document_path(details: ErrorDetails, data: object) -> KeyPath:
    """Pydantic's location without the names of union branches, and with the key that the error itself names."""
    path: list[str | int] = []
    for part in details["loc"]:
        if isinstance(data, Mapping):
            known = part in data
        else:  # an entry that is missing at the end of a list has no place in it
            known = isinstance(data, (list, tuple)) and isinstance(part, int) and part < len(data)
        if known:
            data = data[part]  # type: ignore[index]
        elif details["type"] != "missing" or part != details["loc"][-1]:
            continue
        path.append(part)
    if details["type"] == "key":
        key = details["ctx"]["key"]
        path += key if isinstance(key, tuple) else (str(key),)
    if details["type"] == "union_tag_invalid" and isinstance(data, Mapping) and "kind" in data:
        path.append("kind")
    return tuple(path)


def _follows(details: ErrorDetails, document: Document, meant: set[KeyPath]) -> bool:
    if details["type"] == "missing":
        return document_path(details, document.data) in meant
    return details["type"] == "key"


def _without(data: object, group: KeyPath, keys: Set[str]) -> object:
    """``data`` without some keys of one of its groups."""
    if isinstance(data, Mapping):
        if not group:
            return {key: value for key, value in data.items() if str(key) not in keys}
        return {key: _without(value, group[1:], keys) if key == group[0] else value for key, value in data.items()}
    if group and isinstance(data, (list, tuple)):
        return [_without(value, group[1:], keys) if at == group[0] else value for at, value in enumerate(data)]
    return data
