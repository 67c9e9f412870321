"""JSON texts of others: keys stand once, and what can't be read is an error of the file with its line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from astra_ns3.errors import InputError, Where, wrong

_Value = TypeVar("_Value")


@contextmanager
def reading_json(source: str, line: int = 0) -> Iterator[None]:
    """Raise the error of a text of ``source`` that is not JSON, or that Python can't read; it begins on ``line``."""
    where = Where(source, line)
    try:
        yield
    except InputError as error:
        raise wrong(str(error), where) from error
    except json.JSONDecodeError as error:
        raise wrong(f"is not JSON: {error.msg}", Where(source, error.lineno)) from error
    except RecursionError as error:
        raise wrong("is nested too deeply", where) from error
    except ValueError as error:
        raise wrong(f"is not JSON that can be read: {str(error).split(':')[0]}", where) from error


def each_once(pairs: list[tuple[str, _Value]]) -> dict[str, _Value]:
    """Return the object of these keys and values; raise InputError for a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise wrong(f"key '{twice}' stands twice")
    return found
