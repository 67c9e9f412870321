"""The pages of the tutorial, played as they stand: their files written, their commands run, one after the other.

A block ``sh`` is commands, a block ``text`` right behind it what they print on standard output; ``...`` alone on a line
stands for any lines. A block behind ``<!-- file: NAME -->`` is a file. Commands of ours and programs of Python's are
forked from this process, where all is loaded; the rest goes to the shell.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.command import Command, Finished, run_command
from support.documents.pages import ROOT

PAGES = sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md"))
ANY_LINES = "..."
STUDY_TIMEOUT_SECONDS = 600
"""A study takes a quarter of a minute; on a machine with other work many times that."""
VARYING_LINES = ("wall time", "peak memory", "files ", "estimated", "CPU time")
"""Beginnings of lines that differ from machine to machine; the test looks at their first words only."""
_BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_OWN_PROCESS = ("astra-ns3 study", "astra-ns3 plan")
"""Commands that start processes of their own: not from a fork of this one."""


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is, its text, and where in the page the text begins."""

    kind: str
    text: str
    file: str | None
    place: int

    @property
    def commands(self) -> list[str]:
        """Of a block ``sh``: one a line, but for lines that go on."""
        return self.text.replace("\\\n", " ").splitlines()


@dataclass(frozen=True)
class Step:
    """Commands, what they printed, and the block that says so, if there is one."""

    commands: Block
    printed: str
    shown: Block | None


def blocks_of(page: str) -> list[Block]:
    """All fenced blocks of a page's text."""
    return [Block(m["kind"], m["text"], m["file"], m.start("text")) for m in _BLOCK.finditer(page)]


def played(page: Path, folder: Path) -> Iterator[Step]:
    """Play a page in an empty folder; raises AssertionError with what a command said if it fails."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "sh":
            done = [_run(command, folder) for command in block.commands]
            shown = following if following is not None and following.kind == "text" else None
            yield Step(block, "".join(done), shown)


def says(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the lines shown are those printed, but for what varies and what is left out."""
    if not shown:
        return not printed
    if shown[0].strip() == ANY_LINES:
        return any(says(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and _alike(shown[0], printed[0]) and says(shown[1:], printed[1:])


def _alike(shown: str, printed: str) -> bool:
    if shown.startswith(VARYING_LINES):
        return shown.split("  ")[0] == printed.split("  ")[0]
    return shown.rstrip() == printed.rstrip()


def _run(line: str, folder: Path) -> str:
    words = shlex.split(line)
    by_shell = line.startswith(_OWN_PROCESS) or words[0] not in ("astra-ns3", "python")
    if by_shell or any(sign in words for sign in ("|", ">", "&&")):
        done = _apart(["sh", "-c", line], folder)
    elif words[0] == "python":
        done = Command((), folder=folder, program=lambda: _program(words[1])).finish()
    else:
        done = run_command(*words[1:], folder=folder, headers=".hpp:" in line)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def _program(name: str) -> None:
    sys.path.insert(0, "")
    runpy.run_path(name, run_name="__main__")


def _apart(program: Sequence[str], folder: Path) -> Finished:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        program,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=STUDY_TIMEOUT_SECONDS,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)
