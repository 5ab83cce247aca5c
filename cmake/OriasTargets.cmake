# How every library and program of the project is declared.

add_library(orias_options INTERFACE)
target_include_directories(orias_options INTERFACE "${PROJECT_SOURCE_DIR}")
# GCC 12 warns of overlapping copies inside its own std::string when -O3 inlines "x" + string (GCC bug 105651).
target_compile_options(orias_options INTERFACE -Wall -Wextra $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>
                                               $<$<BOOL:${ORIAS_WERROR}>:-Werror>)
if(ORIAS_SANITIZE)
  target_compile_options(orias_options INTERFACE -fsanitize=${ORIAS_SANITIZERS} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(orias_options INTERFACE -fsanitize=${ORIAS_SANITIZERS})
endif()
if(ORIAS_FUZZ)
  target_compile_options(orias_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(orias_options INTERFACE -fsanitize=address,undefined)
endif()

# orias_library(NAME [DEPENDS lib...]): all .cpp files of the current folder (not of its subfolders).
# A folder may hold only headers for a while; it is an interface library then.
function(orias_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC orias_options ${ARG_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE orias_options ${ARG_DEPENDS})
  endif()
endfunction()

# orias_in_shared_library(NAME): a target of tools/ whose objects go into a shared library.
function(orias_in_shared_library name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# orias_unit_test(FOLDER DEPENDS lib...): one doctest program, unit_FOLDER, from test/unit/FOLDER/*.cpp.
function(orias_unit_test folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" target "unit_${folder}")
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE orias_doctest_main ${ARG_DEPENDS})
  target_compile_definitions(${target} PRIVATE ORIAS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${target} COMMAND ${target})
endfunction()
