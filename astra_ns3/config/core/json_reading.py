"""JSON texts of others: keys stand once, and what can't be read is an error of the file with its line, in our words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeVar

from astra_ns3.errors import InputError, Where, wrong

_Value = TypeVar("_Value")
_TEXT_GOES_ON = "'\"' at the end of the text, or \\n for a line break in it"
_ESCAPES = 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u'
# What Python's messages begin with, and what stands there instead in JSON.
_EXPECTED: Mapping[str, str] = MappingProxyType(
    {
        "Expecting value": "a value: a text in double quotes, a number, true, false, null, [...] or {...}",
        "Expecting ',' delimiter": "',' or a closing bracket",
        "Expecting ':' delimiter": "':' after the key",
        "Expecting property name": "a key in double quotes",
        "Unterminated string": _TEXT_GOES_ON,
        "Invalid control character": _TEXT_GOES_ON,
        "Invalid \\uXXXX escape": "four hexadecimal digits after \\u",
        "Invalid \\escape": _ESCAPES,
        "Extra data": "the end of the file",
        "Illegal trailing comma": "no ',' before a closing bracket",
        "Unexpected UTF-8 BOM": "no byte order mark",
    }
)
_WORD = re.compile(r""" "[^"\n]{0,30}"? | [\w.+-]{1,30} | \S """, re.VERBOSE)


@contextmanager
def reading_json(source: str, line: int = 0) -> Iterator[None]:
    """Raise the error of a text of ``source`` that is not JSON, or that Python can't read; it begins on ``line``."""
    where = Where(source, line)
    try:
        yield
    except InputError as error:
        raise wrong(str(error), where) from error
    except json.JSONDecodeError as error:
        raise not_json(error, source) from error
    except RecursionError as error:
        raise wrong("is nested too deeply", where) from error
    except ValueError as error:
        raise wrong(f"is not JSON that can be read: {str(error).split(':')[0]}", where) from error


def not_json(error: json.JSONDecodeError, source: str) -> InputError:
    """Return the error of a text that isn't JSON: its line and column, what stands there, and what should."""
    expected = next((words for begin, words in _EXPECTED.items() if error.msg.startswith(begin)), error.msg)
    before = error.doc[: error.pos].rstrip()[-1:]
    if before == "," and error.doc[error.pos : error.pos + 1] in tuple("]}"):
        expected = _EXPECTED["Illegal trailing comma"]
    words = f"is not JSON in column {error.colno}: found {_found(error.doc, error.pos)}, expected {expected}"
    return wrong(words, Where(source, error.lineno))


def _found(text: str, position: int) -> str:
    """Return what stands at a position of a text, in words."""
    if not text[position:].strip():
        return "the end of the file"
    if text[position] in "\r\n":
        return "the end of the line"
    word = _WORD.match(text, position)
    return f"'{word[0]}'" if word is not None and word[0].isprintable() else f"letter {ord(text[position])}"


def each_once(pairs: list[tuple[str, _Value]]) -> dict[str, _Value]:
    """Return the object of these keys and values; raise InputError for a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise wrong(f"key '{twice}' stands twice")
    return found
