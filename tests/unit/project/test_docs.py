"""The documentation says what is there: examples run, links lead somewhere, nothing that users see is left out."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import click
import pytest
import yaml
from support.fake_backend import FakeBackend
from support.pages import OWN_PARTS, ROOT, blocks, commands, text_of
from support.small_run import NPUS, small_run

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.cli.commands import COMMANDS, load_command
from astra_ns3.cli.main import cli
from astra_ns3.config import compute_slowdown
from astra_ns3.config import system as system_config
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import PRESETS, Compatibility
from astra_ns3.config.formats.hpcc_keys import KEYS
from astra_ns3.config.model import compute
from astra_ns3.config.model.devices import DEVICES
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network import packet_network as network_file
from astra_ns3.config.scenario import file as scenario_file
from astra_ns3.config.scenario.traffic import TrafficConfig
from astra_ns3.config.topology.file import FORMATS as GRAPH_FORMATS
from astra_ns3.config.topology.kinds import KINDS as TOPOLOGIES
from astra_ns3.config.topology.kinds import AnyTopology
from astra_ns3.config.training_plan import Group
from astra_ns3.config.transports.roce_control import KINDS
from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS, TcpTransport
from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.layer_table import LAYERS
from astra_ns3.experiments.result import Frame, Result
from astra_ns3.experiments.store import RESULT_FILES
from astra_ns3.nccl.environment import Environment
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.network.door.recording import QUANTITIES, QUEUE_PAIR_QUANTITIES
from astra_ns3.network.recorded import RECORDED_TABLES, RecordedTable
from astra_ns3.planning.degrees import CHOSEN
from astra_ns3.planning.result import COLUMNS as PLAN_COLUMNS
from astra_ns3.report.pictures.kinds import IN_FILES as PICTURES
from astra_ns3.report.pictures.kinds import KINDS as KINDS_OF_PICTURES
from astra_ns3.report.tables import HOW_TO_RECORD
from astra_ns3.report.validation import validation_text
from astra_ns3.scenario.placement import PLACEMENTS
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.figures.kinds import FIGURE_KINDS
from astra_ns3.studies.file import Combine, read_study
from astra_ns3.studies.file import json_schema as study_schema
from astra_ns3.studies.measures import MEASURES
from astra_ns3.studies.tables import LAYER_COLUMNS
from astra_ns3.system.file import json_schema as system_schema
from astra_ns3.units import parse_byte_rate, parse_bytes, parse_flops, parse_time_ps
from astra_ns3.workload.computing.clocks import CLOCKS
from astra_ns3.workload.computing.table_file import COORDINATES, TIMES
from astra_ns3.workload.loops.loop_kinds import LOOPS
from astra_ns3.workload.training.schedules import SCHEDULES

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
PAGES += sorted(ROOT.glob("ns3-scratch/*/doc/*.md"))
FILE_IN_REPOSITORY = re.compile(
    r"`((?:inputs|docs|tests|ns3-scratch|astra_ns3|benchmarks|docker|cmake)/[\w./*-]*|\w+\.(?:cff|md))`"
)
PLAN_WORDS = 1_200
"""Without what commands print, and tables."""
CLOCK_KINDS = [get_args(keys.model_fields["kind"].annotation)[0] for keys in CLOCKS]
REFERENCE = ROOT.parent / "shared" / "reference"


def mentions(page: str, words: Iterable[str]) -> list[str]:
    """The words that the page has neither between backquotes nor in a block."""
    fences = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    text = text_of(page)
    code = fences.findall(text) + re.findall(r"^ {4}.*$", text, re.MULTILINE)
    code += re.findall(r"`([^`\n]+)`", fences.sub("", text))
    return [word for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", "\n".join(code))]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, made as on code hosts."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_named_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in FILE_IN_REPOSITORY.findall(text) if not any(ROOT.glob(name.rstrip("/")))]
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    assert missing == []


def options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from parameter.opts
    yield from command.context_settings.get("help_option_names", ())


def test_every_option_of_every_command_is_documented() -> None:
    commands = {name: load_command(place) for name, (place, _) in COMMANDS.items()}
    for command in list(commands.values()):
        commands |= getattr(command, "commands", {})
    words = {*options(cli), *(option for command in commands.values() for option in options(command))}
    assert mentions("docs/cli.md", sorted(words | set(commands))) == []


@pytest.mark.parametrize(
    "name", ["plot", "timeline", "report", "show collective", "show network", "show workload", "show scenario"]
)
def test_a_command_s_own_section_has_its_options(name: str) -> None:
    command: click.Command = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    (section,) = re.findall(rf"^## `{name}`\n(.*?)(?=^## |\Z)", text_of("docs/cli.md"), re.MULTILINE | re.DOTALL)
    assert [option for option in options(command) if option.startswith("--") and f"`{option}`" not in section] == []


def test_every_exit_status_is_documented() -> None:
    kinds = {kind.exit_status: kind.__name__ for kind in AstraNs3Error.__subclasses__() if kind.exit_status != 1}
    table = dict(re.findall(r"^\| (\d+) \| (\w+) \|", text_of("docs/cli.md"), re.MULTILINE))
    assert table == {str(status): name for status, name in kinds.items()}


def schema_keys(schema: Mapping[str, Any], node: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Dotted names of all keys that stand for a value, of every kind of a group."""
    if "$ref" in node:
        yield from schema_keys(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], path)
    for branch in (*node.get("anyOf", ()), *node.get("allOf", ()), *node.get("oneOf", ())):
        yield from schema_keys(schema, branch, path)
    if isinstance(node.get("items"), Mapping):
        yield from schema_keys(schema, node["items"], path)
    for key, value in node.get("properties", {}).items():
        name = f"{path}.{key}" if path else key
        yield name
        yield from schema_keys(schema, value, name)


def test_every_key_of_compute_times_and_slowdowns_is_documented() -> None:
    for schema in (compute.json_schema(), compute_slowdown.json_schema()):
        keys = set(schema_keys(schema, schema))
        groups = {key.rpartition(".")[0] for key in keys}
        words = {key.removeprefix("compute.").removeprefix("device.") for key in keys - groups}
        leaves = [
            word if word.startswith(("stragglers.", "jitter.", "comm")) else word.rpartition(".")[2] for word in words
        ]
        assert len(words) > 8
        assert mentions("docs/compute.md", sorted({*leaves, *COORDINATES, *TIMES, *CLOCK_KINDS})) == []


def test_the_table_of_devices_has_their_numbers() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", text_of("docs/compute.md"), re.MULTILINE)
    told = {name: [cell.strip().replace(",", "") for cell in cells.split("|")] for name, cells in rows}
    for name, device in DEVICES.items():
        *peaks, memory, bandwidth = told[name]
        expected = [*(getattr(device.peak, datatype) for datatype in type(device.peak).model_fields), device.vector]
        assert [parse_flops(f"{peak}TFLOPS") if peak else None for peak in peaks] == expected
        assert (parse_bytes(memory), parse_byte_rate(bandwidth)) == (device.memory_bytes, device.memory_bandwidth)


def test_the_table_of_losses_has_those_of_the_devices() -> None:
    rows = re.findall(
        r"^\| ([\w, -]+) \| ([\d.]+[^|]*) \| ([\d.]+[^|]*) \| ([\d.]+[^|]*) \|$", text_of("docs/compute.md"), re.M
    )
    told = {name: cells for names, *cells in rows for name in names.split(", ") if name in DEVICES}
    assert told.keys() == DEVICES.keys()
    for name, (launch, *shares) in told.items():
        device = DEVICES[name]
        assert parse_time_ps(launch.split(",")[0]) == device.launch_overhead_ps
        assert [float(share.split(",")[0]) for share in shares] == [device.scale_up_efficiency, device.overlap_slowdown]


def test_every_key_and_placement_of_a_scenario_is_documented() -> None:
    schema = scenario_file.json_schema()
    found = sorted(schema_keys(schema, schema))
    of_traffic = {key.rpartition(".")[2] for key in found if key.startswith("traffic.")}
    keys = {key.rpartition(".")[2] for key in found if not key.startswith("traffic.")}
    kinds = get_args(TrafficConfig.model_fields["kind"].annotation)
    assert len(keys) > 20
    left = mentions("docs/scenario.md", sorted({*keys, *PLACEMENTS}))
    assert mentions("docs/failures.md", left) == []
    assert len(of_traffic) > 10
    assert mentions("docs/traffic.md", sorted({*of_traffic, *kinds})) == []


def test_the_failures_shown_are_an_example() -> None:
    (shown,) = re.findall(r"```yaml\n(network.*?)```", text_of("docs/failures.md"), re.DOTALL)
    assert (ROOT / "inputs" / "scenarios" / "black-hole.yaml").read_text(encoding="utf-8").endswith(shown)
    assert (ROOT / "docs" / "images" / "failures.png").stat().st_size < 80_000


def test_the_traffic_shown_is_an_example() -> None:
    (shown,) = re.findall(r"```yaml\n(network.*?)```", text_of("docs/traffic.md"), re.DOTALL)
    assert (ROOT / "inputs" / "scenarios" / "background.yaml").read_text(encoding="utf-8").endswith(shown)


def test_the_scenario_shown_is_an_example() -> None:
    (shown,) = re.findall(r"```yaml\n(network.*?)```", text_of("docs/scenario.md"), re.DOTALL)
    assert (ROOT / "inputs" / "scenarios" / "fragments.yaml").read_text(encoding="utf-8").endswith(shown)
    assert (ROOT / "docs" / "images" / "scenario.png").stat().st_size < 80_000


ELSEWHERE = ("routing.", "forwarding.")
"""Groups of keys that docs/topologies.md tells of."""


def test_every_key_of_a_network_file_is_documented() -> None:
    schema = network_file.json_schema()
    keys = dict.fromkeys(schema_keys(schema, schema))
    groups = {key.rpartition(".")[0] for key in keys}
    single = {
        key.removeprefix("topology.") for key in schema_keys(schema, {"$ref": "#/$defs/SingleSwitch"}, "topology")
    }
    words = [key for key in sorted(single) if f"topology.{key}" not in groups]
    assert len(words) > 20
    leaves = [re.sub(r"^switch\.((pfc|credits|reduction)\.|ecn\.rate)", "", key) for key in words]
    missing = mentions("docs/network-file.md", [key for key in leaves if key and not key.startswith(ELSEWHERE)])
    assert missing == []
    observed = [key.removeprefix("observe.") for key in keys if key.startswith("observe.")]
    assert mentions("docs/network-file.md", [*observed, *QUANTITIES]) == []


def test_every_key_of_a_transport_is_documented() -> None:
    schema = network_file.json_schema()
    for name, page in (("TcpTransport", "docs/tcp.md"), ("RoceTransport", "docs/network-file.md")):
        keys = set(schema_keys(schema, {"$ref": f"#/$defs/{name}"}))
        groups = {key.rpartition(".")[0] for key in keys}
        words = [key.removeprefix("congestion_control.") for key in sorted(keys - groups)]
        assert len(words) > 15
        assert mentions(page, words) == []


def test_every_topology_and_key_of_one_is_documented() -> None:
    schema = network_file.json_schema()
    kinds = [kind for kind in TOPOLOGIES if f"`{kind}`" not in text_of("docs/topologies.md")]
    assert kinds == []
    names = [model.__name__ for model in get_args(AnyTopology)]
    for name in (*names, "ScaleUp", "ClosLevel", "RoutingConfig", "Pin", "LinkChange", "OwnTopology", "Forwarding"):
        keys = set(schema["$defs"][name]["properties"])
        assert mentions("docs/topologies.md", sorted(keys)) == []


def test_every_key_that_completes_a_graph_and_every_format_is_documented() -> None:
    schema = network_file.json_schema()
    for name in ("Attributes", "AttributeName", "LinkDefaults", "HostsByAttribute", "HostsBeside"):
        assert mentions("docs/graph-files.md", sorted(schema["$defs"][name]["properties"])) == []
    for page in ("docs/graph-files.md", "docs/topologies.md"):
        assert mentions(page, list(GRAPH_FORMATS)) == []


def test_every_picture_of_a_topology_is_small_and_shown() -> None:
    pictures = sorted((ROOT / "docs" / "images").glob("topology-*.png"))
    assert len(pictures) >= len(TOPOLOGIES) - 1
    assert [picture.name for picture in pictures if picture.stat().st_size > 80_000] == []
    assert [picture.name for picture in pictures if f"images/{picture.name}" not in text_of("docs/topologies.md")] == []


def test_every_order_of_a_pipeline_and_group_of_npus_is_documented() -> None:
    assert mentions("docs/training.md", SCHEDULES) == []
    assert [group.value for group in Group if f"| {group.value} |" not in text_of("docs/training.md")] == []


def test_the_picture_of_a_report_is_small_and_every_figure_of_it_documented() -> None:
    headings = [kind.section.heading for kind in KINDS_OF_PICTURES if kind.section]
    assert (ROOT / "docs" / "images" / "report.png").stat().st_size < 200_000
    assert [each for each in headings if f"| {each} |" not in text_of("docs/report.md")] == []


def test_every_picture_of_a_report_has_the_command_of_its_run() -> None:
    cases = [picture.name.split("-")[1] for picture in (ROOT / "docs" / "images").glob("case-*-report.png")]
    assert len(cases) == 3
    for page, name in [("README.md", "why"), *(("docs/cases.md", case) for case in cases)]:
        words = commands(page, name)[0]
        assert (words[0], words[words.index("-o") + 1]) == ("run", f"results/{name}")
        assert words[-2:] == ["--record", "all"]


def test_every_congestion_control_of_roce_is_documented() -> None:
    assert mentions("docs/network-file.md", KINDS) == []
    (alpha,) = (line for line in text_of("docs/results.md").splitlines() if line.startswith("| `alpha_millionths`"))
    assert [kind for kind in KINDS if f"`{kind}`" not in alpha] == []


def test_every_key_of_a_config_txt_is_documented() -> None:
    assert mentions("docs/network-file.md", KEYS) == []


def test_every_key_of_a_system_file_is_documented() -> None:
    keys = [*system_schema()["properties"], *system_config._ONLY_WITHOUT_EFFECT]
    assert mentions("docs/system-file.md", keys) == []


def test_every_key_server_and_variable_of_nccl_is_documented() -> None:
    keys = [field.alias or name for name, field in NcclConfig.model_fields.items()]
    variables = [f"NCCL_{field.name.upper()}" for field in fields(Environment) if field.name != "without_effect"]
    assert mentions("docs/nccl.md", [*keys, *SERVERS, *variables]) == []


def test_every_picture_beside_real_machines_is_small_and_shown() -> None:
    pictures = sorted((ROOT / "docs" / "figures").glob("nccl-*.svg"))
    assert len(pictures) == 4
    assert [picture.name for picture in pictures if picture.stat().st_size > 250_000] == []
    assert [picture.name for picture in pictures if f"figures/{picture.name}" not in text_of("docs/hardware.md")] == []


def test_tcp_page_has_the_defaults_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:`([^`]+)`|(absent)) \|", text_of("docs/tcp.md"), re.MULTILINE)
    documented = {key: None if absent else yaml.safe_load(value) for key, value, absent in rows}
    assert documented == TcpTransport().document()


def test_tcp_page_names_every_congestion_control() -> None:
    assert [name for name in CONGESTION_CONTROLS if not re.search(rf"\b{name}\b", text_of("docs/tcp.md"))] == []


def test_workloads_page_names_every_loop() -> None:
    assert mentions("docs/workloads.md", LOOPS) == []


def test_every_file_and_column_of_a_run_is_documented(tmp_path: Path) -> None:
    result = astra_ns3.run(**small_run(), output=tmp_path / "out", record=["flows"])
    columns = set(result.metadata)
    for file in tmp_path.glob("out/*.csv"):
        columns |= {column.strip() for column in file.read_text(encoding="utf-8").splitlines()[0].split(",")} - {""}
    columns = {re.sub(r"(delay phase|delay dimension) \d+", r"\1", column) for column in columns}
    columns -= {f"PayloadSize_Dim{dimension}" for dimension in range(1, 6)}
    quantities = [*QUANTITIES.values(), *QUEUE_PAIR_QUANTITIES.values()]
    assert mentions("docs/results.md", sorted(columns | {column for _, column in quantities})) == []
    assert [name for name in RESULT_FILES if name not in text_of("docs/results.md")] == []


@pytest.mark.parametrize("table", [*RECORDED_TABLES, LAYERS], ids=lambda table: table.name)
def test_every_column_of_a_recorded_table_is_documented_with_its_unit(table: RecordedTable) -> None:
    heading = f"## {table.file} (`Result.{table.name}`)\n"
    section = text_of("docs/results.md").partition(heading)[2].partition("\n## ")[0]
    documented: dict[str, str] = {}
    for names, units in re.findall(r"^\| (`.*?`) \|([^|]*)\|[^|]*\|$", section, re.MULTILINE):
        columns, alike = re.findall(r"`(\w+)`", names), [unit.strip() for unit in units.split(",")]
        documented |= zip(columns, alike if len(alike) == len(columns) else alike * len(columns), strict=True)
    assert {column.name: column.unit for column in table.columns}.items() <= documented.items()
    assert isinstance(vars(Result)[table.name], Frame)
    assert all(f"\n{column.name}" in (vars(Result)[table.name].__doc__ or "") for column in table.columns)


def test_every_table_of_a_result_is_documented() -> None:
    tables = [name for name, value in vars(Result).items() if isinstance(value, (property, Frame))]
    words = [f"Result.{name}" for name in tables if name not in ("complete", "folder", "finish_ps", "finish_ns")]
    assert mentions("docs/results.md", words) == []


def test_every_column_and_key_of_a_run_with_several_tenants_is_documented(tmp_path: Path) -> None:
    small = small_run()
    one = Tenant("one", [0, 1], small["workload"], small["system"])
    result = astra_ns3.run_scenario(network=small["network"], backend=small["backend"], tenants=[one])
    (tenant,) = result.metadata["jobs"]
    words = [*tenant, *result.rows("jobs.csv")[0], *result.metadata, *result.tenants["one"].metadata["job"]]
    assert mentions("docs/results.md", words) == []
    assert mentions("docs/python.md", [field.name for field in fields(Tenant)]) == []


def test_the_parts_shown_are_those_of_the_inputs_and_each_is_run() -> None:
    page, files = text_of(OWN_PARTS), sorted(ROOT.glob("inputs/extending/*.*"))
    whole = "\n".join(file.read_text(encoding="utf-8") for file in files)
    shown = re.findall(r"```(?:python|yaml)\n((?:def|topology).*?)```", page, re.DOTALL)
    assert len(shown) == 5
    assert [block for block in shown if block not in whole] == []
    commands = "\n".join(re.findall(r"^ {4}astra-ns3 .*$", page, re.MULTILINE)) + "".join(blocks(OWN_PARTS, "run"))
    used = {file.stem for file in files if file.stem in commands}
    assert used == {file.stem for file in files} - {"README"}


def test_the_errors_shown_are_those_that_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from astra_ns3.collectives.lookup import lookup

    monkeypatch.chdir(tmp_path)
    found = []
    for name, text in (
        ("butterfly", None),
        ("butterfyl", "def butterfly(ranks): pass"),
        ("STEPS", "STEPS = []"),
        ("butterfly", "\n" * 11 + "npp"),
        ("butterfly", "\n" * 28 + "def butterfly(ranks):\n    1 / 0"),
        ("butterfly", "def butterfly(ranks): return []"),
    ):
        if text is not None:
            Path("mine.py").write_text(text, encoding="utf-8")
        with pytest.raises(AstraNs3Error) as caught:
            lookup(CollectiveKind.ALL_REDUCE, f"mine.py:{name}", 8)
        found.append(f"astra-ns3: error: {caught.value}".replace(str(Path.cwd()), "/home/me"))
    assert re.findall(r"^ {4}(astra-ns3: error: .*)$", text_of(OWN_PARTS), re.MULTILINE) == found


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """README's three files, written out in the working folder."""
    monkeypatch.chdir(tmp_path)
    names = {"workload": "workload.txt", "system": "system.yaml", "network": "network.yaml"}
    for name in names.values():
        (block,) = blocks("README.md", f"file: {name}")
        Path(name).write_text(block, encoding="utf-8")
    return dict(names)


def test_readmes_own_files_are_valid_and_give_the_forecast_shown(own_files: dict[str, Any]) -> None:
    from astra_ns3.experiments.validate import validate

    validation = validate(**own_files)
    (shown,) = blocks("README.md", "output: validate")
    assert validation_text(validation.document()) + "\n" == shown
    assert validation.warnings == ()


def test_readmes_mistake_gives_the_line_shown(own_files: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    from astra_ns3.cli.main import main

    network = Path(own_files["network"])
    network.write_text(network.read_text(encoding="utf-8").replace("window:", "windov:"), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["validate", *(f"--{option}={path}" for option, path in own_files.items())])
    (shown,) = blocks("README.md", "output: mistake")
    assert capsys.readouterr().err == shown


def test_readmes_own_files_run(own_files: dict[str, Any], tmp_path: Path) -> None:
    npus = network_file.read_network(own_files["network"]).npus
    result = astra_ns3.run(**own_files, passes=2, backend=FakeBackend(npus), output=tmp_path / "results/mine")
    assert result.complete
    assert npus != NPUS


def test_readmes_network_of_roce_is_valid_without_a_warning(tmp_path: Path) -> None:
    from astra_ns3.experiments.validate import validate

    (block,) = blocks("README.md", "file: leaf-spine.yaml")
    file = tmp_path / "leaf-spine.yaml"
    file.write_text(block, encoding="utf-8")
    inputs = ROOT / "inputs"
    validation = validate(
        workload=inputs / "workload" / "DLRM_HybridParallel.txt", system=inputs / "system" / "flat.txt", network=file
    )
    assert validation.warnings == ()


def test_every_picture_of_roce_is_small_and_shown() -> None:
    pictures = sorted((ROOT / "docs" / "images").glob("roce-*.png"))
    assert len(pictures) >= 3
    assert [picture.name for picture in pictures if picture.stat().st_size > 80_000] == []
    assert [picture.name for picture in pictures if f"images/{picture.name}" not in text_of("docs/roce.md")] == []


def test_every_picture_of_a_run_is_small_and_shown() -> None:
    page = text_of("docs/pictures.md")
    for kind in PICTURES:
        picture = ROOT / "docs" / "images" / f"picture-{kind.name}.png"
        assert picture.stat().st_size < 60_000
        assert f"## {kind.name}\n\n![{kind.name}](images/{picture.name})" in page
        (row,) = re.findall(rf"^\| \[`{kind.name}`\]\(#{kind.name}\) \|(.*)\|$", page, re.MULTILINE)
        needs, more, select, beside = (cell.strip() for cell in row.split("|"))
        assert all(HOW_TO_RECORD[table].split(" in ")[0] in needs for table in kind.any_of)
        assert bool(needs) == bool(kind.any_of or kind.needs)
        assert (bool(more), bool(select), bool(beside)) == (bool(kind.more), bool(kind.selects), kind.compares)


def test_compatibility_page_has_every_option_and_preset() -> None:
    assert mentions("docs/astra-sim-compatibility.md", [*vars(Compatibility()), *(set(PRESETS) - {"none"})]) == []


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the measurements are not beside this repository")
def test_compatibility_page_has_every_measured_case_and_its_finish() -> None:
    with (REFERENCE / "astra-sim-1.0" / "expected.csv").open(encoding="utf-8") as file:
        expected = {row["id"]: f"{float(row['finish_us']):.3f}" for row in csv.DictReader(file)}
    rows = re.findall(
        r"^\| `(\w+)` \|(?:[^|\n]*\|){4} ([\d.]+) \|", text_of("docs/astra-sim-compatibility.md"), re.MULTILINE
    )
    assert dict(rows) == expected


def test_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert str(citation["version"]) == astra_ns3.__version__
    assert citation["license"] == "GPL-2.0-only"


def test_every_word_of_a_study_is_documented() -> None:
    schema = study_schema()
    keys = {key for model in (schema, *schema["$defs"].values()) for key in model.get("properties", ())}
    command = load_command(COMMANDS["study"][0])
    words = [*keys, *FIGURE_KINDS, *MEASURES, *LAYER_COLUMNS[:4], *get_args(Combine), *options(command)]
    assert mentions("docs/studies.md", words) == []
    page = text_of("docs/studies.md")
    for name, kind in MEASURES.items():
        assert f"| `{name}` | {kind.unit} | {kind.words} |" in page


def test_every_option_column_and_chosen_key_of_a_plan_is_documented() -> None:
    command = load_command(COMMANDS["plan"][0])
    words = [word for word in options(command) if word not in ("--help", "-h")]
    assert mentions("docs/plan.md", [*words, *PLAN_COLUMNS, *CHOSEN]) == []


def test_the_page_of_plans_is_short() -> None:
    text = re.sub(r"^```.*?^```", "", text_of("docs/plan.md"), flags=re.DOTALL | re.MULTILINE)
    assert len(re.sub(r"^(?: {4}|\|).*$", "", text, flags=re.MULTILINE).split()) <= PLAN_WORDS


def test_the_studies_that_come_with_the_program_and_the_page_s_can_be_expanded(tmp_path: Path) -> None:
    files = sorted(ROOT.glob("inputs/studies/*.yaml"))
    shown = re.findall(r"^```yaml\n(.*?)^```", text_of("docs/studies.md"), re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "inputs").symlink_to(ROOT / "inputs")
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "shown.yaml").write_text(shown.replace("../", "../inputs/"), encoding="utf-8")
    for file in (*files, tmp_path / "studies" / "shown.yaml"):
        study = read_study(file)
        for preset in study.config.presets or ("laptop",):
            assert expand(study, preset).points
