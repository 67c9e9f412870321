"""System files, as ASTRA-sim's text and as YAML."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.documents.schemas import schema_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.network.instance import MOST_CHUNKS
from astra_ns3.system.file import parse_system, read_system

TEXT = """\
scheduling-policy: LIFO
endpoint-delay: 10
active-chunks-per-dimension: 2
preferred-dataset-splits: 4
boost-mode: 0
all-reduce-implementation: ring_doubleBinaryTree
reduce-scatter-implementation: ring_ring
all-gather-implementation: ring_ring
all-to-all-implementation: direct_direct3
collective-optimization: localBWAware
"""


def read(tmp_path: Path, text: str, name: str = "system.txt") -> SystemConfig:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return read_system(tmp_path / name)


def test_text_keys_arrive(tmp_path: Path) -> None:
    system = read(tmp_path, TEXT)
    assert system.scheduling_policy == "LIFO"
    assert (system.endpoint_delay_ns, system.active_chunks_per_dimension, system.preferred_dataset_splits) == (10, 2, 4)
    assert system.all_reduce == ("ring", "doubleBinaryTree")
    assert system.all_to_all == ("direct", "direct3")
    assert system.collective_optimization == "localBWAware"
    assert system.reduction_bytes_per_ns == 500_000


def test_the_same_as_yaml_with_lists_is_the_same_system(tmp_path: Path) -> None:
    lists = TEXT.replace("ring_doubleBinaryTree", "[ring, doubleBinaryTree]").replace("ring_ring", "[ring, ring]", 1)
    assert read(tmp_path, lists, "system.yaml") == read(tmp_path, TEXT)


def test_blank_lines_carriage_returns_and_comment_lines_are_skipped(tmp_path: Path) -> None:
    text = "# ours\n\n" + TEXT.replace("\n", " \r\n")
    assert read(tmp_path, text) == read(tmp_path, TEXT)


def test_defaults_are_those_of_astra_sim(tmp_path: Path) -> None:
    dropped = ("endpoint", "active", "boost", "collective")
    text = "".join(line + "\n" for line in TEXT.splitlines() if not line.startswith(dropped))
    system = read(tmp_path, text)
    assert (system.endpoint_delay_ns, system.active_chunks_per_dimension) == (10, 1)
    assert system.collective_optimization == "baseline"
    assert (system.intra_dimension_scheduling, system.inter_dimension_scheduling) == ("FIFO", "ascending")
    assert (system.num_queues_per_dimension, system.injection_scale, system.rendezvous) == (1, 1.0, False)


def test_true_is_no_number_but_on_where_a_switch_has_no_effect(tmp_path: Path) -> None:
    keys = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 4, "trace-enabled": True}
    assert read(tmp_path, json.dumps(keys), "system.json").preferred_dataset_splits == 4
    words = r"system\.json:5: key 'local-reduction-delay': found True, which is not supported yet; supported: 1"
    with pytest.raises(InputError, match=words):
        read(tmp_path, json.dumps({**keys, "local-reduction-delay": True}, indent=1), "system.json")


@pytest.mark.parametrize(
    "line", ["model-shared-bus: 0", "L: 0", "G: 0", "local-reduction-delay: 1", "seprate-log: 1", "seprate-log: 0"]
)
def test_keys_without_effect_are_accepted(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, TEXT + line + "\n") == read(tmp_path, TEXT)


def test_true_and_false_are_one_and_zero_as_in_astra_sim_2(tmp_path: Path) -> None:
    switches = {"trace-enabled": True, "track-local-mem": False, "boost-mode": False}
    document = {**read(tmp_path, TEXT).model_dump(by_alias=True, mode="json"), **switches}
    assert read(tmp_path, json.dumps(document), "system.json") == read(tmp_path, TEXT)
    with pytest.raises(InputError, match="key 'boost-mode': found 2, which is not supported yet; supported: 0 or 1"):
        read(tmp_path, json.dumps({**document, "boost-mode": 2}), "system.json")


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_trace_of_memory_that_is_asked_for_is_a_warning(tmp_path: Path, value: str) -> None:
    text = TEXT + f"track-local-mem: {value}\nlocal-mem-trace-filename: mem_trace/local_memory_trace\n"
    system = read(tmp_path, text)
    (line,) = system.warnings
    assert line.startswith("key 'track-local-mem': changes no time")
    assert system.model_copy(update={"track_local_memory": False}) == read(tmp_path, TEXT)
    assert read(tmp_path, TEXT).warnings == ()


def test_an_algorithm_is_missed_by_the_collective_that_needs_it(tmp_path: Path) -> None:
    """As in ASTRA-sim 2, whose own file for collectives as graphs has none of the other three."""
    system = read(tmp_path, "".join(line + "\n" for line in TEXT.splitlines() if "implementation" not in line))
    for kind, key in (
        (CollectiveKind.ALL_TO_ALL, "all-to-all"),
        (CollectiveKind.REDUCE_SCATTER, "reduce-scatter"),
        (CollectiveKind.BROADCAST, "all-reduce"),
    ):
        for some in (system, system.for_one_ring(), system.for_parts((1, 2))):
            with pytest.raises(InputError) as caught:
                some.algorithms(kind, 1)
            needs = f"which the workload's {kind.name.lower()} needs"
            assert str(caught.value) == f"key '{key}-implementation' is missing, {needs}"


@pytest.mark.parametrize(
    ("text", "rate"), [("1600.5", 1600), ("1600", 1600), ("0.5\nreduction-bytes-per-ns: 7", 7), ("100.9", 100)]
)
def test_reductions_count_in_whole_bytes_of_the_memorys_bandwidth(tmp_path: Path, text: str, rate: int) -> None:
    assert read(tmp_path, f"{TEXT}local-mem-bw: {text}\n").reduction_bytes_per_ns == rate


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("model-shared-bus: 1", r"system\.txt:11: key 'model-shared-bus': found '1', .*not supported yet"),
        ("local-reduction-delay: 5", r":11: key 'local-reduction-delay': .*not supported yet; supported: 1"),
        ("L: 3", r":11: key 'L': .*not supported yet"),
        (
            "intra-dimension-scheduling: SFC",
            r":11: key 'intra-dimension-scheduling': found 'SFC', allowed: FIFO, RG, SCF",
        ),
        ("inter-dimension-scheduling: own.py", r":11: .*found 'own.py', allowed: .*, FILE\.py:name"),
        ("num-queues-per-dim: 0", r":11: key 'num-queues-per-dim': "),
        ("injection-scale: 0", r":11: key 'injection-scale': "),
        ("injection-scale: much", r":11: key 'injection-scale': "),
        ("rendezvous-protocol: 2", r":11: key 'rendezvous-protocol': "),
        ("inter-dimension-scheduling: ascendin", r":11: .*did you mean 'ascending'\?"),
        ("endpoint-dealy: 3", r":11: key 'endpoint-dealy': unknown key; .*did you mean 'endpoint-delay'\?"),
        ("bost-mode: 0", r":11: key 'bost-mode': unknown key; .*did you mean 'boost-mode'\?"),
        ("endpoint-delay: 3", r":11: key 'endpoint-delay' stands twice \(first on line 2\)"),
        ("endpoint-delay 3", r":11: found 'endpoint-delay 3', expected 'key: value'"),
        ("L: 3 # lines", r":11: found 'L: 3 # lines', .* nothing behind it; YAML needs a file that ends in \.yaml"),
        ("reduction-bytes-per-ns: 0", r":11: key 'reduction-bytes-per-ns': found '?0'?"),
        ("local-mem-bw: 0", r":11: key 'local-mem-bw': found 0.0, expected greater than or equal to 0.000000001"),
        ("local-mem-bw: 0.5", r":11: key 'local-mem-bw': found 0.5, but reductions count whole bytes per ns"),
        ("local-mem-bw: 1.9", r":11: key 'local-mem-bw': found 1.9, .* or 'reduction-bytes-per-ns' besides"),
    ],
)
def test_a_wrong_line_is_told(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, TEXT + line + "\n")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("LIFO", "lifo", r":1: key 'scheduling-policy': found 'lifo', allowed: LIFO, FIFO, .*did you mean 'LIFO'\?"),
        ("endpoint-delay: 10", "endpoint-delay: 10us", r":2: .*found '10us', expected a whole number of ns, without"),
        ("endpoint-delay: 10", "endpoint-delay: -10", r":2: key 'endpoint-delay': "),
        ("endpoint-delay: 10", "endpoint-delay: 1.5", r":2: key 'endpoint-delay': found '1\.5'"),
        ("splits: 4", "splits: 0", r":4: key 'preferred-dataset-splits': "),
        ("splits: 4", "splits: 99999999999999999999", r":4: key 'preferred-dataset-splits': "),
        ("splits: 4", f"splits: {MOST_CHUNKS + 1}", rf"splits': found {MOST_CHUNKS + 1}, .*equal to {MOST_CHUNKS}"),
        ("boost-mode: 0", "boost-mode: 2", r":5: key 'boost-mode': found '2', .*supported: 0 or 1"),
        ("ring_double", "rign_double", r":6: key 'all-reduce-implementation': found 'rign', .*did you mean 'ring'\?"),
        ("direct3", "direct0", r":9: key 'all-to-all-implementation': found 'direct0'"),
        ("direct_direct3", "direct_", r":9: key 'all-to-all-implementation': found ''"),
        ("localBWAware", "localBW", r":10: .*did you mean 'localBWAware'\?"),
        ("scheduling-policy: LIFO\n", "", r"system\.txt: key 'scheduling-policy' is missing"),
    ],
)
def test_a_wrong_value_is_told(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(InputError, match=message):
        read(tmp_path, TEXT.replace(before, after, 1))


def test_there_must_be_one_algorithm_for_each_dimension_or_a_flat_one(tmp_path: Path) -> None:
    system = read(
        tmp_path, TEXT.replace("reduce-scatter-implementation: ring_ring", "reduce-scatter-implementation: oneRing")
    )
    assert system.algorithms(CollectiveKind.ALL_REDUCE, 2) == ("ring", "doubleBinaryTree")
    assert system.algorithms(CollectiveKind.BROADCAST, 2) == ("ring", "doubleBinaryTree")
    for dimensions in (1, 2, 3):
        assert system.algorithms(CollectiveKind.REDUCE_SCATTER, dimensions) == ("oneRing",)
    for dimensions in (1, 3):
        message = f"all-reduce-implementation.*found 2 algorithms .*expected {dimensions}: .*the job's key 'dimensions'"
        such = "_".join(["ring"] * dimensions)
        with pytest.raises(InputError, match=rf"{message}, such as {such}; or collectives: nccl"):
            system.algorithms(CollectiveKind.ALL_REDUCE, dimensions)


def test_a_flat_algorithm_stands_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'oneRing' is for all dimensions and stands alone"):
        read(tmp_path, TEXT.replace("ring_doubleBinaryTree", "oneRing_ring"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("file:my_own_ring.xml", ("file:my_own_ring.xml",)),
        ("ring_file:a_b.csv", ("ring", "file:a_b.csv")),
        ("biRing_bruck", ("biRing", "bruck")),
    ],
)
def test_an_algorithm_may_be_a_file(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    assert read(tmp_path, TEXT.replace("direct_direct3", text)).all_to_all == names


def test_a_dimension_that_is_cut_in_two_runs_its_algorithm_on_both_parts(tmp_path: Path) -> None:
    system = read(tmp_path, TEXT.replace("direct_direct3", "oneDirect"))
    for parts, expected in (
        ((2, 1), ("ring", "ring", "doubleBinaryTree")),
        ((1, 2), ("ring", *["doubleBinaryTree"] * 2)),
    ):
        cut = system.for_parts(parts)
        assert cut.all_reduce == expected
        assert cut.all_gather == ("ring", "ring", "ring")
        assert cut.all_to_all == ("oneDirect",)


@pytest.mark.parametrize("parts", [(2, 1, 1), (1, 1, 1, 1, 2), (2,)])
def test_a_list_that_is_too_short_or_long_is_counted_before_dimensions_are_cut(
    tmp_path: Path, parts: tuple[int, ...]
) -> None:
    cut = read(tmp_path, TEXT).for_parts(parts)
    words = f"all-reduce-implementation.*found 2 algorithms .*expected {len(parts)}: "
    with pytest.raises(InputError, match=words):
        cut.algorithms(CollectiveKind.ALL_REDUCE, sum(parts))


def test_the_endpoint_delay_is_scaled_and_rounded_down(tmp_path: Path) -> None:
    system = read(tmp_path, TEXT + "injection-scale: 0.25\nrendezvous-protocol: 1\nnum-queues-per-dim: 2\n")
    assert (system.scaled_endpoint_delay_ns, system.rendezvous, system.num_queues_per_dimension) == (2, True, 2)


@pytest.mark.parametrize("name", ["own.py:first", "file:/a/b c.py:first"])
def test_a_policy_may_be_a_function_in_a_file(name: str, tmp_path: Path) -> None:
    system = parse_system(read(tmp_path, TEXT).document() | {"intra-dimension-scheduling": name})
    assert system.intra_dimension_scheduling == name


def test_a_document_reads_back_to_an_equal_system(tmp_path: Path) -> None:
    system = read(tmp_path, TEXT)
    assert parse_system(json.loads(json.dumps(system.document()))) == system


def test_the_schema_has_the_keys_of_a_file() -> None:
    schema = schema_of("system")
    assert set(schema["required"]) == {"scheduling-policy", "preferred-dataset-splits"}
    assert {"scheduling-policy", "all-to-all-implementation", "track-local-mem"} <= set(schema["properties"])


def test_further_mistakes_are_told_with_the_nearest_word_alone(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    names = ("all-reduce", "all-gather")
    text = "scheduling-policy: LIFO\n" + "".join(f"{name}-implementation: [rign]\n" for name in names)
    text += "preferred-dataset-splits: 1\n"
    file.write_text(text, encoding="utf-8")
    more = r"\(and 1 more: line 3: key 'all-gather-implementation': found 'rign'; did you mean 'ring'\?\)$"
    with pytest.raises(InputError, match=rf":2: key 'all-reduce-implementation': found 'rign', allowed: .*{more}"):
        read_system(file)
