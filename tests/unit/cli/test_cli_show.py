"""``astra-ns3 show collective``: counts on standard output, a picture or the columns in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.graphs.msccl_programs import ring_all_reduce

from astra_ns3.cli.commands import COMMANDS, load_command
from astra_ns3.cli.show import show_group
from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule_files import load_schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.errors import InputError
from astra_ns3.report.schedule_figure import draw_schedule

PNG_BEGINS = b"\x89PNG"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _show(*words: str) -> Result:
    return CliRunner().invoke(show_group, ["collective", *words], standalone_mode=False)


def _counts(*words: str) -> dict[str, object]:
    result = _show(*words, "--json")
    assert result.exception is None, result.exception
    document = json.loads(result.output)
    assert isinstance(document, dict)
    return document


def test_counts_are_printed_and_the_picture_is_written() -> None:
    result = _show("ring", "-n", "8")
    assert (result.exception, result.return_value) == (None, None)  # no status but 0
    rows = dict(line.split("  ", 1) for line in result.output.splitlines() if "  " in line)
    assert {name.strip(): value.strip() for name, value in rows.items()} == {
        "schedule": "ring all_reduce",
        "collective": "all_reduce",
        "ranks": "8",
        "messages": "112 (56 of them with a reduction delay)",
        "rounds": "14 if every message takes as long",
        "each rank sends": "7/4 x what it brings",
    }
    assert result.output.splitlines()[-1] == "written to ring-all_reduce-8.png"
    assert Path("ring-all_reduce-8.png").read_bytes().startswith(PNG_BEGINS)


def test_the_collective_and_the_file_can_be_named() -> None:
    counts = _counts("direct3", "-k", "all-to-all", "-n", "5", "-o", "one.svg")
    assert counts == {
        "schedule": "direct3 all_to_all",
        "collective": "all_to_all",
        "ranks": 5,
        "messages": 20,
        "reduced_messages": 0,
        "rounds": 2,
        "blocks": 5,
        "sent": ["4/5", "4/5"],
        "written": "one.svg",
        "exit_status": 0,
    }
    assert Path("one.svg").read_text().count("<svg ") == 1


def test_a_picture_names_arrows_only_where_they_differ() -> None:
    for name, told in (("ring", True), ("bruck", False)):
        _counts(name, "-n", "4", "-o", f"{name}.svg")
        assert ('id="legend_1"' in Path(f"{name}.svg").read_text(encoding="utf-8")) is told


def test_without_a_collective_it_is_the_first_that_the_algorithm_can_do() -> None:
    assert _counts("bruck", "--no-figure")["collective"] == "all_to_all"
    assert (
        _counts("doubleBinaryTree", "--no-figure", "--variant", "1")["schedule"] == "doubleBinaryTree all_reduce (min)"
    )
    assert list(Path().iterdir()) == []


def test_ranks_that_differ_are_shown_as_a_range_and_a_barrier_by_its_bytes() -> None:
    assert "1 to 3 x what it brings" in _show("doubleBinaryTree", "--no-figure").output
    assert "1 byte in each message" in _show("ring", "-k", "barrier", "--no-figure").output
    assert _counts("ring", "-n", "1")["rounds"] == 0


def test_the_columns_can_be_written_instead_and_shown_again() -> None:
    assert _counts("ring", "-n", "4", "-o", "mine.csv")["written"] == "mine.csv"
    schedule, kind = load_schedule("mine.csv")
    assert (schedule.messages, kind) == (24, CollectiveKind.ALL_REDUCE)
    assert _counts("file:mine.csv", "--no-figure")["rounds"] == 6
    Path("mine.xml").write_text(ring_all_reduce(3))
    assert _counts("file:mine.xml")["written"] == "mine-xml-all_reduce-3.png"


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_schedule_gives_the_same_picture(suffix: str) -> None:
    schedule = lookup(CollectiveKind.ALL_REDUCE, "halvingDoubling", 4)
    for name in ("one", "two"):
        draw_schedule(schedule, f"{name}.{suffix}")
    assert Path(f"one.{suffix}").read_bytes() == Path(f"two.{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnig"], "no algorithm 'rnig'; there are ring, "),
        (["rnig"], "bruck, pat; did you mean 'ring'?"),
        (["ring", "-k", "all_redcue"], "did you mean 'all_reduce'"),
        (["bruck", "-k", "all_reduce"], "can't do it; those that can"),
        (["halvingDoubling", "-n", "6"], "must be a power of two, got 6"),
        (["ring", "-n", "64"], "8064 messages are too many for a picture"),
        (["ring", "-o", "one.gif"], r"one.gif: a file to write ends in .png, .svg, .pdf, .csv, .json"),
        (["ring", "-o", "none/one.png"], "none/one.png: cannot be written: No such file"),
        (["file:none.csv"], "none.csv: no such file"),
    ],
)
def test_what_can_not_be_shown_is_an_input_error(words: list[str], message: str) -> None:
    error = _show(*words).exception
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match=message):
        raise error


def test_a_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = _show("ring").exception
    assert isinstance(error, InputError)
    assert "pip install matplotlib" in str(error)
    assert _show("ring", "--no-figure").exception is None


def test_the_command_line_has_it() -> None:
    assert load_command(COMMANDS["show"][0]) is show_group
