"""What a study's file may say, and how what is wrong with it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.documents.schemas import schema_of
from support.studies import BASE, expanded, study_of, written

from astra_ns3.errors import InputError
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.figures.kinds import FIGURE_KINDS
from astra_ns3.studies.file import read_study

GOOD = f"""title: Two buffers
base:
  workload: {BASE["workload"]}
  system: {BASE["system"]}
  network: {BASE["network"]}
seeds: 2
parts:
  buffers:
    axes:
      network.topology.switch.buffer: [1MiB, 32MiB]
    figures:
      finish: {{kind: bars, y: finish_us}}
"""


def refusal(text: str, folder: Path, **words: Any) -> str:
    """What is said of a study's text, its file's name in front left out."""
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        expand(read_study(path), **words)
    return str(caught.value).removeprefix(str(path)).removeprefix(":")


def test_a_figure_s_name_for_a_key_that_is_no_axis_is_traced_to_that_key(tmp_path: Path) -> None:
    text = GOOD.replace("seeds: 2", "names: {network.topology.switch.buffr: size}").replace("y: finish_us", "x: size")
    assert refusal(text, tmp_path) == (
        "12: key 'x': 'size' is none of the axes: buffer, seed; 'names' has it for network.topology.switch.buffr, "
        "which is no axis of this part"
    )


def test_an_axis_whose_key_is_unknown_is_told_before_a_figure_that_names_the_key_as_it_should_be(
    tmp_path: Path,
) -> None:
    text = GOOD.replace("switch.buffer:", "switch.bufer:").replace("y: finish_us", "x: network.topology.switch.buffer")
    said = refusal(text, tmp_path)
    assert said.startswith("10: key 'topology.switch.bufer': unknown key; allowed: buffer,")
    assert said.endswith("; did you mean 'topology.switch.buffer'?")


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(GOOD, encoding="utf-8")
    study = read_study(path)
    assert (study.title, study.config.seeds, len(expand(study).points)) == ("Two buffers", (1, 2), 4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds: 2", "seedz: 2", "6: key 'seedz': unknown key; allowed: title, base, seeds,"),
        ("seeds: 2", "seeds: 0", "6: key 'seeds': found 0, expected at least one seed, and each once"),
        ("seeds: 2", "seeds: [1, 1]", "6: key 'seeds': found [1, 1], expected at least one seed, and each once"),
        ("kind: bars", "kind: bar", "12: key 'parts.buffers.figures.finish.kind': found 'bar', allowed: bars,"),
        ("y: finish_us", "y: finish", "12: key 'y': 'finish' is none of the measures: finish_us,"),
        ("y: finish_us", "x: bufer", "12: key 'x': 'bufer' is none of the axes: buffer, seed"),
        (
            "y: finish_us",
            "relative_to: {network.topology.switch.buffer: 2MiB}",
            "12: key 'relative_to': '2MiB' is none of the values of network.topology.switch.buffer: 1MiB, 32MiB",
        ),
        ("  network: /", "  netwrok: /", "5: key 'base.netwrok': is no option of a run, expected one of workload,"),
        ("seeds: 2", "limits: {wall: 1s}", "6: key 'limits.wall': unknown key; allowed: wall_time, memory,"),
        ("[1MiB, 32MiB]", "[1MiB, 32MiG]", "10: key 'topology.switch.buffer': "),
        ("switch.buffer:", "switch.bufer:", "10: key 'topology.switch.bufer': unknown key; allowed: buffer,"),
        ("[1MiB, 32MiB]", "1MiB", "10: key 'parts.buffers.axes.network.topology.switch.buffer': found '1MiB'"),
        ("[1MiB, 32MiB]", "[1MiB, 1MiB]", "10: axis 'network.topology.switch.buffer' has two values '1MiB'"),
        ("network.topology.switch.buffer:", "buffer:", "10: axis 'buffer' with a list of values is no option of a run"),
        ("network.topology.switch.buffer:", "npus:", "10: axis 'npus' with a list of values is no option of a run"),
        ("title: Two buffers", "base2: 1", "1: key 'base2': unknown key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_what_is_allowed(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in GOOD
    assert refusal(GOOD.replace(old, new), tmp_path).startswith(said)


def test_a_file_of_other_keys_is_told_which_are_allowed_before_which_is_missing(tmp_path: Path) -> None:
    said = refusal("name: six\nfiles: {}\n", tmp_path)
    assert said.startswith("1: key 'name': unknown key, so is 'files'; allowed: title, ")
    assert said.endswith("key 'parts' is missing)")


def test_the_nearest_word_is_named(tmp_path: Path) -> None:
    assert refusal(GOOD.replace("kind: bars", "kind: bar"), tmp_path).endswith("did you mean 'bars'?")
    assert (
        refusal(GOOD.replace("switch.buffer:", "switch.bufer:"), tmp_path).count(
            "did you mean 'topology.switch.buffer'?"
        )
        == 1
    )


@pytest.mark.parametrize("key", ["seed", "output", "limits", "live", "progress", "isolated", "overwrite"])
def test_what_a_study_takes_care_of_is_no_change(key: str) -> None:
    with pytest.raises(InputError, match=f"key 'base.{key}': a study can't set this option"):
        read_study(study_of({key: 1}))


def test_an_option_out_of_range_is_told_where_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path, study_of({"passes": 0}))
    with pytest.raises(InputError, match=r"study.yaml:5: passes is 0, expected a whole number, at least 1"):
        expand(read_study(path))


def test_all_points_that_are_wrong_are_told_at_once() -> None:
    study = study_of(one={"passes": [0, 1, -1]}, two={"scale": [0], "comm_scale": [0.25, 0]})
    with pytest.raises(InputError) as caught:
        expanded(study)
    message = str(caught.value)
    assert message.startswith("study: passes is 0")
    assert "(and 3 more: " in message
    assert "comm-scale is 0, expected a number above 0" in message
    assert "passes is -1" in message
    assert "scale is 0" in message
    assert "\n" not in message


@pytest.mark.parametrize(("said", "seconds"), [("10min", 600.0), ("1.5h", 5400.0), ("90s", 90.0), ("5ms", 0.005)])
def test_wall_time_may_be_minutes_and_hours(said: str, seconds: float) -> None:
    limits = read_study({**study_of(), "limits": {"wall_time": said}}).config.limits
    assert limits is not None
    assert limits.limits is not None
    assert limits.limits.wall_seconds == seconds


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, study_of({"system": "nowhere.yaml"}))
    with pytest.raises(InputError, match=r"study.yaml:3: key 'system': .*nowhere.yaml: no such file"):
        expand(read_study(path))


def test_a_part_without_a_network_is_told() -> None:
    study: dict[str, Any] = study_of()
    del study["base"]["network"]
    with pytest.raises(InputError, match="key 'network' is missing: name a file"):
        expanded(study)


def test_a_column_can_t_have_the_name_of_another() -> None:
    for name in ("seed", "finish_us"):
        study = study_of(one={"axes": {"passes": [1]}, "names": {"passes": name}})
        with pytest.raises(InputError, match=f"a column '{name}' is there already"):
            read_study(study)


def test_the_schema_has_every_key_and_kind() -> None:
    schema = schema_of("study")
    assert {"title", "base", "seeds", "limits", "names", "presets", "parts"} == set(schema["properties"])
    assert set(FIGURE_KINDS) == {"bars", "stacked", "lines", "heatmap", "layers", "table"}
    assert {"kind", "x", "y", "by", "panels", "relative_to", "log", "title"} == set(
        schema["$defs"]["FigureConfig"]["properties"]
    )
