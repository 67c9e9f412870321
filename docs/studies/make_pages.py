#!/usr/bin/env python3
"""Puts tables and figures of a study's output folder into its page: ``docs/studies/make_pages.py FOLDER PAGE...``.

Between a marker and ``<!-- end -->`` the page has what the marker asks for, made anew from ``study.csv``,
``study.yaml``, ``points/`` and ``figures/`` of the folder:

    <!-- table: PART NAME -->                     the table figure NAME of PART, a row a combination of coordinates
    <!-- table: PART: system, finish_us, share = 100 * exposed_us / finish_us -->    columns of one's own
    <!-- pivot: PART: scale, system, finish_us --> a row a scale, a column a system
    <!-- pivot: PART: scale, system, finish_us over flat-800g -->   each over that column's
    <!-- pivot: PART: scale, system, finish_us over order=FIFO -->   each over the point with that value, else the same
    <!-- pivot: PART where scale=0.1 and order=LIFO: ... -->   of the rows with these values only; of a table, too
    <!-- pivot: PART + PART: ... -->               of parts with the same axes, one after the other; of a table, too
    <!-- figure: PART NAME -->                    the picture, copied to docs/studies/figures/
    <!-- played -->                               points, runs, and the time of one worker

Tables that a page has only links to are named in ``docs/studies/tables.yaml``, by page: a name, and a marker as above.
Each becomes ``docs/studies/tables/NAME.csv``. The same folder gives the same bytes. A marker that names what the folder
hasn't, or a point that failed, is an error.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

PICTURES = "figures"
TABLES = "tables"
"""The folder of tables that are files, and with ``.yaml`` behind it the list of them."""
COLOURS = 128
"""Of a picture, so that it stays small."""
DIGITS = 4
_MARKED = re.compile(r"(<!-- (table|pivot|figure|played)(?:: ([^>]*?))? -->\n)(?:.*?)(<!-- end -->)", re.DOTALL)
_SIGNS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

Row = dict[str, str]


class PageError(Exception):
    """A marker that can't be served: the page, the marker, and why."""


class Folder:
    """What a study left: its rows, its file as played, its pictures."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.rows = list(csv.DictReader(io.StringIO((path / "study.csv").read_text(encoding="utf-8"))))
            self.study = yaml.safe_load((path / "study.yaml").read_text(encoding="utf-8"))
        except OSError as error:
            raise PageError(f"{path}: is not the folder of a study: {error}") from error

    def part(self, name: str) -> list[Row]:
        """The rows of a part, all of them done; of several parts if their names are joined by `` + ``."""
        if " + " in name:
            return [row for each in self._same_axes(name) for row in self.part(each)]
        rows = [row for row in self.rows if row["part"] == name]
        if not rows:
            raise PageError(f"{self.path}: has no part '{name}'; it has {', '.join(dict.fromkeys(self._parts()))}")
        for row in rows:
            if row["status"] != "done":
                raise PageError(f"{self.path}: a point of part '{name}' is {row['status']}: {row['error']}")
        return rows

    def axes(self, name: str) -> list[str]:
        """The columns of a part's axes."""
        name = self._same_axes(name)[0]
        part = self.study["parts"].get(name, {})
        names = {**self.study.get("names", {}), **part.get("names", {})}
        return [names.get(axis, axis) for axis in part.get("axes", {})]

    def figure(self, part: str, name: str) -> Mapping[str, Any]:
        """What the study's file says of a figure."""
        figures = self.study["parts"].get(part, {}).get("figures", {})
        if name not in figures:
            raise PageError(f"{self.path}: part '{part}' has no figure '{name}'; it has {', '.join(figures)}")
        found: Mapping[str, Any] = figures[name]
        return found

    def _same_axes(self, names: str) -> list[str]:
        """The parts whose names are joined by `` + ``."""
        parts = [name.strip() for name in names.split(" + ")]
        for name in parts[1:]:
            if self.axes(name) != self.axes(parts[0]):
                raise PageError(f"{self.path}: part '{name}' has other axes than '{parts[0]}'")
        return parts

    def _parts(self) -> list[str]:
        return [row["part"] for row in self.rows]


def made(text: str, folder: Folder, pictures: Path) -> str:
    """The page's text with all its markers served; pictures are copied to the folder ``pictures``."""

    def serve(found: re.Match[str]) -> str:
        begin, kind, words, end = found.groups()
        try:
            lines = _SERVED[kind](words or "", folder, pictures)
        except PageError as error:
            raise PageError(f"{begin.strip()}: {error}") from error
        return begin + "".join(f"{line}\n" for line in lines) + end

    if len(_MARKED.findall(text)) != len(re.findall(r"<!-- (?:table|pivot|figure|played)\b", text)):
        raise PageError("a marker is malformed, or its <!-- end --> is missing")
    return _MARKED.sub(serve, text)


def _table(words: str, folder: Folder, pictures: Path) -> list[str]:
    part, _, wanted = words.partition(":")
    part, condition = _conditioned(part)
    columns = [column.strip() for column in wanted.split(",")] if wanted else []
    if not columns:
        part, _, name = part.strip().partition(" ")
        figure = folder.figure(part, name.strip())
        named = figure.get("y", ["finish_us"])
        columns = [*folder.axes(part), *([named] if isinstance(named, str) else named)]
    rows = _where(folder.part(part), condition)
    axes = folder.axes(part)
    heads, cells = [column.partition("=")[0].strip() for column in columns], []
    for group in _grouped(rows, axes).values():
        cells.append([_cell(group, column, axes) for column in columns])
    return _markdown(heads, cells)


def _pivot(words: str, folder: Folder, pictures: Path) -> list[str]:
    part, _, wanted = words.partition(":")
    names = [name.strip() for name in wanted.split(",", 2)]
    if len(names) != 3:
        raise PageError("expected PART: ROW, COLUMN, VALUE")
    down, across, value = names
    value, _, other = (each.strip() for each in value.partition(" over "))
    part, condition = _conditioned(part)
    rows = _where(folder.part(part), condition)
    columns = list(dict.fromkeys(_text(row, across) for row in rows))
    partners = _partners(folder, part, other) if "=" in other else {}
    if other and not partners and other not in columns:
        raise PageError(f"'{other}' is not one of {', '.join(columns)}")
    cells = []
    for label, group in _grouped(rows, [down]).items():
        found = {name: [row for row in group if row[across] == name] for name in columns}
        if not all(found.values()):
            raise PageError(f"{down} {label[0]}: not every {across} has a point")
        bases = {name: found.get(other, []) for name in columns}
        if partners:
            bases = {name: [partners[id(row)] for row in found[name]] for name in columns}
        shares = (_mean(found[name], value) / (_mean(bases[name], value) if other else 1.0) for name in columns)
        cells.append([_shown(label[0]), *map(_number, shares)])
    return _markdown([down, *columns], cells)


def write_files(page: Path, folder: Folder) -> None:
    """Write the tables that are files of a page."""
    listed = page.parent / f"{TABLES}.yaml"
    wanted = yaml.safe_load(listed.read_text(encoding="utf-8")) if listed.exists() else {}
    for name, marker in wanted.get(page.stem, {}).items():
        kind, _, words = marker.partition(": ")
        if kind not in ("table", "pivot"):
            raise PageError(f"{listed}: {name}: expected 'table: ...' or 'pivot: ...'")
        heads, _, *lines = _SERVED[kind](words, folder, page.parent / PICTURES)
        target = page.parent / TABLES / f"{name}.csv"
        target.parent.mkdir(exist_ok=True)
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([_plain(cell) for cell in line.strip("| ").split(" | ")] for line in (heads, *lines))


def _plain(cell: str) -> str:
    """Return a cell without commas between thousands."""
    return cell.replace(",", "") if re.fullmatch(r"[\d,]+", cell) else cell


def _partners(folder: Folder, part: str, other: str) -> dict[int, Row]:
    """Of each row of a part the one that differs in ``other``, as ``order=FIFO``, alone."""
    rest = [each for each in (*folder.axes(part), "seed") if each != other.partition("=")[0].strip()]
    rows = folder.part(part)
    found = {tuple(_text(row, each) for each in rest): row for row in _where(rows, other)}
    try:
        return {id(row): found[tuple(_text(row, each) for each in rest)] for row in rows}
    except KeyError as error:
        raise PageError(f"not every point has one with {other}") from error


def _conditioned(words: str) -> tuple[str, str]:
    """A part's name, and what follows its ``where``; that is empty if there is none."""
    part, _, condition = words.partition(" where ")
    return part.strip(), condition.strip()


def _where(rows: list[Row], condition: str) -> list[Row]:
    """The rows whose columns have the values that ``condition`` says, as ``scale=0.1 and order=LIFO``."""
    for each in condition.split(" and ") if condition else []:
        column, _, value = (word.strip() for word in each.partition("="))
        rows = [row for row in rows if _shown(_text(row, column)) == value]
        if not rows:
            raise PageError(f"no point has {condition}")
    return rows


def _figure(words: str, folder: Folder, pictures: Path) -> list[str]:
    part, _, name = words.strip().partition(" ")
    folder.part(part)
    figure = folder.figure(part, name.strip())
    source = folder.path / "figures" / f"{part}-{name.strip()}.png"
    if not source.is_file():
        raise PageError(f"{source}: is not there")
    target = pictures / f"{folder_name(folder)}-{part}-{name.strip()}.png"
    pictures.mkdir(exist_ok=True)
    with Image.open(source) as opened:
        opened.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    title = figure.get("title") or folder.study["parts"][part].get("title", part)
    return [f"![{title}]({PICTURES}/{target.name})"]


def folder_name(folder: Folder) -> str:
    """What pictures of this study begin with: the study's name, which its folder begins with."""
    return folder.path.name.partition("-")[0]


def _played(words: str, folder: Folder, pictures: Path) -> list[str]:
    seconds: dict[str, float] = {}
    for row in folder.rows:
        file = folder.path / "points" / row["address"] / "point.json"
        if not file.is_file():
            raise PageError(f"{file}: is not there")
        seconds[row["address"]] = json.loads(file.read_text(encoding="utf-8"))["cost"]["cpu_seconds"]
    minutes = round(sum(seconds.values()) / 60)
    words = {0: "less than a minute", 1: "a minute"}.get(minutes, f"{minutes} minutes")
    runs = f"{len(seconds)} runs"
    if len(seconds) < len(folder.rows):
        runs = f"{len(folder.rows)} combinations of settings need {len(seconds)} different runs, which"
    return [f"{runs} take {words} of CPU time."]


_SERVED: Mapping[str, Callable[[str, Folder, Path], list[str]]] = {
    "table": _table,
    "pivot": _pivot,
    "figure": _figure,
    "played": _played,
}


def _grouped(rows: Sequence[Row], axes: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    """Rows that differ in their seed only."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(_text(row, axis) for axis in axes), []).append(row)
    return groups


def _cell(group: Sequence[Row], column: str, axes: Sequence[str]) -> str:
    name, equals, expression = (each.strip() for each in column.partition("="))
    return _shown(_text(group[0], name)) if name in axes else _number(_mean(group, expression if equals else name))


def _mean(group: Sequence[Row], expression: str) -> float:
    """Over seeds."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise PageError(f"'{expression}' is no arithmetic of columns and numbers") from error
    return sum(_value(tree, row) for row in group) / len(group)


def _value(tree: ast.expr, row: Row) -> float:
    if isinstance(tree, ast.BinOp) and type(tree.op) in _SIGNS:
        return _SIGNS[type(tree.op)](_value(tree.left, row), _value(tree.right, row))
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
        return float(tree.value)
    if not isinstance(tree, ast.Name):
        raise PageError("only columns, numbers, + - * / and parentheses are known")
    text = _text(row, tree.id)
    if not text:
        raise PageError(f"a point of part '{row['part']}' has no {tree.id}")
    return float(text)


def _text(row: Row, column: str) -> str:
    if column not in row:
        raise PageError(f"there is no column '{column}'")
    return row[column]


def _shown(label: str) -> str:
    """A label; a number that a table kept as 1.0 as 1."""
    return label.removesuffix(".0") if re.fullmatch(r"\d+\.0", label) else label


def _number(value: float) -> str:
    """So many digits, whole numbers above them whole, thousands apart."""
    if value == round(value) or abs(value) >= 10**DIGITS:
        return f"{value:,.0f}"
    return f"{value:.{DIGITS}g}"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return [head, "|" + "---|" * len(heads), *lines]


def main(arguments: Sequence[str]) -> int:
    """Write the pages anew; the status is 1 where a marker could not be served."""
    if len(arguments) < 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    pages = [Path(each) for each in arguments[1:]]
    try:
        folder = Folder(Path(arguments[0]))
        texts = [made(page.read_text(encoding="utf-8"), folder, page.parent / PICTURES) for page in pages]
        for page in pages:
            write_files(page, folder)
    except PageError as error:
        sys.stderr.write(f"make_pages.py: error: {error}\n")
        return 1
    for page, text in zip(pages, texts, strict=True):
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
