"""Jobs and other traffic whose messages travel in priorities of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract.test_scenario_files import Files, leaf_spine

from astra_ns3 import ScenarioResult
from astra_ns3.errors import InputError

FRAME_PS = 86_560
"""A full packet of 1,000 bytes with 82 around them, at 100 Gb/s."""
SIZE = 4_000_000
HIGH, LOW = 5, 2
WAYS: dict[str, dict[str, Any]] = {
    "one": {},
    "of messages": {"queue_pairs": "per-message"},
    "in parts": {"queue_pairs_per_pair": 2, "queue_pair_use": "split"},
}
"""How messages use queue pairs."""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def network(hosts: int = 2, scheduler: dict[str, Any] | None = None, **transport: Any) -> dict[str, Any]:
    found = leaf_spine(spines=1, hosts=hosts, congestion_control="none", **transport)
    switch = {"buffer": "32MB", "pfc": {"priorities": [LOW, HIGH]}, "scheduler": scheduler or {"kind": "strict"}}
    found["topology"]["switch"] = switch
    return found


def flow(files: Files, size: int) -> str:
    return files.write(f"flow-{size}.csv", f"source,destination,bytes,start\n0,1,{size},0ns\n")


def finishes(result: ScenarioResult) -> dict[str, int]:
    return {name: tenant.finish_ps for name, tenant in result.tenants.items()}


@pytest.mark.parametrize("way", WAYS)
def test_the_higher_of_two_jobs_on_a_line_gets_what_it_gets_alone_and_the_lower_the_rest(
    files: Files, way: str
) -> None:
    on = network(**WAYS[way])
    high = files.job("high", flow(files, SIZE), npus=[0, 2], priority=HIGH)
    low = files.job("low", flow(files, SIZE), npus=[1, 3], priority=LOW)
    both = finishes(files.play(on, [low, high]))
    alone = finishes(files.play(on, [high]))
    assert 0 <= both["high"] - alone["high"] <= FRAME_PS
    # The line is never idle, so the last of all packets leaves when it would of one flow of them all.
    whole = finishes(files.play(on, [files.job("low", flow(files, 2 * SIZE), npus=[1, 3], priority=LOW)]))
    assert both["low"] == pytest.approx(whole["low"], abs=2 * FRAME_PS)
    same = finishes(files.play(on, [{**low, "priority": HIGH}, high]))
    assert same["high"] > 1.9 * alone["high"]


@pytest.mark.parametrize("weights", [(3, 1), (5, 2), (1, 1)])
def test_weights_share_a_line_between_two_jobs(files: Files, weights: tuple[int, int]) -> None:
    large, small = weights
    scheduler = {"kind": "dwrr", "weights": [1, 1, small, 1, 1, large, 1, 1]}
    jobs = [
        files.job(name, flow(files, SIZE), npus=npus, priority=priority)
        for name, npus, priority in (("large", [0, 2], HIGH), ("small", [1, 3], LOW))
    ]
    on = network(scheduler=scheduler)
    both = finishes(files.play(on, jobs))
    alone = finishes(files.play(on, jobs[:1]))["large"]
    # Until the one ends, the other has sent small / large of what that has.
    assert both["large"] / alone == pytest.approx(1 + small / large, rel=0.02)


def test_pauses_of_one_priority_stop_no_other(files: Files) -> None:
    # NPUs 0 and 4 both send to 3, so the uplink of the leaf of 0, which 1 shares, is stopped again and again.
    fan_in = files.write("fan-in.csv", f"source,destination,bytes,start\n0,2,{SIZE},0ns\n1,2,{SIZE},0ns\n")
    on = network(hosts=3)
    on["topology"]["switch"]["buffer"] = "1MB"
    free = files.job("free", flow(files, SIZE // 4), npus=[1, 5], priority=HIGH)
    held = files.job("held", fan_in, npus=[0, 4, 3], priority=LOW)
    apart = files.play(on, [held, free])
    alone = finishes(files.play(on, [free]))["free"]
    assert apart.metadata["statistics"]["pauses"] > 100
    assert apart.metadata["statistics"]["dropped_frames"] == 0
    assert 0 <= finishes(apart)["free"] - alone <= 2 * FRAME_PS
    together = finishes(files.play(on, [held, {**free, "priority": LOW}]))["free"]
    assert together > 1.5 * alone


ACK_SHARE = 86 / 1082
"""Of a line that an acknowledgement for each packet of the other direction takes."""


@pytest.mark.parametrize(
    ("npus", "most_share"),
    [([1, 3], 0.0), ([0, 2], ACK_SHARE)],  # at the job's own NICs acknowledgements of the others go first
)
def test_traffic_of_a_lower_priority_leaves_a_job_its_line(files: Files, npus: list[int], most_share: float) -> None:
    on = network()
    job = files.job("job", flow(files, SIZE), npus=[0, 2], priority=HIGH)
    keys = {"kind": "constant", "sizes": "100KB", "load": 0.9, "npus": npus, "end": "400us"}

    def beside(priority: int) -> int:
        found = files.play_with(on, [job], [{"name": "others", **keys, "priority": priority}])
        return int(found.tenants["job"].finish_ps)

    alone = finishes(files.play(on, [job]))["job"]
    # At the NIC and at each of three switches a frame of the others may just have begun.
    assert 0 <= beside(LOW) - alone <= most_share * alone + 4 * FRAME_PS
    assert beside(HIGH) > 1.3 * alone


def test_a_job_says_its_priority_in_its_document(files: Files) -> None:
    jobs = [files.job("lowest", npus=[0, 2], priority=0), files.job("usual", npus=[1, 3])]
    result = files.play(network(hosts=3), [*jobs, files.job("high", npus=[4, 5], priority=HIGH)])
    assert [job.get("priority") for job in result.metadata["jobs"]] == [0, None, HIGH]


@pytest.mark.parametrize(
    ("transport", "backend", "words"),
    [
        ("tcp", "ns3", "job 'a': priority 5 has no meaning with transport tcp, expected roce"),
        ("roce", "flow", "job 'a': priority 5 has no meaning on the backend flow, expected ns3"),
        ("roce", "analytical", "job 'a': priority 5 has no meaning on the backend analytical, expected ns3"),
    ],
)
def test_a_priority_is_refused_where_there_are_none(files: Files, transport: str, backend: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"scenario.yaml:\d+: {words}"):
        files.play(leaf_spine(transport), [files.job("a", priority=HIGH)], backend=backend)


@pytest.mark.parametrize(("held", "other"), [(LOW, HIGH), (HIGH, LOW)])
def test_a_priority_that_pfc_does_not_hold_for_is_warned_of(files: Files, held: int, other: int) -> None:
    on = network()
    on["topology"]["switch"]["pfc"] = {"priorities": [held]}
    result = files.play(on, [files.job("a", npus=[0, 2], priority=other), files.job("b", npus=[1, 3], priority=held)])
    (warning,) = (words for words in result.metadata["warnings"] if "priorities: [2, 5]" in words)
    assert f"job 'a': pfc of a switch holds for priority {held}, messages have {other}" in warning


@pytest.mark.parametrize(("other", "warned"), [(HIGH, False), (None, True)])
def test_the_transport_s_own_priority_counts_only_where_a_job_has_it(
    files: Files, other: int | None, warned: bool
) -> None:
    on = network()
    on["topology"]["switch"]["pfc"] = {"priorities": [HIGH]}
    own: dict[str, Any] = {} if other is None else {"priority": other}
    result = files.play(on, [files.job("a", npus=[0, 2], priority=HIGH), files.job("b", npus=[1, 3], **own)])
    assert any("can be lost" in words for words in result.metadata["warnings"]) == warned
