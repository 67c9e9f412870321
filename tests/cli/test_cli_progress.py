"""The live line: what it says, and how often."""

from __future__ import annotations

import io
import re
from typing import Any

from support.documents.pages import ROOT

import astra_ns3
from astra_ns3.cli.progress import LiveLine, progress_text
from astra_ns3.experiments.progress import Progress


def at(wall_seconds: float, events: int = 0, passes_done: int = 0, steps_done: int = 0) -> Progress:
    return Progress(passes_done, 2, steps_done, 10, 1_500_000, events, wall_seconds)


def test_the_line_says_pass_steps_simulated_time_speed_and_estimated_end() -> None:
    text = progress_text(at(30.0, passes_done=1, steps_done=5), 2_500_000)
    assert text.split("  ") == [
        " 75%",
        "pass 2/2",
        "layers 5/10",
        "sim 1.5 us",
        "2.5 M events/s",
        "left 00:10",
    ]


def test_the_line_fits_a_terminal_of_80_columns() -> None:
    progress = Progress(9, 10, 139, 140, 123_456_789_012, 10**10, 3_599.0)
    assert len(progress_text(progress, 9_876_543.0)) < 80


def test_no_end_is_estimated_before_the_first_step() -> None:
    assert progress_text(at(30.0), 0).endswith("left --:--")


def test_the_line_is_drawn_at_most_ten_times_a_second_and_taken_away_at_the_end() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    for beat in range(1000):
        line.update(at(beat / 100, events=beat))
    drawn = stream.getvalue().count("\r")
    assert 50 <= drawn <= 100
    line.finish()
    assert stream.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in stream.getvalue()


def test_speed_is_that_since_the_last_line() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    for wall_seconds, events in ((1.0, 1000), (2.0, 51_000)):
        line.update(at(wall_seconds, events=events))
    assert "50 k events/s" in stream.getvalue()


def test_a_line_never_drawn_leaves_the_stream_alone() -> None:
    stream = io.StringIO()
    LiveLine(stream).finish()
    assert stream.getvalue() == ""


def test_the_set_up_is_a_stage_of_its_own_with_its_time() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    line.stage("building the network", 12.3)
    assert stream.getvalue() == "\r\x1b[2Kset-up: building the network  12 s"
    line.finish()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_speed_after_the_set_up_leaves_its_time_out() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    line.stage("planning the collectives", 60.0)
    line.update(at(61.0, events=7_000))
    assert "7 k events/s" in stream.getvalue()


def shown(text: str) -> list[str]:
    """What a terminal shows after ``text``: lines, and which of them the cursor is in does not matter."""
    lines, row = [""], 0
    for word in re.findall(r"\x1b\[2K|\x1b\[(?:\d+)A|\r|\n|[^\r\n\x1b]+", text):
        if word == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif word == "\x1b[2K":
            lines[row] = ""
        elif word.endswith("A") and word.startswith("\x1b"):
            row -= int(word[2:-1])
        elif word != "\r":
            lines[row] = word
    return lines


def test_a_live_run_shows_the_longest_queue_and_the_oldest_collective_and_takes_them_away_again() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    told: dict[str, Any] = {
        "longest_queue": ("switch0:3", 12_000),
        "oldest_collective": ("ALLREDUCE 4, conv1", 1_000_000),
    }
    line.stage("building the network", 1.0)
    for seconds in (2.0, 3.0):
        line.update(Progress(0, 1, 0, 6, 5_000_000, 1000, seconds, **told))
    first, *others = shown(stream.getvalue())
    assert "pass 1/1" in first
    assert [each.strip() for each in others] == [
        "longest queue  12 KB at switch0:3",
        "oldest collective  ALLREDUCE 4, conv1, for 4 us",
    ]
    line.finish()
    assert shown(stream.getvalue()) == ["", "", ""]
    line.stage("reading the files", 0.0)
    assert shown(stream.getvalue()) == ["set-up: reading the files  0 s", "", ""]


def test_a_run_tells_of_queues_and_collectives_if_it_is_live() -> None:
    told: list[Progress] = []

    class Sink:
        def stage(self, name: str, wall_seconds: float) -> None:
            """Nothing to do."""

        def update(self, progress: Progress) -> None:
            told.append(progress)

        def finish(self) -> None:
            """Nothing to do."""

    for live in (False, True):
        astra_ns3.run(
            workload=ROOT / "inputs" / "workload" / "micro-all-to-all.txt",
            system=ROOT / "inputs" / "system" / "flat.yaml",
            network=ROOT / "inputs" / "network" / "roce-16.yaml",
            comm_scale=64,
            live=live,
            progress=Sink(),
        )
        assert {progress.longest_queue is None for progress in told} == {not live}
        told = [] if not live else told
    assert max(size for _, size in (progress.longest_queue or ("", 0) for progress in told)) > 0
    names = {progress.oldest_collective[0] for progress in told if progress.oldest_collective}
    assert names == {"ALLTOALL 0, all_to_all weight gradient"}
