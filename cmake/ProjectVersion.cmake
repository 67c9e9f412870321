# ASTRA_NS3_VERSION: the version's single source is pyproject.toml.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml")
file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml" version_line REGEX "^version = \"[0-9.]+\"$" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9.]+" ASTRA_NS3_VERSION "${version_line}")
if(NOT ASTRA_NS3_VERSION)
  message(FATAL_ERROR "pyproject.toml: no line 'version = \"x.y.z\"' found")
endif()
