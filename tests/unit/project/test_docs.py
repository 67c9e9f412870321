"""The documentation says what is there: examples run, links lead somewhere, nothing that users see is left out."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from support.documents.pages import OWN_FILES, OWN_PARTS, ROOT, blocks, commands, text_of
from support.fake_backend import FakeBackend
from support.reference import reference, rows, sections
from support.small_run import NPUS

import astra_ns3
from astra_ns3.config import system as system_config
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import PRESETS
from astra_ns3.config.model.devices import DEVICES
from astra_ns3.config.network import packet_network as network_file
from astra_ns3.config.plan_file import read_plan_file
from astra_ns3.config.scenario.traffic import TrafficConfig
from astra_ns3.config.topology.file import FORMATS as GRAPH_FORMATS
from astra_ns3.config.topology.kinds import KINDS as TOPOLOGIES
from astra_ns3.config.training_plan import Group
from astra_ns3.config.transports.roce_control import KINDS
from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS
from astra_ns3.errors import AstraNs3Error
from astra_ns3.nccl.copying import costs
from astra_ns3.nccl.environment import Environment
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.network.recorded import QUEUE_PAIR_QUANTITIES
from astra_ns3.planning.degrees import CHOSEN
from astra_ns3.planning.plan_files import asked_by
from astra_ns3.planning.result import COLUMNS as PLAN_COLUMNS
from astra_ns3.report.pictures.kinds import IN_FILES as PICTURES
from astra_ns3.report.pictures.kinds import KINDS as KINDS_OF_PICTURES
from astra_ns3.report.tables import HOW_TO_RECORD
from astra_ns3.report.validation import validation_text
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.figures.kinds import FIGURE_KINDS
from astra_ns3.studies.file import Combine, read_study
from astra_ns3.studies.tables import LAYER_COLUMNS
from astra_ns3.units import parse_byte_rate, parse_flops, parse_time_ps
from astra_ns3.workload.computing.clocks import CLOCKS
from astra_ns3.workload.computing.table_file import COORDINATES, TIMES
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
    """Anchors of a page's headings, made as on code hosts; of a generated page those that the site has."""
    made = page.parent == ROOT / "docs" / "reference"
    text = reference()[f"reference/{page.stem}"] if made else page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.xdist_group("reference")  # whose pages take seconds to make
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


def test_every_exit_status_is_documented() -> None:
    kinds = {kind.exit_status: kind.__name__ for kind in AstraNs3Error.__subclasses__() if kind.exit_status != 1}
    table = dict(re.findall(r"^\| (\d+) \| (\w+) \|", text_of("docs/cli.md"), re.MULTILINE))
    assert table == {str(status): name for status, name in kinds.items()}


def test_every_source_of_compute_times_and_column_of_measured_ones_is_documented() -> None:
    assert mentions("docs/compute.md", sorted({*COORDINATES, *TIMES, *CLOCK_KINDS})) == []


def test_the_table_of_devices_has_their_numbers() -> None:
    told = {
        name: [cell.replace(",", "") for cell in cells]
        for name, *cells in rows(sections("reference/devices")["Devices"])
    }
    assert told.keys() == DEVICES.keys()
    for name, device in DEVICES.items():
        *peaks, memory, bandwidth = told[name]
        expected = [*(getattr(device.peak, datatype) for datatype in type(device.peak).model_fields), device.vector]
        assert [parse_flops(f"{peak}TFLOPS") if peak else None for peak in peaks] == expected
        assert float(memory) == pytest.approx(device.memory_bytes / 1e9, rel=1e-3)
        assert parse_byte_rate(f"{bandwidth}GB/s") == device.memory_bandwidth


def test_the_table_of_losses_has_those_of_the_devices() -> None:
    told = {name: cells for name, *cells in rows(sections("reference/devices")["Losses of devices"])}
    assert told.keys() == DEVICES.keys()
    for name, (launch, *shares) in told.items():
        device = DEVICES[name]
        assert (parse_time_ps(launch) if launch != "0" else 0) == device.launch_overhead_ps
        assert [float(share) for share in shares] == [device.scale_up_efficiency, device.overlap_slowdown]


def test_the_page_of_compute_says_that_a_user_s_own_share_of_lines_holds_with_nccl_too() -> None:
    """As tests/unit/workload/test_device_losses.py finds."""
    said = " ".join(text_of("docs/compute.md").split())
    assert re.search(r"With \S+ nccl`\S+ only a value that you set counts, ", said)


def test_a_gain_of_two_cores_below_its_target_is_bold() -> None:
    _, _, cores = text_of("docs/performance.md").partition("## Cores")
    ranges = re.findall(
        r"(\*{0,2})([\d.]+)\1 to (\*{0,2})([\d.]+)\3 times [\w ]+\(targets: ([\d.]+) to ([\d.]+)\)", cores
    )
    assert ranges
    for low_mark, low, high_mark, high, low_target, high_target in ranges:
        assert (low_mark == "**") == (float(low) < float(low_target))
        assert (high_mark == "**") == (float(high) < float(high_target))


def test_every_kind_of_traffic_is_documented() -> None:
    assert mentions("docs/traffic.md", get_args(TrafficConfig.model_fields["kind"].annotation)) == []


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


def test_every_topology_and_format_of_a_graph_is_documented() -> None:
    kinds = [kind for kind in TOPOLOGIES if f"`{kind}`" not in text_of("docs/topologies.md")]
    assert kinds == []
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
    for page, name in [(OWN_FILES, "why"), *(("docs/cases.md", case) for case in cases)]:
        words = commands(page, name)[0]
        assert (words[0], words[words.index("-o") + 1]) == ("run", f"results/{name}")
        assert words[-2:] == ["--record", "all"]


def test_every_congestion_control_of_roce_is_documented() -> None:
    assert mentions("docs/network-file.md", KINDS) == []
    assert [kind for kind in KINDS if f"`{kind}`" not in QUEUE_PAIR_QUANTITIES["alpha_millionths"]] == []


def test_every_key_of_astra_sim_without_effect_is_documented() -> None:
    assert mentions("docs/system-file.md", system_config._ONLY_WITHOUT_EFFECT) == []


def test_every_server_and_variable_of_nccl_is_documented() -> None:
    variables = [f"NCCL_{field.name.upper()}" for field in fields(Environment) if field.name != "without_effect"]
    found = sections("reference/devices")
    assert [name for name, *_ in rows(found["NCCL's servers"])] == list(SERVERS)
    assert [name for name, *_ in rows(found["NCCL's variables"])] == variables
    assert "(reference/devices.md#nccls-variables)" in text_of("docs/nccl.md")


def test_every_cost_of_nccl_s_channels_has_a_value_and_a_source() -> None:
    lines = [line for line in sections("reference/devices")["Costs of NCCL's channels"].splitlines() if "|" in line][2:]
    assert len(lines) == len(costs())
    assert all(cell.strip() for line in lines for cell in line.strip("|").split("|"))
    assert any("20, 20, 20, 40 GB/s" in line for line in lines)


def test_every_picture_beside_real_machines_is_small_and_shown() -> None:
    pictures = sorted((ROOT / "docs" / "figures").glob("nccl-*.svg"))
    assert len(pictures) == 4
    assert [picture.name for picture in pictures if picture.stat().st_size > 250_000] == []
    assert [picture.name for picture in pictures if f"figures/{picture.name}" not in text_of("docs/hardware.md")] == []


def test_tcp_page_names_every_congestion_control() -> None:
    assert [name for name in CONGESTION_CONTROLS if not re.search(rf"\b{name}\b", text_of("docs/tcp.md"))] == []


def test_the_parts_shown_are_those_of_the_inputs_and_each_is_run() -> None:
    page, files = text_of(OWN_PARTS), sorted(ROOT.glob("inputs/extending/*.*"))
    whole = "\n".join(file.read_text(encoding="utf-8") for file in files)
    shown = re.findall(r"```(?:python|yaml)\n((?:def|topology).*?)```", page, re.DOTALL)
    assert len(shown) == 3
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
    """The three files of the page on writing them, in the working folder."""
    monkeypatch.chdir(tmp_path)
    names = {"workload": "workload.txt", "system": "system.yaml", "network": "network.yaml"}
    for name in names.values():
        (block,) = blocks(OWN_FILES, f"file: {name}")
        Path(name).write_text(block, encoding="utf-8")
    return dict(names)


def test_the_own_files_are_valid_and_give_the_forecast_shown(own_files: dict[str, Any]) -> None:
    from astra_ns3.experiments.validate import validate

    validation = validate(**own_files)
    (shown,) = blocks(OWN_FILES, "output: validate")
    assert validation_text(validation.document()) + "\n" == shown
    assert validation.warnings == ()


def test_an_own_mistake_gives_the_line_shown(own_files: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    from astra_ns3.cli.main import main

    network = Path(own_files["network"])
    network.write_text(network.read_text(encoding="utf-8").replace("window:", "windov:"), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["validate", *(f"--{option}={path}" for option, path in own_files.items())])
    (shown,) = blocks(OWN_FILES, "output: mistake")
    assert capsys.readouterr().err == shown


def test_the_own_files_run(own_files: dict[str, Any], tmp_path: Path) -> None:
    npus = network_file.read_network(own_files["network"]).npus
    result = astra_ns3.run(**own_files, passes=2, backend=FakeBackend(npus), output=tmp_path / "results/mine")
    assert result.complete
    assert npus != NPUS


def test_the_network_shown_is_valid_without_a_warning(tmp_path: Path) -> None:
    from astra_ns3.experiments.validate import validate

    (block,) = blocks("docs/network-file.md", "file: leaf-spine.yaml")
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


def test_compatibility_page_has_every_preset() -> None:
    assert mentions("docs/astra-sim-compatibility.md", set(PRESETS) - {"none"}) == []


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the measurements are not beside this repository")
def test_compatibility_page_has_every_measured_case_and_its_finish() -> None:
    with (REFERENCE / "astra-sim-1.0" / "expected.csv").open(encoding="utf-8") as file:
        expected = {row["id"]: f"{float(row['finish_us']):.3f}" for row in csv.DictReader(file)}
    with (ROOT / "docs" / "tables" / "astra-sim-1.0.csv").open(encoding="utf-8") as file:
        rows = {row["Case"]: row["ASTRA-sim (us)"] for row in csv.DictReader(file)}
    assert "(tables/astra-sim-1.0.csv)" in text_of("docs/astra-sim-compatibility.md")
    assert rows == expected


def test_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert str(citation["version"]) == astra_ns3.__version__
    assert citation["license"] == "GPL-2.0-only"


def test_every_figure_and_way_to_combine_of_a_study_is_documented() -> None:
    assert mentions("docs/studies.md", [*FIGURE_KINDS, *get_args(Combine), *LAYER_COLUMNS[:4]]) == []


def test_every_column_and_chosen_key_of_a_plan_is_documented() -> None:
    assert mentions("docs/plan.md", [*PLAN_COLUMNS, *CHOSEN]) == []


def test_the_page_of_plans_is_short() -> None:
    text = re.sub(r"^```.*?^```", "", text_of("docs/plan.md"), flags=re.DOTALL | re.MULTILINE)
    assert len(re.sub(r"^(?: {4}|\|).*$", "", text, flags=re.MULTILINE).split()) <= PLAN_WORDS


def test_the_studies_that_come_with_the_program_and_the_page_s_can_be_expanded(tmp_path: Path) -> None:
    every = sorted(ROOT.glob("inputs/studies/*.yaml"))
    plans = {file.stem: asked_by(plan) for file in every if (plan := read_plan_file(file)) is not None}
    npus = {name: asked.request.npus for name, asked in plans.items()}
    assert npus == {"plan": 16, "comet": 1024, "comet-bounds": 1024}
    files = [file for file in every if file.stem not in plans]
    shown = re.findall(r"^```yaml\n(.*?)^```", text_of("docs/studies.md"), re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "inputs").symlink_to(ROOT / "inputs")
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "shown.yaml").write_text(shown.replace("../", "../inputs/"), encoding="utf-8")
    for file in (*files, tmp_path / "studies" / "shown.yaml"):
        study = read_study(file)
        for preset in study.config.presets or ("laptop",):
            assert expand(study, preset).points
