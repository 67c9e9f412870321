"""Reading a run whose files somebody damaged is one line that names the file, and status 2; nothing else fails so."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.lengths import some_slow
from support.recorded_tables import full_folder
from support.small_run import small_run

import astra_ns3
from astra_ns3.cli.main import status_of
from astra_ns3.errors import InputError
from astra_ns3.experiments.integrity import blaming_damage

COMMANDS = (("explain",), ("plot", "layers"), ("plot", "timeline"), ("report",), ("timeline",), ("compare",))
VALUES: tuple[Any, ...] = (None, -1, 1.5, "x", [], {}, [[]], True)
CASES = 30
"""Of each run of these tests; mutations are drawn anew from the same seed."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "out"
    astra_ns3.run(**small_run(), output=folder, record=["flows", "timeline", "layers"])
    return folder


def copied(folder: Path, target: Path) -> Path:
    target.mkdir(parents=True)
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value inside ``value``."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def change_json(file: Path, chance: random.Random) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    *way, last = chance.choice(list(places(document)))
    inner = document
    for key in way:
        inner = inner[key]
    if chance.random() < 0.5 and isinstance(inner, dict):
        del inner[last]
    else:
        inner[last] = chance.choice(VALUES)
    file.write_text(json.dumps(document, indent=2), encoding="utf-8")


def cut(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content))] if content else b"x")


def scramble(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes() or b"x")
    for _ in range(chance.randint(1, 20)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    file.write_bytes(bytes(content))


def drop_column(file: Path, chance: random.Random) -> None:
    rows = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()]
    place = chance.randrange(len(rows[0])) if rows else 0
    file.write_text("".join(",".join(row[:place] + row[place + 1 :]) + "\n" for row in rows), encoding="utf-8")


def ways_to_damage(file: Path) -> list[Callable[[Path, random.Random], None]]:
    usual = [cut, scramble, lambda target, _chance: target.unlink()]
    more = {".json": [change_json] * 6, ".csv": [drop_column]}
    return [*usual, *more.get(file.suffix, [])]


@pytest.mark.parametrize("part", some_slow(range(3), [0]))
def test_a_damaged_run_is_read_or_told_in_one_line(
    part: int, saved: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for case in range(part, CASES, 3):
        chance = random.Random(case)
        folder = copied(saved, tmp_path / str(case))
        file = chance.choice(sorted(folder.iterdir()))
        chance.choice(ways_to_damage(file))(file, chance)
        for command in COMMANDS:
            words = [command[0], str(folder), *command[1:]]
            words += [str(saved)] if command[0] == "compare" else []
            target = {"plot": "picture.png", "report": "page.html", "timeline": "trace"}.get(command[0])
            words += ["-o", str(tmp_path / target), "--overwrite"] if target else []
            status = status_of(words)
            said = capfd.readouterr().err
            assert status in (0, 2), (case, file.name, command, said)
            errors = [line for line in said.splitlines() if "error" in line]
            assert "Traceback" not in said, (case, file.name, command)
            assert len(errors) == (status == 2), (case, file.name, command, said)


def test_a_damaged_file_is_named(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "out")
    (folder / "npus.csv").write_text("npu\n0\n", encoding="utf-8")
    with pytest.raises(InputError) as error, blaming_damage((saved, folder)):
        _ = astra_ns3.Result.load(folder).npus["finish_us"]
    assert str(error.value) == (
        f"{folder / 'npus.csv'}: was changed since the run wrote it, and can't be read: KeyError: 'finish_us'"
    )


def test_a_missing_key_is_told_with_its_file(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "out")
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    del document["run_name"]
    (folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as error, blaming_damage((folder,)):
        repr(astra_ns3.Result.load(folder))
    assert str(error.value).startswith(f"{folder / 'run.json'}: was changed since the run wrote it")


def test_a_fault_of_ours_is_not_blamed_on_sound_files(saved: Path) -> None:
    with pytest.raises(ZeroDivisionError), blaming_damage((saved,)):
        1 / 0  # noqa: B018


def test_an_edited_file_that_can_be_read_is_read(tmp_path: Path) -> None:
    folder = full_folder(tmp_path)
    table = (folder / "npus.csv").read_text(encoding="utf-8")
    (folder / "npus.csv").write_text(table.replace("\n", "\r\n"), encoding="utf-8", newline="")
    with blaming_damage((folder,)):
        assert len(astra_ns3.Result.load(folder).npus)
