# format: rewrites all C++ files with clang-format; format-check: fails if that would change one; tidy: runs clang-tidy.
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
set(list_sources git -C "${PROJECT_SOURCE_DIR}" ls-files -z -- "*.cpp" "*.h")
if(CLANG_FORMAT)
  add_custom_target(format COMMAND ${list_sources} | xargs -0 ${CLANG_FORMAT} -i
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" VERBATIM)
  add_custom_target(format-check COMMAND ${list_sources} | xargs -0 ${CLANG_FORMAT} --dry-run -Werror
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" VERBATIM)
endif()
if(RUN_CLANG_TIDY)
  add_custom_target(tidy COMMAND ${RUN_CLANG_TIDY} -quiet -p "${PROJECT_BINARY_DIR}" "^${PROJECT_SOURCE_DIR}/.*"
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" VERBATIM)
endif()
