# The ANTLR 4 tool (to generate the parser) and the C++ runtime (to run it). The tool and the runtime must read the same
# serialised table format: it changed in 4.10, so a tool before 4.10 needs a runtime before 4.10, and likewise after.
find_program(ANTLR4_TOOL antlr4)
find_path(ANTLR4_INCLUDE_DIR antlr4-runtime.h PATH_SUFFIXES antlr4-runtime)
find_library(ANTLR4_LIBRARY antlr4-runtime)
if(NOT ANTLR4_TOOL OR NOT ANTLR4_INCLUDE_DIR OR NOT ANTLR4_LIBRARY)
  message(FATAL_ERROR "ANTLR 4 is missing: the tool (package antlr4) and the C++ runtime (package libantlr4-runtime-dev)")
endif()

execute_process(COMMAND ${ANTLR4_TOOL} OUTPUT_VARIABLE antlr_help ERROR_VARIABLE antlr_help_err)
string(REGEX MATCH "Version ([0-9]+)\\.([0-9]+)" _ "${antlr_help}${antlr_help_err}")
set(antlr_tool_minor "${CMAKE_MATCH_2}")
file(STRINGS "${ANTLR4_INCLUDE_DIR}/RuntimeMetaData.h" antlr_rt REGEX "VERSION")
file(GLOB antlr_sonames "${ANTLR4_LIBRARY}.4.*")
get_filename_component(antlr_real "${ANTLR4_LIBRARY}" REALPATH)
string(REGEX MATCH "so\\.4\\.([0-9]+)" _ "${antlr_real}")
set(antlr_runtime_minor "${CMAKE_MATCH_1}")
if(antlr_tool_minor AND antlr_runtime_minor)
  if((antlr_tool_minor LESS 10 AND NOT antlr_runtime_minor LESS 10)
     OR (antlr_runtime_minor LESS 10 AND NOT antlr_tool_minor LESS 10))
    message(FATAL_ERROR
      "The ANTLR tool is 4.${antlr_tool_minor} and its C++ runtime is 4.${antlr_runtime_minor}; they do not read the same "
      "table format (it changed in 4.10). Install a tool and a runtime that are both before, or both from, 4.10.")
  endif()
endif()

add_library(Antlr::runtime UNKNOWN IMPORTED)
set_target_properties(Antlr::runtime PROPERTIES IMPORTED_LOCATION "${ANTLR4_LIBRARY}"
                                                INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${ANTLR4_INCLUDE_DIR}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${ANTLR4_INCLUDE_DIR}")
