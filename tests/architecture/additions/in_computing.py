"""Recipes for where compute times come from."""

from __future__ import annotations

from architecture.additions.recipe import Recipe

DEVICE = Recipe(
    row="device that computes",
    lines={
        "astra_ns3/config/model/devices.py": (
            (
                '        _device("V100",',
                '        _device("Abacus", {"float32": "1MFLOPS"}, None, "1KB", "1MB/s", {}),\n        _device("V100",',
            ),
        )
    },
    check="""
from astra_ns3.config.model.compute import Roofline
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.workload.computing.clocks import clock_of

clock = clock_of(Roofline(device="abacus", efficiency=1), "float32")
assert clock.time_ps(Operation("sum", OperationKind.MATMUL, flops=7)) == 7_000_000
""",
)

CLOCK = Recipe(
    row="source of compute times",
    files={
        "astra_ns3/workload/computing/patient.py": '''"""Everything takes the same time, for a test."""

from astra_ns3.config.model.compute import Patient
from astra_ns3.config.training_plan import Operation


class PatientClock:
    """Waits."""

    def __init__(self, keys: Patient, datatype: str) -> None:
        self._time_ps = keys.time_ps

    def time_ps(self, operation: Operation) -> int:
        """Always the same."""
        return self._time_ps

    def memory_bound(self, operation: Operation) -> bool:
        """Never."""
        return False
'''
    },
    lines={
        "astra_ns3/config/model/compute.py": (
            (
                "def _expanded(",
                'class Patient(ConfigModel):\n    """``kind: patient``."""\n\n    kind: Literal["patient"]\n'
                '    time_ps: TimePs = Field(alias="time")\n    memory_bytes: int | None = None\n\n\ndef _expanded(',
            ),
            ("AnyCompute = Roofline | Table", "AnyCompute = Patient | Roofline | Table"),
            (
                '    Annotated[Roofline, Tag("roofline")]\n',
                '    Annotated[Patient, Tag("patient")]\n    | Annotated[Roofline, Tag("roofline")]\n',
            ),
        ),
        "astra_ns3/workload/computing/clocks.py": (
            ("    Roofline: _roofline,\n", "    Roofline: _roofline,\n    Patient: PatientClock,\n"),
            (
                "from astra_ns3.workload.computing.roofline",
                "from astra_ns3.config.model.compute import Patient\n"
                "from astra_ns3.workload.computing.patient import PatientClock\n"
                "from astra_ns3.workload.computing.roofline",
            ),
        ),
    },
    check="""
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.workload.computing.clocks import clock_of

file = parse_model_file(parse_yaml('''
kind: transformer
name: Small
model: {layers: 1, hidden: 8, heads: 1, vocabulary: 8}
training: {sequence: 8}
compute: {kind: patient, time: 3us}
''', "small.yaml"))
assert clock_of(file.compute).time_ps(Operation("any", OperationKind.GATHER)) == 3_000_000
""",
)

RECIPES = (DEVICE, CLOCK)
