"""Recipes for what is Python alone."""

from __future__ import annotations

from pathlib import Path

from architecture.additions.recipe import Recipe

TESTS = str(Path(__file__).resolve().parents[2])

ALGORITHM = Recipe(
    row="collective algorithm",
    files={
        "astra_ns3/collectives/relay.py": '''"""A broadcast by way of everybody, for a test."""

from astra_ns3.collectives.chain import ring_broadcast
from astra_ns3.collectives.schedule import Schedule


def relay_broadcast(ranks: int) -> Schedule:
    """Around the ring."""
    return ring_broadcast(ranks, ways=(1,))
'''
    },
    lines={
        "astra_ns3/collectives/algorithms.py": (
            ("import bruck, chain,", "import bruck, chain, relay,"),
            (
                '    "bruck": Algorithm(',
                '    "relay": Algorithm({CollectiveKind.BROADCAST: (relay.relay_broadcast,)}),\n'
                '    "bruck": Algorithm(',
            ),
        )
    },
    check="""
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.collectives.proof import prove
from astra_ns3.collectives.lookup import lookup, pairs
from astra_ns3.system.file import parse_system

prove(lookup(CollectiveKind.BROADCAST, "relay", 8), CollectiveKind.BROADCAST)
assert (CollectiveKind.BROADCAST, "relay") in pairs()
keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
system = {f"{key}-implementation": "relay_ring" for key in keys}
found = parse_system({**system, "scheduling-policy": "LIFO", "preferred-dataset-splits": 1})
assert found.algorithms(CollectiveKind.BROADCAST, 2) == ("relay", "ring")
""",
)

WORKLOAD_FORMAT = Recipe(
    row="format of a workload",
    files={
        "astra_ns3/workload/files/naps.py": '''"""A workload that only computes: a file whose one word is a time."""

from pathlib import Path

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.workload import Layer, Pass, Workload


def fits(path: Path) -> bool:
    """Whether a file's name says so."""
    return path.suffix == ".nap"


def read(path: Path) -> Workload:
    """One layer that computes so many nanoseconds."""
    return Workload("DATA", (Layer("nap", Pass(int(read_text(path))), Pass(0), Pass(0)),), source=str(path))
'''
    },
    lines={
        "astra_ns3/workload/files/workload_formats.py": (
            (
                "from astra_ns3.workload.files.astra_sim import",
                "from astra_ns3.workload.files import naps\nfrom astra_ns3.workload.files.astra_sim import",
            ),
            (
                "FORMATS: tuple[WorkloadFormat, ...] = (",
                'FORMATS: tuple[WorkloadFormat, ...] = (WorkloadFormat("naps", naps.fits, naps.read),) + (',
            ),
        )
    },
    check="""
from pathlib import Path
from astra_ns3.workload.files.workload_formats import read_workload

Path("a.nap").write_text("70")
assert read_workload("a.nap").layers[0].forward.compute_ns == 70
""",
)

WORKLOAD_KIND = Recipe(
    row="kind of workload",
    files={
        "astra_ns3/config/nap.py": '''"""A workload that only computes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Nap:
    """So many nanoseconds."""

    time_ns: int
    source: str = "nap"
''',
        "astra_ns3/playing/loops/nap_driver.py": '''"""Plays naps."""

from astra_ns3.playing.player.programs_driver import ProgramsDriver


class NapDriver(ProgramsDriver):
    """The loop of one layer."""
''',
        "astra_ns3/experiments/jobs/nap.py": '''"""A nap as a job."""

from astra_ns3.config.nap import Nap
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.experiments.jobs.job import Headline
from astra_ns3.experiments.jobs.training import TrainingJob


class NapJob(TrainingJob):
    """As a training loop of one layer."""

    def __init__(self, nap: Nap) -> None:
        super().__init__(Workload("DATA", (Layer("nap", Pass(nap.time_ns), Pass(0), Pass(0)),)))

    def headline(self) -> Headline:
        """A nap."""
        return Headline("nap", 1)
''',
    },
    lines={
        "astra_ns3/experiments/jobs/job_kinds.py": (
            (
                "from astra_ns3.experiments.jobs.training import",
                "from astra_ns3.config.nap import Nap\nfrom astra_ns3.experiments.jobs.nap import NapJob\n"
                "from astra_ns3.experiments.jobs.training import",
            ),
            ("JOBS: dict[type, Callable[[Any], Job]] = {", "JOBS: dict[type, Callable[[Any], Job]] = {Nap: NapJob, "),
        )
    },
    check="""
from astra_ns3.config.nap import Nap
from astra_ns3.experiments.jobs.job_kinds import job_of

assert job_of(Nap(70)).headline()[:2] == ("nap", 1)
""",
)

LOOP = Recipe(
    row="training loop",
    lines={
        "astra_ns3/playing/loops/loops.py": (
            (
                "def distributed_inference(",
                '''def forwards_then_sync(steps: Steps, role: Role) -> Program:
    """Forward passes, and the last layer's weight gradients at the end."""
    for number in steps.passes:
        yield from steps.blocking_forwards(number, steps.forwards)
        yield from steps.issue(number, 0, WEIGHT_GRADIENT)
    yield from steps.drain()


def distributed_inference(''',
            ),
            ('    "MODEL": Loop(', '    "FORWARDS": Loop(forwards_then_sync),\n    "MODEL": Loop('),
        ),
        "astra_ns3/workload/loops/loop_kinds.py": (
            (
                '    "MODEL": LoopKind(',
                '    "FORWARDS": LoopKind(dimensions=data_only, options=_BOTTOM),\n    "MODEL": LoopKind(',
            ),
        ),
    },
    check="""
from astra_ns3.playing.dry_run.counting import collective_requests
from astra_ns3.workload.files.astra_sim import format_workload, parse_workload
from astra_ns3.playing.loops.loop_programs import Programs

text = "FORWARDS 0\\n2\\na -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 64 0\\nb -1 5 NONE 0 5 NONE 0 5 NONE 0 0\\n"
workload = parse_workload(text)
assert workload.last_bottom_layer == 0
assert parse_workload(format_workload(workload)) == workload
(request,) = collective_requests(Programs.of(workload, 1, (4,)))
assert request.bytes == 64
customized = parse_workload("HYBRID_CUSTOMIZED\\n1\\na -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 64 0 FORWARDS\\n")
assert customized.layers[0].policy == "FORWARDS"
""",
)

PIPELINE = Recipe(
    row="order of a pipeline",
    lines={
        "astra_ns3/workload/training/schedules.py": (
            (
                "SCHEDULES: Mapping[",
                '''def one_at_a_time(at: Position) -> Iterator[Work]:
    """Each micro-batch forward and backward before the next."""
    for batch in range(at.micro_batches):
        yield Work(FORWARD, 0, batch)
        yield Work(BACKWARD, 0, batch)


SCHEDULES: Mapping[''',
            ),
            ('    "1f1b": ', '    "one-at-a-time": one_at_a_time,\n    "1f1b": '),
        )
    },
    check="""
from pathlib import Path

from astra_ns3.playing.dry_run.deadlock import check_programs
from astra_ns3.workload.models.workload import read_model
from astra_ns3.playing.training.making import training_programs

Path("model.yaml").write_text(
    "kind: transformer\\nname: small\\nmodel: {layers: 2, hidden: 64, heads: 4, vocabulary: 100}\\n"
    "training: {sequence: 32, micro_batch: 1, micro_batches: 3}\\ncompute: A100-80GB\\n"
    "parallel: {pipeline: 2, schedule: one-at-a-time}\\n"
)
model = read_model("model.yaml")
check_programs(training_programs(model.plan(2), model.clock(), 1, (2,)))
""",
)

MODEL_KIND = Recipe(
    row="kind of model",
    files={
        "astra_ns3/config/model/square.py": '''"""A square matrix."""

from typing import Literal

from astra_ns3.config.core.model import ConfigModel, Count
from astra_ns3.config.model.base import ModelBase
from astra_ns3.config.model.training import Training


class SquareShape(ConfigModel):
    """Its size."""

    size: Count


class SquareFile(ModelBase):
    """``kind: square``."""

    kind: Literal["square"]
    model: SquareShape
    training: Training = Training()
''',
        "astra_ns3/workload/models/square.py": '''"""A square matrix, data parallel."""

from astra_ns3.config.model.square import SquareFile
from astra_ns3.config.training_plan import Degrees
from astra_ns3.workload.models.sized_operations import Linear
from astra_ns3.workload.models.parts import Parts, Totals
from astra_ns3.workload.models.piece import Piece, block_of


def square_parts(file: SquareFile, degrees: Degrees) -> Parts:
    """One block."""
    size = file.model.size
    product = Linear("square", file.training.micro_batch, size, size, file.training.value_bytes)
    piece = Piece((product.forward,), (), (product.weight_gradient,), parameters=size * size)
    return Parts((block_of("square", (piece,)),))


def square_totals(file: SquareFile) -> Totals:
    """Of the matrix."""
    size = file.model.size
    return Totals(size * size, size * size, 2 * size * size, 1, "row")
''',
    },
    lines={
        "astra_ns3/config/model/file.py": (
            (
                "from astra_ns3.config.model.transformer",
                "from astra_ns3.config.model.square import SquareFile\nfrom astra_ns3.config.model.transformer",
            ),
            ("ModelFile = TransformerFile", "ModelFile = SquareFile | TransformerFile"),
        ),
        "astra_ns3/workload/models/model_kinds.py": (
            (
                "from astra_ns3.workload.models.transformer.build",
                "from astra_ns3.workload.models.square import square_parts, square_totals\n"
                "from astra_ns3.workload.models.transformer.build",
            ),
            ('    "transformer": ', '    "square": ModelKind(square_parts, square_totals),\n    "transformer": '),
        ),
    },
    check="""
from pathlib import Path

from astra_ns3.playing.dry_run.deadlock import check_programs
from astra_ns3.workload.models.workload import read_model
from astra_ns3.playing.training.making import training_programs

Path("model.yaml").write_text("kind: square\\nname: small\\nmodel: {size: 64}\\n")
model = read_model("model.yaml")
check_programs(training_programs(model.plan(2), model.clock(), 1, (2,)))
assert model.totals().parameters == 64 * 64
""",
)

POLICY = Recipe(
    row="scheduling policy",
    lines={
        "astra_ns3/system/policies.py": (
            (
                "USUAL_POLICIES: Mapping",
                '''def smallest(counter: int, request: CollectiveRequest) -> tuple[int, int]:
    """The smallest collective goes first."""
    return -request.bytes, counter


USUAL_POLICIES: Mapping''',
            ),
            ('"EXPLICIT": explicit}', '"EXPLICIT": explicit, "SMALLEST": smallest}'),
        )
    },
    check="""
from astra_ns3.system.file import parse_system
from astra_ns3.system.policies import POLICIES

keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
system = {f"{key}-implementation": "ring" for key in keys}
found = parse_system({**system, "scheduling-policy": "SMALLEST", "preferred-dataset-splits": 1})
assert found.scheduling_policy in POLICIES
""",
)

OPERATION = Recipe(
    row="operation of a loop",
    lines={
        "astra_ns3/playing/programs/operations.py": (
            (
                "Posting = CollectiveRequest | Send | Receive | Store | Load\n",
                '''@dataclass(frozen=True)
class WaitAll:
    """Go on when all of ``handles`` count as done; the time is booked on the last of them."""

    handles: tuple[Handle, ...]
    tail: bool = False

    @property
    def handle(self) -> Handle:
        """What the time is booked on."""
        return self.handles[-1]

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return all(handle.done for handle in self.handles)


Posting = CollectiveRequest | Send | Receive | Store | Load
''',
            ),
            ("Waiting = Wait | WaitAny\n", "Waiting = Wait | WaitAny | WaitAll\n"),
        ),
    },
    check="""
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import Label
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.playing.dry_run.deadlock import check_programs
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.playing.loops.loops import Loop
from astra_ns3.workload.loops.loop_kinds import LOOPS
from astra_ns3.playing.programs.operations import Waiting, WaitAll
from astra_ns3.playing.loops.loop_programs import Programs


def program(steps, role):
    request = CollectiveRequest(CollectiveKind.ALL_REDUCE, 8, Label(0, 0, "both"))
    handles = [(yield request), (yield request)]
    yield WaitAll(tuple(handles))


assert issubclass(WaitAll, Waiting)
workload = parse_workload("MICRO\\n1\\na -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 64 0\\n")
check_programs(Programs.of(workload, 1, (4,), Loop(program)))
""",
)

RULE = Recipe(
    row="rule of another simulator",
    lines={
        "astra_ns3/config/core/compatibility.py": (
            (
                "    chunks_of_one_size: bool = False\n",
                '    odd_chunks: bool = False\n    """For a test."""\n\n    chunks_of_one_size: bool = False\n',
            ),
            ('    "none": OURS,', '    "none": OURS,\n        "odd": Compatibility(odd_chunks=True),'),
        ),
    },
    check="""
from astra_ns3.config.core.compatibility import preset
assert preset("odd").odd_chunks and not preset("none").odd_chunks
""",
)

TOPOLOGY = Recipe(
    row="topology",
    files={
        "astra_ns3/config/topology/bus.py": '''"""Topology keys: a chain of switches, for a test."""

from __future__ import annotations

from typing import Literal

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import Count
from astra_ns3.config.topology.base import TopologyBase
from astra_ns3.config.topology.switch import SwitchConfig


class Bus(TopologyBase):
    """A host on each switch of a chain."""

    kind: Literal["bus"]
    npus: Count
    link: LinkConfig
    switch: SwitchConfig

    def npu_count(self) -> int:
        """One on each host."""
        return self.npus

    def built_bandwidths(self) -> tuple[float, ...]:
        """The rate of a link."""
        return (float(self.link.rate_bps),)
''',
        "astra_ns3/topology/bus.py": '''"""A chain of switches, for a test."""

from __future__ import annotations

from astra_ns3.config.topology.bus import Bus
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


def bus(config: Bus) -> Graph:
    """Host r hangs on switch r."""
    wiring = Wiring(config.npus)
    first = wiring.switches(config.npus, config.switch, 1, "switch")
    for host in range(config.npus):
        wiring.join(host, first + host, config.link, "link")
        if host:
            wiring.join(first + host - 1, first + host, config.link, "bus")
    return wiring.graph(config)
''',
    },
    lines={
        "astra_ns3/config/topology/kinds.py": (
            (
                "from astra_ns3.config.topology.direct",
                "from astra_ns3.config.topology.bus import Bus\nfrom astra_ns3.config.topology.direct",
            ),
            ("AnyTopology = FlatTopology |", "AnyTopology = Bus | FlatTopology |"),
        ),
        "astra_ns3/topology/builders.py": (
            ("from astra_ns3.topology.clos", "from astra_ns3.topology.bus import bus\nfrom astra_ns3.topology.clos"),
            ('    "leaf-spine": leaf_spine,', '    "bus": bus,\n    "leaf-spine": leaf_spine,'),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.measures import measure

link = {"rate": "100Gbps", "delay": "1us"}
config = parse_network({"topology": {"kind": "bus", "npus": 5, "link": link, "switch": {"buffer": "1MB"}}})
plan = plan_network(config)
assert measure(plan.graph, plan.tables).diameter == 6
""",
)

BACKEND = Recipe(
    row="backend",
    files={
        "astra_ns3/network/analytical/fluid.py": '''"""Flows that share the rates of links, for a test."""

from __future__ import annotations

from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.plan import AnyPlan


class FluidBackend(NetworkBackend):
    """Knows how many NPUs there are, for a test."""

    def __init__(self, plan: AnyPlan) -> None:
        self._npus = plan.config.npus

    @property
    def npus(self) -> int:
        """How many NPUs there are."""
        return self._npus
''',
    },
    lines={
        "astra_ns3/network/backends.py": (
            ('    "analytical": _ANALYTICAL,\n', '    "analytical": _ANALYTICAL,\n    "fluid": _FLUID,\n'),
            (
                "\n\nABILITIES: Mapping",
                "\n_COSTS = BackendCosts(1e-6, 2e-6)\n"
                '_FLUID = Abilities(packets=False, accounts=False, costs=_COSTS, words="flows share rates")\n'
                "\n\nABILITIES: Mapping",
            ),
        ),
        "astra_ns3/network/backend_makers.py": (
            ("BACKENDS: Mapping[str, _Maker] = {", 'BACKENDS: Mapping[str, _Maker] = {\n    "fluid": _fluid,'),
            (
                "_CALLS = tuple(",
                "def _fluid(plan: AnyPlan, *others: object) -> NetworkBackend:\n"
                "    from astra_ns3.network.analytical.fluid import FluidBackend\n\n"
                "    return FluidBackend(plan)\n\n\n_CALLS = tuple(",
            ),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.forecasting.forecast import backend_costs, forecast
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.request import RunRequest
from astra_ns3.network.ideal.choice import ideal_of
from astra_ns3.network.records import RecorderOptions
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

link = {"rate": "100Gbps", "delay": "1us"}
network = parse_network({"topology": {"npus": 4, "link": link, "switch": {"buffer": "1MB"}}, "transport": "roce"})
layer = "l -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 4000 0"
workload = parse_workload(f"DATA\\n1\\n{layer}")
keys = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1, "all-reduce-implementation": "ring"}
system = parse_system(keys)
request = RunRequest(workload=workload, system=system, network=network, backend="fluid", record="all", output="x")
request.check()
assert "accounts" not in request.record and "flows" in request.record
inputs = load_inputs(workload, system, network, request)
assert inputs.packets is None and forecast([(inputs, 1)]).packets is None
assert backend_costs(inputs).seconds_per_message == 2e-6
assert ideal_of(inputs.plan, "fluid") is None
assert '"fluid" (flows share rates)' in " ".join(astra_ns3.run.__doc__.split())
assert create_backend("fluid", inputs.plan, seed=1, recorder=RecorderOptions()).npus == 4
""",
)

GRAPH_FORMAT = Recipe(
    row="format of a graph file",
    files={
        "astra_ns3/config/formats/edges.py": '''"""Lines `a b` of a star around `middle`, for a test."""

from __future__ import annotations

from astra_ns3.config.formats.graphs.raw import RawGraph
from astra_ns3.config.formats.node_link import parse_node_link
import json


def parse_edges(text: str, source: str) -> RawGraph:
    """Hosts on the left, the switch on the right."""
    pairs = [line.split() for line in text.splitlines()]
    nodes = [{"id": a, "kind": "host"} for a, _ in pairs] + [{"id": "middle", "kind": "switch"}]
    links = [{"source": a, "target": b, "rate": "1Gbps", "delay": "1us"} for a, b in pairs]
    return parse_node_link(json.dumps({"nodes": nodes, "links": links}), source)
'''
    },
    lines={
        "astra_ns3/config/topology/file.py": (
            (
                "from astra_ns3.config.formats.graphml",
                "from astra_ns3.config.formats.edges import parse_edges\nfrom astra_ns3.config.formats.graphml",
            ),
            (
                "FORMATS: Mapping[str, GraphFormat] = {",
                'FORMATS: Mapping[str, GraphFormat] = {\n    "edges": GraphFormat(parse_edges, (".edges",)),',
            ),
        ),
        "astra_ns3/topology/files/writing.py": (
            (
                "WRITERS: Mapping[str, Writer] = {",
                'WRITERS: Mapping[str, Writer] = {".edges": lambda graph, config: f"{graph.hosts}",',
            ),
        ),
    },
    check="""
from pathlib import Path
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.files.writing import WRITERS

Path("star.edges").write_text("a middle\\nb middle\\nc middle\\n")
topology = {"kind": "file", "path": "star.edges", "switch": {"buffer": "1MB"}}
plan = plan_network(parse_network({"topology": topology}))
assert (plan.graph.hosts, plan.graph.switches) == (3, 1)
assert WRITERS[".edges"](plan.graph, plan.config.topology) == "3"
""",
)

LABEL = Recipe(
    row="what a collective is called",
    check="""
from astra_ns3.network.records import Label
assert Label("epoch 3", "experts", "dispatch").part == "dispatch"
""",
)

TCP_CONTROL = Recipe(
    row="TCP congestion control",
    lines={"astra_ns3/config/transports/tcp.py": (('    "Cubic",', '    "Cubic",\n    "Cruise",'),)},
    check="""
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.transport.tcp import tcp_parameters

assert tcp_parameters(TcpTransport(congestion_control="cruise")).type_id == "ns3::TcpCruise"
""",
)

OPTION = Recipe(
    row="option of a run",
    lines={
        "astra_ns3/experiments/options.py": (
            (
                "    injection_scale: float = option(",
                """    patience: int = option(3, "for a test.", Flag("--patience", help="For a test."))
    injection_scale: float = option(""",
            ),
        )
    },
    check="""
import inspect
from click.testing import CliRunner
from astra_ns3.cli.main import cli
from astra_ns3.experiments.request import RunRequest

assert inspect.signature(astra_ns3.run).parameters["patience"].default == 3
assert "patience: for a test." in " ".join(astra_ns3.run.__doc__.split())
for command in ("run", "validate"):
    assert "--patience INTEGER" in CliRunner().invoke(cli, [command, "--help"]).output
assert RunRequest(workload="w", system="s", network="n", patience=4).patience == 4
""",
)

TENANT_OPTION = Recipe(
    row="option of a tenant",
    lines={
        "astra_ns3/scenario/tenant.py": (
            ("    report_npu: int = 0\n", "    report_npu: int = 0\n    comm_scale: float = 1.0\n"),
        ),
        "astra_ns3/experiments/scenario_request.py": (
            (
                "        report_npu=tenant.report_npu,\n",
                "        report_npu=tenant.report_npu,\n        comm_scale=tenant.comm_scale,\n",
            ),
        ),
    },
    check=f"""
sys.path.insert(0, {TESTS!r})
from support.small_run import small_run

files = small_run()
small, large = (
    astra_ns3.Tenant(name, npus, files["workload"], files["system"], comm_scale=scale)
    for name, npus, scale in (("small", [0, 1], 1.0), ("large", [2, 3], 10.0))
)
result = astra_ns3.run_scenario(network=files["network"], backend=files["backend"], tenants=[small, large])
sizes = {{name: tenant.collectives["bytes"].sum() for name, tenant in result.tenants.items()}}
assert sizes["large"] == 10 * sizes["small"]
""",
)

CSV_COLUMN = Recipe(
    row="column of a table in CSV",
    lines={
        "astra_ns3/experiments/run_tables.py": (
            (
                '    ("npu", lambda row: row[0].npu),\n',
                '    ("npu", lambda row: row[0].npu),\n    ("twice_ps", lambda row: 2 * row[0].finish_ps),\n',
            ),
            (
                '    ("chunks", lambda record: record.chunks),\n',
                '    ("chunks", lambda record: record.chunks),\n'
                '    ("chunk_bytes", lambda record: record.chunk_bytes),\n',
            ),
        ),
        "astra_ns3/network/records.py": (
            (
                "    groups_ps: tuple[int, int] | None = None\n\n    @property\n",
                "    groups_ps: tuple[int, int] | None = None\n    chunk_bytes: int = 0\n\n    @property\n",
            ),
        ),
        "astra_ns3/network/collective_records.py": (
            (
                '    group: str = ""\n',
                '    group: str = ""\n    chunk_bytes: int = 0\n',
            ),
            ("line_bytes, group = common", "line_bytes, group, chunk_bytes = common"),
            ("line_bytes, group, groups_ps", "line_bytes, group, groups_ps, chunk_bytes"),
        ),
        "astra_ns3/system/history.py": (
            ("chunks, line_bytes, group)", "chunks, line_bytes, group, request.bytes // chunks)"),
        ),
        "astra_ns3/experiments/described/csv_tables.py": (
            (
                '            CsvColumn("chunks", ',
                '            CsvColumn("chunk_bytes", "B", "for a test"),\n            CsvColumn("chunks", ',
            ),
        ),
    },
    check=f"""
sys.path.insert(0, {TESTS!r})
from support.small_run import small_run

result = astra_ns3.run(**small_run(), output="out")
assert result.npus["twice_ps"].gt(0).all()
collectives = result.collectives
assert collectives["chunk_bytes"].gt(0).all()
assert collectives["chunk_bytes"].equals(collectives["bytes"] // collectives["chunks"])
assert "chunk_bytes" in astra_ns3.Result.collectives.__doc__
""",
)

RESULT_TABLE = Recipe(
    row="result table",
    lines={
        "astra_ns3/experiments/run_tables.py": (
            (
                "def npu_table(",
                "def end_table(records: RunRecords) -> Table:\n"
                '    """When each NPU ends."""\n    return Table.of(ENDS, END_COLUMNS, records.npus)\n\n\n'
                "def npu_table(",
            ),
            (
                'SWITCH = "switch.csv"',
                'SWITCH = "switch.csv"\nENDS = "ends.csv"\nEND_COLUMNS: tuple[CellColumn[NpuRecord], ...] = (\n'
                '    ("npu", lambda npu: npu.npu),\n    ("end_ps", lambda npu: npu.finish_ps),\n)',
            ),
        ),
        "astra_ns3/experiments/saving.py": (
            (
                "import collective_table, jobs_table, npu_table",
                "import collective_table, end_table, jobs_table, npu_table",
            ),
            (
                "        npu_table(records),",
                "        npu_table(records),\n        end_table(records),",
            ),
        ),
        "astra_ns3/experiments/result.py": (
            ("import COLLECTIVES, NPUS, SWITCH", "import COLLECTIVES, ENDS, NPUS, SWITCH"),
            ("    npus = Frame(", "    ends = Frame(ENDS)\n    npus = Frame("),
        ),
        "astra_ns3/experiments/described/csv_tables.py": (
            ("import COLLECTIVES, JOBS, NPUS, SWITCH", "import COLLECTIVES, ENDS, JOBS, NPUS, SWITCH"),
            (
                "    NPUS: CsvTable(",
                '    ENDS: CsvTable("ends", "When each NPU ends.", (CsvColumn("npu", "", "its number"),)),\n'
                "    NPUS: CsvTable(",
            ),
        ),
        "astra_ns3/experiments/store.py": (
            ("import COLLECTIVES, JOBS, NPUS, SWITCH", "import COLLECTIVES, ENDS, JOBS, NPUS, SWITCH"),
            ("    NPUS,\n", "    NPUS,\n    ENDS,\n"),
        ),
    },
    check=f"""
sys.path.insert(0, {TESTS!r})
from support.small_run import small_run

result = astra_ns3.run(**small_run(), output="out")
assert result.ends.columns.tolist() == ["npu", "end_ps"]
assert astra_ns3.Result.load("out").ends.equals(result.ends)
""",
)

PICTURE = Recipe(
    row="picture of a run",
    files={
        "astra_ns3/report/pictures/ends.py": '''"""When each NPU was done, for a test."""

from collections.abc import Sequence

from astra_ns3.report.figures.figure import Axis, Bars, Figure, Panel
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.records import NPUS
from astra_ns3.report.tables import Records


def _panel(records: Records, title: str) -> Panel:
    """A bar per NPU."""
    rows = records.rows(NPUS)
    bars = Bars([float(row["finish_us"]) for row in rows], upright=True)
    return Panel(Axis("NPU", names=[row["npu"] for row in rows]), Axis("finish", "us"), [bars], title)


def _in_file(records: Records, choice: Choice) -> Figure:
    return Figure([_panel(records, "")])


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    return Figure([_panel(shown.run, shown.name) for shown in runs])


KIND = Kind("ends", "when each NPU was done", _in_file, Section("Ends of NPUs", "When each was done.", _on_page))
'''
    },
    lines={
        "astra_ns3/report/pictures/kinds.py": (
            ("    exposed,\n", "    ends,\n    exposed,\n"),
            ("    memory.KIND,\n", "    memory.KIND,\n    ends.KIND,\n"),
        )
    },
    check=f"""
sys.path.insert(0, {TESTS!r})
from support.small_run import small_run
from astra_ns3.cli.main import status_of
from astra_ns3.report.page.page import report_page

result = astra_ns3.run(**small_run(), output="out")
bars = result.plot.ends().axes[0].patches
assert [round(bar.get_height(), 6) for bar in bars] == result.npus["finish_us"].tolist()
assert status_of(["plot", "out", "ends", "-o", "ends.png"]) == 0
page = report_page([result], {{}})
assert "Ends of NPUs" in page and '"finish (us)"' in page
""",
)

PLACEMENT = Recipe(
    row="placement",
    lines={
        "astra_ns3/config/scenario/placement.py": (('"rack", "rail"]', '"rack", "rail", "reversed"]'),),
        "astra_ns3/scenario/placement.py": (
            (
                "PLACEMENTS: Mapping[str",
                '''def _reversed(_places: Places, free: Collection[int], _: Random) -> Iterable[int]:
    """The last NPU first."""
    return sorted(free, reverse=True)


PLACEMENTS: Mapping[str''',
            ),
            ('    "rail": _rail,\n', '    "rail": _rail,\n    "reversed": _reversed,\n'),
        ),
    },
    check="""
from astra_ns3.config.scenario.placement import Placement
from astra_ns3.scenario.placement import Places, place

rule = Placement.model_validate({"place": "reversed", "count": 2})
assert place(rule, Places(((0, 1), (2, 3)), ((0, 1),)), {0, 1, 3}, 1) == (3, 1)
""",
)

RECOVERY = Recipe(
    row="policy of detection or recovery",
    files={
        "astra_ns3/scenario/recovery/slow_eyes.py": '''"""Detection by slow eyes: a second late."""

from __future__ import annotations

from astra_ns3.config.scenario.recovery import SlowEyes
from astra_ns3.topology.reactions import LinkTurn


def slow_eyes(turn: LinkTurn, _config: SlowEyes, _seed: int) -> int:
    """Return when the ends of a link notice a turn of it, in ps."""
    return turn.time_ps + 10**12
'''
    },
    lines={
        "astra_ns3/config/scenario/recovery.py": (
            (
                "class AtOnce(",
                '''class SlowEyes(ConfigModel):
    """Both ends notice a second late."""

    kind: Literal["slow-eyes"]


class AtOnce(''',
            ),
            (
                '| Annotated[Hello, Tag("hello")]',
                '| Annotated[Hello, Tag("hello")] | Annotated[SlowEyes, Tag("slow-eyes")]',
            ),
        ),
        "astra_ns3/scenario/recovery/policies.py": (
            (
                "from astra_ns3.scenario.recovery.loss_of_signal",
                "from astra_ns3.scenario.recovery.slow_eyes import slow_eyes\n"
                "from astra_ns3.scenario.recovery.loss_of_signal",
            ),
            ('"hello": hello}', '"hello": hello, "slow-eyes": slow_eyes}'),
        ),
    },
    check="""
from astra_ns3.config.scenario.file import read_scenario
from astra_ns3.scenario.recovery.policies import reaction_of
from astra_ns3.topology.reactions import LinkTurn

reaction = reaction_of(read_scenario({"recovery": {"detection": "slow-eyes"}}).config.recovery, 1)
assert reaction(LinkTurn(0, 5, False)).converged_ps == 10**12 + 5
""",
)

RECIPES = (
    ALGORITHM,
    WORKLOAD_KIND,
    WORKLOAD_FORMAT,
    LOOP,
    PIPELINE,
    MODEL_KIND,
    OPERATION,
    LABEL,
    POLICY,
    RULE,
    TOPOLOGY,
    GRAPH_FORMAT,
    TCP_CONTROL,
    BACKEND,
    OPTION,
    TENANT_OPTION,
    CSV_COLUMN,
    RESULT_TABLE,
    PICTURE,
    PLACEMENT,
    RECOVERY,
)
