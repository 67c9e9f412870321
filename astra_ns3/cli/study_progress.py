"""How far a study is: a line drawn over and over on a terminal, a line now and then in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from astra_ns3.cli.progress import clock_text, columns_of

if TYPE_CHECKING:  # help and Tab do without
    from astra_ns3.studies.progress import StudyProgress

# Between two lines where nobody looks on.
_LOG_SECONDS = 30.0
_CLEAR_LINE = "\r\x1b[2K"


class StudyLine:
    """Shows a study's progress on ``stream``; ``live``: it is a terminal."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._told_at = 0.0
        self._drawn = False

    def update(self, progress: StudyProgress) -> None:
        """Show ``progress``."""
        if self._live:
            words = study_progress_text(progress)[: columns_of(self._stream) - 1]
            self._write(f"{_CLEAR_LINE}{words}")
            self._drawn = True
        elif progress.wall_seconds - self._told_at >= _LOG_SECONDS:
            self._told_at = progress.wall_seconds
            self._write(f"astra-ns3: {study_progress_text(progress)}\n")

    def finish(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._write(_CLEAR_LINE)
            self._drawn = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def study_progress_text(progress: StudyProgress) -> str:
    """The line's words, within 80 columns."""
    share = 100 * progress.finished // max(progress.points, 1)
    words = [f"{share:3d}%", f"runs {progress.finished}/{progress.points}"]
    if progress.failed:
        words.append(f"failed {progress.failed}")
    if progress.stage:
        words.append(progress.stage)
    else:
        words.append(f"running {progress.running}")
        left = progress.seconds_left
        words.append(f"left {clock_text(left)}" if left is not None else "left --:--")
    return "  ".join([*words, f"{progress.wall_seconds:.0f} s"])
