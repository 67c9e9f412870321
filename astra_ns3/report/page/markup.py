"""HTML out of text: everything that goes in is escaped, unless it is markup already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from astra_ns3.config.core.plain import Json

_TEMPLATE = "hovertemplate"


class Markup(str):
    """Text that is HTML already."""


def escaped(text: object) -> str:
    """Text as HTML."""
    return text if isinstance(text, Markup) else html.escape(str(text), quote=True)


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element; ``class_`` is ``class``, an attribute that is None is left out."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{words}>{''.join(escaped(each) for each in content)}</{name}>")


def joined(parts: Iterable[object]) -> Markup:
    """One after the other."""
    return Markup("".join(escaped(part) for part in parts))


def unbroken(text: str) -> str:
    """Two words that stay in one line, as a number and its unit do; markup and longer text as they are."""
    return text.replace(" ", "\u00a0") if not isinstance(text, Markup) and text.count(" ") == 1 else text


def table(head: Sequence[object], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Markup:
    """A table; the columns whose places are in ``numbers`` are set right, a number and its unit in one line.

    It scrolls by itself where it is too wide.
    """

    def cells(kind: str, row: Sequence[object]) -> Markup:
        told = [
            unbroken(cell) if kind == "td" and index in numbers and isinstance(cell, str) else cell
            for index, cell in enumerate(row)
        ]
        return joined(tag(kind, cell, class_="number" if index in numbers else None) for index, cell in enumerate(told))

    body = tag("tbody", *(tag("tr", cells("td", row)) for row in rows))
    return tag("div", tag("table", tag("thead", tag("tr", cells("th", head))), body), class_="scrolls")


def plain_labels(data: Json) -> Json:
    """Data for plotly.js, which takes text for HTML, with all of it escaped but for templates, which are ours."""
    if isinstance(data, Mapping):
        return {key: value if key == _TEMPLATE else plain_labels(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain_labels(value) for value in data]
    return html.escape(data, quote=False) if isinstance(data, str) else data


def data_script(name: str, data: object) -> Markup:
    """Data for scripts, in a form that can't end its element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(
        f'<script type="application/json" id="{escaped(name)}">{text.replace("<", chr(92) + "u003c")}</script>'
    )


def page_part(name: str) -> str:
    """Return a file that becomes a part of pages."""
    return files("astra_ns3.report.page").joinpath(name).read_text(encoding="utf-8")


def html_file(
    title: str, content: Markup, foot: str, *, policy: str, style: str = "", scripts: tuple[str, str] | None = None
) -> str:
    """Return an HTML file that loads nothing but what ``policy`` allows.

    ``style``: behind that of all pages. ``scripts``: of its head, and of the end of its body.
    """
    first, last = (f"<script>{script}</script>\n" for script in scripts) if scripts else ("", "")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">
<title>{escaped(title)}</title>
<style>
{page_part("page.css")}{style}</style>
{first}</head>
<body>
<main>{content}</main>
{tag("footer", foot)}
{last}</body>
</html>
"""
