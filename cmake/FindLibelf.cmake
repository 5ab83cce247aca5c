# libelf of elfutils, as the target Libelf::libelf.
find_path(LIBELF_INCLUDE_DIR gelf.h)
find_library(LIBELF_LIBRARY elf)
if(NOT LIBELF_INCLUDE_DIR OR NOT LIBELF_LIBRARY)
  message(FATAL_ERROR "libelf is missing (Debian and Ubuntu: libelf-dev)")
endif()
add_library(Libelf::libelf UNKNOWN IMPORTED)
set_target_properties(Libelf::libelf PROPERTIES IMPORTED_LOCATION "${LIBELF_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${LIBELF_INCLUDE_DIR}")
