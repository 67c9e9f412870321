"""What the program grows by next: a tenant, admissions to ports, a source of requests."""

from __future__ import annotations

from architecture.additions.in_python import TESTS
from architecture.additions.recipe import Recipe

TENANT = Recipe(
    row="tenant",
    check=f"""
sys.path.insert(0, {TESTS!r})
from support.fake_backend import FakeBackend
from support.small_run import small_network, small_system, small_workload

tenants = [
    astra_ns3.Tenant(name, npus, small_workload(), small_system(), start_ps=start)
    for name, npus, start in (("first", [0, 1], 0), ("second", [3, 5, 7], 9), ("third", [2], 4))
]
asked = {{"network": small_network(npus=8), "tenants": tenants}}
result = astra_ns3.run_scenario(backend=FakeBackend(8), output="out", **asked)
loaded = astra_ns3.ScenarioResult.load("out")
assert [*loaded.tenants] == ["first", "second", "third"]
assert [len(tenant.npus) for tenant in loaded.tenants.values()] == [2, 3, 1]
assert loaded.finish_ps == result.finish_ps > 0
assert astra_ns3.forecast_scenario(**asked).collectives == 2 * 2
""",
)

ADMISSION = Recipe(
    row="admission to a port",
    files={
        "ns3-scratch/fabric/model/fabric-trimming.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-admission.h"

namespace ns3
{

/// Cuts the data off a frame that doesn't fit, for a test.
class FabricTrimming : public FabricAdmissionRule
{
  public:
    bool Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory) override
    {
        if (FabricAdmissionRule::Admit(frame, queueBytes, memory))
        {
            return true;
        }
        frame.bufferBytes -= frame.payloadBytes;
        frame.payloadBytes = 0;
        return FabricAdmissionRule::Admit(frame, queueBytes, memory);
    }
};

} // namespace ns3
""",
    },
    lines={
        "ns3-scratch/bridge/model/network-description.h": (
            (
                "    std::vector<uint32_t> quantumBytes; ",
                "    bool trims{false}; //!< cuts the data off a frame that doesn't fit\n"
                "    std::vector<uint32_t> quantumBytes; ",
            ),
            (
                '    field("quantumBytes",',
                '    field("trims", parameters.trims);\n    field("quantumBytes",',
            ),
        ),
        "ns3-scratch/bridge/model/fabric-network.cc": (
            (
                "    if (!parameters.quantumBytes.empty())\n",
                "    if (parameters.trims)\n    {\n"
                "        port.SetAdmission(std::make_unique<FabricTrimming>());\n    }\n"
                "    if (!parameters.quantumBytes.empty())\n",
            ),
            ('#include "fabric-network.h"', '#include "fabric-network.h"\n\n#include "fabric-trimming.h"'),
        ),
        "astra_ns3/config/topology/switch.py": (
            (
                "    scheduler: SchedulerConfig",
                "    trims: bool = False\n    scheduler: SchedulerConfig",
            ),
        ),
        "astra_ns3/network/ns3/build.py": (
            (
                '    values["cutThroughBytes"] =',
                '    values["trims"] = config.trims\n    values["cutThroughBytes"] =',
            ),
        ),
    },
    check="""
from astra_ns3.config.topology.switch import SwitchConfig
assert SwitchConfig.model_validate({"buffer": "1MB", "trims": True}).trims
""",
    compiled=("ns3-scratch/bridge/model/fabric-network.cc",),
)

OWN_ADMISSION = Recipe(
    row="admission that a transport owns",
    files={
        "ns3-scratch/fabric/model/fabric-short-queue.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-admission.h"

namespace ns3
{

/// Lets few bytes wait, for a test.
class FabricShortQueue : public FabricAdmissionRule
{
  public:
    /// \\param mostBytes bytes that may wait
    explicit FabricShortQueue(uint64_t mostBytes)
        : m_mostBytes(mostBytes)
    {
    }

    bool Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory) override
    {
        return queueBytes <= m_mostBytes &&
               FabricAdmissionRule::Admit(frame, queueBytes, memory);
    }

  private:
    uint64_t m_mostBytes; //!< bytes that may wait
};

} // namespace ns3
""",
    },
    lines={
        "ns3-scratch/bridge/model/tcp-session-transport.cc": (
            ('#include "tcp-stack.h"', '#include "fabric-short-queue.h"\n#include "tcp-stack.h"'),
            (
                "    const Numbers& hostOfNpu =",
                "    uint64_t waitingBytes = 0;\n"
                '    part("waiting_bytes", waitingBytes);\n'
                "    for (uint32_t host = 0; host < context.fabric.GetHosts().size(); ++host)\n    {\n"
                "        context.fabric.GetPort(host, 0)->SetAdmission(\n"
                "            std::make_unique<FabricShortQueue>(waitingBytes));\n    }\n"
                "    const Numbers& hostOfNpu =",
            ),
        ),
        "astra_ns3/config/transports/tcp.py": (
            (
                "    initial_window_segments: Count = 10\n",
                "    waiting_bytes: PositiveBytes = 9000\n    initial_window_segments: Count = 10\n",
            ),
        ),
        "astra_ns3/transport/tcp.py": (
            (
                '"""Return all numbers."""\n        return asdict(self.parameters)',
                '"""Return all numbers."""\n'
                '        return {**asdict(self.parameters), "waiting_bytes": self.keys.waiting_bytes}',
            ),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.plan import plan_network

topology = {"npus": 2, "link": {"rate": "100Gbps", "delay": "1us"}, "switch": {"buffer": "1MB"}}
plan = plan_network(parse_network({"topology": topology, "transport": {"kind": "tcp", "waiting_bytes": "5KB"}}))
assert plan.transports["tcp"].native(0)["waiting_bytes"] == 5000
""",
    compiled=("ns3-scratch/bridge/model/tcp-session-transport.cc",),
)

REQUESTS = Recipe(
    row="source of requests to servers",
    files={
        "astra_ns3/config/requests.py": '''"""Requests that arrive at a server, for a test."""

from __future__ import annotations

from dataclasses import dataclass

from astra_ns3.config.flow_list import FlowList


@dataclass(frozen=True)
class Requests:
    """From which NPU each comes and when; NPU 0 answers."""

    callers: tuple[int, ...]
    arrivals_ps: tuple[int, ...]
    source: str = "requests"

    def flows(self) -> FlowList:
        """Return two flows for each: the request, and the answer that waits for it."""
        pairs = [pair for caller in self.callers for pair in ((caller, 0), (0, caller))]
        sources, destinations = zip(*pairs, strict=True)
        starts_ps = [time_ps for arrival_ps in self.arrivals_ps for time_ps in (arrival_ps, 0)]
        after = [() if flow % 2 == 0 else (flow - 1,) for flow in range(len(pairs))]
        return FlowList.of(sources, destinations, [1000] * len(pairs), starts_ps, after, source=self.source)
''',
        "astra_ns3/playing/flows/requests_driver.py": '''"""Plays requests, for a test."""

from __future__ import annotations

import numpy as np

from astra_ns3.config.flow_list import FlowList
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import unpack_instance
from astra_ns3.network.recorded import REQUESTS, TableSink
from astra_ns3.playing.drivers.driver import Heartbeat
from astra_ns3.playing.flows.flow_driver import FlowDriver


class RequestsDriver(FlowDriver):
    """Writes down when each request came and was answered."""

    def __init__(
        self, network: NetworkBackend, flows: FlowList, rows_to: TableSink | None, on_heartbeat: Heartbeat | None
    ) -> None:
        super().__init__(network, flows, on_heartbeat=on_heartbeat)
        self._rows_to = rows_to
        if rows_to is not None:
            rows_to.open(REQUESTS)

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        """From the network: one end of a message is done."""
        flow, _, _ = unpack_instance(instance)
        if self._rows_to is not None and flow % 2 and npu == self._flows.destinations[flow]:
            row = flow // 2, int(self._flows.starts_ps[flow - 1]), time_ps
            self._rows_to.write(REQUESTS.name, [np.array([number]) for number in row])
        super().phase_done(npu, instance, time_ps)
''',
        "astra_ns3/experiments/jobs/requests.py": '''"""Requests as a job, for a test."""

from __future__ import annotations

from astra_ns3.config.requests import Requests
from astra_ns3.experiments.jobs.flows import FlowsJob
from astra_ns3.experiments.jobs.job import Platform, Playing
from astra_ns3.network.api import NetworkBackend
from astra_ns3.playing.flows.requests_driver import RequestsDriver


class RequestsJob(FlowsJob):
    """Each with its answer, as flows."""

    def __init__(self, requests: Requests) -> None:
        super().__init__(requests.flows())

    def scaled(self, comm_scale: float, compute_scale: float) -> RequestsJob:
        """Return the same requests."""
        return self

    def driver(self, network: NetworkBackend, platform: Platform, playing: Playing) -> RequestsDriver:
        """Return what plays them."""
        return RequestsDriver(network, self.workload, playing.rows_to, playing.on_heartbeat)
''',
    },
    lines={
        "astra_ns3/experiments/jobs/job_kinds.py": (
            (
                "from astra_ns3.experiments.jobs.training import",
                "from astra_ns3.config.requests import Requests\n"
                "from astra_ns3.experiments.jobs.requests import RequestsJob\n"
                "from astra_ns3.experiments.jobs.training import",
            ),
            (
                "JOBS: dict[type, Callable[[Any], Job]] = {",
                "JOBS: dict[type, Callable[[Any], Job]] = {Requests: RequestsJob, ",
            ),
        ),
        "astra_ns3/network/recorded.py": (
            (
                "RECORDED_TABLES = (\n",
                'REQUESTS = RecordedTable(\n    "requests",\n    "a row per answered request",\n'
                '    "requests",\n    (\n'
                '        Column("request", "int32", "", "its number"),\n'
                '        Column("arrival_ps", "int64", "ps", "when it came"),\n'
                '        Column("end_ps", "int64", "ps", "when it was answered"),\n    ),\n)\n'
                "RECORDED_TABLES = (\n    REQUESTS,\n",
            ),
        ),
        "astra_ns3/experiments/result.py": (
            ("    QUEUES,\n", "    QUEUES,\n    REQUESTS,\n"),
            ("    nodes = Frame(NODES)\n", "    nodes = Frame(NODES)\n    requests = Frame(REQUESTS)\n"),
        ),
    },
    check=f"""
sys.path.insert(0, {TESTS!r})
from astra_ns3.config.requests import Requests
from support.fake_backend import FakeBackend
from support.small_run import small_network, small_system

asked = Requests((1, 3, 2), (5_000, 70_000_000, 8_000))
tenant = astra_ns3.Tenant("server", [2, 3, 0, 1], asked, small_system())
alone = {{"workload": asked, "system": small_system(), "backend": FakeBackend(4)}}
result = astra_ns3.run(network=small_network(), output="out", record="flows", **alone)
found = result.requests.sort_values("request")
assert found["arrival_ps"].tolist() == [5_000, 70_000_000, 8_000]
assert (found["end_ps"] > found["arrival_ps"]).all()
others = {{"network": small_network(), "backend": FakeBackend(4), "output": "both", "record": "flows"}}
beside = astra_ns3.run_scenario(tenants=[tenant], **others)
found = beside.tenants["server"].requests
assert set(found.pop("job")) == {{"server"}}
assert found.equals(result.requests)
""",
)

RECIPES = (TENANT, ADMISSION, OWN_ADMISSION, REQUESTS)
