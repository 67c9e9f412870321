"""The forms of errors of input: where, got, expected, nearest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from astra_ns3.errors import (
    InputError,
    Where,
    check_known,
    ends_in,
    failing,
    in_range,
    located,
    nearest,
    needing,
    of_npus,
    of_type,
    one_of,
    refuse,
    required,
    some_of,
    whole_number,
)

WHERE = Where("a.txt", 3)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: refuse(True, "is empty", WHERE), "a.txt:3: is empty"),
        (lambda: refuse(True, "is empty", Where("a.txt")), "a.txt: is empty"),
        (lambda: refuse(True, "is empty", Path("b/a.txt")), "b/a.txt: is empty"),
        (lambda: refuse(True, "is empty"), "is empty"),
        (lambda: required(None, "is missing", WHERE), "a.txt:3: is missing"),
        (lambda: of_type(1, str, "is no text", WHERE), "a.txt:3: is no text"),
        (
            lambda: check_known("kind", "rin", ("ring", "tree")),
            "kind 'rin' is not one of ring, tree; did you mean 'ring'?",
        ),
        (
            lambda: check_known("kind", "x" * 201, ("ring",)),
            f"kind '{'x' * 160}...' (41 more letters) is not one of ring",
        ),
        (
            lambda: refuse(True, f"rate is '{'x' * 201}'?", WHERE),
            f"a.txt:3: rate is '{'x' * 160}...' (41 more letters)?",
        ),
        (lambda: refuse(True, "is none", "x" * 400), f"{'x' * 160}... (241 more letters) is none"),
        (lambda: refuse(True, f"{'x' * 250}/{'y' * 250} is none"), f"{'x' * 250}/{'y' * 250} is none"),
        (lambda: refuse(True, f"rate is '{'x' * 200}'?"), f"rate is '{'x' * 200}'?"),
        (lambda: refuse(True, f"found {'x' * 3000!r} of 'a'"), f"found '{'x' * 160}...' (2,840 more letters) of 'a'"),
        (
            lambda: refuse(True, f"'a' isn't {'one of ' * 40} the NPU's 'b'"),
            f"'a' isn't {'one of ' * 40} the NPU's 'b'",
        ),
        (lambda: one_of("kind", "bus", {"ring": 1}, WHERE), "a.txt:3: kind 'bus' is not one of ring"),
        (lambda: in_range("ga", 0, 1), "ga is 0, expected at least 1"),
        (lambda: in_range("ga", 9, 1, 8, WHERE), "a.txt:3: ga is 9, expected 1 to 8"),
        (lambda: whole_number("seed", True, 1), "seed is True, expected a whole number, at least 1"),
        (lambda: whole_number("seed", "1", 1, 8), "seed is '1', expected a whole number from 1 to 8"),
        (lambda: whole_number("seed", 9, 1, 8), "seed is 9, expected a whole number from 1 to 8"),
        (lambda: of_npus("npu", 4, 4), "npu is 4, expected one of 4 NPUs, 0 to 3"),
        (lambda: ends_in("a figure's file", "a.doc", (".svg", ".png")), "a.doc: a figure's file ends in .svg, .png"),
    ],
)
def test_a_failed_check_says_where_got_and_expected(check: Callable[[], None], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check()
    assert str(caught.value) == message


def test_a_check_that_holds_gives_the_value_back() -> None:
    refuse(False, "is empty")
    in_range("ga", 8, 1, 8)
    of_npus("npu", 3, 4)
    ends_in("a figure's file", "a.svg", (".svg",))
    assert required(0, "is missing") == 0
    assert of_type("a", str, "is no text") == "a"
    assert one_of("kind", "ring", {"ring": 1}) == 1
    assert whole_number("seed", 8, 1, 8) == 8


def test_errors_from_below_are_told_with_their_place_and_reason() -> None:
    with pytest.raises(InputError, match=r"^a.txt:3: ga is 0, expected at least 1$"), located(WHERE):
        in_range("ga", 0, 1)
    reason = r"^a.txt:3: cannot be read: No such file or directory$"
    with pytest.raises(InputError, match=reason), failing(OSError, "cannot be read", WHERE):
        Path("/no/such/file").read_bytes()
    advice = r"^pictures need plot, which is not installed; 'pip install plot' gives it$"
    with pytest.raises(InputError, match=advice), needing("plot", "pictures need"):
        raise ImportError


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(KeyError), located(WHERE), failing(OSError, "cannot be read"), needing("plot", "pictures need"):
        raise KeyError


def test_a_cut_value_is_cut_once_however_many_places_stand_in_front() -> None:
    with pytest.raises(InputError) as caught, located("b.txt"), located("a.txt"):
        refuse(True, f"found '{'x' * 1000}'")
    assert str(caught.value) == f"b.txt: a.txt: found '{'x' * 160}...' (840 more letters)"


@pytest.mark.parametrize(("count", "told"), [(2, "0; 1"), (3, "0; 1; 2"), (4, "0; 1; 2; and 1 more")])
def test_of_many_words_the_first_are_told_and_how_many_more_there_are(count: int, told: str) -> None:
    assert some_of(map(str, range(count)), 3, "; ", "; and") == told


def test_the_last_word_of_a_key_stands_for_the_whole_key() -> None:
    keys = ("parallel.tensor", "parallel.sequence", "training.sequences")
    assert nearest("tensor", keys) == "; did you mean 'parallel.tensor'?"
    assert nearest("sequence", ("sequence_length", *keys)) == "; did you mean 'parallel.sequence'?"
    assert nearest("sor", keys) == ""


def test_a_key_by_its_name_in_other_programs_is_named() -> None:
    assert nearest("bandwidth", ("rate", "delay", "error_rate")) == "; did you mean 'rate'?"
    assert nearest("Latency", ("rate", "delay", "error_rate")) == "; did you mean 'delay'?"
    assert nearest("bandwidth", ("bandwidths", "delay")) == "; did you mean 'bandwidths'?"
