"""Draws the rooms of the package and which of them import which, from the imports themselves: docs/figures/rooms.svg.

usage: python docs/images/draw_rooms.py [FILE]
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "astra_ns3"
PICTURE = HERE.parent / "figures" / "rooms.svg"
BASE = "units, errors, ..."
"""Single files at the bottom, which every room may import."""
APART = ("config.core", "network.door", "network.ns3", "network.analytical", "network.backend_makers")
"""Rooms within the rooms ``config`` and ``network`` that have a door of their own."""
WORDS = {
    "cli": "commands; prints and exits",
    "planning": "degrees, bounds, search",
    "studies": "many runs from one file",
    "experiments": "one run: inputs, play, tables",
    "report": "text, pictures, pages from records",
    "playing": "plays a workload on NPUs",
    "system": "chunks, queues, what starts next",
    "scenario": "tenants on one network",
    "workload": "models, loops, files as numbers",
    "collectives": "schedules, proved",
    "topology": "graphs, routes",
    "transport": "bytes, times, checks of TCP and RoCE",
    "network": "plan, records, what backends fulfil",
    "network.door": "the one door to cppyy",
    "network.ns3": "packets",
    "network.analytical": "messages by formula",
    "network.backend_makers": "backends by name",
    "config": "files read into frozen models",
    "config.core": "what every file's model is",
    "nccl": "what NCCL decides",
    BASE: "quantities, one tree of errors",
}
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 218, 46, 26, 44, 20


def room_of(module: str) -> str | None:
    """Return the room of a module; None for the package itself and its start."""
    parts = module.split(".")[1:]
    if not parts or parts[0] == "__main__":
        return None
    if not (PACKAGE / parts[0]).is_dir():
        return BASE
    two = ".".join(parts[:2])
    return two if two in APART else parts[0]


def imported(source: str) -> set[str]:
    """Return the modules and names of this package that a source imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == PACKAGE.name}


def rooms() -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        room = room_of(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        if room is not None:
            others = {room_of(name) for name in imported(path.read_text(encoding="utf-8"))}
            found[room] |= {other for other in others if other is not None and other != room}
    return dict(found)


def floors(below: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the floor of each room: above all that it imports."""
    found: dict[str, int] = {}

    def floor(room: str, above: tuple[str, ...] = ()) -> int:
        if room in above:
            raise SystemExit(f"rooms import each other: {' -> '.join((*above, room))}")
        if room not in found:
            found[room] = 1 + max((floor(other, (*above, room)) for other in sorted(below[room])), default=-1)
        return found[room]

    for room in sorted(below):
        floor(room)
    return found


def shown(below: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the arrows that are drawn: none where a longer way leads there too."""
    reached: dict[str, set[str]] = {}

    def behind(room: str) -> set[str]:
        if room not in reached:
            reached[room] = set().union(*(behind(other) | {other} for other in below[room]))
        return reached[room]

    return [
        (room, other)
        for room in sorted(below)
        for other in sorted(below[room])
        if not any(other in behind(third) for third in below[room])
    ]


def places(below: Mapping[str, set[str]], level: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """Return the middle of each room's box; a room stands near those that it imports."""
    rows: dict[int, list[str]] = defaultdict(list)
    for room, floor in level.items():
        rows[floor].append(room)
    widest = max(len(row) for row in rows.values())
    at: dict[str, tuple[float, float]] = {}
    for floor in sorted(rows):
        mean = {
            room: sum(at[other][0] for other in below[room]) / len(below[room]) if below[room] else 0.0
            for room in rows[floor]
        }
        row = sorted(rows[floor], key=lambda room: (mean[room], room))
        first = MARGIN + WIDTH / 2 + (widest - len(row)) / 2 * (WIDTH + GAP_X)
        y = MARGIN + HEIGHT / 2 + (max(rows) - floor) * (HEIGHT + GAP_Y)
        at.update({room: (first + place * (WIDTH + GAP_X), y) for place, room in enumerate(row)})
    return at


def svg() -> str:
    """Return the picture."""
    below = rooms()
    missing = sorted(below.keys() - WORDS.keys())
    if missing:
        raise SystemExit(f"docs/images/draw_rooms.py: WORDS says nothing of {', '.join(missing)}")
    at = places(below, floors(below))
    width = max(x for x, _ in at.values()) + WIDTH / 2 + MARGIN
    height = max(y for _, y in at.values()) + HEIGHT / 2 + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5b6770"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
    ]
    for room, other in shown(below):
        (x, y), (to_x, to_y) = at[room], at[other]
        start, end, bend = y + HEIGHT / 2, to_y - HEIGHT / 2, GAP_Y * 0.8
        lines.append(
            f'<path d="M{x:g} {start:g}C{x:g} {start + bend:g} {to_x:g} {end - bend:g} {to_x:g} {end:g}" fill="none" '
            'stroke="#5b6770" stroke-width="1.1" marker-end="url(#head)"/>'
        )
    for room, (x, y) in sorted(at.items()):
        left, top = x - WIDTH / 2, y - HEIGHT / 2
        lines.append(
            f'<rect x="{left:g}" y="{top:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#e8f0f7" stroke="#2f5d84"/>'
            f'<text x="{x:g}" y="{y - 4:g}" text-anchor="middle" font-size="15" font-weight="bold">{room}</text>'
            f'<text x="{x:g}" y="{y + 14:g}" text-anchor="middle" font-size="12" fill="#33414c">{WORDS[room]}</text>'
        )
    return "\n".join([*lines, "</svg>\n"])


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE).write_text(svg(), encoding="utf-8")
