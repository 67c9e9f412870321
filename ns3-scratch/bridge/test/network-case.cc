// SPDX-License-Identifier: GPL-2.0-only
#include "network-case.h"

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

namespace astra_ns3::test
{

namespace
{
constexpr uint32_t PRIORITIES = 8;
constexpr int64_t MICROSECOND_PS = 1'000'000;
constexpr uint64_t BPS_PER_GBPS = 1'000'000'000;
constexpr uint32_t HEADER_BYTES = 62;

/// Draws a case.
class CaseDraw
{
  public:
    explicit CaseDraw(uint32_t number)
        : m_random(number + 1)
    {
        m_case.number = number;
    }

    /// \return the case
    NetworkCase Make()
    {
        m_credits = m_case.number >= FIRST_CASE_WITH_CREDITS;
        const bool memories = m_case.number >= FIRST_CASE_WITH_MEMORIES && !m_credits;
        const bool late = m_case.number >= FIRST_CASE_WITH_SILENCE;
        const bool flaps = late && (m_credits  ? m_case.number % 4 == 1
                                    : memories ? m_case.number / 8 % 2 == 1
                                               : true);
        m_cutsThrough = m_case.number >= FIRST_CASE_WITH_CUT_THROUGH && !m_credits &&
                        (!late || m_case.number % 2 == 1);
        // Where all is a multiple of one time, heads and departures coincide all the time.
        const uint32_t family = m_case.number % (m_cutsThrough ? 4 : 8);
        m_tied = family >= 5;
        m_case.inOrder = m_tied || family == 4;
        m_equal = family == 7;
        m_hasty = m_case.number % 16 == 4 && !m_tied;
        m_oneRateBps =
            m_cutsThrough && Chance(60) ? Between(10 * BPS_PER_GBPS, 400 * BPS_PER_GBPS) : 0;
        m_payloadBytes = m_equal ? 1'000 : Between(256, 9'000);
        m_frameBytes = m_payloadBytes + HEADER_BYTES;
        m_lossless = Chance(10) ? 0 : 1U << 3 | (Chance(50) ? 1U << Below(PRIORITIES) : 0);
        m_lossless = Chance(10) ? 0xff : m_lossless;
        m_errorRate = !m_equal && Chance(25) ? 0.004 : 0.0;
        DrawNodes();
        m_tenants = flaps && m_case.hosts % 2 == 0 && Chance(60) ? 2 : 1;
        DrawLinks();
        SizeBuffers();
        if (m_credits)
        {
            DrawCredits();
        }
        m_case.routing.kind = Below(ROUTE_BY_PIN + 1);
        m_case.routing.random = Chance(50);
        m_case.routing.seed = Below(1'000);
        m_case.routing.flowletGapPs = Between(100'000, 5 * MICROSECOND_PS);
        DrawTransports();
        DrawMessages();
        DrawFrames();
        const bool half = m_cutsThrough || m_credits;
        if (m_case.number >= FIRST_CASE_WITH_CHANGES && (!half || m_case.number % 2 == 1))
        {
            DrawChanges(flaps, memories);
        }
        m_case.limitPs = 300 * MICROSECOND_PS + 12'347;
        return m_case;
    }

  private:
    /// \return a number below a limit
    uint32_t Below(uint64_t limit)
    {
        return static_cast<uint32_t>(m_random() % limit);
    }

    /// \return a number, both limits included
    int64_t Between(int64_t least, int64_t most)
    {
        return least + static_cast<int64_t>(m_random() % static_cast<uint64_t>(most - least + 1));
    }

    /// \return true with a probability
    bool Chance(uint32_t percent)
    {
        return Below(100) < percent;
    }

    /// \return one of a list
    template <typename T>
    T OneOf(const std::vector<T>& list)
    {
        return list[Below(list.size())];
    }

    void DrawNodes()
    {
        m_case.hosts = m_equal ? 4 + Below(3) : 3 + Below(6);
        m_case.nicBufferBytes = Chance(20) ? (4 + Below(40)) * m_frameBytes : 0;
        const uint32_t switches = m_equal ? 4 : 2 + Below(5);
        for (uint32_t number = 0; number < switches; ++number)
        {
            DrawSwitch(number);
        }
    }

    void DrawSwitch(uint32_t number)
    {
        SwitchParameters parameters;
        parameters.hashSeed = number;
        parameters.alpha = Chance(50) ? 0.0 : Between(1, 16) / 4.0;
        parameters.losslessPriorities = m_lossless;
        parameters.reserveBytes = Chance(30) ? 0 : Below(4 * m_frameBytes);
        parameters.resumeOffsetBytes = Chance(20) ? 0 : Below(3 * m_frameBytes);
        if (Chance(70))
        {
            MarkingParameters marking;
            marking.kminBytes = Below(10 * m_frameBytes);
            marking.kmaxBytes = marking.kminBytes + Below(10 * m_frameBytes);
            marking.pmax = Between(1, 100) / 100.0;
            marking.atEnqueue = Chance(60);
            parameters.marking.push_back(marking);
        }
        for (uint32_t priority = 0; Chance(40) && priority < PRIORITIES; ++priority)
        {
            parameters.quantumBytes.resize(PRIORITIES);
            parameters.quantumBytes[priority] = Chance(20) ? 0 : Between(100, 4 * m_frameBytes);
        }
        if (m_cutsThrough && Chance(80))
        {
            parameters.cutThroughBytes = Chance(50) ? 64 : Between(14, 2 * m_frameBytes);
        }
        m_case.switches.push_back(parameters);
    }

    void AddLink(uint32_t nodeA, uint32_t nodeB)
    {
        LinkParameters link;
        link.rateBps =
            m_tied ? OneOf<uint64_t>({50 * BPS_PER_GBPS, 100 * BPS_PER_GBPS, 100 * BPS_PER_GBPS})
                   : Between(10 * BPS_PER_GBPS, 400 * BPS_PER_GBPS);
        link.delayPs =
            m_tied ? OneOf<int64_t>({80'000, 160'000}) : Below((m_hasty ? 8 : 2) * MICROSECOND_PS);
        if (m_oneRateBps > 0)
        {
            link.rateBps = m_oneRateBps;
            link.delayPs /= Chance(50) ? 20 : 1; // shorter than a frame takes
        }
        if (m_equal)
        {
            link.rateBps = 100 * BPS_PER_GBPS;
            link.delayPs = 500'000;
        }
        link.errorRate = m_errorRate;
        link.headroomBytes = Chance(70) ? Between(2, 12) * m_frameBytes : Below(3 * m_frameBytes);
        link.pfcAlpha = OneOf<double>({0.0625, 0.125, 0.25, 0.5, 1.0, 3.0});
        if (Chance(30))
        {
            link.farHeadroomBytes = Below(8 * m_frameBytes);
            link.farPfcAlpha = OneOf<double>({0.125, 0.5, 2.0});
        }
        m_case.links.push_back({nodeA, nodeB, link});
    }

    void DrawLinks()
    {
        const uint32_t first = m_case.hosts;
        const auto switches = static_cast<uint32_t>(m_case.switches.size());
        const bool leafSpine = m_equal || (switches >= 4 && Chance(50));
        const uint32_t leaves = leafSpine ? switches - 2 : switches;
        for (uint32_t host = 0; host < m_case.hosts; ++host)
        {
            AddLink(host, first + (m_equal ? host % leaves : Below(leaves)));
        }
        for (uint32_t number = 0; leafSpine && number < leaves; ++number)
        {
            AddLink(first + number, first + switches - 2);
            AddLink(first + number, first + switches - 1);
        }
        if (leafSpine)
        {
            return;
        }
        const bool chain = Chance(40);
        for (uint32_t number = 1; number < switches; ++number)
        {
            AddLink(first + (chain ? number - 1 : Below(number)), first + number);
        }
        // Further ones make circles, and two between the same switches equal paths.
        for (uint32_t more = chain ? 0 : Below(switches + 1); more > 0; --more)
        {
            const uint32_t from = Below(switches);
            AddLink(first + from, first + (from + 1 + Below(switches - 1)) % switches);
        }
    }

    /// \return what PFC keeps for the ports of a switch, by number
    std::vector<CasePort> PortsOf(uint32_t number) const
    {
        std::vector<CasePort> ports;
        for (const CaseLink& link : m_case.links)
        {
            const LinkParameters& of = link.parameters;
            if (link.nodeA == m_case.hosts + number)
            {
                ports.push_back({of.headroomBytes, of.pfcAlpha});
            }
            if (link.nodeB == m_case.hosts + number)
            {
                const bool ownRoom = of.farHeadroomBytes >= 0;
                ports.push_back(
                    {ownRoom ? static_cast<uint64_t>(of.farHeadroomBytes) : of.headroomBytes,
                     of.farPfcAlpha > 0.0 ? of.farPfcAlpha : of.pfcAlpha});
            }
        }
        return ports;
    }

    /// Have a switch mark otherwise, or have another buffer and other thresholds of its pauses.
    void DrawMemory(CaseChange& change)
    {
        const uint32_t number = Below(m_case.switches.size());
        if (Chance(25))
        {
            const uint64_t kmin = Below(10 * m_frameBytes);
            change.markings[number] = {kmin,
                                       kmin + Below(10 * m_frameBytes),
                                       Between(1, 100) / 100.0};
            return;
        }
        const SwitchParameters& built = m_case.switches[number];
        CaseMemory memory{0, built.reserveBytes, built.resumeOffsetBytes, PortsOf(number)};
        memory.reserveBytes = Chance(40) ? Below(4 * m_frameBytes) : memory.reserveBytes;
        memory.resumeOffsetBytes = Chance(40) ? Below(3 * m_frameBytes) : memory.resumeOffsetBytes;
        uint64_t kept = 0;
        for (CasePort& port : memory.ports)
        {
            port.headroomBytes = Chance(30) ? Below(12 * m_frameBytes) : port.headroomBytes;
            port.alpha = Chance(40) ? OneOf<double>({0.03, 0.125, 0.5, 2.0}) : port.alpha;
            kept += std::popcount(m_lossless) * (port.headroomBytes + memory.reserveBytes);
        }
        memory.bufferBytes = kept + 1 + Below((Chance(50) ? 4 : 40) * m_frameBytes);
        change.memories[number] = memory;
    }

    void SizeBuffers()
    {
        const auto priorities = static_cast<uint64_t>(std::popcount(m_lossless));
        for (uint32_t number = 0; number < m_case.switches.size(); ++number)
        {
            SwitchParameters& parameters = m_case.switches[number];
            uint64_t kept = 0;
            for (const CaseLink& link : m_case.links)
            {
                const LinkParameters& of = link.parameters;
                const auto far = of.farHeadroomBytes >= 0
                                     ? static_cast<uint64_t>(of.farHeadroomBytes)
                                     : of.headroomBytes;
                kept += link.nodeA == m_case.hosts + number
                            ? priorities * (of.headroomBytes + parameters.reserveBytes)
                            : 0;
                kept += link.nodeB == m_case.hosts + number
                            ? priorities * (far + parameters.reserveBytes)
                            : 0;
            }
            const int64_t shared = Between(1, 2 * int64_t{m_frameBytes});
            parameters.bufferBytes = kept + static_cast<uint64_t>(shared * Between(1, 30));
        }
    }

    /// Switches give credit, most often all of them; the order of links is anything.
    void DrawCredits()
    {
        const bool lanes = Chance(60);
        const bool byHop = Chance(50);
        const int64_t frames = Between(1, 12);
        for (SwitchParameters& parameters : m_case.switches)
        {
            parameters.losslessPriorities = 0;
            parameters.alpha = 0.0;
            const uint32_t largest = m_frameBytes + 42; // with telemetry
            parameters.creditLargestBytes = largest;
            parameters.creditBytes =
                largest + static_cast<uint64_t>(Between(0, (frames - 1) * largest));
            parameters.creditUpdatePs = m_tied ? 80'000 * Between(1, 3) : Between(1, 300'000);
            parameters.bufferBytes = 64 * PRIORITIES * parameters.creditBytes;
            if (lanes)
            {
                parameters.nextLanes = {1, 2, 3, 3, 5, 6, 7, 7};
            }
        }
        if (Chance(20))
        {
            SwitchParameters& without = m_case.switches[Below(m_case.switches.size())];
            without.creditBytes = 0;
        }
        for (CaseLink& link : m_case.links)
        {
            link.parameters.creditOrder = byHop ? 0 : Below(20);
            link.parameters.farCreditOrder = byHop ? 0 : Below(20);
        }
    }

    void DrawTransports()
    {
        for (uint32_t kinds = 1 + Below(3); kinds > 0; --kinds)
        {
            CaseTransport transport;
            ns3::RoceParameters& parameters = transport.parameters;
            parameters.payloadBytes = m_payloadBytes;
            parameters.headerBytes = HEADER_BYTES;
            parameters.priority = Chance(70) ? 3 : Below(PRIORITIES);
            parameters.ackPriority = Chance(50) ? parameters.priority : Below(PRIORITIES);
            parameters.cnpPriority = Below(PRIORITIES);
            parameters.ackEvery = 1 + (Chance(50) ? 0 : Below(8));
            parameters.reliability = static_cast<ns3::RoceReliability>(Below(3));
            parameters.timeoutPs =
                (m_hasty ? Between(1, 3) : Between(20, 120)) * MICROSECOND_PS + Below(1'000'000);
            parameters.retries = 0;
            parameters.nackIntervalPs = Chance(50) ? 0 : Between(1, 20) * MICROSECOND_PS;
            parameters.reorderingPackets = Below(4);
            parameters.windowBytes = Chance(40) ? Between(1, 30) * m_payloadBytes : 0;
            parameters.windowScales = Chance(30);
            parameters.paced = Chance(80);
            parameters.minimumRateBps = 1e9;
            parameters.cnpIntervalPs = Between(1, 8) * MICROSECOND_PS + Below(1'000);
            parameters.cnpOnAck = Chance(20);
            DrawControl(transport);
            m_case.transports.push_back(transport);
        }
    }

    void DrawControl(CaseTransport& transport)
    {
        // The more often those that answer marks.
        transport.control = OneOf<std::string>({"none",
                                                "static-window",
                                                "dcqcn",
                                                "dcqcn",
                                                "dcqcn",
                                                "timely",
                                                "dctcp",
                                                "hpcc",
                                                "hpcc-pint",
                                                "swift"});
        if (transport.control == "hpcc" || transport.control == "hpcc-pint")
        {
            transport.parameters.telemetryBytes = transport.control == "hpcc" ? 42 : 2;
        }
        if (transport.control == "dcqcn")
        {
            transport.controlNumbers = {
                {"g", 0.1},
                {"alpha_timer", static_cast<double>(Between(2, 9) * MICROSECOND_PS)},
                {"increase_timer",
                 static_cast<double>(Between(2, 9) * MICROSECOND_PS + Below(999))},
                {"decrease_timer", Chance(50) ? 0.0 : static_cast<double>(3 * MICROSECOND_PS)},
                {"byte_counter", static_cast<double>(Between(5, 60) * m_frameBytes)},
                {"fast_recovery_times", 2.0},
                {"rate_ai", 1e9},
                {"rate_hai", 5e9},
                {"clamp_target_rate", Chance(50) ? 1.0 : 0.0}};
        }
    }

    /// \return two different hosts, the second more often one of the first few, where it crowds
    std::pair<uint32_t, uint32_t> DrawEnds()
    {
        const uint32_t sender = Below(m_case.hosts);
        uint32_t receiver = Chance(50) ? Below(2) : Below(m_case.hosts);
        if ((receiver - sender) % m_tenants != 0)
        {
            receiver = (receiver + 1) % m_case.hosts; // the sender's tenant has every other host
        }
        receiver = receiver == sender ? (sender + m_tenants) % m_case.hosts : receiver;
        return {sender, receiver};
    }

    void DrawMessages()
    {
        const auto transports = static_cast<uint32_t>(m_case.transports.size());
        const uint32_t packets = std::clamp<uint32_t>(60'000 / m_frameBytes, 12, 60);
        for (uint32_t from = 0; m_equal && from < m_case.hosts; ++from)
        {
            for (uint32_t by = 1; by < m_case.hosts; ++by)
            {
                const uint32_t to = (from + by) % m_case.hosts;
                m_case.messages.push_back({from, to, 0, uint64_t{40} * m_payloadBytes, 0});
            }
        }
        const int64_t spanPs = Between(1, 30) * MICROSECOND_PS;
        for (uint32_t left = m_equal ? 0 : 2 * m_case.hosts + Below(3 * m_case.hosts); left > 0;
             --left)
        {
            const auto [sender, receiver] = DrawEnds();
            const uint64_t bytes = Between(1, int64_t{packets} * m_payloadBytes);
            const int64_t timePs = m_tied ? 80'000 * Below(40) : Between(0, spanPs);
            m_case.messages.push_back({sender, receiver, Below(transports), bytes, timePs});
        }
    }

    void DrawFrames()
    {
        for (uint32_t left = m_equal || Chance(30) ? 0 : Below(300); left > 0; --left)
        {
            const auto [sender, receiver] = DrawEnds();
            CaseFrame frame{sender, receiver, 0, Chance(50), 64, Below(1'000'000'000), 0};
            frame.priority = static_cast<uint8_t>(Below(PRIORITIES));
            frame.bufferBytes = Chance(30) ? 64 : Between(64, m_frameBytes);
            frame.timePs = Below(40 * MICROSECOND_PS) / (m_tied ? 80'000 : 1);
            frame.timePs *= m_tied ? 80'000 : 1;
            m_case.frames.push_back(frame);
        }
    }

    /// What happens to links and nodes at one time.
    struct Happening
    {
        std::map<uint32_t, bool> nodes;         //!< that go down or come up
        std::map<uint32_t, bool> links;         //!< the same
        std::map<uint32_t, bool> carry;         //!< that carry nothing, or carry frames again
        std::map<uint32_t, CaseLinkState> like; //!< links with other numbers
        bool reroutes{false};                   //!< tables follow
        CaseChange others{};                    //!< what changes of switches
    };

    /// \return a time at which something changes, or is mended again. \param afterPs the earliest
    int64_t DrawChangePs(int64_t afterPs)
    {
        const int64_t timePs = afterPs + Below(Chance(30) ? MICROSECOND_PS : 40 * MICROSECOND_PS);
        return m_tied ? timePs / 80'000 * 80'000 : timePs;
    }

    void DrawOutage(std::map<int64_t, Happening>& happenings)
    {
        const int64_t downPs = DrawChangePs(0);
        const int64_t upPs = DrawChangePs(downPs + 1'000);
        const bool ofNode = Chance(40);
        const uint32_t target = Below(ofNode ? m_case.hosts + m_case.switches.size() : Links());
        const auto set = [&](int64_t timePs, bool up) {
            Happening& happening = happenings[timePs];
            (ofNode ? happening.nodes : happening.links)[target] = up;
            const bool late = Chance(20);
            happenings[late ? timePs + Below(5 * MICROSECOND_PS) : timePs].reroutes |= Chance(80);
        };
        set(downPs, false);
        if (Chance(90))
        {
            set(upPs, true);
        }
    }

    /// Links that flap, one or all of a node: silent until they are noticed, unless they are up
    /// again before; tables follow later, or never.
    void DrawFlaps(std::map<int64_t, Happening>& happenings)
    {
        std::vector<uint32_t> links{Below(Links())};
        if (Chance(30))
        {
            const uint32_t node = m_case.links[links[0]].nodeA;
            links.clear();
            for (uint32_t link = 0; link < Links(); ++link)
            {
                const CaseLink& ends = m_case.links[link];
                if (ends.nodeA == node || ends.nodeB == node)
                {
                    links.push_back(link);
                }
            }
        }
        const int64_t everyPs = Between(50, 500) * 80'000;
        const int64_t downPs = everyPs / 80'000 * Between(1, 9) / 10 * 80'000 + 80'000;
        const int64_t noticedPs = Chance(20) ? 0 : Between(0, everyPs / 80'000) * 80'000;
        const int64_t converged = Chance(30) ? 0 : Below(5 * MICROSECOND_PS) / 80'000 * 80'000;
        int64_t timePs = DrawChangePs(0);
        for (uint32_t left = 1 + Below(5); left > 0; --left, timePs += everyPs + 80'000)
        {
            for (const uint32_t link : links)
            {
                happenings[timePs].carry[link] = false;
                if (noticedPs < downPs)
                {
                    happenings[timePs + noticedPs].links[link] = false;
                    happenings[timePs + noticedPs].carry[link] = true;
                }
                happenings[timePs + downPs].links[link] = true;
                happenings[timePs + downPs].carry[link] = true;
            }
            happenings[timePs + noticedPs + converged].reroutes |= Chance(80);
            happenings[timePs + downPs + converged].reroutes |= Chance(80);
        }
    }

    void DrawOtherNumbers(std::map<int64_t, Happening>& happenings)
    {
        const uint32_t link = Below(Links());
        const LinkParameters& parameters = m_case.links[link].parameters;
        CaseLinkState state{link,
                            true,
                            parameters.rateBps,
                            parameters.delayPs,
                            parameters.errorRate,
                            false};
        if (Chance(50))
        {
            state.rateBps = m_tied ? OneOf<uint64_t>({25 * BPS_PER_GBPS, 200 * BPS_PER_GBPS})
                                   : Between(5 * BPS_PER_GBPS, 400 * BPS_PER_GBPS);
        }
        if (Chance(50))
        {
            state.delayPs = m_tied ? OneOf<int64_t>({0, 40'000, 160'000, 320'000})
                                   : Below(Chance(50) ? 20'000 : 3 * MICROSECOND_PS);
        }
        if (Chance(40))
        {
            state.errorRate = OneOf<double>({0.0, 0.01, 0.2, 1.0});
        }
        happenings[DrawChangePs(0)].like.insert_or_assign(link, state);
    }

    void DrawChanges(bool flaps, bool memories)
    {
        std::map<int64_t, Happening> happenings;
        for (uint32_t left = memories ? 1 + Below(6) : 0; left > 0; --left)
        {
            DrawMemory(happenings[DrawChangePs(0)].others);
        }
        for (uint32_t left = flaps ? 1 + Below(3) : 0; left > 0; --left)
        {
            DrawFlaps(happenings);
        }
        for (uint32_t left = 1 + Below(6); left > 0; --left)
        {
            Chance(60) ? DrawOutage(happenings) : DrawOtherNumbers(happenings);
        }
        std::set<uint32_t> downNodes;
        std::set<uint32_t> downLinks;
        std::set<uint32_t> silentLinks;
        std::vector<CaseLinkState> states;
        for (uint32_t link = 0; link < Links(); ++link)
        {
            const LinkParameters& of = m_case.links[link].parameters;
            states.push_back({link, true, of.rateBps, of.delayPs, of.errorRate, false});
        }
        const auto note = [](std::set<uint32_t>& down, const std::map<uint32_t, bool>& changed) {
            for (const auto& [number, up] : changed)
            {
                up ? down.erase(number) : down.insert(number).second;
            }
        };
        for (const auto& [timePs, happening] : happenings)
        {
            note(downNodes, happening.nodes);
            note(downLinks, happening.links);
            note(silentLinks, happening.carry);
            CaseChange change = happening.others;
            change.timePs = timePs;
            change.reroutes = happening.reroutes;
            for (CaseLinkState& state : states)
            {
                const CaseLink& link = m_case.links[state.link];
                const auto found = happening.like.find(state.link);
                const CaseLinkState before = state;
                state = found == happening.like.end() ? state : found->second;
                state.up = !downLinks.contains(state.link) && !downNodes.contains(link.nodeA) &&
                           !downNodes.contains(link.nodeB);
                state.silent = state.up && silentLinks.contains(state.link);
                if (state.up != before.up || state.silent != before.silent ||
                    found != happening.like.end())
                {
                    change.links.push_back(state);
                }
            }
            m_case.changes.push_back(change);
        }
    }

    /// \return number of links
    uint32_t Links() const
    {
        return static_cast<uint32_t>(m_case.links.size());
    }

    NetworkCase m_case;         //!< what is drawn
    std::mt19937_64 m_random;   //!< draws
    bool m_tied{false};         //!< few rates and delays, so that much happens at one time
    bool m_cutsThrough{false};  //!< some switches cut through
    bool m_credits{false};      //!< switches give credit
    uint64_t m_oneRateBps{0};   //!< of all links; 0: each has its own
    bool m_hasty{false};        //!< timeouts shorter than some links are long
    bool m_equal{false};        //!< one rate and delay, and all send to all
    uint32_t m_payloadBytes{0}; //!< of full packets
    uint32_t m_frameBytes{0};   //!< in a buffer
    uint32_t m_lossless{0};     //!< bit p: priority p loses nothing
    double m_errorRate{0.0};    //!< of all links
    uint32_t m_tenants{1};      //!< so many share the network, each with every so-many-th host
};
} // namespace

NetworkCase
MakeNetworkCase(uint32_t number)
{
    return CaseDraw(number).Make();
}

} // namespace astra_ns3::test
