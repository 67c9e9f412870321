"""Every model file that comes with the program, made smaller, is trained over TCP, RoCE and the analytical network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.lengths import some_slow
from support.many_networks import system_for

import astra_ns3
from astra_ns3.config.core.compatibility import OURS
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.forecasting.expected import expected_run
from astra_ns3.playing.training.making import training_programs
from astra_ns3.playing.training.model_summary import summary_of
from astra_ns3.report.page.page import report_page
from astra_ns3.report.summary import run_text
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload, read_model

FOLDER = Path(__file__).resolve().parents[2] / "inputs" / "workload" / "models"
FILES = sorted(file.stem for file in FOLDER.glob("*.yaml"))
NPUS = 8
COMM_SCALE = 1e-4
"""So that packets are thousands, not millions."""
ROUNDED_US = 2e-6
"""Two numbers to the picosecond, as floats."""
SMALLER: dict[str, dict[str, Any]] = {
    "transformer": {"model.layers": 4, "training.micro_batches": 2},
    "convolution": {},
    "recurrent": {},
    "dlrm": {},
    "gemms": {"parallel.tensor": 2},
}
DEGREES = ("tensor", "pipeline", "expert")


def small(name: str) -> ModelWorkload:
    """Fewer layers, and every degree above 1 is 2."""
    model = read_model(FOLDER / f"{name}.yaml")
    values = dict(SMALLER[model.file.kind])
    values |= {f"parallel.{degree}": 2 for degree in DEGREES if getattr(model.file.parallel, degree) > 1}
    if name == "deepseek-v3":
        values |= {"model.experts.first_dense": 1, "model.experts.count": 16}
    return changed(model, values).scaled(COMM_SCALE, 1.0)


def network(transport: str) -> dict[str, Any]:
    wires = {"link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "32MiB", "pfc": {}}}
    return {
        "topology": {"kind": "single-switch", "npus": NPUS, "npus_per_host": 1, **wires},
        "transport": {"kind": transport},
    }


WAYS = [(name, how) for name in FILES for how in ("roce", "tcp", "analytical")]
QUICK = [(name, how) for name, how in WAYS if how == "roce" or name.startswith(("resnet-50", "dlrm", "llama-3-8b"))]


@pytest.mark.parametrize(("name", "how"), some_slow(WAYS, QUICK))
def test_a_smaller_model_is_trained(name: str, how: str) -> None:
    model = small(name)
    result = astra_ns3.run(
        workload=model,
        system=system_for(1),
        network=parse_network(network("roce" if how == "analytical" else how)),
        backend="analytical" if how == "analytical" else "ns3",
        record=["flows"],
    )
    assert result.complete
    programs = training_programs(model.plan(NPUS), model.clock(), 1, (NPUS,))
    expected = expected_run(programs, system_for(1), None, OURS)
    assert result.metadata["statistics"]["messages"] == sum(
        play.count * len(play.groups) * play.schedule.messages for play in expected.plays
    )
    assert int(result.flows["bytes"].sum()) == expected.bytes
    npus = result.npus
    assert (npus["compute_us"] + npus["exposed_us"] - npus["finish_us"]).abs().max() < ROUNDED_US
    # Nobody is done before the stage that computes longest.
    assert result.finish_ps >= max(stage.compute_ps for stage in summary_of(model, (NPUS,)).stages)


def _two_layers(zero: int, **options: Any) -> astra_ns3.Result:
    """Llama-3 8B with two layers, eight copies whose optimizer is sharded."""
    given = {
        "model.layers": 2,
        "parallel.tensor": 1,
        "parallel.pipeline": 1,
        "parallel.zero": zero,
        "training.micro_batches": 1,
    }
    model = changed(read_model(FOLDER / "llama-3-8b.yaml"), given)
    plain = parse_network(network("roce"))
    return astra_ns3.run(workload=model, system=system_for(1), network=plain, backend="analytical-queues", **options)


def test_a_single_pass_says_that_the_next_one_may_hide_the_gathering_of_weights() -> None:
    one, two = _two_layers(1), _two_layers(1, passes=2)
    assert two.finish_ps < 2 * one.finish_ps
    told = "for updated weights (zero 1), which a next pass may hide: try --passes 2"
    three = _two_layers(3)
    pages = {name: report_page([each], {}) for name, each in (("one", one), ("two", two), ("three", three))}
    for text in (run_text(one.metadata, None), astra_ns3.explain(one).text(), pages["one"]):
        assert re.search(rf"at the end\W.*waits [0-9.]+ ms {re.escape(told)}", text)
    assert re.search(rf"at the end, A waits [0-9.]+ ms {re.escape(told)}", astra_ns3.compare(one, three).text())
    for each in (two, three):
        assert "at the end" not in run_text(each.metadata, None) + astra_ns3.explain(each).text()
    assert "at the end" not in pages["two"] + pages["three"] + astra_ns3.compare(two, three).text()


def test_a_page_names_the_parts_of_layers_that_only_models_have(tmp_path: Path) -> None:
    result = _two_layers(1, record=["layers"], output=tmp_path / "run")
    page = report_page([result], {})
    assert {f'"{name}"' for name in ("compute, update", "exposed, gradient", "compute, forward")} <= set(
        re.findall(r'"(?:compute|exposed), [a-z ]+"', page)
    )
    only = _two_layers(1, output=tmp_path / "bare")
    assert '"compute, update"' not in report_page([only], {})
