"""Mutations of texts and of command lines: what a slip, a wrong file or a program with a fault makes of good input."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

TOKENS = (
    *(
        "",
        "0",
        "-1",
        "1",
        "3",
        "7",
        "65536",
        "2147483648",
        "99999999999999999999",
        "1e300",
        "1e-300",
        "0.5",
        "nan",
        "inf",
    ),
    *("null", "true", "~", "''", "[]", "{}", "[1, 2]", "{a: 1}", "&a", "*a", "!!python/object:os.system", "<<", "---"),
    *(
        "100Gbps",
        "500ns",
        "1ps",
        "64MB",
        "1B",
        "9TB",
        "all",
        "none",
        "ring",
        "file:x",
        "x.py:f",
        "mine.py:place",
        "x.hpp:C",
        "\u20ac",
    ),
    *("=1+1", "@sum", "%s", "\\", '"', "\x00", "\ufeff", "\r", "\t", " " * 50, "A" * 300, "1" * 5000, "[" * 2000),
)
WORD_LIMIT = 40

Mutation = Callable[[random.Random, str], str]


def _lines(text: str) -> list[str]:
    return text.split("\n")


def drop_line(draw: random.Random, text: str) -> str:
    """Without one of its lines."""
    lines = _lines(text)
    del lines[draw.randrange(len(lines))]
    return "\n".join(lines)


def repeat_line(draw: random.Random, text: str) -> str:
    """With one of its lines twice."""
    lines = _lines(text)
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    return "\n".join(lines)


def swap_lines(draw: random.Random, text: str) -> str:
    """With two of its lines in each other's place."""
    lines = _lines(text)
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def replace_word(draw: random.Random, text: str) -> str:
    """With another word in the place of one of its words."""
    words = [word for word in text.replace(",", " ").replace(":", " ").split() if len(word) <= WORD_LIMIT]
    if not words:
        return draw.choice(TOKENS)
    word = draw.choice(words)
    places = [place for place in range(len(text)) if text.startswith(word, place)]
    place = draw.choice(places)
    new = draw.choice((*TOKENS, draw.choice(words)))
    return text[:place] + new + text[place + len(word) :]


def change_number(draw: random.Random, text: str) -> str:
    """With one digit changed, or put in."""
    places = [place for place, letter in enumerate(text) if letter.isdigit()] or [0]
    place = draw.choice(places)
    return text[:place] + draw.choice(("0", "9", "-1", "", "00", ".5", "e9")) + text[place + draw.randint(0, 1) :]


def change_letter(draw: random.Random, text: str) -> str:
    """With one letter changed."""
    place = draw.randrange(max(len(text), 1))
    return text[:place] + chr(draw.choice((*range(1, 127), 0x20AC, 0x1F600))) + text[place + 1 :]


def cut(draw: random.Random, text: str) -> str:
    """Its beginning."""
    return text[: draw.randrange(max(len(text), 1))]


def change_indent(draw: random.Random, text: str) -> str:
    """With another indent of one line."""
    lines = _lines(text)
    place = draw.randrange(len(lines))
    lines[place] = " " * draw.randint(0, 5) + lines[place].lstrip()
    return "\n".join(lines)


MUTATIONS: Sequence[Mutation] = (
    *(drop_line, repeat_line, swap_lines, change_letter, cut, change_indent),
    *(replace_word, replace_word, replace_word, change_number, change_number),
)


def mutated(draw: random.Random, text: str) -> str:
    """``text`` after one to three mutations."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        text = draw.choice(MUTATIONS)(draw, text)
    return text
