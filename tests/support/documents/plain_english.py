"""Sentences of pages and of docstrings: those that are too long, and those that begin with what hides the subject.

``PYTHONPATH=tests python -m support.documents.plain_english [WORD...]`` prints them, for files whose names contain a
word; with ``--counts`` how many each file has, as the test's list of what is left has them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from support.documents.pages import ROOT

MOST_WORDS = 32
HIDING = ("Of", "Those", "These", "Such", "What")
"""Words that no sentence begins with, but a question may with the last one."""
_WORD = re.compile(r"[\w'`][\w'`.,/:<>=()+*^%-]*")
_END = re.compile(r"(?<=[.!?:])[)\"]?\s+(?=[A-Z(\"*`])")
_ITEM = re.compile(r"\s*(?:[*+-]|\d+\.|:)\s+(.*)")
_CODE = re.compile(r"``[^`]+``|`[^`]+`")


def complaints(text: str) -> Iterator[str]:
    """Yield the sentences of Markdown that are too long, or begin with a word that hides the subject."""
    for sentence in _sentences(text):
        first = sentence.partition(" ")[0].rstrip(",")
        if len(_WORD.findall(sentence)) > MOST_WORDS or (first in HIDING and not sentence.endswith("?")):
            yield sentence


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
        plain = _CODE.sub("NAME", plain).replace("**", "").replace("*", "")
        yield from (sentence.strip() for sentence in _END.split(plain))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and items of lists, without code, tables, headings and comments."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    lines: list[str] = []
    for line in (*text.splitlines(), ""):
        item = _ITEM.fullmatch(line)
        is_code = re.match(r" {4,}\S", line) and not lines
        if item or is_code or not line.strip() or line.startswith(("|", "#")):
            if lines:
                yield " ".join(lines)
            lines = [item[1]] if item else []
            continue
        lines.append(line.strip())


def docstrings(source: str) -> Iterator[str]:
    """Yield the docstrings of a module: its own, of its classes and functions, and behind its attributes."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def found_in(path: Path) -> list[str]:
    """Return the complaints about a page, or about the docstrings of a module."""
    text = path.read_text(encoding="utf-8")
    texts = docstrings(text) if path.suffix == ".py" else [text]
    return [sentence for each in texts for sentence in complaints(each)]


def pages() -> list[Path]:
    """Return all pages."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]


def modules() -> list[Path]:
    """Return all modules of the package, and those that make the reference."""
    return [*sorted(ROOT.glob("astra_ns3/**/*.py")), *sorted(ROOT.glob("docs/reference_pages/*.py"))]


def main(words: list[str]) -> None:
    """Print what is found, in the files whose names contain a word, or in all."""
    names = [word for word in words if not word.startswith("--")]
    for path in (*pages(), *modules()):
        name = str(path.relative_to(ROOT))
        found = found_in(path)
        if not found or (names and not any(word in name for word in names)):
            continue
        sys.stdout.write(f"{len(found)} {name}\n")
        if "--counts" not in words:
            sys.stdout.writelines(f"    {sentence}\n" for sentence in found)


if __name__ == "__main__":
    main(sys.argv[1:])
