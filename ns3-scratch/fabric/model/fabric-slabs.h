// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <vector>

namespace ns3
{

/**
 * Memory for objects of one size, side by side. From the second megabyte on it lies on pages of
 * 2 MiB where the system has them: a network of a thousand hosts has tens of megabytes of frames,
 * and with pages of 4 KiB the look-up of a page costs as much as the memory itself.
 *
 * What is given back is handed out again; the memory itself is kept until the process ends.
 */
class FabricSlabs
{
  public:
    /// \param bytes of an object; a multiple of its alignment
    explicit FabricSlabs(std::size_t bytes);
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

    /// Get memory for more objects.
    void Grow();

    std::size_t m_bytes;        //!< of an object
    Free* m_free{nullptr};      //!< given back
    std::byte* m_next{nullptr}; //!< behind the last that was ever taken
    std::byte* m_end{nullptr};  //!< of the newest slab
    std::vector<void*> m_slabs; //!< all
};

/// \return where all objects of a class lie
template <class OBJECT>
FabricSlabs&
FabricSlabsOf()
{
    static auto* slabs = new FabricSlabs(sizeof(OBJECT));
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
