#include "tools/common/program.h"

#include <fmt/format.h>
#include <new>

namespace orias::tools {

void print(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
}

void complain(std::string_view program, std::string_view kind, std::string_view message) {
  print(stderr, fmt::format("{}: {}: {}\n", program, kind, message));
}

ExitStatus runProgram(std::string_view program, std::string_view faultNote, const std::function<ExitStatus()>& body) {
  try {
    return body();
  } catch (const UsageError& e) {
    complain(program, "error", e.what());
    return ExitStatus::UsageErrors;
  } catch (const Error& e) {
    complain(program, "error", e.what());
    return ExitStatus::InputErrors;
  } catch (const std::bad_alloc&) {
    complain(program, "error", "out of memory");
    return ExitStatus::InternalFault;
  } catch (const std::exception& e) {
    complain(program, "internal error", e.what());
    complain(program, "note", faultNote);
    return ExitStatus::InternalFault;
  }
}

} // namespace orias::tools
