"""Draws the top of a report: ``PYTHONPATH=tests python docs/images/draw_report.py PAGE [PICTURE]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image
from support.browser import opened

TARGET = Path(__file__).resolve().parent / "report.png"
COLOURS = 256
WIDTH = 900


def main() -> None:
    """Write the picture: the page down to where message time goes, but for the figure of NPUs."""
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else TARGET
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        opened(Path(sys.argv[1]), Path(folder)) as page,
    ):
        panels = page.evaluate("document.querySelectorAll('.panel').length")
        page.wait_for(f"document.documentElement.dataset.drawn === '{panels}'")
        page.evaluate("document.querySelectorAll('.modebar, #exposed').forEach(each => each.remove())")
        bottom = page.evaluate("document.getElementById('accounts').getBoundingClientRect().bottom")
        page.screenshot(target, whole=False, height=round(bottom))
    with Image.open(target) as opened_picture:
        picture = opened_picture.convert("RGB")
    picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main()
