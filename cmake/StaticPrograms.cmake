# Third-party libraries inside the program: `orias` starts in half the time, since no symbol of ANTLR, fmt or the C++ library is
# looked up by name and a program at a fixed address needs no relocation. Half of all kernels take less time than that start.
# With the C library inside, too, no dynamic linker runs: 7% less time for a small kernel.
#
# orias_fmt, orias_program_options and orias_zlib stand for fmt::fmt, Boost::program_options and ZLIB::ZLIB: the archive in programs
# that orias_static_program() names, the shared library everywhere else. Antlr::runtime and Libelf::libelf choose in the same way.
option(ORIAS_STATIC_PROGRAMS "Link third-party libraries into the program orias, where archives of them are installed" ON)

# The archive beside a shared library, or nothing.
function(orias_archive result name)
  find_library(${result} NAMES "lib${name}.a")
endfunction()
orias_archive(ORIAS_ARCHIVE_ANTLR antlr4-runtime)
orias_archive(ORIAS_ARCHIVE_OPTIONS boost_program_options)
orias_archive(ORIAS_ARCHIVE_ELF elf)
orias_archive(ORIAS_ARCHIVE_Z z)

# Debian has no archive of fmt; its headers have all of it. One shared library that needs libstdc++.so would bring a second C++
# library into the program, so it is all of them or none: a small program that uses each tells.
set(orias_static_programs OFF)
set(orias_static_sources "") # that the programs have, too
if(antlr_runtime_minor LESS 10)
  set(orias_static_sources "${CMAKE_CURRENT_LIST_DIR}/antlr_xpath.cpp")
endif()
if(ORIAS_STATIC_PROGRAMS AND NOT ORIAS_SANITIZE AND NOT ORIAS_FUZZ AND ORIAS_ARCHIVE_ANTLR AND ORIAS_ARCHIVE_OPTIONS
   AND ORIAS_ARCHIVE_ELF AND ORIAS_ARCHIVE_Z)
  # orias_static_probe(RESULT OPTION...): does a program link with these options?
  function(orias_static_probe result)
    if(NOT DEFINED ${result})
      get_target_property(orias_fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
      try_compile(${result} "${CMAKE_BINARY_DIR}/static_programs"
                  SOURCES "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/static_probe.cpp" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fmt_archive.cpp"
                          ${orias_static_sources}
                  CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${orias_fmt_include};${ANTLR4_INCLUDE_DIR};${Boost_INCLUDE_DIRS};${LIBELF_INCLUDE_DIR}"
                  COMPILE_DEFINITIONS -fno-char8_t
                  LINK_OPTIONS ${ARGN}
                  LINK_LIBRARIES ${ORIAS_ARCHIVE_ANTLR} ${ORIAS_ARCHIVE_OPTIONS} ${ORIAS_ARCHIVE_ELF} ${ORIAS_ARCHIVE_Z}
                  CXX_STANDARD 20)
      message(STATUS "Program orias with ${ARGN}: ${${result}}")
    endif()
  endfunction()
  set(orias_static_options -static)
  orias_static_probe(ORIAS_STATIC_C_LIBRARY_WORKS ${orias_static_options})
  set(orias_static_programs ${ORIAS_STATIC_C_LIBRARY_WORKS})
  if(NOT orias_static_programs)
    set(orias_static_options -no-pie -static-libstdc++ -static-libgcc)
    orias_static_probe(ORIAS_STATIC_PROGRAMS_WORK ${orias_static_options})
    set(orias_static_programs ${ORIAS_STATIC_PROGRAMS_WORK})
  endif()
endif()

# The code that compilations call is half of the program. Linux maps code in pieces of 2 MB, so it takes a third less memory, and a
# little less time, where that half stands together: the program is linked twice, and function_order runs the first one to see.
option(ORIAS_FUNCTION_ORDER "Put the functions of the program orias that compilations call together" ON)
set(orias_function_order OFF)
if(orias_static_programs AND ORIAS_FUNCTION_ORDER AND NOT ORIAS_PROFILE STREQUAL "record" AND CMAKE_SYSTEM_NAME STREQUAL "Linux"
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT CMAKE_CROSSCOMPILING)
  set(orias_no_order "${CMAKE_BINARY_DIR}/static_programs/no_order.ld")
  file(WRITE "${orias_no_order}" "SECTIONS { .text.called : { } } INSERT AFTER .text;\n")
  orias_static_probe(ORIAS_FUNCTION_ORDER_WORKS ${orias_static_options} "-Wl,-T,${orias_no_order}"
                     "-Wl,-Map=${CMAKE_BINARY_DIR}/static_programs/probe.map")
  set(orias_function_order ${ORIAS_FUNCTION_ORDER_WORKS})
endif()

# orias_library_choice(TARGET SHARED ARCHIVE...): TARGET is SHARED, or the archives in static programs.
function(orias_library_choice target shared)
  add_library(${target} INTERFACE)
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    set_target_properties(${target} PROPERTIES INTERFACE_${property} "$<TARGET_PROPERTY:${shared},INTERFACE_${property}>")
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
                                             "$<TARGET_PROPERTY:${shared},INTERFACE_INCLUDE_DIRECTORIES>")
  set(inside "$<BOOL:$<TARGET_PROPERTY:ORIAS_STATIC>>")
  foreach(archive IN LISTS ARGN)
    target_link_libraries(${target} INTERFACE "$<${inside}:${archive}>")
  endforeach()
  target_link_libraries(${target} INTERFACE "$<$<NOT:${inside}>:${shared}>")
endfunction()

if(orias_static_programs)
  add_library(orias_fmt_archive STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_archive.cpp")
  target_include_directories(orias_fmt_archive SYSTEM PRIVATE "$<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>")
endif()
orias_library_choice(orias_fmt fmt::fmt orias_fmt_archive)
orias_library_choice(orias_program_options Boost::program_options "${ORIAS_ARCHIVE_OPTIONS}")
orias_library_choice(orias_antlr_runtime Antlr::runtime "${ORIAS_ARCHIVE_ANTLR}")
orias_library_choice(orias_zlib ZLIB::ZLIB "${ORIAS_ARCHIVE_Z}")
orias_library_choice(orias_libelf Libelf::libelf "${ORIAS_ARCHIVE_ELF}" "${ORIAS_ARCHIVE_Z}")

# orias_order_functions(TARGET): TARGET_unordered is the same program, and says in which order the linker should put its functions.
function(orias_order_functions target)
  set(unordered ${target}_unordered)
  set(folder "${CMAKE_BINARY_DIR}/static_programs")
  get_target_property(sources ${target} SOURCES)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  add_executable(${unordered} ${sources})
  target_link_libraries(${unordered} PRIVATE ${libraries})
  target_link_options(${unordered} PRIVATE ${orias_static_options} "-Wl,-Map=${folder}/${target}.map")
  set_target_properties(${unordered} PROPERTIES ORIAS_STATIC ON RUNTIME_OUTPUT_DIRECTORY "${folder}")
  if(NOT TARGET orias_function_order)
    add_executable(orias_function_order "${PROJECT_SOURCE_DIR}/cmake/function_order.cpp")
    target_link_libraries(orias_function_order PRIVATE orias_options)
    set_target_properties(orias_function_order PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}")
  endif()
  file(GLOB samples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.ptx")
  foreach(name IN ITEMS big_integer f64_arith local_array mma_gemm register_pressure softmax templates)
    list(APPEND samples "${PROJECT_SOURCE_DIR}/test/corpus/ptx/${name}.ptx")
  endforeach()
  set(script "${folder}/${target}.ld")
  add_custom_command(OUTPUT "${script}"
                     COMMAND orias_function_order "$<TARGET_FILE:${unordered}>" "${folder}/${target}.map" "${script}" ${samples}
                     DEPENDS orias_function_order ${unordered} ${samples}
                     COMMENT "Looking which functions of ${target} are called"
                     VERBATIM)
  add_custom_target(${target}_order DEPENDS "${script}")
  add_dependencies(${target} ${target}_order)
  target_link_options(${target} PRIVATE "-Wl,-T,${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()

function(orias_static_program target)
  if(orias_static_programs)
    set_target_properties(${target} PROPERTIES ORIAS_STATIC ON)
    # Without relocations there is little to protect, and to make it read-only when the program starts is a system call. Linux maps
    # read-only pages of the file in pieces of 2 MB, too, most of which are tables for other chips.
    target_link_options(${target} PRIVATE ${orias_static_options} -Wl,-z,norelro)
    if(orias_static_sources)
      target_sources(${target} PRIVATE ${orias_static_sources})
      target_link_libraries(${target} PRIVATE orias_antlr_runtime)
    endif()
    if(orias_function_order)
      orias_order_functions(${target})
    endif()
    # The linker writes a file page by page, and Linux keeps it like that in memory. Of a file that is written at once it keeps large
    # pieces, as of one that it reads from disk, and mapping those takes half the time: 1.8 instead of 3.3 ms for an empty kernel.
    find_program(ORIAS_DD dd)
    if(ORIAS_DD)
      add_custom_command(TARGET ${target} POST_BUILD
                         COMMAND "${ORIAS_DD}" "if=$<TARGET_FILE:${target}>" "of=$<TARGET_FILE:${target}>.whole" bs=64M status=none
                         COMMAND chmod +x "$<TARGET_FILE:${target}>.whole"
                         COMMAND mv "$<TARGET_FILE:${target}>.whole" "$<TARGET_FILE:${target}>"
                         VERBATIM)
    endif()
  endif()
endfunction()
