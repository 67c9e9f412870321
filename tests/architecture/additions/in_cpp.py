"""Recipes for what has a C++ half: its files compile, and what is Python reads the new word."""

from __future__ import annotations

from architecture.additions.recipe import Recipe

PATH_CHOICE = Recipe(
    row="choice among equal paths",
    files={
        "ns3-scratch/fabric/model/fabric-first-choice.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-path-choice.h"

namespace ns3
{

/// Always the first port, for a test.
class FabricFirstChoice : public FabricPathChoice
{
  public:
    uint32_t Choose(const FabricFrame&,
                    const FabricRoutes::Ports& choices,
                    const std::vector<Ptr<FabricPort>>&) override
    {
        return choices.first[0];
    }
};

} // namespace ns3
"""
    },
    lines={
        "ns3-scratch/bridge/model/network-description.h": (
            ("    ROUTE_BY_DETOUR = 6 ", "    ROUTE_BY_FIRST = 7, //!< always the first\n    ROUTE_BY_DETOUR = 6 "),
            ('"detour"}', '"detour", "first"}'),
        ),
        "ns3-scratch/bridge/model/fabric-network-routes.cc": (
            (
                "    case ROUTE_BY_LOAD:",
                "    case ROUTE_BY_FIRST:\n        fabricSwitch.SetPathChoice(std::make_unique<FabricFirstChoice>());\n"
                "        break;\n    case ROUTE_BY_LOAD:",
            ),
            (
                '#include "fabric-flowlet-choice.h"',
                '#include "fabric-first-choice.h"\n#include "fabric-flowlet-choice.h"',
            ),
        ),
        "astra_ns3/config/topology/routing.py": (('kind: Literal["ecmp",', 'kind: Literal["first", "ecmp",'),),
    },
    check="""
from astra_ns3.config.topology.routing import RoutingConfig
assert RoutingConfig(kind="first").kind == "first"
""",
    compiled=("ns3-scratch/bridge/model/fabric-network-routes.cc",),
)

LINK_KEY = Recipe(
    row="key of a link",
    lines={
        "astra_ns3/config/core/link.py": (
            (
                '    """The probability that a frame is lost on the way, in each direction."""\n',
                '    """The probability that a frame is lost on the way, in each direction."""\n'
                "    oldest_first: bool = False\n",
            ),
        ),
        "astra_ns3/topology/graph.py": (
            ("    storm: int = 0\n", "    storm: int = 0\n    oldest_first: bool = False\n"),
            ("wire.error_rate, kind, cost)", "wire.error_rate, kind, cost, oldest_first=wire.oldest_first)"),
        ),
        "astra_ns3/network/ns3/build.py": (
            ("link.error_rate, id(near)", "link.error_rate, link.oldest_first, id(near)"),
            (
                "    outline = port_outline(link)\n    if near is not None",
                '    values["oldestFirst"] = link.oldest_first\n'
                "    outline = port_outline(link)\n    if near is not None",
            ),
        ),
        "ns3-scratch/bridge/model/network-description.h": (
            (
                "    uint64_t headroomBytes{0};         //!<",
                "    bool oldestFirst{false};           //!< frames come in the order of sending\n"
                "    uint64_t headroomBytes{0};         //!<",
            ),
            (
                '    field("headroomBytes", parameters.',
                '    field("oldestFirst", parameters.oldestFirst);\n    field("headroomBytes", parameters.',
            ),
        ),
        "ns3-scratch/bridge/model/fabric-network.cc": (
            (
                "    if (parameters.errorRate > 0.0)\n",
                "    if (parameters.oldestFirst)\n    {\n"
                '        port->SetAttribute("OldestFirst", BooleanValue(true));\n    }\n'
                "    if (parameters.errorRate > 0.0)\n",
            ),
        ),
        "astra_ns3/config/formats/graphs/completion.py": (
            (
                "    kind: _Attribute | None = None\n",
                "    oldest_first: _Attribute | None = None\n    kind: _Attribute | None = None\n",
            ),
        ),
        "astra_ns3/topology/files/writing.py": (
            (
                "        if link.cost != 1:\n",
                '        if link.oldest_first:\n            attributes["oldest_first"] = True\n'
                "        if link.cost != 1:\n",
            ),
        ),
    },
    check="""
from pathlib import Path
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.door.description import Description
from astra_ns3.network.ns3.build import describe_network
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.files.writing import WRITERS
from astra_ns3.topology.storage import without_storage


class Told(Description):
    def add(self, group, values):
        if group == "linkKind":
            kinds.append(values["oldestFirst"])


def told(topology):
    plan = plan_network(parse_network({"topology": topology, "transport": "roce"}))
    kinds.clear()
    describe_network(Told(), plan, 1)
    return plan, kinds


kinds = []
link = {"rate": "100Gbps", "delay": "1us"}
switch = {"buffer": "1MB"}
assert told({"npus": 2, "link": link, "switch": switch})[1] == [False]
stored = {"per": "fabric", "link": link}
plan, found = told({"npus": 2, "link": {**link, "oldest_first": True}, "switch": switch, "storage": stored})
assert found == [True, False]
written = WRITERS[".json"](without_storage(plan.graph), plan.config.topology)
Path("ours.json").write_text(written)
Path("theirs.json").write_text(written.replace("oldest_first", "fifo"))
theirs = {"attributes": {"oldest_first": "fifo"}, "hosts": {"attribute": "kind", "equals": "host"}}
for file in ({"path": "ours.json"}, {"path": "theirs.json", **theirs}):
    assert told({"kind": "file", "switch": switch, **file})[1] == [True], file
beside = {"hosts": {"beside": 1, **link, "oldest_first": True}}
Path("lone.json").write_text('{"nodes": [{"id": "a"}], "links": []}')
assert told({"kind": "file", "switch": switch, "path": "lone.json", **beside})[1] == [True]
""",
    compiled=("ns3-scratch/bridge/model/fabric-network.cc", "ns3-scratch/bridge/model/description-reader.cc"),
)

SCHEDULER = Recipe(
    row="scheduling between priorities",
    files={
        "ns3-scratch/fabric/model/fabric-lowest-first.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port-scheduler.h"

#include <bit>

namespace ns3
{

/// The lowest priority first, for a test.
class FabricLowestFirst : public FabricPortScheduler
{
  public:
    uint32_t Choose(uint32_t ready, const FabricFrameList*) override
    {
        return std::countr_zero(ready);
    }

    void Reset() override
    {
    }
};

} // namespace ns3
"""
    },
    lines={
        "ns3-scratch/bridge/model/network-description.h": (
            (
                "    std::vector<uint32_t> quantumBytes; ",
                "    bool lowestFirst{false}; //!< the lowest priority first\n    std::vector<uint32_t> quantumBytes; ",
            ),
            (
                '    field("quantumBytes",',
                '    field("lowestFirst", parameters.lowestFirst);\n    field("quantumBytes",',
            ),
        ),
        "ns3-scratch/bridge/model/fabric-network.cc": (
            (
                "    if (!parameters.quantumBytes.empty())\n",
                "    if (parameters.lowestFirst)\n    {\n"
                "        port.SetScheduler(std::make_unique<FabricLowestFirst>());\n    }\n"
                "    if (!parameters.quantumBytes.empty())\n",
            ),
            ('#include "fabric-network.h"', '#include "fabric-network.h"\n\n#include "fabric-lowest-first.h"'),
        ),
        "astra_ns3/config/topology/switch.py": (
            ('    kind: Literal["strict", "dwrr"]', '    kind: Literal["strict", "dwrr", "lowest"]'),
        ),
        "astra_ns3/network/ns3/build.py": (
            (
                "    if config.scheduler.weights:",
                '    values["lowestFirst"] = config.scheduler.kind == "lowest"\n    if config.scheduler.weights:',
            ),
        ),
    },
    check="""
from astra_ns3.config.topology.switch import SchedulerConfig
assert SchedulerConfig(kind="lowest").weights is None
""",
    compiled=("ns3-scratch/bridge/model/fabric-network.cc",),
)

TRANSPORT = Recipe(
    row="transport",
    files={
        "ns3-scratch/bridge/model/instant-session-transport.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "session-transport.h"

namespace astra_ns3
{

/// Messages that are there at once, for a test.
class InstantSessionTransport : public SessionTransport, private ns3::MessageTransport
{
  public:
    /// \\param context what it is made from \\param part its numbers
    InstantSessionTransport(const TransportContext& context, PartReader& part)
        : m_listener(context.listener)
    {
        part("least_bytes", m_leastBytes);
    }

    ns3::MessageTransport& GetMessages() override
    {
        return *this;
    }

    std::vector<TransportCounter> GetCounters() const override
    {
        return {{"short_messages", m_short}};
    }

  private:
    void Send(const ns3::CollectiveMessage& message) override
    {
        m_short += message.bytes < m_leastBytes ? 1 : 0;
        m_listener.MessageArrived(message);
    }

    ns3::MessageListener& m_listener; //!< told of messages
    uint64_t m_leastBytes{0};         //!< of a message that isn't short
    uint64_t m_short{0};              //!< short messages
};

} // namespace astra_ns3
""",
        "astra_ns3/config/transports/instant.py": '''"""Keys of a transport that takes no time, for a test."""

from __future__ import annotations

from typing import ClassVar, Literal

from astra_ns3.config.core.model import Bytes
from astra_ns3.config.transports.base import TransportKeys


class InstantTransport(TransportKeys):
    """Messages that are there at once."""

    title: ClassVar[str] = "Instant"
    kind: Literal["instant"] = "instant"
    least_bytes: Bytes = 1000
''',
        "astra_ns3/transport/instant.py": '''"""A transport that takes no time, for a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.base import TransportKeys
from astra_ns3.config.transports.instant import InstantTransport
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.transport import Frames, Sizes, Told, Transport, TransportCosts


@dataclass(frozen=True, eq=False, kw_only=True)
class Instant(Transport):
    """Messages that are there at once."""

    kind: ClassVar[str] = "instant"
    costs: ClassVar[TransportCosts] = TransportCosts(0, 0, 0, 1e-7, 0, 1, 1, 0, 0)

    keys: InstantTransport

    @classmethod
    def on(cls, keys: TransportKeys, outline: NetworkOutline) -> Instant:
        """Return it on a network."""
        assert isinstance(keys, InstantTransport)
        sizes = dict.fromkeys(
            ("largest_frame_bytes", "largest_wire_bytes", "packet_wire_bytes", "answer_wire_bytes"), 64
        )
        return cls(
            keys=keys,
            outline=outline,
            base_round_trip_ps=outline.idle_round_trip_ps(64),
            payload_bytes=1000,
            window_bytes=0,
            acknowledged=False,
            **sizes,
        )

    def frames(self, sizes: Sizes) -> Frames:
        """Return one frame of each message."""
        return [(np.ones_like(sizes), np.full_like(sizes, self.packet_wire_bytes))]

    def check(self, network: NetworkConfig, largest_wire_bytes: int) -> list[str]:
        """Return a warning, for a test."""
        return ["nothing takes no time"]

    def in_force(self) -> dict[str, Any]:
        """Return its only number."""
        return {"least_bytes": self.keys.least_bytes}

    @staticmethod
    def told(numbers: Mapping[str, Any]) -> Told:
        """Return its only number."""
        return ("Instant", "at once"), numbers

    def native(self, posting_ps: int) -> Mapping[str, bool | int | float | str]:
        """Return its only number."""
        return self.in_force()
''',
    },
    lines={
        "ns3-scratch/bridge/model/transport-registry.cc": (
            (
                "constexpr std::array<TransportEntry, 5> TRANSPORTS{{",
                "constexpr std::array<TransportEntry, 6> TRANSPORTS{{\n"
                '    {"instant", true, &Make<InstantSessionTransport>},',
            ),
            (
                '#include "roce-session-transport.h"',
                '#include "instant-session-transport.h"\n#include "roce-session-transport.h"',
            ),
        ),
        "astra_ns3/config/transports/kinds.py": (
            (
                '    Annotated[TcpTransport, Tag("tcp")] |',
                '    Annotated[InstantTransport, Tag("instant")] | Annotated[TcpTransport, Tag("tcp")] |',
            ),
            (
                "from astra_ns3.config.transports.roce ",
                "from astra_ns3.config.transports.instant import InstantTransport\n"
                "from astra_ns3.config.transports.roce ",
            ),
        ),
        "astra_ns3/transport/transports.py": (
            ("for each in (Tcp, Roce)}", "for each in (Tcp, Roce, Instant)}"),
            (
                "from astra_ns3.transport.network_outline",
                "from astra_ns3.transport.instant import Instant\nfrom astra_ns3.transport.network_outline",
            ),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.validate import validate
from astra_ns3.network.ideal.choice import ideal_of
from astra_ns3.network.plan import plan_network
from astra_ns3.report.validation import validation_text
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
import numpy as np

link = {"rate": "100Gbps", "delay": "1us"}
topology = {"npus": 4, "link": link, "switch": {"buffer": "1MB", "ecn": "scaled"}}
network = parse_network({"topology": topology, "transport": {"kind": "instant", "least_bytes": "2KB"}})
layer = "l -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 4000 0"
keys = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 1, "all-reduce-implementation": "ring"}
found = validate(parse_workload(f"DATA\\n1\\n{layer}"), parse_system(keys), network)
assert found.warnings == ("nothing takes no time",), found.warnings
assert found.in_force["instant"] == {"least_bytes": 2000} and found.forecast.packets == 4 * 6
assert ["least", "2", "KB"] in [line.split() for line in validation_text(found.document()).splitlines()]
plan = plan_network(network)
assert plan.transports["instant"].native(0) == {"least_bytes": 2000}
ends = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
assert ideal_of(plan, "ns3")(*ends, np.array([1000])).tolist() == [2 * 64 * 80 + 2_000_000]
""",
    compiled=("ns3-scratch/bridge/model/transport-registry.cc",),
)

ROCE_CONTROL = Recipe(
    row="RoCE congestion control",
    files={
        "ns3-scratch/roce/model/roce-control-steady.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-control-none.h"

namespace ns3
{

/// Stays at the line's rate, for a test.
class RoceControlSteady : public RoceControlNone
{
  public:
    /// \\param parameters none
    explicit RoceControlSteady(const RoceControlParameters& parameters);
};

} // namespace ns3
""",
        "ns3-scratch/roce/model/roce-control-steady.cc": """// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-steady.h"

namespace ns3
{

RoceControlSteady::RoceControlSteady(const RoceControlParameters& parameters)
    : RoceControlNone(parameters)
{
}

} // namespace ns3
""",
    },
    lines={
        "ns3-scratch/roce/model/roce-control-registry.cc": (
            ('    Entry{"swift", ', '    Entry{"steady", Make<RoceControlSteady>},\n    Entry{"swift", '),
            ('#include "roce-control-static', '#include "roce-control-steady.h"\n#include "roce-control-static'),
        ),
        "astra_ns3/config/transports/roce_control.py": (
            (
                "class StaticWindow(_Fixed):",
                'class Steady(RoceControl):\n    """Line rate, for a test."""\n\n'
                '    kind: Literal["steady"] = "steady"\n\n\nclass StaticWindow(_Fixed):',
            ),
            (
                '    | Annotated[Swift, Tag("swift")]',
                '    | Annotated[Swift, Tag("swift")]\n    | Annotated[Steady, Tag("steady")]',
            ),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.transports.roce_control import KINDS

link = {"rate": "100Gbps", "delay": "1us"}
topology = {"npus": 4, "link": link, "switch": {"buffer": "1MB"}}
found = parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": "steady"}})
assert found.transport.congestion_control.kind == "steady"
assert "steady" in KINDS
""",
    compiled=("ns3-scratch/roce/model/roce-control-steady.cc", "ns3-scratch/roce/model/roce-control-registry.cc"),
)

RECORDED_COLUMN = Recipe(
    row="column of a recorded table",
    lines={
        "ns3-scratch/bridge/model/record-rows.h": (
            (
                '        {"row", [](const FlowRow&',
                '        {"twice", [](const FlowRow& row) -> int64_t { return 2 * row.message.bytes; }},\n'
                '        {"row", [](const FlowRow&',
            ),
        ),
        "astra_ns3/network/recorded.py": (
            (
                "    (*_MESSAGE_COLUMNS, IDEAL)",
                '    (*_MESSAGE_COLUMNS, Column("twice", "int64", "B", "for a test"), IDEAL)',
            ),
        ),
    },
    check="""
from astra_ns3.network.recorded import FLOWS
assert "twice" in FLOWS.recorded
assert "twice" in astra_ns3.Result.flows.__doc__
""",
    compiled=("ns3-scratch/bridge/model/recorder.cc",),
)

OBSERVED_QUANTITY = Recipe(
    row="observed quantity",
    files={
        "ns3-scratch/bridge/model/drop-probe.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "record-rows.h"

#include "ns3/nstime.h"
#include "ns3/packet.h"

namespace astra_ns3
{

/// Takes down each frame that a port drops, for a test.
class DropProbe
{
  public:
    /// \\param table where to \\param node the port's node \\param port its number
    DropProbe(PortTable& table, uint32_t node, uint32_t port)
        : m_table(table),
          m_node(node),
          m_port(port)
    {
    }

    /// \\param time when \\param packet what was dropped
    void Dropped(ns3::Time time, ns3::Ptr<const ns3::Packet> packet)
    {
        m_table.Append({time.GetTimeStep(), m_node, m_port, packet->GetSize()});
    }

  private:
    PortTable& m_table; //!< where to
    uint32_t m_node;    //!< the port's node
    uint32_t m_port;    //!< its number
};

} // namespace astra_ns3
"""
    },
    lines={
        "ns3-scratch/bridge/model/recorder.h": (
            ('#include "fabric-network.h"', '#include "drop-probe.h"\n#include "fabric-network.h"'),
            (
                "    std::vector<std::unique_ptr<RecordTable>> m_added;",
                '    PortTable m_drops{"drops", PortColumns("dropped_bytes")}; //!< of ports\n'
                "    std::vector<std::unique_ptr<DropProbe>> m_dropProbes;     //!< of ports\n"
                "    std::vector<std::unique_ptr<RecordTable>> m_added;",
            ),
        ),
        "ns3-scratch/bridge/model/recorder.cc": (
            ("RecordTable*>{&m_flows,", "RecordTable*>{&m_drops, &m_flows,"),
            (
                "    ForEachPort(observation.pauses,",
                "    ForEachPort(observation.drops, [&](uint32_t node, uint32_t port) {\n"
                "        m_dropProbes.push_back(std::make_unique<DropProbe>(m_drops, node, port));\n"
                "        m_fabric.GetPort(node, port)->TraceConnectWithoutContext(\n"
                '            "Drop", MakeCallback(&DropProbe::Dropped, m_dropProbes.back().get()));\n'
                "    });\n    ForEachPort(observation.pauses,",
            ),
        ),
        "ns3-scratch/bridge/model/network-description.h": (
            (
                "    Numbers utilisation;                    //!<",
                "    Numbers drops; //!< ports whose drops are recorded\n    Numbers utilisation; //!<",
            ),
            (
                '    field("utilisation",',
                '    field("drops", observation.drops);\n    field("utilisation",',
            ),
        ),
        "astra_ns3/network/recorded.py": (
            (
                "UTILISATION = RecordedTable(",
                'DROPS = RecordedTable(\n    "drops", "for a test", "observe.drops", '
                '_port_columns(Column("dropped_bytes", "int64", "B", "size"))\n)\n'
                "UTILISATION = RecordedTable(",
            ),
        ),
        "astra_ns3/network/door/recording.py": (
            (
                "        if observe.pauses:\n",
                "        if observe.drops:\n            ports = all_ports(graph)\n"
                "            self._observe(drops=_flat(ports))\n"
                "            self._open_ports(DROPS, ports)\n        if observe.pauses:\n",
            ),
            ("    CONNECTIONS,\n    FLOWS,", "    CONNECTIONS,\n    DROPS,\n    FLOWS,"),
        ),
        "astra_ns3/experiments/result.py": (
            ("    pauses = Frame(PAUSES)", "    drops = Frame(DROPS)\n    pauses = Frame(PAUSES)"),
            ("    CONNECTIONS,\n    FLOWS,", "    CONNECTIONS,\n    DROPS,\n    FLOWS,"),
        ),
        "astra_ns3/config/network/packet_network.py": (
            ("    pauses: OnOff = False\n", "    drops: OnOff = False\n    pauses: OnOff = False\n"),
        ),
    },
    check="""
import astra_ns3.network.door.recording
from astra_ns3.config.network.packet_network import Observe
assert Observe(drops=True).drops
assert "dropped_bytes" in astra_ns3.Result.drops.__doc__
""",
    compiled=("ns3-scratch/bridge/model/recorder.cc",),
)

CHANGE = Recipe(
    row="something that changes during a run",
    lines={
        "astra_ns3/topology/graph.py": (("    up: bool = True\n", "    up: bool = True\n    repeats: int = 1\n"),),
        "astra_ns3/topology/changes.py": (
            (
                "    error_rate: float | None = None\n",
                "    error_rate: float | None = None\n    repeats: int | None = None\n",
            ),
        ),
        "astra_ns3/topology/route_differences.py": (
            (
                "    error_rates: npt.NDArray[np.float64]\n",
                "    error_rates: npt.NDArray[np.float64]\n    repeats: _Numbers\n",
            ),
            (
                "        np.array([link.error_rate for _, link in changed], dtype=np.float64),\n",
                "        np.array([link.error_rate for _, link in changed], dtype=np.float64),\n"
                "        np.array([link.repeats for _, link in changed], dtype=np.uint32),\n",
            ),
        ),
        "astra_ns3/network/ns3/build.py": (
            (
                '                "errorRates": links.error_rates,\n',
                '                "errorRates": links.error_rates,\n                "repeats": links.repeats,\n',
            ),
        ),
        "ns3-scratch/bridge/model/network-description.h": (
            (
                "    Reals errorRates;     //!< error rate of each\n",
                "    Reals errorRates;     //!< error rate of each\n"
                "    Numbers repeats;      //!< sendings of each frame\n",
            ),
            (
                '    field("errorRates",',
                '    field("repeats", change.repeats);\n    field("errorRates",',
            ),
        ),
        "ns3-scratch/bridge/model/fabric-builder.cc": (
            (
                "                         change.errorRates[place],\n",
                "                         change.errorRates[place],\n                         change.repeats[place],\n",
            ),
        ),
        "ns3-scratch/fabric/model/fabric-changes.h": (
            (
                "    double errorRate{0.0}; //!< probability that a frame is lost\n",
                "    double errorRate{0.0}; //!< probability that a frame is lost\n"
                "    uint32_t repeats{1};   //!< sendings of each frame\n",
            ),
        ),
        "ns3-scratch/fabric/model/fabric-changes.cc": (
            (
                "    const bool wasSilent = port.IsSilent();\n",
                "    if (state.repeats > 1)\n    {\n"
                '        port.SetAttribute("DataRate", DataRateValue(DataRate(state.rateBps / state.repeats)));\n'
                "    }\n    const bool wasSilent = port.IsSilent();\n",
            ),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.changes import Change, LinkTarget, State
from astra_ns3.topology.route_differences import epoch_difference

topology = {"npus": 2, "link": {"rate": "100Gbps", "delay": "1us"}, "switch": {"buffer": "1MB"}}
plan = plan_network(parse_network({"topology": topology}), None, [Change(5, LinkTarget(1), State(repeats=3))])
before, after = plan.epochs()
found = epoch_difference(before, after).links
assert (found.links.tolist(), found.repeats.tolist()) == ([1], [3])
""",
    compiled=("ns3-scratch/fabric/model/fabric-changes.cc", "ns3-scratch/bridge/model/fabric-builder.cc"),
)

BACKGROUND = Recipe(
    row="background traffic",
    files={
        "ns3-scratch/collective/model/background-application.h": """// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-transport.h"

#include "ns3/application.h"

namespace ns3
{

/// Sends a message again and again, for a test.
class BackgroundApplication : public Application
{
  public:
    /// \\param transport what carries it \\param message what is sent \\param every from one to the next
    BackgroundApplication(MessageTransport& transport, const CollectiveMessage& message, Time every);

  private:
    void StartApplication() override;

    MessageTransport& m_transport; //!< what carries it
    CollectiveMessage m_message;   //!< what is sent
    Time m_every;                  //!< from one to the next
};

} // namespace ns3
""",
        "ns3-scratch/collective/model/background-application.cc": """// SPDX-License-Identifier: GPL-2.0-only
#include "background-application.h"

#include "ns3/simulator.h"

namespace ns3
{

BackgroundApplication::BackgroundApplication(MessageTransport& transport,
                                             const CollectiveMessage& message,
                                             Time every)
    : m_transport(transport),
      m_message(message),
      m_every(every)
{
}

void
BackgroundApplication::StartApplication()
{
    m_message.startPs = Simulator::Now().GetTimeStep();
    m_transport.Send(m_message);
    Simulator::Schedule(m_every, &BackgroundApplication::StartApplication, this);
}

} // namespace ns3
""",
    },
    lines={
        "astra_ns3/config/network/packet_network.py": (
            (
                'recorded while the run goes on."""\n\n    @model_validator',
                'recorded while the run goes on."""\n    background: OnOff = False\n\n    @model_validator',
            ),
        ),
    },
    check="""
from astra_ns3.config.network.packet_network import parse_network

topology = {"npus": 2, "link": {"rate": "100Gbps", "delay": "1us"}, "switch": {"buffer": "1MB"}}
assert parse_network({"topology": topology, "background": True}).background
""",
    compiled=("ns3-scratch/collective/model/background-application.cc",),
)

RECIPES = (
    LINK_KEY,
    PATH_CHOICE,
    SCHEDULER,
    TRANSPORT,
    ROCE_CONTROL,
    RECORDED_COLUMN,
    OBSERVED_QUANTITY,
    CHANGE,
    BACKGROUND,
)
