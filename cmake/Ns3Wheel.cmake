# ns3::<module>: imported targets over the headers and libraries of the ns3 wheel.
#
# The wheel's own find_package(ns3) names paths of the machine it was built on, so it can't be used.
# Sets NS3_VERSION, NS3_ROOT, NS3_LIBRARY_DIRECTORY.
set(NS3_VERSION "3.44.post0")
set(NS3_SERIES "3.44")

set(NS3_ROOT "" CACHE PATH "Folder ns3 of the installed wheel; found by asking Python when empty")
if(NOT NS3_ROOT)
  if(NOT DEFINED Python_EXECUTABLE AND NOT DEFINED Python_ROOT_DIR)
    set(Python_FIND_VIRTUALENV FIRST)
    set(Python_FIND_STRATEGY LOCATION)
  endif()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "from importlib.metadata import distribution, version
print(version('ns3'), distribution('ns3').locate_file('ns3'), sep=';', end='')"
    OUTPUT_VARIABLE ns3_found
    ERROR_QUIET
    RESULT_VARIABLE ns3_status)
  if(NOT ns3_status EQUAL 0)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no ns3; run 'pip install ns3==${NS3_VERSION}' or give -DNS3_ROOT=...")
  endif()
  list(GET ns3_found 0 ns3_found_version)
  list(GET ns3_found 1 ns3_found_root)
  if(NOT ns3_found_version STREQUAL NS3_VERSION)
    message(FATAL_ERROR "ns3 ${ns3_found_version} found, ${NS3_VERSION} needed; run 'pip install ns3==${NS3_VERSION}'")
  endif()
  # A plain variable: the environment of an isolated build is another one each time, so nothing of it may stay cached.
  set(NS3_ROOT "${ns3_found_root}")
endif()

set(NS3_LIBRARY_DIRECTORY "${NS3_ROOT}/lib64")
if(NOT EXISTS "${NS3_ROOT}/include/ns3/core-module.h" OR NOT EXISTS "${NS3_LIBRARY_DIRECTORY}/libns${NS3_SERIES}-core.so")
  message(FATAL_ERROR "NS3_ROOT=${NS3_ROOT} holds no include/ns3/core-module.h and lib64/libns${NS3_SERIES}-core.so")
endif()
message(STATUS "ns-3 ${NS3_SERIES}: ${NS3_ROOT}")

# ns3_module(<name> [<modules it needs>...])
function(ns3_module name)
  add_library(ns3::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(ns3::${name} PROPERTIES
    IMPORTED_LOCATION "${NS3_LIBRARY_DIRECTORY}/libns${NS3_SERIES}-${name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${NS3_ROOT}/include")
  foreach(needed IN LISTS ARGN)
    target_link_libraries(ns3::${name} INTERFACE ns3::${needed})
  endforeach()
endfunction()

ns3_module(core)
# The wheel was compiled with both; without them the layouts of its classes differ and memory is silently corrupted.
target_compile_definitions(ns3::core INTERFACE NS3_LOG_ENABLE NS3_ASSERT_ENABLE)
target_link_options(ns3::core INTERFACE "LINKER:-rpath-link,${NS3_LIBRARY_DIRECTORY}")
ns3_module(stats core)
ns3_module(network stats core)
ns3_module(bridge network)
ns3_module(traffic-control network)
ns3_module(internet bridge traffic-control network stats)
ns3_module(point-to-point network)
ns3_module(applications internet network stats)
