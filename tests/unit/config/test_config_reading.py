"""Files that can't be had, and YAML that is refused before any model sees it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml

from astra_ns3.config.core.json_reading import reading_json
from astra_ns3.config.core.model import shown
from astra_ns3.config.core.reading import is_workload, read_text
from astra_ns3.config.core.yaml_document import check_json, parse_yaml
from astra_ns3.errors import InputError


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfMICRO\n")
    assert read_text(tmp_path / "a") == "MICRO\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t\r\n", "is empty"),
        (b"good\n\xff\xfe\n", r"file:2: is not UTF-8 text"),
        (b"a\nb\nc\x00d", r"file:3: is not text"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_text(tmp_path / "file")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.yaml: no such file"):
        read_text(tmp_path / "missing.yaml")
    (tmp_path / "step.0.et").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"stpe: no such file; did you mean 'step'\?$"):
        read_text(tmp_path / "stpe")
    with pytest.raises(InputError, match=r"step: no such file$"):
        read_text(tmp_path / "step")
    (tmp_path / "e6.txt").write_text("x", encoding="utf-8")
    for missing, said in (("nope.txt", ""), ("e66.txt", r"; did you mean 'e6\.txt'\?")):
        with pytest.raises(InputError, match=rf"{missing}: no such file{said}$"):
            read_text(tmp_path / missing)
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_text(tmp_path)


def test_an_unreadable_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"file/below: .*[Nn]ot a directory"):
        read_text(tmp_path / "file" / "below")


def test_a_workload_is_there_or_its_first_rank_is_without_a_look_at_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("w.txt", "binary.0.et", "text.0.json", "late.1.et"):
        (tmp_path / name).touch()
    assert is_workload(str(tmp_path / "late"))
    assert not is_workload(str(tmp_path / "lat"))

    def unreadable(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", unreadable)
    assert all(is_workload(str(tmp_path / name)) for name in ("", "w.txt", "binary", "text"))


def test_yaml_keeps_values_and_the_line_of_each_key() -> None:
    document = parse_yaml("a: 1\nb:\n  c: [x, 2.5, 'on', on, ~]\n", "f.yaml")
    assert document.data == {"a": 1, "b": {"c": ["x", 2.5, "on", True, None]}}
    assert document.where(("b", "c")) == "f.yaml:3"
    assert document.where(("b", "missing")) == "f.yaml:2"
    assert document.where(("missing",)) == "f.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", r"f:3: key 'a' stands twice \(first on line 1\)"),
        ("a:\n  b: 1\n  b: 1\n", r"f:3: key 'b' stands twice"),
        ("a: 010\n", r"f:1: key 'a': found '010', expected a finite decimal number"),
        ("a: 1:30\n", r"f:1: key 'a': found '1:30', expected a finite decimal number"),
        ("a: 0x1F\n", r"f:1: .*decimal"),
        ("a:\n  b:\n  - c: 1\n  - c: .inf\n", r"f:4: key 'a\.b\.1\.c': found '\.inf', expected a finite decimal"),
        ("a: .nan\n", r"f:1: key 'a': found '\.nan', expected a finite"),
        ("a: " + "9" * 5000 + "\n", r"f:1: key 'a': found '9{40}', expected .* at most 40 letters"),
        ("a: &x {b: [*x]}\n", r"f:1: an alias stands inside of what it stands for"),
        ("a: *x\n", r"f:1: is not valid YAML: found undefined alias"),
        ("[" * 100_000, r"f:1: is nested too deeply: more than 50 levels"),
        ("a: " + "{b: " * 60 + "}" * 60, r"f:1: is nested too deeply: more than 50 levels"),
        ("a: !!python/object/apply:os.getcwd []\n", r"f:1: tag .*python/object/apply:os\.getcwd' is not allowed"),
        ("a: !other {b: 1}\n", r"f:1: tag '!other' is not allowed"),
        ("a: !other 3\n", r"f:1: tag '!other' is not allowed"),
        ("a: [1\nb: 2\n", r"f:2: is not valid YAML"),
        ("a: 1\n---\nb: 2\n", r"is not valid YAML"),
        ("- a\n- b\n", r"f:1: expected 'key: value' lines"),
        ("? [1, 2]\n: 3\n", r"f:1: a key must be a word"),
        ("# nothing\n", r"f:1: expected 'key: value' lines"),
        ("a: \x07\n", r"f: is not valid YAML"),
        (
            '{"a": 1,\n "b": 2 "c": 3}',
            r"f:2: is not JSON in column 9: found '\"c\"', expected ',' or a closing bracket$",
        ),
        ("{a: 1, b: [}", r"f:1: is not valid"),
        ("[" * 5000, r"f"),
    ],
)
def test_yaml_traps_are_refused_with_their_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_yaml(text, "f")


BROKEN_JSON = [
    ('{"a": 1,\n "b": 2 "c": 3}', 2, 9, "'\"c\"'", "',' or a closing bracket"),
    ('{"a": [1, 2', 1, 12, "the end of the file", "',' or a closing bracket"),
    ('{"a" 1}', 1, 6, "'1'", "':' after the key"),
    ('{"a": 1, b: 1}', 1, 10, "'b'", "a key in double quotes"),
    ('{"a": tru}', 1, 7, "'tru'", "a value: a text in double quotes, a number, true, false, null, [...] or {...}"),
    ('{"a": \n', 2, 1, "the end of the file", "a value: "),
    ('{"a": "b}', 1, 7, "'\"b}'", "'\"' at the end of the text, or \\n for a line break in it"),
    ('{"a": "b\n"}', 1, 9, "the end of the line", "'\"' at the end of the text, or "),
    ('{"a": "\\x"}', 1, 8, "'\\'", "one of "),
    ('{"a": "\\u12"}', 1, 9, "'u12'", "four hexadecimal digits after \\u"),
    ('{"a": 1} x', 1, 10, "'x'", "the end of the file"),
]


@pytest.mark.parametrize(("text", "line", "column", "found", "expected"), BROKEN_JSON)
def test_broken_json_is_told_in_plain_words(text: str, line: int, column: int, found: str, expected: str) -> None:
    """Line and column, counted by hand from 1, what stands there, and what should: none of Python's words."""
    said = []
    for read in (lambda: json.loads(text), lambda: check_json(text, "f")):
        with pytest.raises(InputError) as raised, reading_json("f"):
            read()
        said.append(str(raised.value).removeprefix("f: "))
    assert len(set(said)) == 1
    assert said[0].startswith(f"f:{line}: is not JSON in column {column}: found {found}, expected {expected}")


@pytest.mark.parametrize("text", ['{"a": [1, 2,]}', '{"a": 1,\n}'])
def test_a_comma_before_a_closing_bracket_is_told(text: str) -> None:
    with pytest.raises(InputError, match=r"^f:[12]: is not JSON .*, expected no ',' before a closing bracket$"):
        check_json(text, "f")


def test_yaml_that_a_program_dumped_with_anchors_is_read() -> None:
    link = {"rate": "100Gbps", "delay": "500ns"}
    data = {"first": {"link": link, "rates": [1, 2]}, "second": {"link": link}}
    text = yaml.safe_dump(data)
    assert "&id001" in text
    document = parse_yaml(text, "f")
    assert document.data == data
    assert document.line(("second", "link", "delay")) == 3


def test_aliases_that_multiply_without_bound_are_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    begin = time.process_time()
    with pytest.raises(InputError, match="f: its aliases stand for more than 1000000 values"):
        parse_yaml("\n".join(lines), "f")
    assert time.process_time() - begin < 1  # counted, not read


@pytest.mark.parametrize(("letters", "told"), [(58, "'" + 58 * "x" + "'"), (59, "'" + 56 * "x" + "...")])
def test_a_value_is_shown_whole_if_it_fits(letters: int, told: str) -> None:
    assert shown("x" * letters) == told
