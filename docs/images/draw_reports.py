"""Draws the tops of reports in README and docs/cases.md, and the timelines of the cases.

usage: PYTHONPATH=tests python docs/images/draw_reports.py [why] [dlrm] [a2a] [incast] [--to FOLDER]
Plays the run of each name, or of all, by the command that its page shows; dlrm takes a minute or two. Needs chromium
and the extras "report" and "plots".
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from support.documents.browser import opened
from support.documents.pages import OWN_FILES, ROOT, blocks, commands

PAGES = {"why": OWN_FILES, **dict.fromkeys(("dlrm", "a2a", "incast"), "docs/cases.md")}
"""By the name of the run whose command stands there."""
FILES = ("workload.txt", "system.yaml", "network.yaml")
"""Files of the page on writing them, which its command takes."""
COLOURS = 256
WIDTH = 900


def astra_ns3(*words: str, folder: Path) -> None:
    """Run a command of the program in ``folder``."""
    subprocess.run([sys.executable, "-m", "astra_ns3", *words], cwd=folder, check=True)


def play(name: str, folder: Path) -> Path:
    """Return where the run of this name lies, made by its page's first command."""
    (folder / "inputs").symlink_to(ROOT / "inputs")
    for file in FILES:
        (folder / file).write_text(blocks(OWN_FILES, f"file: {file}")[0], encoding="utf-8")
    words = commands(PAGES[name], name)[0]
    astra_ns3(*words, folder=folder)
    return folder / words[words.index("-o") + 1]


def draw_report(run: Path, target: Path) -> None:
    """Write the picture of a report: the page down to where message time goes, but for the figure of NPUs."""
    astra_ns3("report", str(run), "-o", "report.html", folder=run)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        opened(run / "report.html", Path(profile)) as page,
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


def main() -> None:
    """Draw what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PAGES)}; all if none is named")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent, metavar="FOLDER", help="where to write")
    arguments = parser.parse_args()
    for name in arguments.names or PAGES:
        picture = "report" if name == "why" else f"case-{name}-report"
        with tempfile.TemporaryDirectory() as folder:
            run = play(name, Path(folder))
            draw_report(run, arguments.to.absolute() / f"{picture}.png")
            if name != "why":
                timeline = arguments.to.absolute() / f"case-{name}-timeline.png"
                astra_ns3(
                    "plot", str(run), "timeline", "--width", "double", "-o", str(timeline), "--overwrite", folder=run
                )


if __name__ == "__main__":
    main()
