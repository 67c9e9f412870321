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
        "ns3-scratch/bridge/model/session-parameters.h": (
            ("    ROUTE_BY_PIN = 5 ", "    ROUTE_BY_FIRST = 6, //!< always the first\n    ROUTE_BY_PIN = 5 "),
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
        "astra_ns3/network/ns3/build.py": (
            ('        "pinned": namespace', '        "first": namespace.ROUTE_BY_FIRST,\n        "pinned": namespace'),
        ),
    },
    check="""
from astra_ns3.config.topology.routing import RoutingConfig
assert RoutingConfig(kind="first").kind == "first"
""",
    compiled=("ns3-scratch/bridge/model/fabric-network-routes.cc",),
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
        "ns3-scratch/bridge/model/session-parameters.h": (
            (
                "    std::vector<uint32_t> quantumBytes; ",
                "    bool lowestFirst{false}; //!< the lowest priority first\n    std::vector<uint32_t> quantumBytes; ",
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
                "    for weight in config.scheduler.weights or ():",
                '    native.lowestFirst = config.scheduler.kind == "lowest"\n'
                "    for weight in config.scheduler.weights or ():",
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
    /// \\param context what it is made from
    explicit InstantSessionTransport(const TransportContext& context)
        : m_listener(context.listener)
    {
    }

    ns3::MessageTransport& GetMessages() override
    {
        return *this;
    }

  private:
    void Send(const ns3::CollectiveMessage& message) override
    {
        m_listener.MessageArrived(message);
    }

    ns3::MessageListener& m_listener; //!< told of messages
};

} // namespace astra_ns3
"""
    },
    lines={
        "ns3-scratch/bridge/model/transport-registry.cc": (
            (
                "constexpr std::array<TransportEntry, 4> TRANSPORTS{{",
                "constexpr std::array<TransportEntry, 5> TRANSPORTS{{\n"
                '    {"instant", &Make<InstantSessionTransport>},',
            ),
            (
                '#include "roce-session-transport.h"',
                '#include "instant-session-transport.h"\n#include "roce-session-transport.h"',
            ),
        ),
    },
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
                "class StaticWindow(RoceControl):",
                'class Steady(RoceControl):\n    """Line rate, for a test."""\n\n'
                '    kind: Literal["steady"] = "steady"\n\n\nclass StaticWindow(RoceControl):',
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
assert found.roce.congestion_control.kind == "steady"
assert "steady" in KINDS
""",
    compiled=("ns3-scratch/roce/model/roce-control-steady.cc", "ns3-scratch/roce/model/roce-control-registry.cc"),
)

RECORDED_COLUMN = Recipe(
    row="column of a recorded table",
    lines={
        "ns3-scratch/bridge/model/record-rows.h": (
            (
                '        {"ideal_ps", ',
                '        {"twice", [](const FlowRow& row) -> int64_t { return 2 * row.message.bytes; }},\n'
                '        {"ideal_ps", ',
            ),
        ),
        "astra_ns3/network/recorded.py": (
            (
                '    (*_MESSAGE_COLUMNS, Column("ideal_ps", ',
                '    (*_MESSAGE_COLUMNS, Column("twice", "int64", "B", "for a test"), Column("ideal_ps", ',
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

RECIPES = (PATH_CHOICE, SCHEDULER, TRANSPORT, ROCE_CONTROL, RECORDED_COLUMN)
