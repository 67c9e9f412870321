// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-scheduler.h"

#include "fabric-delay.h"
#include "fabric-telling-event.h"

#include "ns3/assert.h"
#include "ns3/event-impl.h"
#include "ns3/pointer.h"

#include <algorithm>
#include <limits>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricScheduler);
NS_OBJECT_ENSURE_REGISTERED(FabricSchedulerMonitor);

namespace
{
constexpr std::size_t WAYS = 4;
constexpr std::size_t SMALLEST_SWEEP = 4096;

/// \return whether a is due before b
inline bool
IsBefore(const Scheduler::Event& a, const Scheduler::Event& b)
{
    return a.key.m_ts != b.key.m_ts ? a.key.m_ts < b.key.m_ts : a.key.m_uid < b.key.m_uid;
}

/// Stands for an event that was swept out: cancelled, so nothing happens when it is invoked.
class SweptEventImpl : public EventImpl
{
  public:
    SweptEventImpl()
    {
        Cancel();
    }

  private:
    void Notify() override
    {
    }
};
} // namespace

TypeId
FabricScheduler::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricScheduler")
                            .SetParent<Scheduler>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricScheduler>()
                            .AddAttribute("Monitor",
                                          "Looks into this scheduler; may be none.",
                                          PointerValue(),
                                          MakePointerAccessor(&FabricScheduler::SetMonitor),
                                          MakePointerChecker<FabricSchedulerMonitor>());
    return tid;
}

TypeId
FabricSchedulerMonitor::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricSchedulerMonitor")
                            .SetParent<Object>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricSchedulerMonitor>();
    return tid;
}

void
FabricSchedulerMonitor::ShowTime(int64_t* place)
{
    m_timePs = place;
}

bool
FabricSchedulerMonitor::HasLiveEvents() const
{
    return m_scheduler && m_scheduler->HasLiveEvents();
}

bool
FabricSchedulerMonitor::NextOnlyTells() const
{
    return m_scheduler && m_scheduler->NextOnlyTells();
}

uint64_t
FabricSchedulerMonitor::GetPlaceholders() const
{
    return m_placeholders;
}

FabricScheduler::~FabricScheduler()
{
    SetMonitor(nullptr);
    for (const Event& event : m_heap)
    {
        event.impl->Unref();
    }
}

void
FabricScheduler::SiftUp(std::size_t place)
{
    const Event event = m_heap[place];
    while (place > 0)
    {
        const std::size_t parent = (place - 1) / WAYS;
        if (!IsBefore(event, m_heap[parent]))
        {
            break;
        }
        m_heap[place] = m_heap[parent];
        place = parent;
    }
    m_heap[place] = event;
}

void
FabricScheduler::SiftDown(std::size_t place)
{
    const Event event = m_heap[place];
    const std::size_t size = m_heap.size();
    for (std::size_t child = place * WAYS + 1; child < size; child = place * WAYS + 1)
    {
        std::size_t least = child;
        const std::size_t end = std::min(child + WAYS, size);
        for (std::size_t other = child + 1; other < end; ++other)
        {
            if (IsBefore(m_heap[other], m_heap[least]))
            {
                least = other;
            }
        }
        if (!IsBefore(m_heap[least], event))
        {
            break;
        }
        m_heap[place] = m_heap[least];
        place = least;
    }
    m_heap[place] = event;
}

void
FabricScheduler::Insert(const Event& event)
{
    // ns-3 adds a delay to the time in 64 bits with a sign: what comes out too large has wrapped.
    if (event.key.m_ts > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) [[unlikely]]
    {
        event.impl->Unref(); // the simulator has handed it over
        FabricRefuseTheLong("an event");
    }
    if (m_heap.size() >= m_sweepAt)
    {
        Sweep();
    }
    m_heap.push_back(event);
    SiftUp(m_heap.size() - 1);
}

bool
FabricScheduler::IsEmpty() const
{
    return m_heap.empty() && m_swept == 0;
}

void
FabricScheduler::SetMonitor(Ptr<FabricSchedulerMonitor> monitor)
{
    if (m_monitor)
    {
        m_monitor->m_scheduler = nullptr;
    }
    m_monitor = monitor;
    if (m_monitor)
    {
        m_monitor->m_scheduler = this;
    }
}

bool
FabricScheduler::HasLiveEvents() const
{
    return std::any_of(m_heap.begin(), m_heap.end(), [](const Event& event) {
        return !event.impl->IsCancelled();
    });
}

bool
FabricScheduler::NextOnlyTells() const
{
    if (m_heap.empty() || m_heap.front().key.m_ts != m_last.m_ts)
    {
        return false;
    }
    const auto* next = dynamic_cast<const FabricTellingEvent*>(m_heap.front().impl);
    return next && !m_heap.front().impl->IsCancelled() && next->OnlyTells();
}

void
FabricScheduler::DropFirst()
{
    m_heap.front().impl->Unref();
    m_swept++;
    Erase(0);
}

Scheduler::Event
FabricScheduler::PeekNext() const
{
    NS_ASSERT_MSG(!m_heap.empty(), "FabricScheduler: no event to look at");
    return m_heap.front();
}

Scheduler::Event
FabricScheduler::RemoveNext()
{
    while (!m_heap.empty() && m_heap.front().impl->IsCancelled())
    {
        DropFirst();
    }
    if (m_heap.empty())
    {
        m_swept--;
        if (m_monitor)
        {
            m_monitor->m_placeholders++;
        }
        return Event{new SweptEventImpl(), m_last};
    }
    const Event next = m_heap.front();
    Erase(0);
    m_last = next.key;
    if (m_monitor)
    {
        *m_monitor->m_timePs = static_cast<int64_t>(next.key.m_ts);
    }
    return next;
}

void
FabricScheduler::Erase(std::size_t place)
{
    const Event moved = m_heap.back();
    m_heap.pop_back();
    if (place < m_heap.size())
    {
        m_heap[place] = moved;
        SiftDown(place);
        SiftUp(place);
    }
}

void
FabricScheduler::Remove(const Event& event)
{
    for (std::size_t place = 0; place < m_heap.size(); ++place)
    {
        if (m_heap[place].key.m_uid == event.key.m_uid)
        {
            Erase(place);
            return;
        }
    }
    NS_ASSERT_MSG(false, "FabricScheduler: the event to remove is not there");
}

void
FabricScheduler::Sweep()
{
    const auto cancelled =
        std::stable_partition(m_heap.begin(), m_heap.end(), [](const Event& event) {
            return !event.impl->IsCancelled();
        });
    for (auto event = cancelled; event != m_heap.end(); ++event)
    {
        event->impl->Unref();
        m_swept++;
    }
    m_heap.erase(cancelled, m_heap.end());
    for (std::size_t place = m_heap.size() / WAYS + 1; place-- > 0;)
    {
        if (place < m_heap.size())
        {
            SiftDown(place);
        }
    }
    m_sweepAt = std::max(SMALLEST_SWEEP, 2 * m_heap.size());
}

} // namespace ns3
