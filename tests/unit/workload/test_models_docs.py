"""docs/models.md says what there is: kinds, keys, files with their parameters, and what is printed."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.documents.pages import ROOT, blocks, text_of
from support.reference import reference

from astra_ns3.cli.show import show_group
from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.model.convolution import Plain, Residual
from astra_ns3.config.model.file import KINDS
from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.model.training import SequenceTraining
from astra_ns3.config.model.transformer import Experts, LatentAttention
from astra_ns3.system.file import read_system
from astra_ns3.workload.models.workload import read_model

PAGE = "docs/models.md"
FILES = sorted((ROOT / "inputs" / "workload" / "models").glob("*.yaml"))


def shapes() -> list[type[ConfigModel]]:
    """The groups ``model`` of all kinds."""
    found: list[Any] = [kind.model_fields["model"].annotation for kind in KINDS.values()]
    return [shape for shape in found if isinstance(shape, type) and issubclass(shape, ConfigModel)]


@pytest.mark.parametrize(
    "model",
    [*KINDS.values(), *shapes(), SequenceTraining, Parallel, Experts, LatentAttention, Residual, Plain],
    ids=lambda model: model.__name__,
)
def test_every_key_is_documented(model: type[ConfigModel]) -> None:
    page = reference()["reference/model-keys"]
    keys = [field.alias or name for name, field in model.model_fields.items()]
    assert keys
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_every_kind_has_its_section() -> None:
    assert [kind for kind in KINDS if f"\n## `kind: {kind}`\n" not in text_of(PAGE)] == []


def test_every_file_stands_in_the_table_with_its_parameters() -> None:
    assert "(tables/models.csv)" in text_of(PAGE)
    with (ROOT / "docs" / "tables" / "models.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["File"]: row["Parameters"] for row in rows} == {
        file.stem: f"{read_model(file).totals().parameters:,}" for file in FILES
    }
    assert len(rows) >= 10


def test_active_parameters_are_those_told() -> None:
    for name in ("mixtral-8x7b", "deepseek-v3"):
        (file,) = (file for file in FILES if file.stem == name)
        assert f"{read_model(file).totals().active_parameters:,}" in text_of(PAGE)


def test_what_is_shown_of_a_model_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^ {4}astra-ns3 (show workload .*)$", text_of(PAGE), re.MULTILINE)
    result = CliRunner().invoke(show_group, command.split()[1:], standalone_mode=False)
    (shown,) = blocks(PAGE, "output: show")
    begin, *parts = shown.split("...\n")
    assert result.stdout.startswith(begin)
    found = [result.stdout.find(part) for part in parts if part]
    assert found == sorted(found)
    assert -1 not in found


def test_the_first_file_shown_is_the_one_that_comes_with_the_program(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(kind:.*?)```", text_of(PAGE), re.DOTALL)
    file = tmp_path / "shown.yaml"
    file.write_text(text, encoding="utf-8")
    (own,) = (file for file in FILES if file.stem == "llama-3-70b")
    assert read_model(file).file == read_model(own).file


def test_the_system_file_shown_can_be_read(tmp_path: Path) -> None:
    (text,) = blocks(PAGE, "file: model-system.yaml")
    file = tmp_path / "model-system.yaml"
    file.write_text(text, encoding="utf-8")
    assert read_system(file).preferred_dataset_splits == 1
