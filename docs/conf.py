"""The site that ``make docs`` builds of these pages: Sphinx with MyST, so that pages stay Markdown."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_DOCS = Path(__file__).resolve().parent
_REPOSITORY = _DOCS.parent
sys.path[:0] = [str(_DOCS), str(_REPOSITORY)]
from reference_pages import PAGES  # noqa: E402 - which lies beside this file

project = "astra-ns3"
extensions = ["myst_parser"]
exclude_patterns = ["tutorial/README.md", "reference_pages"]
myst_heading_anchors = 5
myst_enable_extensions = ["deflist"]
html_theme = "furo"
html_title = "astra-ns3"
html_copy_source = False
html_show_copyright = False
_SHOWN = {
    "README.md": "readme",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "inputs/workload/README.md": "inputs-workload",
    "docs/tutorial/README.md": "start",
}
"""Files with a page of another name: of those outside this folder the page is an empty file here."""
_LINK = re.compile(r"(?<!!)\[([^]\[]+)\]\(([^)#\s:]+)(#[^)\s]+)?\)")
_PICTURE = re.compile(r"(!\[[^]]*\])\(([^)\s:]+)\)")


def _show(app: Sphinx, page: str, text: list[str]) -> None:
    """Put what is made from the code, or the file that a page shows, into it, and lead links to their targets."""
    if page in PAGES:
        text[0] = PAGES[page]()
    files = [file for file, name in _SHOWN.items() if name == page and not file.startswith("docs/")]
    folder = begin = (_DOCS / page).parent
    if files:
        file = _REPOSITORY / files[0]
        begin = file.parent
        text[0] = _PICTURE.sub(lambda link: f"{link[1]}({_from(folder, begin / link[2])})", file.read_text("utf-8"))

    def link_of(link: re.Match[str]) -> str:
        target = (begin / link[2]).resolve()
        name = _SHOWN.get(os.path.relpath(target, _REPOSITORY))
        if name is not None:
            return f"[{link[1]}]({_from(folder, _DOCS / name)}.md{link[3] or ''})"
        if not files or not target.exists():
            return link[0]
        if target.is_dir() or (target.suffix == ".md" and _DOCS not in target.parents):
            return link[1]  # no page, and nothing to fetch
        return f"[{link[1]}]({_from(folder, target)}{link[3] or ''})"

    text[0] = _LINK.sub(link_of, text[0])


def _from(folder: Path, target: Path) -> str:
    return os.path.relpath(target, folder)


def setup(app: Sphinx) -> None:
    """Connect what Sphinx calls for each page."""
    app.connect("source-read", _show)
