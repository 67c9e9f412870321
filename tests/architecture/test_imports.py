"""The house plan as tests: imports point down, one door to cppyy, no cycles, a library that doesn't print or exit."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest
from support.parsed import package_sources, parsed

pytestmark = pytest.mark.xdist_group("sources")  # they share what was read

# A room may import rooms of a lower floor, itself, and what ALLOWED_BESIDE names.
FLOORS = {
    "errors": 0,
    "frozen": 0,
    "units": 0,
    "memory": 0,
    "python_command": 0,
    "root_folder": 0,
    "user_files": 0,
    "user_code": 0,
    "whole_file": 0,
    "config": 1,
    "config.core": 1,
    "nccl": 2,
    "config.formats": 2,
    "config.topology": 3,
    "config.workload": 3,
    "config.graph_workload": 3,
    "config.flow_list": 3,
    "config.flow_stream": 4,
    "config.training_plan": 3,
    "config.scenario": 4,
    "config.model": 4,
    "config.compute_slowdown": 3,
    "config.plan_file": 3,
    "config.prices": 3,
    "config.nccl": 3,
    "config.system": 4,
    "config.transports": 4,
    "config.network": 5,
    "collectives": 6,
    "topology": 6,
    "transport": 6,
    "workload": 6,
    "network": 7,
    "network.door": 8,
    "network.ns3": 9,
    "network.analytical": 9,
    "network.backend_makers": 10,
    "system": 8,
    "playing": 9,
    "report": 10,
    "scenario": 10,
    "experiments": 11,
    "studies": 12,
    "planning": 13,
    "": 14,
    "cli": 15,
    "__main__": 16,
}
# Inside these rooms a folder may import folders of a lower floor, and itself.
FLOORS_INSIDE = {
    "workload": {
        "computing": 0,
        "experts": 0,
        "graphs": 0,
        "grids": 0,
        "training": 0,
        "loops": 1,
        "memory": 1,
        "models": 1,
        "files": 2,
        "generators": 3,
    },
    "playing": {
        "drivers": 0,
        "programs": 0,
        "slowdown": 0,
        "dry_run": 1,
        "flows": 1,
        "graphs": 2,
        "player": 2,
        "training": 2,
        "loops": 3,
        "converting": 4,
    },
}
ALLOWED_BESIDE = {
    ("units", "errors"),
    ("user_code", "errors"),
    ("user_files", "errors"),
    ("user_files", "user_code"),
    ("whole_file", "errors"),
    ("memory", "errors"),
    ("memory", "units"),
}
# Rooms that only the room named may import, whatever the floors say: a backend is reached by its name.
PRIVATE_TO = {
    "network.door": {"network.ns3", "network.analytical"},
    "network.ns3": {"network.backend_makers"},
    "network.analytical": {"network.backend_makers"},
    "network.backend_makers": {"experiments"},
}

Sources = Mapping[str, str]


def room_of(module: str) -> str:
    """'astra_ns3.network.ns3.backend' -> 'network.ns3', 'astra_ns3.units' -> 'units'; the package itself is ''."""
    parts = module.split(".")[1:]
    two = ".".join(parts[:2])
    return two if two in FLOORS else "".join(parts[:1])


def folder_of(module: str) -> str:
    """'astra_ns3.workload.files.simai' -> 'files'; '' for the room itself."""
    return "".join(module.split(".")[2:3])


def imported_names(source: str) -> Iterator[str]:
    """Every absolute name that the source imports, also inside functions; `from a import b` gives 'a.b'."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute in this project"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def internal_imports(sources: Sources) -> dict[str, set[str]]:
    """Module -> the modules of this package that it imports."""
    graph = {}
    for module, source in sources.items():
        imported = set()
        for name in imported_names(source):
            if name.split(".")[0] == "astra_ns3":
                imported.add(name if name in sources else name.rpartition(".")[0])
        graph[module] = imported - {module}
    return graph


def upward_imports(sources: Sources) -> list[str]:
    """The imports that break the floors, as readable lines."""
    wrong = []
    for module, imported in internal_imports(sources).items():
        room = room_of(module)
        for target in sorted(imported):
            beside = room_of(target)
            if room == beside and room in FLOORS_INSIDE:
                floors, folder, other = FLOORS_INSIDE[room], folder_of(module), folder_of(target)
                if folder != other and floors[other] >= floors[folder]:
                    wrong.append(f"{module} imports {target}")
            if room == beside or (room, beside) in ALLOWED_BESIDE:
                continue
            if FLOORS[beside] >= FLOORS[room] or room not in PRIVATE_TO.get(beside, {room}):
                wrong.append(f"{module} imports {target}")
    return wrong


def calls_that_print_or_exit(source: str) -> list[str]:
    """Calls of print, input, exit, quit, sys.exit, os._exit and writes to the standard streams."""
    forbidden = {"print", "input", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}
    calls = (ast.unparse(node.func) for node in ast.walk(parsed(source)) if isinstance(node, ast.Call))
    return [call for call in calls if call in forbidden]


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(module) for module in package_sources()}
    assert rooms <= FLOORS.keys(), "a new room needs a floor here and a line in docs/architecture.md"


def test_every_folder_of_these_rooms_has_a_floor() -> None:
    modules = [module for module in package_sources() if room_of(module) in FLOORS_INSIDE]
    folders = {(room_of(module), folder_of(module)) for module in modules if folder_of(module)}
    assert folders == {(room, folder) for room, floors in FLOORS_INSIDE.items() for folder in floors}


def test_imports_point_down() -> None:
    assert upward_imports(package_sources()) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("astra_ns3.config.network.packet_network", "from astra_ns3.topology.graph import Graph"),
        ("astra_ns3.config.core.model", "from astra_ns3.config.system import SystemConfig"),
        ("astra_ns3.system.layer", "import astra_ns3.network.ns3.backend"),
        ("astra_ns3.network.analytical.backend", "import astra_ns3.network.ns3.build"),
        ("astra_ns3.playing.loops.loop_programs", "from astra_ns3.network.backend_makers import create_backend"),
        ("astra_ns3.workload.loops.loop_kinds", "from astra_ns3.system.communicator import Communicator"),
        ("astra_ns3.workload.memory.stage", "from astra_ns3.playing.training.places import Places"),
        ("astra_ns3.workload.graphs.chain", "from astra_ns3.workload.files.chakra.trace import ChakraTrace"),
        ("astra_ns3.workload.models.changes", "import astra_ns3.workload.memory.stage"),
        ("astra_ns3.playing.player.programs_driver", "from astra_ns3.playing.loops.loops import Loop"),
        ("astra_ns3.playing.graphs.counted", "def f():\n    from astra_ns3.playing.player import tape"),
        ("astra_ns3.report.tables", "def f():\n    from astra_ns3.experiments import run"),
    ],
)
def test_an_import_that_points_up_or_past_the_registry_is_seen(module: str, line: str) -> None:
    assert len(upward_imports({module: line})) == 1


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert list(graphlib.TopologicalSorter(internal_imports(package_sources())).static_order())


def test_only_the_list_of_transports_imports_one() -> None:
    """Nobody else asks which transport it is."""
    found = internal_imports(package_sources())
    asks = {
        module
        for module, imported in found.items()
        if not module.startswith("astra_ns3.transport.")
        and any(name.startswith(("astra_ns3.transport.tcp", "astra_ns3.transport.roce")) for name in imported)
    }
    assert asks == set()


def test_only_the_door_imports_cppyy() -> None:
    doors = {
        room_of(module)
        for module, source in package_sources().items()
        if any(name.split(".")[0] in {"cppyy", "ns", "ns3", "cppyy_backend"} for name in imported_names(source))
    }
    assert doors == {"network.door"}


def test_the_library_neither_prints_nor_exits() -> None:
    wrong = {
        module: calls
        for module, source in package_sources().items()
        if room_of(module) != "cli" and (calls := calls_that_print_or_exit(source))
    }
    # A child that was forked for a run, or for a trial, ends with it; a server with its worker, that with its client.
    isolated = "astra_ns3.experiments.isolated"
    server, worker = "astra_ns3.experiments.servers.server", "astra_ns3.studies.workers.local_worker"
    ending = {module: {"os._exit"} for module in (f"{isolated}.child", f"{isolated}.trial", server, worker)}
    assert {module: set(calls) for module, calls in wrong.items()} == ending


def test_a_print_and_an_exit_are_seen() -> None:
    assert calls_that_print_or_exit("import sys\nprint(1)\nsys.exit(2)\nfootprint(3)") == ["print", "sys.exit"]


STARTS = (
    "subprocess.run",
    "subprocess.Popen",
    "subprocess.check_",
    "os.posix_spawn",
    "os.exec",
    "os.spawn",
    "os.popen",
)


def starts_of_processes(source: str) -> dict[str, bool]:
    """The functions that start a process of another program, and whether ``python_command`` says how."""
    found = {}
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef):
            calls = [ast.unparse(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)]
            if any(call.startswith(STARTS) for call in calls):
                found[node.name] = "python_command" in calls
    return found


def test_every_process_of_python_is_started_alike() -> None:
    """Another way may import what lies in the working folder."""
    starts = {module: starts_of_processes(source) for module, source in package_sources().items()}
    assert {module for module, found in starts.items() if found} >= {"astra_ns3.experiments.servers.process"}
    assert [module for module, found in starts.items() if not all(found.values())] == []


def test_another_start_of_a_process_is_seen() -> None:
    source = "def one():\n    subprocess.run([sys.executable, '-m', 'other'])\n"
    assert starts_of_processes(source) == {"one": False}


def test_only_the_command_line_uses_click_and_rich() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, source in package_sources().items()
        for name in imported_names(source)
        if name.split(".")[0] in {"click", "rich"} and room_of(module) != "cli"
    ]
    assert wrong == []


def run_python(program: str) -> str:
    """Standard output of a fresh interpreter; fails with its standard error."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_astra_ns3_loads_nothing_heavy_and_nothing_native() -> None:
    loaded = run_python(
        "import sys, astra_ns3\n"
        "heavy = {'cppyy', 'pandas', 'pyarrow', 'ns', 'matplotlib', 'dask'} & set(sys.modules)\n"
        "native = [line for line in open('/proc/self/maps') if 'libns3' in line or 'libastra' in line]\n"
        "print(sorted(heavy), native)"
    )
    assert loaded == "[] []"


def test_all_rooms_load_without_cppyy() -> None:
    modules = [name for name in package_sources() if "__main__" not in name]
    loaded = run_python(
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\nprint('cppyy' in sys.modules)"
    )
    assert loaded == "False"
