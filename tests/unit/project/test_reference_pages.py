"""The generated reference has every key, column, command, option and public name, and says something of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from support.documents.pages import ROOT, text_of
from support.documents.schemas import FILES, schema_of
from support.reference import reference, rows, sections
from support.small_run import small_run

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.cli.commands import COMMANDS, load_command
from astra_ns3.cli.main import cli
from astra_ns3.config.core.compatibility import PRESETS, Compatibility
from astra_ns3.config.formats.hpcc_keys import BECOMES, KEYS, WITHOUT_EFFECT
from astra_ns3.experiments.described.csv_tables import CSV_TABLES, explained_csv
from astra_ns3.experiments.described.run_json import SEEDS
from astra_ns3.experiments.layer_table import LAYERS
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Frame, Result
from astra_ns3.experiments.store import RESULT_FILES
from astra_ns3.network.door.recording import QUANTITIES as QUANTITIES
from astra_ns3.network.door.recording import QUEUE_PAIR_QUANTITIES as OF_QUEUE_PAIRS
from astra_ns3.network.recorded import CONNECTION_QUANTITIES, QUEUE_PAIR_QUANTITIES, RECORDED_TABLES, RecordedTable
from astra_ns3.scenario.placement import PLACEMENTS
from astra_ns3.studies.measures import MEASURES
from astra_ns3.system.inter_dimension import INTER_DIMENSION
from astra_ns3.system.intra_dimension import INTRA_DIMENSION
from astra_ns3.system.policies import USUAL_POLICIES
from astra_ns3.workload.generators.flow_sizes import DISTRIBUTIONS
from astra_ns3.workload.loops.loop_kinds import LOOPS
from astra_ns3.workload.training.schedules import SCHEDULES


def groups(schema: Mapping[str, Any]) -> Iterator[frozenset[str]]:
    """The keys of each group of a schema, wherever it stands."""
    if "properties" in schema:
        yield frozenset(schema["properties"])
    for each in schema.values():
        for inner in each if isinstance(each, list) else [each]:
            if isinstance(inner, Mapping):
                yield from groups(inner)


@pytest.mark.parametrize("name", FILES)
def test_every_group_of_keys_has_a_section_with_all_its_keys(name: str) -> None:
    documented = {
        frozenset(key for key, *_ in rows(section)) for section in sections(f"reference/{name}-keys").values()
    }
    expected = set(groups(schema_of(name)))
    assert len(expected) > 1
    assert [sorted(keys) for keys in expected if keys not in documented] == []


@pytest.mark.parametrize("name", FILES)
def test_every_key_has_a_type_and_a_meaning(name: str) -> None:
    found = [row for section in sections(f"reference/{name}-keys").values() for row in rows(section)]
    assert [key for key, kind, default, words in found if not (kind and default and words)] == []


def test_every_key_of_a_config_txt_is_documented() -> None:
    found = rows(reference()["reference/config-txt"])
    assert {key for key, _ in found} == {*KEYS} == {*BECOMES, *WITHOUT_EFFECT}
    assert not BECOMES.keys() & WITHOUT_EFFECT.keys()


def test_every_rule_of_another_simulator_is_documented_with_its_presets() -> None:
    found = {option: (presets, words) for option, presets, words in rows(reference()["reference/rules"])}
    assert found.keys() == vars(Compatibility()).keys()
    assert [option for option, (presets, words) in found.items() if not (presets and len(words.split()) > 5)] == []
    assert found["phase_barrier"][0] == "`astra-sim-1.0`"
    assert found["group_endpoint_delay_ns"][0] == "`astra-sim-2` (10), `astra-network-ns3` (10)"
    assert {name for presets, _ in found.values() for name in re.findall("`([^`]+)`", presets)} == {*PRESETS} - {"none"}


def test_every_loop_policy_and_placement_has_a_row_with_its_meaning() -> None:
    registries: tuple[Mapping[str, object], ...] = (
        LOOPS,
        SCHEDULES,
        USUAL_POLICIES,
        INTRA_DIMENSION,
        INTER_DIMENSION,
        DISTRIBUTIONS,
        PLACEMENTS,
    )
    found = [rows(text) for text in sections("reference/names").values()]
    assert [{name for name, *_ in section} for section in found] == [registry.keys() for registry in registries]
    assert [
        row for section in found for row in section if len(row[-1 if row[0] in DISTRIBUTIONS else 1].split()) < 3
    ] == []
    loops = {name: rest for name, *rest in found[0]}
    assert loops["HYBRID_DLRM"][1:] == [
        "Weight gradients over all dimensions, nothing else; layer 0's all-to-alls over all",
        "`last_bottom_layer`",
    ]


def test_a_key_has_its_unit_default_and_bounds() -> None:
    found = {key: rest for key, *rest in rows(sections("reference/network-keys")["topology.switch.pfc"])}
    assert found["watchdog"][:2] == ["time", "`1ms`"]
    assert found["reserve"][:2] == ["size", "`4096`"]
    assert found["reference_rate"][:2] == ["rate", "absent"]
    assert found["alpha"][:2] == ["number above 0 to 64", "`0.125`"]
    system = {key: rest for key, *rest in rows(sections("reference/system-keys")["The file"])}
    assert system["reduction-bytes-per-ns"][0] == "whole number from 1 (bytes per ns)"
    assert found["priorities"][0] == "list of whole number from 0 below 8"


def columns(table: str) -> dict[str, tuple[str, str]]:
    """Unit and meaning of each documented column of a file."""
    found = {heading.split()[0]: text for heading, text in sections("reference/tables").items()}
    return {name: (unit, words) for name, unit, words in (row for row in rows(found[table]) if len(row) == 3)}


def test_every_file_of_a_run_and_its_columns_are_in_the_reference(tmp_path: Path) -> None:
    small = small_run()
    one = Tenant("one", [0, 1], small["workload"], small["system"])
    astra_ns3.run(**small_run(), output=tmp_path / "run", record=["flows"])
    astra_ns3.run_scenario(network=small["network"], backend=small["backend"], tenants=[one], output=tmp_path / "jobs")
    files = [*tmp_path.glob("run/*.csv"), *tmp_path.glob("jobs/*.csv")]
    assert len(files) > 8
    for file in files:
        name = re.sub(r"^.*(?=_dimension_utilization)", "<run>", file.name)
        header = file.read_text(encoding="utf-8").splitlines()[0].split(",")
        known = {re.sub(r"<\w>", "0", column.name) for column in CSV_TABLES[name].columns}
        numbered = [re.sub(r"(?<=[a-z ])\d(?=$| )|(?<=_Dim)\d", "0", column) for column in header if column]
        assert [column for column in numbered if column not in known] == []
    expected = {name for name in RESULT_FILES if name != "run.json"}
    assert expected <= {heading.split()[0] for heading in sections("reference/tables")}


def test_every_column_of_a_csv_file_has_words_in_the_reference_and_in_its_docstring() -> None:
    from astra_ns3.experiments import astra_sim_tables, flow_tables, run_tables
    from astra_ns3.experiments.forecasting import foreseen

    made = {
        astra_sim_tables.END_TO_END: astra_sim_tables.END_TO_END_COLUMNS,
        flow_tables.FLOW_COMPLETION: flow_tables.FLOW_COMPLETION_COLUMNS,
        flow_tables.GOODPUT: flow_tables.GOODPUT_COLUMNS,
        foreseen.MEMORY: foreseen.MEMORY_COLUMNS,
        foreseen.EXPERTS: foreseen.EXPERTS_COLUMNS,
        run_tables.NPUS: run_tables.NPU_COLUMNS,
        run_tables.COLLECTIVES: run_tables.COLLECTIVE_COLUMNS,
        run_tables.SWITCH: run_tables.PORT_COLUMNS,
        run_tables.JOBS: run_tables.JOB_COLUMNS,
    }
    for file, found in made.items():
        assert [column for column, _ in found] == [column.name for column in CSV_TABLES[file].columns]
    for file, table in CSV_TABLES.items():
        assert all(column.words and f"\n{column.name}" in explained_csv(file) for column in table.columns)
        assert len(columns(file)) == len(table.columns)


@pytest.mark.parametrize("table", [*RECORDED_TABLES, LAYERS], ids=lambda table: table.name)
def test_every_column_of_a_recorded_table_is_documented_with_its_unit(table: RecordedTable) -> None:
    documented = columns(table.file)
    assert all(documented[column.name][0] == column.unit and documented[column.name][1] for column in table.columns)
    assert isinstance(vars(Result)[table.name], Frame)
    assert all(f"\n{column.name}" in (vars(Result)[table.name].__doc__ or "") for column in table.columns)


def test_every_quantity_and_measure_is_documented() -> None:
    assert {column for _, column in QUANTITIES.values()} == set(CONNECTION_QUANTITIES)
    assert {column for _, column in OF_QUEUE_PAIRS.values()} == set(QUEUE_PAIR_QUANTITIES)
    page = {key for key, *_ in rows(reference()["reference/tables"])}
    assert page >= {*CONNECTION_QUANTITIES, *QUEUE_PAIR_QUANTITIES, *MEASURES}


def test_every_key_of_run_json_is_documented(tmp_path: Path) -> None:
    small = small_run()
    result = astra_ns3.run(**small_run(), output=tmp_path / "out", record=["flows"])
    one = Tenant("one", [0, 1], small["workload"], small["system"])
    several = astra_ns3.run_scenario(network=small["network"], backend=small["backend"], tenants=[one])
    (job,) = several.metadata["jobs"]
    found = rows(reference()["reference/run-json"])
    keys = {*result.metadata, *result.metadata["statistics"], *several.metadata, *job, *SEEDS}
    assert keys <= {key for key, *_ in found}
    assert [key for key, words in found if not words] == []


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by its words."""
    yield "astra-ns3", cli
    waiting = [(f"astra-ns3 {name}", load_command(place)) for name, (place, _) in COMMANDS.items()]
    while waiting:
        name, command = waiting.pop(0)
        yield name, command
        waiting += [(f"{name} {inner}", each) for inner, each in getattr(command, "commands", {}).items()]


def test_every_command_has_a_section_with_all_its_options() -> None:
    found = sections("reference/commands")
    assert len(found) > 20
    for name, command in commands():
        table = {option: words for names, _, _, words in rows(found[name]) for option in names.split("`, `")}
        shown = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        assert [option for each in shown for option in each.opts if not table.get(option)] == []


def test_every_public_name_has_a_section_and_every_member_a_meaning() -> None:
    found = sections("reference/python-api")
    assert sorted(found) == sorted(astra_ns3.__all__)
    for name, text in found.items():
        assert len(text.split()) > 3, name
        assert [row for row in rows(text) if not row[1]] == []
    documented = {name.partition("(")[0] for name, *_ in rows(found["Result"])}
    assert {name for name in vars(Result) if not name.startswith("_")} <= documented
    assert [one.name for one in options_of(RunRequest) if f"    {one.name}" not in found["run"]] == []


def test_every_page_of_the_reference_has_a_stub_with_its_title_and_a_link() -> None:
    index = text_of("docs/reference.md")
    for name, text in reference().items():
        stub = ROOT / "docs" / f"{name}.md"
        assert stub.read_text(encoding="utf-8").splitlines()[0] == text.splitlines()[0]
        assert f"({name}.md)" in index
        assert f"\n{name}\n" in index
    assert {f"reference/{stub.stem}" for stub in (ROOT / "docs" / "reference").glob("*.md")} == set(reference())


def test_every_link_within_a_page_of_keys_leads_to_a_section() -> None:
    for name in FILES:
        text = reference()[f"reference/{name}-keys"]
        headings = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in sections_of(text)}
        links = re.findall(r"\]\(#([^)]+)\)", text)
        assert links
        assert [link for link in links if link not in headings] == []


def sections_of(text: str) -> list[str]:
    """The headings of a page's sections."""
    found: list[str] = re.findall(r"^## (.+)$", text, re.MULTILINE)
    return found


def test_every_python_name_of_a_control_is_what_a_python_class_sees() -> None:
    from astra_ns3.network.ns3.own_control import Ack, Sender

    found = sections("reference/own-control")
    for heading, owner, count in (("The sender (RoceSender)", Sender, 14), ("An acknowledgement (RoceAck)", Ack, 7)):
        named = {re.sub(r"\(.*| = .*|`", "", python) for _, python, _ in rows(found[heading])} - {""}
        assert {name for name in vars(owner) if not name.startswith("_")} == named
        assert len(named) == count
    methods = {cpp.partition("(")[0] for cpp, *_ in rows(found["Methods to override (RoceCongestionControl)"])}
    assert methods >= {"Start", "AckReceived", "CnpReceived", "PacketSent", "LossDetected", "TimerDue", "IsLikeNew"}
