"""The pages of documentation, for the tests that read them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OWN_PARTS = "docs/extending.md"
OWN_FILES = "docs/how-to/write-my-own-files.md"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, mark: str) -> list[str]:
    """The fenced blocks that follow a line ``<!-- mark -->``."""
    return re.findall(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", text_of(page), re.DOTALL)


def commands(page: str, name: str) -> list[list[str]]:
    """The words of each command of the program below a line ``<!-- command: name -->``."""
    (lines,) = re.findall(rf"<!-- command: {name} -->\n((?: {{4}}.*\n)+)", text_of(page).replace("\\\n", ""))
    return [shlex.split(line, comments=True)[1:] for line in lines.strip().splitlines()]
