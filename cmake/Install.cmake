# What `cmake --install` installs: the programs, the shared libraries with their headers, and what other build systems
# need to find them. Included last.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(orias_headers "${CMAKE_INSTALL_INCLUDEDIR}/orias")
# Apart from the other libraries: NVIDIA's has the same name.
set(orias_nvptxcompiler_dir "${CMAKE_INSTALL_LIBDIR}/orias")
set(orias_nvptxcompiler_headers "${orias_headers}/nvptxcompiler")

# NAME, what it does: the title of its manual page.
set(orias_programs
  orias "compile NVIDIA PTX to cubins"
  orias-run "run PTX and cubins without a GPU"
  orias-dis "disassemble and check cubins"
  orias-reduce "shrink PTX that is compiled wrong"
  orias-lab "experiments with many kernels, options and knobs")
set(orias_program_targets orias_program orias_run_program orias_dis_program orias_reduce_program orias_lab_program)
install(TARGETS ${orias_program_targets} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT programs)

set_target_properties(orias_shared PROPERTIES EXPORT_NAME orias)
target_include_directories(orias_shared INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(orias_shared INTERFACE cxx_std_20)
set_target_properties(orias_nvptxcompiler PROPERTIES EXPORT_NAME nvptxcompiler INSTALL_RPATH "$ORIGIN/..")
target_include_directories(orias_nvptxcompiler INTERFACE "$<INSTALL_INTERFACE:${orias_nvptxcompiler_headers}>")
install(TARGETS orias_shared EXPORT orias LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS orias_nvptxcompiler EXPORT orias LIBRARY DESTINATION "${orias_nvptxcompiler_dir}"
        COMPONENT library NAMELINK_COMPONENT development)
install(FILES orias/orias.h orias/options.h tools/c_api/orias_c.h DESTINATION "${orias_headers}" COMPONENT development)
install(FILES tools/c_api/nvPTXCompiler.h DESTINATION "${orias_nvptxcompiler_headers}" COMPONENT development)
# Programs that ask for NVIDIA's static library get the shared one: a linker script needs no other name.
install(FILES tools/c_api/libnvptxcompiler_static.a DESTINATION "${orias_nvptxcompiler_dir}" COMPONENT development)

set(orias_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/orias")
install(EXPORT orias NAMESPACE orias:: FILE orias-config.cmake DESTINATION "${orias_package_dir}" COMPONENT development)
write_basic_package_version_file(orias-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/orias-config-version.cmake" DESTINATION "${orias_package_dir}"
        COMPONENT development)

foreach(package orias orias-nvptxcompiler)
  configure_file("cmake/${package}.pc.in" "${package}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT development)
endforeach()

# A Python package has a folder of its own for all of it.
if(SKBUILD)
  install(TARGETS ${orias_program_targets} RUNTIME DESTINATION orias/bin COMPONENT python)
  install(TARGETS orias_shared LIBRARY DESTINATION orias/lib COMPONENT python)
endif()

# --- manual pages and completions -----------------------------------------------------------------------------------
install(FILES tools/completions/orias.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        RENAME orias COMPONENT programs)
foreach(program orias-run orias-dis orias-reduce orias-lab)
  install(CODE "file(CREATE_LINK orias
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/${program}\" SYMBOLIC)"
          COMPONENT programs)
endforeach()
install(FILES tools/completions/_orias DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT programs)

find_program(HELP2MAN help2man)
if(HELP2MAN) # Python has another program of that name.
  execute_process(COMMAND "${HELP2MAN}" --version OUTPUT_VARIABLE orias_help2man_version ERROR_QUIET)
endif()
if("${orias_help2man_version}" MATCHES "GNU help2man")
  list(LENGTH orias_programs length)
  math(EXPR last "${length} - 1")
  foreach(at RANGE 0 ${last} 2)
    math(EXPR next "${at} + 1")
    list(GET orias_programs ${at} name)
    list(GET orias_programs ${next} summary)
    string(REPLACE - _ target "${name}_program")
    set(page "${PROJECT_BINARY_DIR}/man/${name}.1")
    add_custom_command(OUTPUT "${page}"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/man"
      COMMAND ${HELP2MAN} --no-info "--name=${summary}" --version-string=${PROJECT_VERSION}
              "--include=${PROJECT_SOURCE_DIR}/cmake/man.inc" "--output=${page}" "$<TARGET_FILE:${target}>"
      DEPENDS ${target} "${PROJECT_SOURCE_DIR}/cmake/man.inc" VERBATIM)
    list(APPEND orias_man_pages "${page}")
  endforeach()
  add_custom_target(orias_man ALL DEPENDS ${orias_man_pages})
  install(FILES ${orias_man_pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT programs)
endif()

# --- the package ----------------------------------------------------------------------------------------------------
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT programs)
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT programs)
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT programs)

set(CPACK_PACKAGE_NAME orias)
set(CPACK_PACKAGE_VENDOR "the orias authors")
set(CPACK_PACKAGE_CONTACT "the orias authors <orias@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
