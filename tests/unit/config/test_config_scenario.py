"""A scenario's file: strict, with errors that name file, line and key, and the nearest that is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.documents.schemas import schema_of

from astra_ns3.config.scenario.file import read_scenario
from astra_ns3.config.scenario.keys import rate_of
from astra_ns3.errors import InputError
from astra_ns3.workload.files.workload_formats import read_workload

HEAD = """network: n.yaml
jobs:
  - name: a
    workload: w.txt
    system: s.txt
"""
JOB = HEAD + "    npus: [0, 1]\n"
SECOND = JOB + "  - {name: b, workload: w.txt, system: s.txt, npus: %s}\n"
EVENT = JOB + "events:\n  - {at: 1us, link: 0, up: off}\n  - %s\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("n.yaml", "w.txt", "s.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    return tmp_path / "scenario.yaml"


def test_a_file_is_read_with_its_units_and_paths_beside_it(file: Path) -> None:
    file.write_text(
        JOB + "    start: 2us\n    set: {workload.loop: DATA}\n"
        "  - {name: b, workload: w.txt, system: s.txt, npus: {place: random, count: 3, seed: 9}}\n"
        "events:\n  - {at: 1us, link: [leaf 0, spine 1], rate: 25%, for: 2us, every: 5us, times: 4}\n",
        encoding="utf-8",
    )
    config = read_scenario(file).config
    one, other = config.jobs
    assert (config.network, one.workload) == (str(file.parent / "n.yaml"), str(file.parent / "w.txt"))
    assert (one.npus, one.start, one.changes, one.passes) == ((0, 1), 2_000_000, {"workload.loop": "DATA"}, 1)
    assert (one.count, other.count) == (2, 3)
    (event,) = config.events
    assert [start // 1_000_000 for start in event.starts_ps] == [1, 6, 11, 16]
    assert (event.link, event.rate, event.target) == (("leaf 0", "spine 1"), "25%", "link")


@pytest.mark.parametrize(
    ("given", "expected"), [("[3, 8-10]", (3, 8, 9, 10)), ("7", (7,)), ("4-5", (4, 5)), ("6-6", (6,))]
)
def test_npus_are_numbers_and_ranges_in_their_order(file: Path, given: str, expected: tuple[int, ...]) -> None:
    file.write_text(SECOND % given, encoding="utf-8")
    assert read_scenario(file).config.jobs[1].npus == expected


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (SECOND % "[5, 1]", 7, "key 'jobs.1.npus': NPU 1 is of job 'a', expected a free one"),
        (SECOND % "[5, 5]", 7, "key 'jobs.1.npus': names NPU 5 twice, expected each once"),
        (SECOND % "[]", 7, "key 'jobs.1.npus': names no NPU, expected at least one"),
        (SECOND % "[-1]", 7, "key 'jobs.1.npus': found -1, expected numbers of NPUs, ranges of them as 8-15, or {plac"),
        (SECOND % "null", 7, "key 'jobs.1': job 'b' has no npus, which are all of them; expected some, beside other"),
        (SECOND.replace("name: b", "name: a") % "[5]", 7, "key 'jobs.1.name': found 'a' twice, expected a new name"),
        (SECOND % "{place: packt, count: 3}", 7, "key 'jobs.1.npus.place': found 'packt', allowed: packed, spread, "
         "random, fragmented, rack, rail; did you mean 'packed'?"),
        (SECOND % "{place: rack, count: 3, seed: 2}", 7, "key 'jobs.1.npus.seed': is of no use to place: rack, which "
         "draws nothing; expected random or fragmented"),
        (JOB + "    start: -3us\n", 7, "key 'jobs.0.start': '-3us' is not a time: write a number that is not negative"),
        (JOB + "    star: 3us\n", 7, "key 'jobs.0.star': unknown key; allowed: name, workload, system, set, npus, sta"),
        (JOB + "    dimensions: [3]\n", 7, "key 'jobs.0.dimensions': [3] make 3 NPUs, the job has 2"),
        (JOB + "    set: {network.topology.npus: 3}\n", 7, "key 'jobs.0.set.network.topology.npus': is no key of the "
         "job's files, expected workload.KEY or system.KEY"),
        (JOB + "    compute-slowdown: none.yaml\n", 7, "key 'jobs.0.compute-slowdown': found 'none.yaml', expected a "
         "file; there is no "),
        (EVENT % "{at: -2us, link: 0, up: off}", 9, "key 'events.1.at': '-2us' is not a time: write a number that is"),
        (EVENT % "{link: 0, up: off}", 9, "key 'events.1.at' is missing"),
        (EVENT % "{at: 1us, up: off}", 9, "key 'events.1.link': found none of them, expected one of link, switch, npu"),
        (EVENT % "{at: 1us, link: 0, nic: 3, up: off}", 9, "key 'events.1.nic': found link and nic, expected one of"),
        (EVENT % "{at: 1us, link: [leaf 0], up: off}", 9, "key 'events.1.link': found ['leaf 0'], expected both ends"),
        (EVENT % "{at: 1us, link: 0}", 9, "key 'events.1.link': nothing changes, expected one of up, rate, delay, err"),
        (EVENT % "{at: 1us, switch: 0, rate: 50%}", 9, "key 'events.1.rate': is of a link or a nic, expected up or ecn "
         "or buffer or pfc of a switch"),
        (EVENT % "{at: 1us, link: 0, rate: 0%}", 9, "key 'events.1.rate': found '0%', expected more than 0% (or up: f"),
        (EVENT % "{at: 1us, link: 0, rate: 50}", 9, "key 'events.1.rate': 50 has no unit and would be 50 bits per sec"),
        (EVENT % "{at: 1us, link: 0, error_rate: 0.5}", 9, "key 'events.1.error_rate': unknown key; allowed: at, for,"),
        (EVENT % "{at: 1us, link: 0, error-rate: 1}", 9, "key 'events.1.error-rate': found 1, expected less than 1"),
        (EVENT % "{at: 1us, link: 0, up: off, for: 0}", 9, "key 'events.1.for': found 0, expected greater than 0"),
        (EVENT % "{at: 1us, link: 0, up: off, every: 3us}", 9, "key 'events.1.every': has no end, expected times: NUM"),
        (EVENT % "{at: 1us, link: 0, up: off, times: 3}", 9, "key 'events.1.times': says how often, expected every: T"),
        (EVENT % "{at: 1us, link: 0, up: off, every: 3us, times: 3}", 9, "key 'events.1.every': changes nothing the s"),
        (EVENT % "{at: 1us, link: 0, up: off, for: 3us, every: 3us, times: 3}", 9, "key 'events.1.for': is not below "),
        (EVENT % "{at: 1us, link: 0, up: off, for: 1us, every: 3us, times: 100000}", 7, "key 'events': come 100,001 t"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_file_line_and_key(file: Path, text: str, line: int, message: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_scenario(file)
    assert str(caught.value).startswith(f"{file}:{line}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["et", "json"])
def test_a_workload_may_be_the_prefix_of_a_traces_files_and_a_system_may_not(file: Path, ending: str) -> None:
    (file.parent / f"trace.0.{ending}").touch()
    file.write_text(JOB.replace("w.txt", "trace"), encoding="utf-8")
    assert read_scenario(file).config.jobs[0].workload == str(file.parent / "trace")
    for old, new in (("w.txt", "trac"), ("s.txt", "trace")):
        file.write_text(JOB.replace(old, new), encoding="utf-8")
        with pytest.raises(InputError, match=f"found '{new}', expected a file; there is no "):
            read_scenario(file)


def test_keys_may_come_from_python(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    given = {"jobs": [{"name": "a", "workload": "w.txt", "system": "s.txt"}]}
    found = read_scenario(given)
    assert found.config.jobs[0].workload == "w.txt"
    assert read_scenario(found) is found
    with pytest.raises(InputError, match="the scenario is 3, expected the path of a file or a mapping as in one"):
        read_scenario(3)  # type: ignore[arg-type]


def test_a_scenario_is_told_from_other_files(file: Path) -> None:
    file.write_text(JOB, encoding="utf-8")
    with pytest.raises(InputError, match="is a scenario's file, expected a workload; give it as --scenario"):
        read_workload(file)
    network = Path(__file__).parents[3] / "inputs" / "network" / "roce-16.yaml"
    with pytest.raises(InputError, match="is a network file, expected a scenario's file; give it as -n, --network"):
        read_scenario(network)


def test_a_share_of_a_rate_is_a_whole_number_of_bits() -> None:
    assert (rate_of("50%", 10**11), rate_of("12.5%", 10**11), rate_of(7, 10**11)) == (5 * 10**10, 125 * 10**8, 7)
    assert (rate_of("33.3%", 100), rate_of("0.1%", 100)) == (33, 1)


def test_the_schema_has_every_key() -> None:
    schema = schema_of("scenario")
    assert set(schema["properties"]) == {
        "network",
        "jobs",
        "arrivals",
        "traffic",
        "events",
        "failures",
        "recovery",
    }
    assert {"for", "every", "times", "error-rate"} <= set(schema["$defs"]["EventConfig"]["properties"])
    assert {"set", "start", "compute-slowdown"} <= set(schema["$defs"]["JobConfig"]["properties"])
