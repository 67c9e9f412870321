// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-lane.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace ns3
{

/// Bundles of objects that threads have given back and do not need. Any thread may use it.
class FabricSlabsShared
{
  public:
    /// \param bundle the first of some objects
    void Put(void* bundle);
    /// \return one that was put, or none
    void* Take();

  private:
    std::mutex m_mutex;           //!< guards the others
    std::vector<void*> m_bundles; //!< first object of each
};

/**
 * Memory for objects of one size, side by side. From the second megabyte on it lies on pages of
 * 2 MiB where the system has them: a network of a thousand hosts has tens of megabytes of frames,
 * and with pages of 4 KiB the look-up of a page costs as much as the memory itself.
 *
 * What is given back is handed out again; the memory itself is kept until the process ends.
 *
 * Each thread that plays has its own for each class of objects. An object may be given back by
 * another thread than the one that took it: what a thread has too much of goes, a bundle at a time,
 * to where others look before they get new memory.
 */
class FabricSlabs
{
  public:
    /// \param bytes of an object; a multiple of its alignment \param shared what threads with
    /// objects of this class have in common
    FabricSlabs(std::size_t bytes, FabricSlabsShared& shared);
    ~FabricSlabs() = delete; // who ends the process may still use objects
    FabricSlabs(const FabricSlabs&) = delete;
    FabricSlabs& operator=(const FabricSlabs&) = delete;

    /// \return memory for an object \throw std::bad_alloc if there is none
    void* Take();
    /// \param object memory that Take has returned
    void Give(void* object);

  private:
    /// An object that is not in use.
    struct Free
    {
        Free* next; //!< another one
    };

    static constexpr uint32_t BUNDLE = 64; //!< objects that change hands together

    /// Get memory for more objects.
    void Grow();
    /// \return a bundle that another thread had too much of, or none
    Free* TakeBundle();
    /// The bundle that is complete goes to other threads, if there is one before it.
    void PutBundleAside();

    std::size_t m_bytes;         //!< of an object
    FabricSlabsShared& m_shared; //!< bundles for all threads
    Free* m_free{nullptr};       //!< given back
    uint32_t m_frees{0};         //!< how many, a bundle at most
    Free* m_aside{nullptr};      //!< a bundle of others, or none
    std::byte* m_next{nullptr};  //!< behind the last that was ever taken
    std::byte* m_end{nullptr};   //!< of the newest slab
    std::vector<void*> m_slabs;  //!< all
};

/// \return where this thread's objects of a class lie
template <class OBJECT>
FabricSlabs&
FabricSlabsOf()
{
    static auto* shared = new FabricSlabsShared;
    static std::array<FabricSlabs*, FabricLane::MOST_OF_HOSTS> all{};
    FabricSlabs*& slabs = all[FabricLane::Here().number];
    if (!slabs) [[unlikely]]
    {
        slabs = new FabricSlabs(sizeof(OBJECT), *shared);
    }
    return *slabs;
}

/// Objects of a final class that derives from this lie side by side.
template <class OBJECT>
class FabricInSlabs
{
  public:
    /// \return memory for an object
    static void* operator new(std::size_t)
    {
        return FabricSlabsOf<OBJECT>().Take();
    }

    /// \param object memory of an object
    static void operator delete(void* object)
    {
        FabricSlabsOf<OBJECT>().Give(object);
    }

  private:
    friend OBJECT;
    FabricInSlabs() = default;
};

} // namespace ns3
