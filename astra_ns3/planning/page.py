"""A plan as a page: what was found, the picture, why the best is the best, the table. Read from its folder's files.

The names of these files stand here, too: a new search begins by removing the files of an earlier one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter

from astra_ns3.config.core.json_reading import reading_json
from astra_ns3.errors import InputError, failing, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.report.page.markup import Markup, joined, table, tag
from astra_ns3.studies.page import drawing, page_of, the_same_again
from astra_ns3.studies.run_study import LAYER_TABLE, MEAN_TABLE, PAGE, STUDY_PARQUET, WRITTEN, put
from astra_ns3.studies.store import Store
from astra_ns3.whole_file import PLAN_TABLE, STUDY_TABLE, VARIED, VARIED_TABLE, check_not_read

STORE = "plan"
"""The name of a plan in its store."""
PLAN = "plan.json"
"""The file that the page of a plan is made of."""
BEST, NEXT, SYSTEM = "best.yaml", "best-next.yaml", "best-system.yaml"
"""The model with the best degrees, that whose next iterations are faster, and a system that no file of the user has."""
PLAN_PICTURE, VARIED_PICTURE = "frontier", "vary"
ENDINGS = (".png", ".svg")
_PICTURES: Mapping[str, str] = {PLAN: f"{PLAN_PICTURE}.svg", VARIED: f"{VARIED_PICTURE}.svg"}
_FORGOTTEN = (
    *(STUDY_TABLE, MEAN_TABLE, LAYER_TABLE, STUDY_PARQUET),
    *(f"{picture}{ending}" for picture in (PLAN_PICTURE, VARIED_PICTURE) for ending in ENDINGS),
    *(BEST, NEXT, SYSTEM, PAGE),
    *(PLAN_TABLE, VARIED_TABLE, PLAN, VARIED),
)
"""Files that tell of a plan, or of plans. The last four show that there is one, so they are removed last."""
_NUMBER = "-0123456789"
_LONG = 30


@dataclass(frozen=True)
class Shown:
    """A table of a page, with its heading (empty: none)."""

    title: str
    head: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Told:
    """All that a page of a plan tells besides its picture. ``head``: lines with their first words."""

    title: str
    head: Sequence[tuple[str, str]]
    picture: str
    tables: Sequence[Shown]
    command: str = ""


def check_free(folder: Path, *more: str) -> None:
    """Raise InputError if a folder holds a run, a study, or files of others that plans, or ``more``, would replace."""
    of_plans = False
    with suppress(InputError):  # of a file of this name that no plan wrote
        of_plans = told_page(folder) is not None
    Store(folder, STORE).check_free((*_FORGOTTEN, *more), known=of_plans)


def check_own(folder: Path, inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Do so for the folder of one plan, which may hold none of the files that the plan reads under names of its own."""
    check_free(folder, *WRITTEN)
    check_not_read(folder, _FORGOTTEN, inputs)


def forget(folder: Path, inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Remove what a folder tells of an earlier plan, but none of the files that the new one reads; its runs stay.

    Raises InputError if a file can't be removed.
    """
    if not any((folder / name).is_file() for name in (PLAN, VARIED, PLAN_TABLE, VARIED_TABLE)):
        return
    kept = {Path(each).resolve() for each in inputs if each is not None}
    for name in _FORGOTTEN:
        path = folder / name
        if path.resolve() not in kept:
            with failing(OSError, "cannot be removed", path):
                path.unlink(missing_ok=True)


def save_page(folder: Path, file: str, told: Told) -> None:
    """Write what a page tells, for pages that are made later; raises OSError."""
    put(folder / file, json.dumps(asdict(told), indent=1) + "\n")


def told_page(folder: Path) -> str | None:
    """Return the page of a folder with plans; None if it has none. Raises InputError if its file can't be read."""
    file = next((name for name in (VARIED, PLAN) if (folder / name).is_file()), None)
    if file is None:
        return None
    try:
        with reading_json(os.fspath(folder / file)):
            document = json.loads((folder / file).read_text(encoding="utf-8"))
        told = TypeAdapter(Told).validate_python(document)
    except (OSError, ValueError) as error:
        raise wrong(f"can't be read: {type(error).__name__}: {error}", folder / file) from error
    header = tag("header", tag("p", "astra-ns3 plan", class_="kicker"), tag("h1", told.title))
    again = the_same_again(told.command) if told.command else Markup()
    return page_of(f"{told.title}: astra-ns3 plan", joined([header, sections(told, folder / _PICTURES[file]), again]))


def sections(told: Told, picture: Path) -> Markup:
    """Return the sections of a page; without a picture where there is none."""
    lines = table(["", ""], [[tag("b", name), words] for name, words in told.head])
    parts = [tag("section", tag("h2", "What was found"), lines)]
    if picture.is_file():
        svg = drawing(picture.read_text(encoding="utf-8"), picture.stem)
        parts.append(tag("section", tag("h2", told.picture), svg))
    for shown in told.tables:
        heading = tag("h2", shown.title) if shown.title else Markup()
        columns = enumerate(zip(*shown.lines, strict=True))
        numbers = [place for place, cells in columns if all(cell[:1] in _NUMBER for cell in cells)]
        cells = [list(map(_wide, line)) for line in shown.lines]
        parts.append(tag("section", heading, table(shown.head, cells, numbers)))
    return joined(parts)


def _wide(cell: str) -> str:
    """Return a cell that no column makes high by being narrow."""
    return tag("div", cell, class_="long") if len(cell) > _LONG else cell
