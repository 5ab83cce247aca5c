# The tests that are files: test/phases (Ori text in, Ori text out) and test/cli (the program as people call it). LLVM's lit
# runs them and FileCheck compares; each folder is one test of ctest.
file(GLOB llvm_folders /usr/lib/llvm-*)
list(SORT llvm_folders COMPARE NATURAL ORDER DESCENDING)
set(llvm_bin ${llvm_folders})
list(TRANSFORM llvm_bin APPEND /bin)
set(llvm_lit ${llvm_folders})
list(TRANSFORM llvm_lit APPEND /build/utils/lit)
find_program(LIT NAMES lit llvm-lit lit.py PATHS ${llvm_lit})
find_program(FILECHECK NAMES FileCheck PATHS ${llvm_bin})
find_program(PYTHON3 NAMES python3)

if(NOT LIT OR NOT FILECHECK OR NOT PYTHON3)
  message(STATUS "lit or FileCheck is missing (Debian and Ubuntu: llvm-14-tools); test/phases and test/cli will not be run")
  return()
endif()

foreach(suite phases cli)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${suite}/*.ori"
       "${CMAKE_CURRENT_SOURCE_DIR}/${suite}/*.test")
  if(inputs)
    set(LIT_SUITE "${suite}")
    configure_file(lit.site.cfg.py.in "${CMAKE_CURRENT_BINARY_DIR}/lit/${suite}/lit.site.cfg.py" @ONLY)
    add_test(NAME lit_${suite} COMMAND "${PYTHON3}" "${LIT}" -q "${CMAKE_CURRENT_BINARY_DIR}/lit/${suite}")
  endif()
endforeach()
