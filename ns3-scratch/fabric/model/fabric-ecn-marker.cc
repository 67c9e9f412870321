// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-ecn-marker.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricEcnMarker);

TypeId
FabricEcnMarker::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FabricEcnMarker")
            .SetParent<Object>()
            .SetGroupName("Fabric")
            .AddConstructor<FabricEcnMarker>()
            .AddAttribute("Kmin",
                          "Queue in bytes up to which nothing is marked.",
                          UintegerValue(400'000),
                          MakeUintegerAccessor(&FabricEcnMarker::m_minimumBytes),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Kmax",
                          "Queue in bytes above which everything is marked.",
                          UintegerValue(1'600'000),
                          MakeUintegerAccessor(&FabricEcnMarker::m_maximumBytes),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Pmax",
                          "Probability of a mark just below Kmax.",
                          DoubleValue(0.2),
                          MakeDoubleAccessor(&FabricEcnMarker::m_maximumProbability),
                          MakeDoubleChecker<double>(0.0, 1.0))
            .AddAttribute("AtEnqueue",
                          "Mark frames that join the queue, else those that leave it.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&FabricEcnMarker::m_atEnqueue),
                          MakeBooleanChecker());
    return tid;
}

bool
FabricEcnMarker::Marks(const FabricFrame& frame, uint64_t queueBytes)
{
    if (frame.ecn == FabricEcn::NOT_CAPABLE || queueBytes <= m_minimumBytes)
    {
        return false;
    }
    if (queueBytes > m_maximumBytes)
    {
        return true;
    }
    const double share = static_cast<double>(queueBytes - m_minimumBytes) /
                         static_cast<double>(m_maximumBytes - m_minimumBytes);
    return m_draws.Next() < share * m_maximumProbability;
}

} // namespace ns3
