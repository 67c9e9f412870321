"""Policies of detection and recovery: when turns of links are known, by formulas, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.scenario import recovery as recovery_keys
from astra_ns3.config.scenario.file import read_scenario
from astra_ns3.errors import InputError
from astra_ns3.scenario.recovery.policies import DETECTIONS, ROUTES, reaction_of
from astra_ns3.topology.reactions import Known, LinkTurn

MS, US = 10**9, 10**6


def known(turn: LinkTurn, seed: int = 1, folder: Path | None = None, **keys: Any) -> Known:
    if folder is None:
        config = read_scenario({"recovery": keys}).config
    else:
        file = folder / "scenario.yaml"
        file.write_text(f"recovery: {keys}", encoding="utf-8")
        config = read_scenario(file).config
    reaction = reaction_of(config.recovery, seed)
    return Known(turn.time_ps, turn.time_ps, turn.time_ps) if reaction is None else reaction(turn)


def test_without_keys_all_is_known_at_once() -> None:
    assert reaction_of(read_scenario({}).config.recovery, 1) is None
    words: dict[str, Any] = {"detection": "loss-of-signal", "routes": {"kind": "at-once"}}
    assert reaction_of(read_scenario({"recovery": words}).config.recovery, 1) is None


@given(time_ps=st.integers(0, 10**12), interval_us=st.integers(1, 5_000), multiplier=st.integers(1, 10))
def test_a_failure_is_noticed_after_the_last_of_the_missing_hellos(
    time_ps: int, interval_us: int, multiplier: int
) -> None:
    hello = {"kind": "hello", "interval": f"{interval_us}us", "multiplier": multiplier}
    interval_ps = interval_us * US
    down = known(LinkTurn(3, time_ps, up=False), detection=hello).noticed_ps - time_ps
    assert (multiplier - 1) * interval_ps < down <= multiplier * interval_ps
    up = known(LinkTurn(3, time_ps, up=True), detection=hello).noticed_ps - time_ps
    assert 0 <= up < interval_ps
    assert (down - up) % interval_ps == 0  # both are hellos of the same link


def test_links_say_hello_at_moments_of_their_own_which_the_seed_draws() -> None:
    hello = {"kind": "hello", "interval": "1ms"}
    of_links = {known(LinkTurn(link, 0, up=False), detection=hello).noticed_ps for link in range(50)}
    assert len(of_links) == 50
    other = known(LinkTurn(0, 0, up=False), seed=2, detection=hello)
    assert other.noticed_ps not in of_links
    assert other == known(LinkTurn(0, 0, up=False), seed=1, detection={**hello, "seed": 2})


def test_routes_converge_so_long_after_the_ends_noticed() -> None:
    turn = LinkTurn(0, 5 * US, up=False)
    routes = {"kind": "converge", "after": "200ms", "local-repair": "50us"}
    assert known(turn, routes=routes) == Known(5 * US, 55 * US, 5 * US + 200 * MS)
    assert known(turn, routes={"kind": "converge", "after": "1ms"}) == Known(5 * US, 5 * US + MS, 5 * US + MS)


def test_every_kind_of_a_file_is_registered_and_the_other_way_round() -> None:
    for union, registry in ((recovery_keys.Detection, DETECTIONS), (recovery_keys.Routes, ROUTES)):
        tags = {get_args(each)[1].tag for each in get_args(get_args(union)[0])}
        assert tags - {recovery_keys.OWN} == set(registry)


OWN = """
def slow(turn, after):
    return turn.time_ps + (after if not turn.up else 0)

def routes(turn, noticed_ps, local, all):
    return noticed_ps + local, noticed_ps + all

def early(turn):
    return turn.time_ps - 1

def odd(turn, noticed_ps):
    return [noticed_ps]
"""


def test_policies_of_the_users_are_functions_in_a_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    turn = LinkTurn(0, 7, up=False)
    slow = {"kind": "mine.py:slow", "parameters": {"after": "3ns"}}
    routes = {"kind": "mine.py:routes", "parameters": {"local": 1, "all": 9}}
    assert known(turn, folder=tmp_path, detection=slow, routes=routes) == Known(3007, 3008, 3016)
    with pytest.raises(InputError, match=r"mine\.py:early: gave 6, expected picoseconds, 7 or later"):
        known(turn, folder=tmp_path, detection="mine.py:early")
    with pytest.raises(InputError, match=r"mine\.py:odd: gave a list, expected a pair of picoseconds, 7 or later"):
        known(turn, folder=tmp_path, routes="mine.py:odd")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"detection": "helo"}, "did you mean 'hello'?"),
        ({"detection": {"kind": "hello"}}, "interval"),
        ({"detection": {"kind": "hello", "interval": "0s"}}, "interval"),
        (
            {"detection": {"kind": "hello", "interval": "1ms", "multipler": 3}},
            "did you mean 'recovery.detection.multiplier'?",
        ),
        ({"routes": "convergence"}, "did you mean 'converge'?"),
        ({"routes": {"kind": "converge", "after": "-1us"}}, "after"),
        ({"routes": {"kind": "converge", "after": "1us", "local-repair": "2us"}}, "local-repair"),
        ({"detection": "nowhere.py:mine"}, "no such policy file"),
        ({"detections": "hello"}, "did you mean 'recovery.detection'?"),
    ],
)
def test_policies_that_are_not_there_are_refused_with_the_nearest_word(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        known(LinkTurn(0, 0, up=False), **keys)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
