"""A picture of a schedule: ranks from top to bottom, rounds from left to right, an arrow for each message.

Every message takes one round, so that the picture shows what waits for what; real times depend on the network.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.errors import refuse
from astra_ns3.report.saving_figure import drawing
from astra_ns3.units import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More arrows than this are a black area.
MOST_MESSAGES = 4_000
_REDUCED, _COPIED = "#c2410c", "#1d4ed8"
_DOTS_PER_INCH = 120


def draw_schedule(schedule: Schedule, path: str | os.PathLike[str]) -> None:
    """Write the picture; the format is that of the file's ending.

    Raises :class:`~astra_ns3.errors.InputError` if matplotlib is missing, if there are too many messages for a picture,
    or if the file can't be written.
    """
    refuse(
        schedule.messages > MOST_MESSAGES,
        f"{schedule.messages} messages are too many for a picture (at most {MOST_MESSAGES}); take fewer ranks",
        schedule.name,
    )
    rounds = message_rounds(schedule)
    last = int(rounds.max()) + 1 if schedule.messages else 1
    size = _clamped(1.6 + 0.9 * last, 4.5, 16), _clamped(1.3 + 0.42 * schedule.ranks, 3, 16)
    with drawing(path, size, _DOTS_PER_INCH) as axes:
        _draw_arrows(axes, schedule, rounds.tolist())
        _label(axes, schedule, last)


def _draw_arrows(axes: Axes, schedule: Schedule, rounds: list[int]) -> None:
    rows = zip(schedule.sender.tolist(), schedule.receiver.tolist(), schedule.reduces.tolist(), rounds, strict=True)
    for sender, receiver, reduces, begin in rows:
        axes.annotate(
            "",
            xy=(begin + 0.94, receiver),
            xytext=(begin + 0.06, sender),
            arrowprops={
                "arrowstyle": "-|>",
                "color": _REDUCED if reduces else _COPIED,
                "linewidth": 0.9,
                "shrinkA": 0,
                "shrinkB": 0,
                "mutation_scale": 8,
            },
        )


def _label(axes: Axes, schedule: Schedule, last: int) -> None:
    from matplotlib.lines import Line2D

    axes.set_title(
        f"{schedule.name}, {counted(schedule.ranks, 'rank')}, {counted(schedule.messages, 'message')}", fontsize=10
    )
    axes.set_xlabel("round")
    axes.set_ylabel("rank")
    axes.set_xlim(-0.1, last + 0.1)
    axes.set_ylim(schedule.ranks - 0.5, -0.5)
    axes.set_xticks(range(0, last + 1, max(1, last // 16)))
    axes.set_yticks(range(0, schedule.ranks, max(1, schedule.ranks // 32)))
    axes.grid(axis="x", color="#d4d4d8", linewidth=0.5)
    axes.hlines(range(schedule.ranks), 0, last, color="#e4e4e7", linewidth=0.7, zorder=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    drawn = {bool(reduces) for reduces in schedule.reduces.tolist()}
    handles = [
        Line2D([], [], color=color, label=label)
        for reduces, color, label in ((True, _REDUCED, "with a reduction delay"), (False, _COPIED, "without"))
        if reduces in drawn
    ]
    if _REDUCED in {handle.get_color() for handle in handles}:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2, frameon=False, fontsize=8)


def _clamped(inches: float, least: float, most: float) -> float:
    return min(max(inches, least), most)
