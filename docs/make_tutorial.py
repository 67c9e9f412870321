#!/usr/bin/env python3
"""Plays the pages of the tutorial, copies the pictures made, and fills in what is printed where a ``text`` is empty.

    python docs/make_tutorial.py docs/tutorial/2-comparing-collectives.md

To have an output made anew, empty its block. What a block shows is held by ``tests/bridge/test_tutorial.py``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.documents.tutorial import PAGES, played  # noqa: E402


def main(names: list[str]) -> int:
    """Fill in the pages named, or all."""
    for page in [Path(name) for name in names] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            steps = list(played(page, Path(folder)))
            for picture in Path(folder).glob("*.png"):
                shutil.copy(picture, page.parent / "figures" / picture.name)
        text = page.read_text(encoding="utf-8")
        for step in reversed(steps):
            if step.shown is not None and not step.shown.text:
                text = text[: step.shown.place] + step.printed + text[step.shown.place :]
        page.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {page}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
