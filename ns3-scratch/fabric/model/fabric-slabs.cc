// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-slabs.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace ns3
{

namespace
{
constexpr std::size_t LARGE_PAGE_BYTES = std::size_t{2} << 20;
constexpr std::size_t FIRST_SLAB_BYTES = std::size_t{64} << 10;
} // namespace

void
FabricSlabsShared::Put(void* bundle)
{
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_bundles.push_back(bundle);
}

void*
FabricSlabsShared::Take()
{
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (m_bundles.empty())
    {
        return nullptr;
    }
    void* bundle = m_bundles.back();
    m_bundles.pop_back();
    return bundle;
}

FabricSlabs::FabricSlabs(std::size_t bytes, FabricSlabsShared& shared)
    : m_bytes(std::max(bytes, sizeof(Free))),
      m_shared(shared)
{
}

FabricSlabs::Free*
FabricSlabs::TakeBundle()
{
    return m_aside ? std::exchange(m_aside, nullptr) : static_cast<Free*>(m_shared.Take());
}

void
FabricSlabs::PutBundleAside()
{
    if (m_aside)
    {
        m_shared.Put(m_aside);
    }
    m_aside = std::exchange(m_free, nullptr);
    m_frees = 0;
}

void*
FabricSlabs::Take()
{
    if (m_free)
    {
        Free* object = m_free;
        m_free = object->next;
        m_frees--;
        return object;
    }
    if (static_cast<std::size_t>(m_end - m_next) < m_bytes)
    {
        if (Free* bundle = TakeBundle())
        {
            m_free = bundle->next;
            m_frees = BUNDLE - 1;
            return bundle;
        }
        Grow();
    }
    void* object = m_next;
    m_next += m_bytes;
    return object;
}

void
FabricSlabs::Give(void* object)
{
    if (m_frees == BUNDLE)
    {
        PutBundleAside();
    }
    m_free = new (object) Free{m_free};
    m_frees++;
}

void
FabricSlabs::Grow()
{
    // Small ones first, so that small runs stay small.
    const std::size_t bytes =
        std::min(FIRST_SLAB_BYTES << std::min<std::size_t>(m_slabs.size(), 8), LARGE_PAGE_BYTES);
    m_slabs.reserve(m_slabs.size() + 1);
    void* slab = std::aligned_alloc(bytes, bytes);
    if (!slab)
    {
        throw std::bad_alloc();
    }
    if (bytes == LARGE_PAGE_BYTES)
    {
        madvise(slab, bytes, MADV_HUGEPAGE); // a wish: without such pages all is as before
    }
    m_slabs.push_back(slab);
    m_next = static_cast<std::byte*>(slab);
    m_end = m_next + bytes;
}

} // namespace ns3
