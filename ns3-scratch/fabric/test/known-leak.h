// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace ns3
{

/// ns-3 never frees the event whose function throws: while one of these lives, what is allocated is
/// no leak.
class KnownLeak
{
  public:
    KnownLeak()
    {
#if defined(__SANITIZE_ADDRESS__)
        __lsan_disable();
#endif
    }

    ~KnownLeak()
    {
#if defined(__SANITIZE_ADDRESS__)
        __lsan_enable();
#endif
    }

    KnownLeak(const KnownLeak&) = delete;
    KnownLeak& operator=(const KnownLeak&) = delete;
};

} // namespace ns3
