# astra-ns3-settings: language, optimisation, warnings and sanitizers of everything this project compiles.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
   OR (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} lacks C++20; install g++ 11 or clang++ 14 or "
                      "later")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Without NDEBUG, so that a plain assert() holds as ns-3's own do.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

find_program(ASTRA_NS3_CCACHE ccache)
if(ASTRA_NS3_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ASTRA_NS3_CCACHE}")
endif()

add_library(astra-ns3-settings INTERFACE)
# Nobody puts a function of theirs in place of one of ours, so ours may be inlined and called without a table: 15 to 29% of
# the time of a packet.
target_compile_options(astra-ns3-settings INTERFACE -Wall -Wextra -fno-semantic-interposition)
target_link_options(astra-ns3-settings INTERFACE -Wl,-Bsymbolic-functions)
if(ASTRA_NS3_WERROR)
  target_compile_options(astra-ns3-settings INTERFACE -Werror)
endif()
if(ASTRA_NS3_SANITIZE)
  if(ASTRA_NS3_SANITIZE STREQUAL "thread")
    set(sanitizers -fsanitize=thread -fno-omit-frame-pointer)
  else()
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  endif()
  target_compile_options(astra-ns3-settings INTERFACE ${sanitizers} -g)
  target_link_options(astra-ns3-settings INTERFACE ${sanitizers})
endif()
