"""The table ``nccl`` of a system file."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.system.file import read_system


def read(tmp_path: Path, text: str, name: str = "system.yaml") -> SystemConfig:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_system(tmp_path / name)


def table(tmp_path: Path, words: str) -> NcclConfig:
    found = read(tmp_path, f"collectives: nccl\nnccl: {{{words}}}\n").nccl
    assert found is not None
    return found


def test_absent_keys_have_defaults(tmp_path: Path) -> None:
    """What else a system file needs is nothing that NCCL uses."""
    system = read(tmp_path, "collectives: nccl\n")
    assert system.plays_nccl
    assert system.nccl is None
    found = table(tmp_path, "")
    assert (found.version, found.server, found.host_overhead_us, found.nic_efficiency) == ("2.30", None, 0.0, 1.0)
    assert (found.channels, dict(found.environment)) == (None, {})


def test_keys_arrive(tmp_path: Path) -> None:
    found = table(tmp_path, "version: 2.26, server: dgx-h100, host-overhead: 3.5, nic-efficiency: 0.9, channels: each")
    assert (str(found.parsed_version), found.server) == ("2.26", "dgx-h100")
    assert (found.host_overhead_us, found.nic_efficiency, found.channels) == (3.5, 0.9, "each")


def test_variables_stand_beside_the_keys_or_in_a_table_of_their_own(tmp_path: Path) -> None:
    beside = table(tmp_path, "NCCL_ALGO: Ring, NCCL_MIN_CTAS: 4")
    inside = table(tmp_path, "environment: {NCCL_ALGO: Ring, NCCL_MIN_CTAS: 4}")
    both = table(tmp_path, "environment: {NCCL_ALGO: Tree, NCCL_MIN_CTAS: 4}, NCCL_ALGO: Ring")
    assert beside.variables == inside.variables == both.variables
    assert (beside.variables.algo, beside.variables.min_ctas) == ("Ring", 4)


@pytest.mark.parametrize("text", ["2.26", "'2.26'", "2.26.2", "22602", "'2.30'", "v2.30.7-1"])
def test_versions_are_taken_as_text_or_numbers(tmp_path: Path, text: str) -> None:
    minor = 30 if "30" in text else 26
    assert table(tmp_path, f"version: {text}").parsed_version.minor == minor


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 2.30", r"key 'nccl\.version': found 2\.3, which may be 2\.30, too; write it as text, as '2\.30'"),
        ("version: 2.2", r"key 'nccl\.version': found 2\.2, which may be 2\.20, too"),
        ("version: two", r"key 'nccl': NCCL version: found 'two', expected a version of NCCL"),
        ("version: true", r"key 'nccl\.version'"),
        ("server: dgx-h10", r"key 'nccl': server 'dgx-h10' is not one of .*; did you mean 'dgx-h100'\?"),
        ("NCCL_ALGOS: Ring", r"key 'nccl': found 'NCCL_ALGOS', .*; did you mean 'NCCL_ALGO'\?"),
        ("NCCL_ALGO: Rings", r"key 'nccl': NCCL_ALGO"),
        ("NCCL_PROTO: '^LL,LL128,Simple'", r"key 'nccl': NCCL_PROTO: list .* allows nothing"),
        ("NCCL_MIN_CTAS: 65", r"key 'nccl': NCCL_MIN_CTAS"),
        ("NCCL_ALGO: [Ring]", r"key 'nccl\.NCCL_ALGO': found \['Ring'\], expected a valid string"),
        ("environment: 3", r"key 'nccl\.environment': found 3"),
        ("nic-efficiency: 0", r"key 'nccl\.nic-efficiency': found 0, expected greater than 0\.01"),
        ("nic-efficiency: 1.1", r"key 'nccl\.nic-efficiency': found 1\.1"),
        ("host-overhead: -1", r"key 'nccl\.host-overhead': found -1"),
        ("channels: all", r"key 'nccl\.channels': found 'all', allowed: each, merged"),
        ("chanels: each", r"key 'nccl\.chanels': unknown key; allowed: .*; did you mean 'nccl\.channels'\?"),
    ],
)
def test_wrong_keys_are_one_line_with_their_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"system\.yaml:2: {words}") as raised:
        table(tmp_path, text)
    assert "\n" not in str(raised.value)


def test_the_table_has_no_effect_on_other_collectives(tmp_path: Path) -> None:
    words = r"system\.yaml:3: key 'nccl': has no effect without 'collectives: nccl'; add that, or leave it out"
    for more in ("", "collectives: astra-sim\n"):
        with pytest.raises(InputError, match=words):
            read(tmp_path, f"scheduling-policy: LIFO\npreferred-dataset-splits: 1\nnccl: {{}}\n{more}")


def test_other_collectives_still_need_their_keys(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="key 'scheduling-policy' is missing"):
        read(tmp_path, "collectives: astra-sim\n")


def test_what_is_asked_for_and_is_not_done_is_one_line_each(tmp_path: Path) -> None:
    words = "version: '2.31', NCCL_COLLNET_ENABLE: 1, NCCL_DEBUG: INFO, NCCL_IB_HCA: mlx5, NCCL_IB_ADAPTIVE_ROUTING: 1"
    expected = (
        "key 'nccl.version': the rules of 2.31 aren't known; those of 2.30 decide",
        "key 'nccl': without effect here: NCCL_DEBUG, NCCL_IB_HCA, NCCL_IB_ADAPTIVE_ROUTING",
    )
    assert table(tmp_path, words).warnings == expected
    assert read(tmp_path, f"collectives: nccl\nnccl: {{{words}}}\n").warnings == expected


def test_what_is_done_is_no_warning(tmp_path: Path) -> None:
    """Also NCCL's own defaults of what isn't modelled, and versions under any of their names."""
    words = "version: 22602, NCCL_ALGO: Ring, NCCL_COLLNET_ENABLE: 0, NCCL_IB_DISABLE: 0, NCCL_DEBUG: ''"
    assert table(tmp_path, words).warnings == ()
    assert read(tmp_path, "collectives: nccl\n").warnings == ()


def test_systems_with_variables_can_be_looked_up(tmp_path: Path) -> None:
    """Runs remember what they found out of each system."""
    one, same, other = (
        read(tmp_path, f"collectives: nccl\nnccl: {{{words}}}\n")
        for words in ("NCCL_ALGO: Ring, NCCL_MIN_CTAS: 4", "NCCL_MIN_CTAS: 4, NCCL_ALGO: Ring", "NCCL_ALGO: Tree")
    )
    assert hash(one) == hash(same)
    assert len({one, same, other}) == 2
